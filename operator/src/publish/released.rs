//! Objects that left the installation without a regular deletion: their label now names another installation; or they
//! are tenants that vanished from the cluster although the operator did not remove their finalizer.
//!
//! The manifest of a tenant whose object is absent stays until the next comparison, a resync interval later, because
//! objects are also absent while a cluster is being restored. Only tenants with keys that the operator issued are
//! compared: other tenants may have been created by hand, without an object.

use std::collections::BTreeSet;

use assay_manifests::Manifests;
use assay_tenancy::{
    Name,
    manifest::{Kind, ManifestSpec, RateLimitTarget},
};

use super::fetch::{NamedObjects, ObjectKey, Objects};

/// The objects that left the installation, until the store has no manifest of them.
#[derive(Debug)]
pub(super) struct ReleasedObjects {
    /// The objects of the installation in the last round.
    own: BTreeSet<ObjectKey>,
    /// The tenants without an object at the last comparison.
    absent: BTreeSet<Name>,
    /// The objects whose manifests are to be removed.
    left: BTreeSet<ObjectKey>,
    is_comparison_due: bool,
}

impl Default for ReleasedObjects {
    fn default() -> Self {
        let (own, absent, left) = Default::default();
        Self { own, absent, left, is_comparison_due: true }
    }
}

impl ReleasedObjects {
    /// Records the objects that moved to another installation since the last round.
    pub(super) fn observe(&mut self, objects: &Objects) {
        self.left.retain(|key| !objects.named.contains_key(key));
        let own = std::mem::take(&mut self.own);
        self.left.extend(own.into_iter().filter(|key| objects.foreign.contains_key(key)));
        self.own = objects.named.keys().cloned().collect();
    }

    /// Requests a comparison of tenants with their objects in the next round.
    pub(super) const fn compare_next_time(&mut self) {
        self.is_comparison_due = true;
    }

    /// Says whether a comparison is due.
    pub(super) const fn is_comparison_due(&self) -> bool {
        self.is_comparison_due
    }

    /// Compares tenants with issued keys with the objects: tenants that are absent now and at the last comparison left
    /// the installation.
    pub(super) fn compare(&mut self, tenants: &BTreeSet<Name>, objects: &Objects) {
        let has_object =
            |name: &&Name| objects.named.contains_key(&(Kind::Tenant, (*name).clone()));
        let absent: BTreeSet<Name> =
            tenants.iter().filter(|name| !has_object(name)).cloned().collect();
        let gone = absent.intersection(&self.absent);
        self.left.extend(gone.map(|name| (Kind::Tenant, name.clone())));
        self.absent = absent;
        self.is_comparison_due = false;
    }

    /// The manifests to remove from the store: manifests of objects that left, and of rate limits without an object
    /// whose tenant left.
    pub(super) fn manifests_to_remove(
        &self,
        stored: &Manifests,
        objects: &Objects,
    ) -> BTreeSet<ObjectKey> {
        let mut released = self.left.clone();
        if released.is_empty() {
            return released;
        }
        for (key, manifest) in stored {
            if let Ok(ManifestSpec::RateLimit(limit)) = &manifest.spec
                && let RateLimitTarget::Tenant(tenant) = &limit.target
                && self.left.contains(&(Kind::Tenant, tenant.clone()))
                && !objects.named.contains_key(key)
            {
                released.insert(key.clone());
            }
        }
        released
    }

    /// The objects that left and still exist.
    pub(super) fn remaining_objects(&self, objects: &Objects) -> NamedObjects {
        let left = objects.foreign.iter().filter(|(key, _)| self.left.contains(*key));
        left.map(|(key, object)| (key.clone(), object.clone())).collect()
    }

    /// Forgets the objects for which `is_done` holds.
    pub(super) fn forget(&mut self, is_done: impl Fn(&ObjectKey) -> bool) {
        self.left.retain(|key| !is_done(key));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use assay_crds::Tenant;
    use assay_manifests::Manifest;
    use assay_tenancy::CompactJson;
    use kube::api::ApiResource;
    use serde_json::{Value, json};

    use super::*;
    use crate::watched::WatchedObject;

    fn key(kind: Kind, name: &str) -> ObjectKey {
        (kind, name.parse().unwrap())
    }

    fn objects(own: &[ObjectKey], foreign: &[ObjectKey]) -> Objects {
        let resource = ApiResource::erase::<Tenant>(&());
        let any = |key: &ObjectKey| {
            let spec = CompactJson::from(&json!({}));
            (key.clone(), Arc::new(WatchedObject::new(key.1.as_str(), &resource, spec)))
        };
        Objects {
            named: own.iter().map(any).collect(),
            foreign: foreign.iter().map(any).collect(),
            ..Objects::default()
        }
    }

    fn manifests(all: &[(Kind, &str, Value)]) -> Manifests {
        let parsed = all.iter().map(|(kind, name, spec)| {
            let name = name.parse().unwrap();
            Arc::new(Manifest::parse_spec("a test".into(), *kind, name, spec))
        });
        parsed.map(|manifest| (manifest.key(), manifest)).collect()
    }

    #[test]
    fn an_object_with_the_label_of_another_installation_leaves_until_it_comes_back() {
        let plan = [key(Kind::Plan, "gold")];
        let leaves = |all: &ReleasedObjects, objects| {
            let left = all.manifests_to_remove(&Manifests::new(), objects);
            assert!(left.iter().all(|key| plan.contains(key)), "{left:?}");
            !left.is_empty()
        };
        let mut all = ReleasedObjects::default();
        // One that was never of this installation does not leave it: the store may have another of its name.
        let elsewhere = objects(&[], &plan);
        all.observe(&elsewhere);
        assert!(!leaves(&all, &elsewhere));
        let here = objects(&plan, &[]);
        all.observe(&here);
        all.observe(&elsewhere);
        assert!(leaves(&all, &elsewhere));
        assert_eq!(all.remaining_objects(&elsewhere).len(), 1);
        all.forget(|_| false);
        assert!(leaves(&all, &elsewhere), "it is in use");
        all.observe(&here);
        assert!(!leaves(&all, &here));
        all.observe(&elsewhere);
        all.forget(|_| true);
        assert!(!leaves(&all, &elsewhere));
        // Absence alone is no reason.
        all.observe(&here);
        all.observe(&objects(&[], &[]));
        assert!(!leaves(&all, &here));
    }

    #[test]
    fn a_tenant_with_issued_keys_leaves_when_it_is_absent_twice_with_its_rate_limits() {
        let tenants = BTreeSet::from(["acme".parse().unwrap(), "other".parse().unwrap()]);
        let (acme, other) = (key(Kind::Tenant, "acme"), key(Kind::Tenant, "other"));
        let limit = |tenant: &str| json!({"target": {"tenant": tenant}, "limits": [{"name": "daily", "requests": 1}]});
        let stored = manifests(&[
            (Kind::RateLimit, "gone", limit("acme")),
            (Kind::RateLimit, "kept", limit("acme")),
            (Kind::RateLimit, "others", limit("other")),
            (Kind::Tenant, "by-hand", json!({"displayName": "x", "plan": "p", "policy": "q"})),
        ]);
        let (gone, kept) = (key(Kind::RateLimit, "gone"), key(Kind::RateLimit, "kept"));
        let both = objects(&[acme.clone(), other.clone(), gone.clone(), kept.clone()], &[]);
        let one = objects(&[other.clone(), kept], &[]);
        let mut releases = ReleasedObjects::default();
        assert!(releases.is_comparison_due(), "at the start");
        releases.compare(&tenants, &both);
        assert!(!releases.is_comparison_due());
        releases.compare(&tenants, &one);
        assert!(releases.manifests_to_remove(&stored, &one).is_empty(), "it may come back");
        releases.compare(&tenants, &both);
        releases.compare(&tenants, &one);
        assert!(releases.manifests_to_remove(&stored, &one).is_empty(), "it was back");
        releases.compare(&tenants, &one);
        assert_eq!(releases.manifests_to_remove(&stored, &one), BTreeSet::from([gone, acme]));
    }
}
