//! Objects whose deletion a watch reported.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// The `ApiKey` objects whose deletion a watch reported, by the names of their keys in the store, until the keys are
/// revoked.
#[derive(Clone, Debug, Default)]
pub(super) struct DeletedObjects(Arc<Mutex<BTreeSet<String>>>);

impl DeletedObjects {
    /// Adds an object.
    pub(super) fn add(&self, name: String) {
        self.lock().insert(name);
    }

    /// Says whether the keys of this name belong to a deleted object and are not revoked yet.
    pub(super) fn contains(&self, name: &str) -> bool {
        self.lock().contains(name)
    }

    /// Removes an object after its keys were revoked.
    pub(super) fn remove(&self, name: &str) {
        self.lock().remove(name);
    }

    /// The names of all deleted objects.
    pub(super) fn all(&self) -> Vec<String> {
        self.lock().iter().cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
