//! The objects, as the API server has them.
//!
//! What a `spec` says stays as it is: whether it can be read is found out with everything else, and one
//! object that cannot holds up no other.

use std::{collections::BTreeMap, sync::Arc};

use assay_crds::{ChainSource, IntelSource, Plan, RateLimit, RiskPolicy, Tenant};
use assay_tenancy::{Name, manifest::Kind};
use futures_util::StreamExt;
use kube::{
    Api, Client, Resource, ResourceExt,
    api::ApiResource,
    core::Object,
    runtime::{
        WatchStreamExt,
        reflector::{self, Store},
        watcher,
    },
};
use tokio::sync::Notify;

use crate::compact::CompactJson;

/// An object whose `spec` nobody looked at, as small as it can be held.
pub(super) type WatchedObject = Object<CompactJson, CompactJson>;
/// What an object is called.
pub(super) type ObjectKey = (Kind, Name);
/// What of an object concerns the operator: its identity, generation, whether it is to go, and whether
/// it is kept.
pub(super) type Stamp = (String, i64, bool, bool);

/// The objects of one kind.
struct Cache {
    kind: Kind,
    resource: ApiResource,
    api: Api<WatchedObject>,
    store: Store<WatchedObject>,
}

/// The objects of every kind that is published.
pub(super) struct Caches {
    caches: Vec<Cache>,
    changed: Arc<Notify>,
}

impl std::fmt::Debug for Caches {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Caches")
    }
}

impl Caches {
    /// Begins to watch.
    pub(super) fn start(client: &Client) -> Self {
        let changed = Arc::new(Notify::new());
        let kinds = [
            (Kind::Plan, ApiResource::erase::<Plan>(&())),
            (Kind::RiskPolicy, ApiResource::erase::<RiskPolicy>(&())),
            (Kind::IntelSource, ApiResource::erase::<IntelSource>(&())),
            (Kind::ChainSource, ApiResource::erase::<ChainSource>(&())),
            (Kind::Tenant, ApiResource::erase::<Tenant>(&())),
            (Kind::RateLimit, ApiResource::erase::<RateLimit>(&())),
        ];
        let caches = kinds.map(|(kind, resource)| {
            let api: Api<WatchedObject> = Api::all_with(client.clone(), &resource);
            let writer = reflector::store::Writer::new(resource.clone());
            let store = writer.as_reader();
            let changed = Arc::clone(&changed);
            let events = watcher(api.clone(), watcher::Config::default())
                .default_backoff()
                .modify(strip_unused);
            let events = reflector::reflector(writer, events);
            tokio::spawn(events.for_each(move |event| {
                match event {
                    Ok(_) => changed.notify_one(),
                    Err(error) => tracing::warn!(%error, kind = kind.as_str(), "a watch failed"),
                }
                std::future::ready(())
            }));
            Cache { kind, resource, api, store }
        });
        Self { caches: caches.into(), changed }
    }

    /// Waits until everything was listed once.
    pub(super) async fn wait_until_complete(&self) {
        for cache in &self.caches {
            // It fails where the watch ended, which it does with the program only.
            let _ = cache.store.wait_until_ready().await;
        }
    }

    /// Waits until something changed.
    pub(super) async fn changed(&self) {
        self.changed.notified().await;
    }

    /// Everything.
    pub(super) fn objects(&self) -> BTreeMap<ObjectKey, Arc<WatchedObject>> {
        let of_kind = |cache: &Cache| {
            let kind = cache.kind;
            let named = move |object: Arc<WatchedObject>| Some(((kind, name(&object)?), object));
            cache.store.state().into_iter().filter_map(named)
        };
        self.caches.iter().flat_map(of_kind).collect()
    }

    /// How objects of a kind are written.
    pub(super) fn of(&self, kind: Kind) -> Option<(&Api<WatchedObject>, &ApiResource)> {
        let cache = self.caches.iter().find(|cache| cache.kind == kind)?;
        Some((&cache.api, &cache.resource))
    }
}

/// What of every object concerns the operator.
pub(super) fn stamps(
    objects: &BTreeMap<ObjectKey, Arc<WatchedObject>>,
) -> BTreeMap<ObjectKey, Stamp> {
    let stamp = |object: &WatchedObject| {
        let meta = object.meta();
        let uid = meta.uid.clone().unwrap_or_default();
        (uid, meta.generation.unwrap_or(0), is_deleted(object), has_finalizer(object))
    };
    objects.iter().map(|(key, object)| (key.clone(), stamp(object))).collect()
}

/// Lets go of what nobody asks for.
fn strip_unused(object: &mut WatchedObject) {
    object.types = None;
    object.metadata.managed_fields = None;
    object.metadata.annotations = None;
}

/// The name of an object, where it is one that manifests can have.
fn name(object: &WatchedObject) -> Option<Name> {
    object.metadata.name.as_deref()?.parse().ok()
}

/// Whether an object is to go.
pub(super) fn is_deleted(object: &WatchedObject) -> bool {
    object.metadata.deletion_timestamp.is_some()
}

/// Whether the operator keeps an object until its rows are gone.
pub(super) fn has_finalizer(object: &WatchedObject) -> bool {
    object.finalizers().iter().any(|name| name == crate::writer::FINALIZER)
}
