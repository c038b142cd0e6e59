//! Fresh stores of every backend.

use std::sync::Arc;

use assay_engine::facts::Environment;
use assay_store::{SqliteStore, Store};
use tempfile::TempDir;

/// A store of its own, and what must outlive it.
pub(crate) struct Backend {
    pub(crate) store: Arc<dyn Store>,
    _directory: TempDir,
}

pub(crate) async fn sqlite() -> Backend {
    let directory = tempfile::tempdir().unwrap();
    let store = SqliteStore::open_or_create(directory.path(), Environment::Production).await;
    Backend { store: Arc::new(store.unwrap()), _directory: directory }
}
