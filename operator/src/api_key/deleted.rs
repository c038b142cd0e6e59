//! Objects whose deletion a watch reported.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// The objects whose deletion a watch reported, by the names of their keys in the store, until the keys are revoked.
#[derive(Clone, Debug, Default)]
pub(super) struct DeletedObjects(Arc<Mutex<BTreeSet<String>>>);

impl DeletedObjects {
    /// Adds an object.
    pub(super) fn add(&self, name: String) {
        self.lock().insert(name);
    }

    /// Says whether an object was deleted whose keys are not revoked yet.
    pub(super) fn contains(&self, name: &str) -> bool {
        self.lock().contains(name)
    }

    /// Removes an object: its keys are revoked.
    pub(super) fn remove(&self, name: &str) {
        self.lock().remove(name);
    }

    /// All of them.
    pub(super) fn all(&self) -> Vec<String> {
        self.lock().iter().cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
