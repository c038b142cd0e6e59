//! Fresh graphs of every backend.

#[expect(dead_code, reason = "shared with the tests of the stores")]
#[path = "../../../store/tests/all/backends/server.rs"]
pub(crate) mod server;

use std::{path::Path, sync::Arc};

use assay_database::postgres::PostgresDatabase;
use assay_graph::{GraphStore, PostgresGraphs, SqliteGraphs};
use tempfile::TempDir;

use server::Server;

/// Graphs of its own, and what must outlive them.
pub(crate) struct Backend {
    pub(crate) store: Arc<dyn GraphStore>,
    _directory: Option<TempDir>,
}

pub(crate) async fn sqlite() -> Backend {
    let directory = tempfile::tempdir().unwrap();
    let store = in_folder(directory.path());
    Backend { store: Arc::new(store), _directory: Some(directory) }
}

pub(crate) fn in_folder(folder: &Path) -> SqliteGraphs {
    SqliteGraphs::new(folder)
}

pub(crate) async fn postgres() -> Backend {
    let url = Server::of_this_process().owned_database().await;
    Backend { store: Arc::new(in_database(&url).await), _directory: None }
}

pub(crate) async fn in_database(url: &str) -> PostgresGraphs {
    PostgresGraphs::new(PostgresDatabase::connect(url.into()).await.unwrap())
}
