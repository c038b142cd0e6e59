//! Fresh graphs of every backend.

use std::{path::Path, sync::Arc};

use assay_database::postgres::PostgresDatabase;
use assay_graph::{EmbeddedGraphs, GraphStore, PostgresGraphs};
use assay_test_servers::PostgresServer;
use tempfile::TempDir;

/// Embedded graphs in a folder of their own.
pub(crate) fn embedded() -> (Arc<dyn GraphStore>, TempDir) {
    let directory = tempfile::tempdir().unwrap();
    (Arc::new(in_folder(directory.path())), directory)
}

pub(crate) fn in_folder(folder: &Path) -> EmbeddedGraphs {
    EmbeddedGraphs::new(folder)
}

/// Graphs in a database of their own.
pub(crate) async fn postgres() -> (Arc<dyn GraphStore>, ()) {
    let url = PostgresServer::of_this_process().owned_database();
    (Arc::new(in_database(&url).await), ())
}

pub(crate) async fn in_database(url: &str) -> PostgresGraphs {
    PostgresGraphs::new(PostgresDatabase::connect(url.into()).await.unwrap())
}
