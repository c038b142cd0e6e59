//! The changes of the store.

use assay_manifests::Specs;
use assay_store::control::ManifestRecord;

use super::fetch::ObjectKey;

/// The changes of the store.
#[derive(Debug, Default)]
pub(super) struct Changes {
    /// The manifests that are new or differ.
    pub(super) put: Vec<ManifestRecord>,
    /// The manifests to delete.
    pub(super) removed: Vec<ObjectKey>,
}

impl Changes {
    /// Says whether there are no changes.
    pub(super) fn is_empty(&self) -> bool {
        self.put.is_empty() && self.removed.is_empty()
    }
}

/// The changes that make the store hold the desired manifests.
pub(super) fn changes(stored: &Specs, desired: Specs) -> Changes {
    let gone = stored.keys().filter(|key| !desired.contains_key(*key));
    let removed = gone.cloned().collect();
    let changed = desired.into_iter().filter(|(key, spec)| stored.get(key) != Some(spec));
    let put = changed.map(|((kind, name), spec)| ManifestRecord { kind, name, spec });
    Changes { put: put.collect(), removed }
}
