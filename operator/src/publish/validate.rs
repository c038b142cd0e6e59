//! The objects that can be in force together, and the problems of the other objects.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use assay_engine::policy::Policy;
use assay_manifests::{
    DesiredManifests, Manifest, ManifestRefusal, Manifests, Reconciled, reconcile,
};
use assay_tenancy::{
    Directory, ManifestProblem,
    manifest::{Kind, ManifestSpec},
};
use jiff::Timestamp;

use super::{
    fetch::{ObjectKey, Objects},
    former,
};
use crate::{
    in_force::ConfigurationInForce,
    instance,
    watched::{WatchedObject, is_deleted},
    writer::has_finalizer,
};

/// The manifests that can be in force.
#[derive(Debug)]
pub(super) struct ValidatedManifests {
    /// The refused objects with their problems; an error if the manifests in the store are invalid.
    pub(super) outcome: Result<BTreeMap<ObjectKey, ManifestRefusal>, Vec<ManifestProblem>>,
    /// The manifests that the store is to hold.
    manifests: Manifests,
    /// The configuration in force, until it is taken.
    in_force: Option<ConfigurationInForce>,
}

impl ValidatedManifests {
    /// The refusal of an object, if it is refused.
    pub(super) fn refusal(&self, key: &ObjectKey) -> Option<&ManifestRefusal> {
        self.outcome.as_ref().ok()?.get(key)
    }

    /// Says whether nothing in force depends on an object.
    pub(super) fn is_unreferenced(&self, key: &ObjectKey) -> bool {
        self.outcome.is_ok() && !self.manifests.contains_key(key)
    }

    /// The manifests to store. `None` if the manifests in the store are invalid, so that nothing can be
    /// changed.
    pub(super) fn manifests(&self) -> Option<&Manifests> {
        self.outcome.is_ok().then_some(&self.manifests)
    }

    /// Takes the configuration in force; later calls return `None`.
    pub(super) fn take_in_force(&mut self) -> Option<ConfigurationInForce> {
        self.in_force.take()
    }
}

/// Checks all objects together. An object is published once it has the finalizer; a deleted object without the
/// finalizer was never published. Manifests of `released` objects are removed. Only specs that differ from the stored
/// specs are parsed.
pub(super) fn validate(
    stored: &Manifests,
    objects: &Objects,
    finalized: &BTreeSet<ObjectKey>,
    released: &BTreeSet<ObjectKey>,
    now: Timestamp,
) -> ValidatedManifests {
    let desired: DesiredManifests = objects
        .named
        .iter()
        .filter_map(|(key, object)| match (is_deleted(object), finalized.contains(key)) {
            (false, true) => Some((key.clone(), Some(manifest(stored, key, object)))),
            (true, _) if has_finalizer(&**object) => Some((key.clone(), None)),
            _ => None,
        })
        .chain(released.iter().map(|key| (key.clone(), None)))
        .collect();
    match reconcile(stored, &desired) {
        Ok(mut reconciled) => {
            former::record(stored, &mut reconciled, now);
            let Reconciled { manifests, directory, refused } = reconciled;
            let in_force = Some(in_force(directory, &manifests, objects));
            ValidatedManifests { outcome: Ok(refused), manifests, in_force }
        }
        Err(problems) => ValidatedManifests {
            outcome: Err(problems),
            manifests: Manifests::new(),
            in_force: None,
        },
    }
}

/// The manifest of an object.
fn manifest(
    stored: &Manifests,
    key @ (kind, name): &ObjectKey,
    object: &WatchedObject,
) -> Arc<Manifest> {
    if let Some(stored) = stored.get(key).filter(|stored| stored.source == object.spec) {
        return Arc::clone(stored);
    }
    let origin = format!("{} {name}", kind.as_str());
    Arc::new(Manifest::parse_spec(origin, *kind, name.clone(), &object.spec.value()))
}

/// The configuration in force.
fn in_force(
    directory: Directory<Policy>,
    manifests: &Manifests,
    objects: &Objects,
) -> ConfigurationInForce {
    let (mut namespaces, mut rate_limits) = <(BTreeMap<_, _>, BTreeMap<_, _>)>::default();
    for manifest in manifests.values() {
        match &manifest.spec {
            Ok(ManifestSpec::Tenant(spec)) => {
                namespaces.insert(manifest.name.clone(), spec.namespaces.clone());
            }
            Ok(ManifestSpec::RateLimit(spec)) => {
                rate_limits.insert(manifest.name.clone(), spec.clone());
            }
            _ => {}
        }
    }
    let foreign = objects.foreign.iter().filter(|((kind, _), _)| *kind == Kind::Tenant);
    let foreign = foreign.map(|((_, name), object)| (name.clone(), instance::owner_of(&**object)));
    ConfigurationInForce {
        directory: Arc::new(directory),
        namespaces: Arc::new(namespaces),
        foreign_tenants: Arc::new(foreign.collect()),
        rate_limits: Arc::new(rate_limits),
    }
}

#[cfg(test)]
mod tests {
    use assay_crds::Tenant;
    use assay_tenancy::CompactJson;
    use kube::api::ApiResource;
    use serde_json::{Value, json};

    use super::*;

    fn object(spec: &Value) -> WatchedObject {
        WatchedObject::new("acme", &ApiResource::erase::<Tenant>(&()), CompactJson::from(spec))
    }

    #[test]
    fn only_specs_that_differ_from_the_stored_ones_are_parsed() {
        let spec = json!({"displayName": "Acme", "plan": "gold", "policy": "default"});
        let key = (Kind::Tenant, "acme".parse().unwrap());
        let parsed = manifest(&Manifests::new(), &key, &object(&spec));
        assert!(
            matches!(&parsed.spec, Ok(ManifestSpec::Tenant(tenant)) if tenant.plan.as_str() == "gold")
        );
        let stored = Manifests::from([(key.clone(), Arc::clone(&parsed))]);
        assert!(Arc::ptr_eq(&parsed, &manifest(&stored, &key, &object(&spec))));
        let mut changed = spec;
        changed["plan"] = json!("silver");
        assert!(!Arc::ptr_eq(&parsed, &manifest(&stored, &key, &object(&changed))));
    }
}
