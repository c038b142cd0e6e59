//! From what is to be in force to what changes in the store.

use assay_manifests::Specs;
use assay_store::{
    Store, StoreError,
    control::{KeyRecord, ManifestRecord},
};

use super::{fetch::Key, validate::Verdict};

/// What is stored, as of a revision.
#[derive(Clone, Debug)]
pub(super) struct Stored {
    /// How often it changed.
    pub(super) revision: u64,
    /// What the manifests say.
    pub(super) specs: Specs,
    /// Every key.
    pub(super) keys: Vec<KeyRecord>,
}

impl Stored {
    /// What is stored now; `before` is not read again.
    pub(super) async fn read(store: &dyn Store, before: Option<Self>) -> Result<Self, StoreError> {
        let revision = store.revisions().await?.control;
        if let Some(stored) = before.filter(|before| before.revision == revision) {
            return Ok(stored);
        }
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
    pub(super) removed: Vec<Key>,
}

impl Changes {
    /// Whether nothing does.
    pub(super) fn is_empty(&self) -> bool {
        self.put.is_empty() && self.removed.is_empty()
    }
}

/// What changes.
pub(super) fn changes(stored: &Stored, verdict: &Verdict) -> Changes {
    let Ok(settled) = &verdict.outcome else { return Changes::default() };
    let record = |(key, spec): (&Key, &serde_json::Value)| ManifestRecord {
        kind: key.0,
        name: key.1.clone(),
        spec: spec.clone(),
    };
    let changed = settled.specs.iter().filter(|(key, spec)| stored.specs.get(*key) != Some(*spec));
    let gone = stored.specs.keys().filter(|key| !settled.specs.contains_key(*key));
    Changes { put: changed.map(record).collect(), removed: gone.cloned().collect() }
}
