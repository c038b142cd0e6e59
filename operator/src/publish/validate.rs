//! Which objects are right, and which would break what is there.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use assay_manifests::{Refusal, Settled, Specs, Wishes, settle};
use assay_tenancy::Problem;
use jiff::Timestamp;

use super::{
    InForce,
    build::Stored,
    fetch::{Key, Manifest, is_deleted, is_kept},
    former,
};

/// What was found.
#[derive(Debug)]
pub(super) struct Verdict {
    /// What is in force from now on; otherwise what is wrong with what is stored.
    pub(super) outcome: Result<Settled, Vec<Problem>>,
    /// What is in force, shared.
    in_force: Option<InForce>,
}

impl Verdict {
    /// Why what an object says is not in force.
    pub(super) fn refusal(&self, key: &Key) -> Option<&Refusal> {
        self.outcome.as_ref().ok()?.refused.get(key)
    }

    /// Whether an object is no longer needed by anything in force.
    pub(super) fn is_gone(&self, key: &Key) -> bool {
        self.outcome.as_ref().is_ok_and(|settled| !settled.specs.contains_key(key))
    }

    /// What is in force.
    pub(super) fn in_force(&self) -> Option<InForce> {
        self.in_force.clone()
    }

    /// What is stored once the changes are.
    pub(super) fn stored_afterwards(&self, before: Stored) -> Stored {
        match &self.outcome {
            Ok(settled) => Stored { specs: settled.specs.clone(), ..before },
            Err(_) => before,
        }
    }
}

/// Looks at everything together. An object is wished for once the operator keeps it (`kept`), and wished
/// away when it is deleted: what the operator never kept was never stored.
pub(super) fn validate(
    stored: &Specs,
    objects: &BTreeMap<Key, Arc<Manifest>>,
    kept: &BTreeSet<Key>,
    now: Timestamp,
) -> Verdict {
    let wishes: Wishes = objects
        .iter()
        .filter_map(|(key, object)| match (is_deleted(object), kept.contains(key)) {
            (false, true) => Some((key.clone(), Some(object.spec.clone()))),
            (true, _) if is_kept(object) => Some((key.clone(), None)),
            _ => None,
        })
        .collect();
    let mut outcome = settle(stored, &wishes);
    if let Ok(settled) = &mut outcome {
        former::note(stored, settled, now);
    }
    let in_force = outcome.as_mut().ok().map(|settled| InForce {
        directory: Arc::new(std::mem::take(&mut settled.resolved.directory)),
        manifests: Arc::new(std::mem::take(&mut settled.resolved.manifests)),
    });
    Verdict { outcome, in_force }
}
