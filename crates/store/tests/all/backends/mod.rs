//! Fresh stores of every backend.

use std::sync::Arc;

use assay_engine::facts::Environment;
use assay_store::{PostgresStore, SqliteStore, Store};
use assay_test_servers::PostgresServer;
use tempfile::TempDir;

/// A new store, and the resources that must outlive it.
pub(crate) struct Backend {
    pub(crate) store: Arc<dyn Store>,
    _directory: Option<TempDir>,
}

pub(crate) async fn sqlite() -> Backend {
    let directory = tempfile::tempdir().unwrap();
    let store = SqliteStore::open_or_create(directory.path(), Environment::Production).await;
    Backend { store: Arc::new(store.unwrap()), _directory: Some(directory) }
}

pub(crate) async fn postgres() -> Backend {
    let url = PostgresServer::shared_by_process().owned_database();
    let store = PostgresStore::open_or_create(&url, Environment::Production).await;
    Backend { store: Arc::new(store.unwrap()), _directory: None }
}
