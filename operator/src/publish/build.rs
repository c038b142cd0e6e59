//! The changes of the manifests in the store.

use std::sync::Arc;

use assay_manifests::{Manifest, Manifests};
use assay_store::control::ManifestRecord;

use super::fetch::ObjectKey;

/// The changes of the manifests in the store.
#[derive(Debug, Default)]
pub(super) struct StoreChanges {
    /// The manifests that are new or changed.
    pub(super) put: Vec<ManifestRecord>,
    /// The manifests to delete.
    pub(super) removed: Vec<ObjectKey>,
}

impl StoreChanges {
    /// Says whether there are no changes of manifests.
    pub(super) fn is_empty(&self) -> bool {
        self.put.is_empty() && self.removed.is_empty()
    }
}

/// The changes that make the store hold the desired manifests.
pub(super) fn changes(stored: &Manifests, desired: &Manifests) -> StoreChanges {
    let gone = stored.keys().filter(|key| !desired.contains_key(*key));
    let is_changed = |(key, manifest): &(&ObjectKey, &Arc<Manifest>)| {
        stored.get(*key).is_none_or(|stored| stored.source != manifest.source)
    };
    let put = desired.iter().filter(is_changed).map(|(_, manifest)| ManifestRecord {
        kind: manifest.kind,
        name: manifest.name.clone(),
        spec: manifest.source.value(),
    });
    StoreChanges { put: put.collect(), removed: gone.cloned().collect() }
}
