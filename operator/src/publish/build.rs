//! The content of the store, and its changes.

use assay_manifests::Specs;
use assay_store::{
    Store, StoreError,
    control::{KeyRecord, ManifestRecord},
};

use super::fetch::ObjectKey;

/// The manifests and keys in the store.
#[derive(Debug)]
pub(super) struct Stored {
    /// The revision of the manifests.
    pub(super) revision: u64,
    /// The manifests.
    pub(super) specs: Specs,
    /// The keys.
    pub(super) keys: Vec<KeyRecord>,
}

impl Stored {
    /// Reads the store.
    pub(super) async fn read(store: &dyn Store) -> Result<Self, StoreError> {
        let control = store.control().await?;
        let spec = |record: ManifestRecord| ((record.kind, record.name), record.spec);
        Ok(Self {
            revision: control.manifests_revision,
            specs: control.manifests.into_iter().map(spec).collect(),
            keys: control.keys,
        })
    }
}

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
pub(super) fn changes(stored: &Stored, desired: Specs) -> Changes {
    let gone = stored.specs.keys().filter(|key| !desired.contains_key(*key));
    let removed = gone.cloned().collect();
    let changed = desired.into_iter().filter(|(key, spec)| stored.specs.get(key) != Some(spec));
    let put = changed.map(|((kind, name), spec)| ManifestRecord { kind, name, spec });
    Changes { put: put.collect(), removed }
}
