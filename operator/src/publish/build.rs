//! From what is to be in force to what changes in the store.

use assay_manifests::Specs;
use assay_store::{
    Store, StoreError,
    control::{KeyRecord, ManifestRecord},
};

use super::fetch::ObjectKey;

/// What is stored, as of a revision.
#[derive(Debug)]
pub(super) struct Stored {
    /// How often it changed.
    pub(super) revision: u64,
    /// What the manifests say.
    pub(super) specs: Specs,
    /// Every key.
    pub(super) keys: Vec<KeyRecord>,
}

impl Stored {
    /// What is stored now.
    pub(super) async fn read(store: &dyn Store) -> Result<Self, StoreError> {
        let control = store.control().await?;
        let spec = |record: ManifestRecord| ((record.kind, record.name), record.spec);
        Ok(Self {
            revision: control.revision,
            specs: control.manifests.into_iter().map(spec).collect(),
            keys: control.keys,
        })
    }
}

/// What changes in the store.
#[derive(Debug, Default)]
pub(super) struct Changes {
    pub(super) put: Vec<ManifestRecord>,
    pub(super) removed: Vec<ObjectKey>,
}

impl Changes {
    /// Whether nothing does.
    pub(super) fn is_empty(&self) -> bool {
        self.put.is_empty() && self.removed.is_empty()
    }
}

/// What changes where that is to be stored.
pub(super) fn changes(stored: &Stored, desired: Specs) -> Changes {
    let gone = stored.specs.keys().filter(|key| !desired.contains_key(*key));
    let removed = gone.cloned().collect();
    let changed = desired.into_iter().filter(|(key, spec)| stored.specs.get(key) != Some(spec));
    let put = changed.map(|((kind, name), spec)| ManifestRecord { kind, name, spec });
    Changes { put: put.collect(), removed }
}
