//! The objects that can be in force together, and the problems of the others.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use assay_engine::policy::Policy;
use assay_manifests::{DesiredManifests, Reconciled, Refusal, Specs, reconcile};
use assay_tenancy::{
    Problem, Resolved,
    manifest::{Kind, Manifest, TenantSpec},
};
use jiff::Timestamp;

use super::{
    fetch::{NamedObjects, ObjectKey, has_finalizer, is_deleted},
    former,
};
use crate::in_force::InForce;

/// The manifests that can be in force.
#[derive(Debug)]
pub(super) struct Validated {
    /// The refused objects with their problems; or the problems of the manifests in the store.
    pub(super) outcome: Result<BTreeMap<ObjectKey, Refusal>, Vec<Problem>>,
    /// The manifests from now on.
    names: BTreeSet<ObjectKey>,
    /// Their specs, until they are taken.
    specs: Specs,
    /// The configuration in force, until it is taken.
    in_force: Option<InForce>,
}

impl Validated {
    /// Why an object is refused.
    pub(super) fn refusal(&self, key: &ObjectKey) -> Option<&Refusal> {
        self.outcome.as_ref().ok()?.get(key)
    }

    /// Says whether nothing in force depends on an object.
    pub(super) fn is_gone(&self, key: &ObjectKey) -> bool {
        self.outcome.is_ok() && !self.names.contains(key)
    }

    /// Takes the specs to store, without a copy. `None` if the manifests in the store are invalid, so that
    /// nothing can be changed.
    pub(super) fn take_specs(&mut self) -> Option<Specs> {
        self.outcome.is_ok().then(|| std::mem::take(&mut self.specs))
    }

    /// Takes the configuration in force.
    pub(super) fn take_in_force(&mut self) -> Option<InForce> {
        self.in_force.take()
    }
}

/// Checks all objects together. An object is published once it has the finalizer. A deleted object
/// without it was never published.
pub(super) fn validate(
    stored: &Specs,
    objects: &NamedObjects,
    finalized: &BTreeSet<ObjectKey>,
    now: Timestamp,
) -> Validated {
    let desired: DesiredManifests = objects
        .iter()
        .filter_map(|(key, object)| match (is_deleted(object), finalized.contains(key)) {
            (false, true) => Some((key.clone(), Some(object.spec.value()))),
            (true, _) if has_finalizer(object) => Some((key.clone(), None)),
            _ => None,
        })
        .collect();
    match reconcile(stored, &desired) {
        Ok(mut reconciled) => {
            former::record(stored, &mut reconciled, now);
            let Reconciled { specs, resolved, refused } = reconciled;
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

/// The configuration in force.
fn in_force(resolved: Resolved<Policy>) -> InForce {
    let Resolved { directory, manifests } = resolved;
    let (mut namespaces, mut rate_limits) = <(BTreeMap<_, _>, BTreeMap<_, _>)>::default();
    for Manifest { kind, name, spec, .. } in manifests.into_values() {
        // `reconcile` has parsed all of them.
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
