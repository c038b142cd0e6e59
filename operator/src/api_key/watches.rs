//! The queue of `ApiKey` objects to reconcile: those that changed, or whose tenant changed. The operator watches no
//! Secrets, because it has no right to list them.

use std::{
    collections::{BTreeMap, BTreeSet},
    pin::Pin,
    sync::Arc,
};

use assay_crds::ApiKey;
use assay_tenancy::Name;
use futures_util::{Stream, StreamExt, TryStreamExt, stream};
use kube::{
    Api, Resource,
    core::DeserializeGuard,
    runtime::{
        WatchStreamExt,
        controller::ReconcileRequest,
        reflector::{self, ObjectRef, Store},
        watcher,
    },
};
use tokio::sync::{Notify, watch};

use super::{deleted::DeletedObjects, records};
use crate::{in_force::ConfigurationInForce, instance::Instance};

/// A watched `ApiKey`. An object that cannot be parsed does not block other objects.
pub(super) type WatchedApiKey = DeserializeGuard<ApiKey>;
/// A request to reconcile an `ApiKey`.
type Request = Result<ReconcileRequest<WatchedApiKey>, watcher::Error>;
/// The requests to reconcile `ApiKey` objects.
type Queue = Pin<Box<dyn Stream<Item = Request> + Send>>;

/// The annotation with a copy of the object as `kubectl` applied it.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// The `ApiKey` objects of one watch.
#[derive(Debug)]
pub(super) struct KeyWatch {
    /// The watched namespace. `None`: the watch covers all namespaces of the cluster.
    pub(super) namespace: Option<String>,
    /// The latest state of each object.
    pub(super) keys: Store<WatchedApiKey>,
    /// Notified when the watch has listed all objects.
    pub(super) listed: Arc<Notify>,
}

/// Starts a watch, which runs while the queue is polled and adds deleted objects to `deleted`.
pub(super) fn queue(
    api: Api<WatchedApiKey>,
    instance: Instance,
    in_force: watch::Receiver<ConfigurationInForce>,
    deleted: DeletedObjects,
) -> (KeyWatch, Queue) {
    let namespace = api.namespace().map(str::to_owned);
    let (keys, keys_writer) = reflector::store();
    let events = watcher(api, watcher::Config::default()).default_backoff().modify(strip_unused);
    let events = instance.own_events(events, keys.clone()).reflect(keys_writer);
    let listed = Arc::new(Notify::new());
    let has_listed = Arc::clone(&listed);
    let events = events.inspect_ok(move |event| match event {
        watcher::Event::Delete(key) => deleted.add(records::name(key)),
        watcher::Event::InitDone => has_listed.notify_one(),
        _ => {}
    });
    let themselves = of_events(events, keys.clone());
    let of_tenants = of_changed_tenants(in_force, keys.clone());
    let queue = stream::select(themselves, of_tenants);
    (KeyWatch { namespace, keys, listed }, Box::pin(queue))
}

/// Requests for the objects of the watch's events. After an interruption the watch lists all objects again, and every
/// object of the complete list is reconciled.
fn of_events(
    events: impl Stream<Item = Result<watcher::Event<WatchedApiKey>, watcher::Error>>,
    keys: Store<WatchedApiKey>,
) -> impl Stream<Item = Request> {
    let requests = events.map_ok(move |event| {
        let keys = match event {
            watcher::Event::Apply(key) | watcher::Event::Delete(key) => {
                vec![ObjectRef::from_obj(&key)]
            }
            watcher::Event::Init | watcher::Event::InitApply(_) => Vec::new(),
            watcher::Event::InitDone => references(&keys, |_| true),
        };
        stream::iter(keys.into_iter().map(|key| Ok(key.into())))
    });
    requests.try_flatten()
}

/// Requests for the objects for which `is_wanted` holds.
fn references(
    keys: &Store<WatchedApiKey>,
    is_wanted: impl Fn(&WatchedApiKey) -> bool,
) -> Vec<ObjectRef<WatchedApiKey>> {
    let wanted = keys.state().into_iter().filter(|key| is_wanted(key));
    wanted.map(|key| ObjectRef::from_obj(&*key)).collect()
}

/// Removes fields that are not used, to save memory: the managed fields are as long as all other fields together.
fn strip_unused(object: &mut WatchedApiKey) {
    object.meta_mut().managed_fields = None;
    if let Some(annotations) = &mut object.meta_mut().annotations {
        annotations.remove(LAST_APPLIED);
    }
}

/// Requests for the objects of changed tenants, each time the configuration in force changes.
fn of_changed_tenants(
    mut in_force: watch::Receiver<ConfigurationInForce>,
    keys: Store<WatchedApiKey>,
) -> impl Stream<Item = Request> {
    let before = in_force.borrow_and_update().clone();
    let changes = stream::unfold((in_force, before), async |(mut in_force, before)| {
        // The sender lives as long as the program.
        in_force.changed().await.ok()?;
        let now = in_force.borrow_and_update().clone();
        Some((changed_tenants(&before, &now), (in_force, now)))
    });
    changes.flat_map(move |tenants| {
        let is_of_one = |key: &WatchedApiKey| {
            key.0.as_ref().is_ok_and(|key| tenants.contains(&key.spec.tenant))
        };
        let keys = if tenants.is_empty() { Vec::new() } else { references(&keys, is_of_one) };
        stream::iter(keys.into_iter().map(|key| Ok(key.into())))
    })
}

/// The tenants that changed in a way that concerns their keys.
fn changed_tenants(before: &ConfigurationInForce, now: &ConfigurationInForce) -> BTreeSet<Name> {
    let former = |in_force: &ConfigurationInForce| in_force.directory.former_tenants.clone();
    let namespaces = differing_names(&before.namespaces, &now.namespaces);
    let foreign = differing_names(&before.foreign_tenants, &now.foreign_tenants);
    namespaces.chain(foreign).chain(differing_names(&former(before), &former(now))).collect()
}

/// The names whose values two maps hold differently.
fn differing_names<V: PartialEq>(
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

    use assay_tenancy::{
        Directory,
        manifest::{FormerTenantSpec, RetentionSpec},
    };
    use jiff::Timestamp;

    use super::*;

    /// A configuration with tenants in force, each with a namespace, and with deleted tenants.
    fn in_force(tenants: &[(&str, &str)], former: &[(&str, i64)]) -> ConfigurationInForce {
        let name = |text: &str| text.parse::<Name>().unwrap();
        let namespaces = tenants.iter().map(|(tenant, place)| (name(tenant), vec![name(place)]));
        let left = |at: i64| FormerTenantSpec {
            deleted_at: Timestamp::from_second(at).unwrap(),
            retention: RetentionSpec::default(),
        };
        let former_tenants = former.iter().map(|(tenant, at)| (name(tenant), left(*at)));
        let directory =
            Directory { former_tenants: former_tenants.collect(), ..Directory::default() };
        ConfigurationInForce {
            directory: Arc::new(directory),
            namespaces: Arc::new(namespaces.collect()),
            ..ConfigurationInForce::default()
        }
    }

    #[test]
    fn keys_are_reconciled_whose_tenant_was_created_deleted_or_lists_other_namespaces() {
        let before = [("gone", "a"), ("moved", "a"), ("same", "a")];
        let before = in_force(&before, &[("back", 1), ("forgotten", 1), ("later", 1), ("left", 1)]);
        let now = [("back", "a"), ("moved", "b"), ("new", "a"), ("same", "a")];
        let now = in_force(&now, &[("later", 2), ("left", 1)]);
        let changed = changed_tenants(&before, &now);
        let changed: Vec<_> = changed.iter().map(Name::as_str).collect();
        assert_eq!(changed, ["back", "forgotten", "gone", "later", "moved", "new"]);
        assert!(changed_tenants(&now, &now).is_empty());
    }
}
