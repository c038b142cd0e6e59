//! When a key is looked at: it changed, its Secret did, or what is in force about its tenant.

use std::{
    collections::{BTreeMap, BTreeSet},
    pin::Pin,
};

use assay_crds::ApiKey;
use assay_tenancy::Name;
use futures_util::{Stream, StreamExt, stream};
use k8s_openapi::api::core::v1::Secret;
use kube::{
    Api, Client, ResourceExt,
    core::{DeserializeGuard, PartialObjectMeta},
    runtime::{
        WatchStreamExt,
        controller::{ReconcileRequest, trigger_owners, trigger_self},
        reflector::{self, ObjectRef, Store},
        watcher,
    },
};
use tokio::sync::watch;

use super::build;
use crate::publish::InForce;

/// What is watched: an object that cannot be read holds up no other.
pub(super) type Guarded = DeserializeGuard<ApiKey>;
/// Of a Secret only who it is and how new.
pub(super) type SecretMeta = PartialObjectMeta<Secret>;
/// Which keys are to be looked at.
type Queue = Pin<Box<dyn Stream<Item = Result<ReconcileRequest<Guarded>, watcher::Error>> + Send>>;

/// What `kubectl` notes of what it applied, which is as long as the object.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// What is held of keys and of their Secrets.
#[derive(Clone, Debug)]
pub(super) struct Held {
    pub(super) keys: Store<Guarded>,
    pub(super) secrets: Store<SecretMeta>,
}

/// Begins to watch.
pub(super) fn start(client: &Client, in_force: watch::Receiver<InForce>) -> (Held, Queue) {
    let (keys, keys_writer) = reflector::store();
    let (secrets, secrets_writer) = reflector::store();
    let own = watcher(Api::<Guarded>::all(client.clone()), watcher::Config::default())
        .default_backoff()
        .modify(lean)
        .reflect(keys_writer)
        .touched_objects();
    let labelled = watcher::Config::default().labels(&build::label_selector());
    let of_secrets = watcher(Api::<SecretMeta>::all(client.clone()), labelled)
        .default_backoff()
        .modify(lean)
        .modify(|secret| {
            secret.metadata.labels = None;
            secret.metadata.annotations = None;
        })
        .reflect(secrets_writer)
        .touched_objects();
    let of_tenants = of_changed_tenants(in_force, keys.clone());
    let queue = stream::select(
        trigger_self(own, ()),
        stream::select(trigger_owners(of_secrets, (), ()), of_tenants),
    );
    (Held { keys, secrets }, Box::pin(queue))
}

/// Lets go of what nobody asks for: who wrote which field is as long as all the rest.
fn lean(object: &mut impl ResourceExt) {
    object.meta_mut().managed_fields = None;
    if let Some(annotations) = &mut object.meta_mut().annotations {
        annotations.remove(LAST_APPLIED);
    }
}

/// The keys of tenants about which something else is in force, each time something is.
fn of_changed_tenants(
    mut in_force: watch::Receiver<InForce>,
    keys: Store<Guarded>,
) -> impl Stream<Item = Result<ReconcileRequest<Guarded>, watcher::Error>> {
    let before = in_force.borrow_and_update().clone();
    let changes = stream::unfold((in_force, before), async |(mut in_force, before)| {
        // It ends with the program.
        in_force.changed().await.ok()?;
        let now = in_force.borrow_and_update().clone();
        Some((changed_tenants(&before, &now), (in_force, now)))
    });
    changes.flat_map(move |tenants| {
        let keys = keys
            .state()
            .into_iter()
            .filter(move |key| key.0.as_ref().is_ok_and(|key| tenants.contains(&key.spec.tenant)));
        stream::iter(keys.map(|key| Ok(ObjectRef::from_obj(&*key).into())))
    })
}

/// The tenants about which something else is in force that concerns their keys.
fn changed_tenants(before: &InForce, now: &InForce) -> BTreeSet<Name> {
    let former = |in_force: &InForce| in_force.directory.former_tenants.clone();
    let namespaces = differing(&before.namespaces, &now.namespaces);
    namespaces.chain(differing(&former(before), &former(now))).collect()
}

/// The keys that two maps do not have in common, or not with the same value.
fn differing<V: PartialEq>(
    one: &BTreeMap<Name, V>,
    other: &BTreeMap<Name, V>,
) -> impl Iterator<Item = Name> {
    let of_one = one.iter().filter(|(name, value)| other.get(*name) != Some(*value));
    let only_other = other.iter().filter(|(name, _)| !one.contains_key(*name));
    let names: Vec<Name> = of_one.chain(only_other).map(|(name, _)| name.clone()).collect();
    names.into_iter()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn in_force(tenants: &[(&str, &str)]) -> InForce {
        let name = |text: &str| text.parse::<Name>().unwrap();
        let namespaces = tenants.iter().map(|(tenant, place)| (name(tenant), vec![name(place)]));
        InForce { namespaces: Arc::new(namespaces.collect()), ..InForce::default() }
    }

    #[test]
    fn keys_are_looked_at_whose_tenant_came_went_or_lists_other_namespaces() {
        let before = in_force(&[("gone", "a"), ("moved", "a"), ("same", "a")]);
        let now = in_force(&[("moved", "b"), ("new", "a"), ("same", "a")]);
        let changed = changed_tenants(&before, &now);
        let changed: Vec<_> = changed.iter().map(Name::as_str).collect();
        assert_eq!(changed, ["gone", "moved", "new"]);
        assert!(changed_tenants(&now, &now).is_empty());
    }
}
