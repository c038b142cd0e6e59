//! Which objects are right, and which would break what is there.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use assay_engine::policy::Policy;
use assay_manifests::{Refusal, Settled, Specs, Wishes, settle};
use assay_tenancy::{
    Problem, Resolved,
    manifest::{Kind, Manifest, TenantSpec},
};
use jiff::Timestamp;

use super::{
    fetch::{ObjectKey, WatchedObject, has_finalizer, is_deleted},
    former,
};
use crate::in_force::InForce;

/// What was found.
#[derive(Debug)]
pub(super) struct Validated {
    /// Which wishes are not in force, and why; otherwise what is wrong with what is stored.
    pub(super) outcome: Result<BTreeMap<ObjectKey, Refusal>, Vec<Problem>>,
    /// What there is from now on.
    names: BTreeSet<ObjectKey>,
    /// What it says, until somebody takes it.
    specs: Specs,
    /// What is in force.
    in_force: Option<InForce>,
}

impl Validated {
    /// Why what an object says is not in force.
    pub(super) fn refusal(&self, key: &ObjectKey) -> Option<&Refusal> {
        self.outcome.as_ref().ok()?.get(key)
    }

    /// Whether an object is no longer needed by anything in force.
    pub(super) fn is_gone(&self, key: &ObjectKey) -> bool {
        self.outcome.is_ok() && !self.names.contains(key)
    }

    /// What is to be stored, handed over: with many tenants it is large. `None` where nothing can be
    /// changed, as what is stored is wrong by itself.
    pub(super) fn take_specs(&mut self) -> Option<Specs> {
        self.outcome.is_ok().then(|| std::mem::take(&mut self.specs))
    }

    /// What is in force, handed over.
    pub(super) fn take_in_force(&mut self) -> Option<InForce> {
        self.in_force.take()
    }
}

/// Looks at everything together. An object is wished for once the operator keeps it, and wished
/// away when it is deleted: what the operator never kept was never stored.
pub(super) fn validate(
    stored: &Specs,
    objects: &BTreeMap<ObjectKey, Arc<WatchedObject>>,
    finalized: &BTreeSet<ObjectKey>,
    now: Timestamp,
) -> Validated {
    let wishes: Wishes = objects
        .iter()
        .filter_map(|(key, object)| match (is_deleted(object), finalized.contains(key)) {
            (false, true) => Some((key.clone(), Some(object.spec.value()))),
            (true, _) if has_finalizer(object) => Some((key.clone(), None)),
            _ => None,
        })
        .collect();
    match settle(stored, &wishes) {
        Ok(mut settled) => {
            former::record(stored, &mut settled, now);
            let Settled { specs, resolved, refused } = settled;
            let names = specs.keys().cloned().collect();
            Validated { outcome: Ok(refused), names, specs, in_force: Some(in_force(resolved)) }
        }
        Err(problems) => Validated {
            outcome: Err(problems),
            names: BTreeSet::new(),
            specs: Specs::new(),
            in_force: None,
        },
    }
}

/// What is in force, of what was found.
fn in_force(resolved: Resolved<Policy>) -> InForce {
    let Resolved { directory, manifests } = resolved;
    let (mut namespaces, mut rate_limits) = <(BTreeMap<_, _>, BTreeMap<_, _>)>::default();
    for Manifest { kind, name, spec, .. } in manifests.into_values() {
        // All of them were read a moment ago.
        match kind {
            Kind::Tenant => {
                let spec = serde_json::from_value::<TenantSpec>(spec);
                namespaces.extend(spec.ok().map(|spec| (name, spec.namespaces)));
            }
            Kind::RateLimit => {
                rate_limits.extend(serde_json::from_value(spec).ok().map(|spec| (name, spec)));
            }
            _ => {}
        }
    }
    InForce {
        directory: Arc::new(directory),
        namespaces: Arc::new(namespaces),
        rate_limits: Arc::new(rate_limits),
    }
}
