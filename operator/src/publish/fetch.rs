//! The objects of published kinds, as the API server has them.
//!
//! Specs are parsed later, by [`validate`](super::validate): an object that cannot be parsed does not block other
//! objects.

use std::{collections::BTreeMap, sync::Arc};

use assay_crds::{ChainSource, IntelSource, Plan, RateLimit, RiskPolicy, Tenant};
use assay_tenancy::{InvalidManifestName, Name, manifest::Kind};
use futures_util::StreamExt;
use kube::{
    Api, Client,
    api::ApiResource,
    runtime::{
        WatchStreamExt,
        reflector::{self, Store},
        watcher,
    },
};
use tokio::sync::Notify;

use crate::{
    instance::Instance,
    watched::{WatchedObject, is_deleted},
    writer::has_finalizer,
};

/// The kind and the name of an object.
pub(super) type ObjectKey = (Kind, Name);
/// The properties of an object that a round depends on: the generation, true if the object is deleted, and true if it
/// has the finalizer.
pub(super) type ObjectStamp = (i64, bool, bool);
/// The UID of an object. A later object of the same name has another UID.
pub(super) type Uid = String;

/// The objects of all published kinds.
#[derive(Debug, Default)]
pub(super) struct Objects {
    /// The objects that the store can hold.
    pub(super) named: NamedObjects,
    /// The objects of other installations.
    pub(super) foreign: NamedObjects,
    /// The objects whose names the store cannot hold.
    pub(super) misnamed: Vec<MisnamedObject>,
}

/// Objects by kind and name.
pub(super) type NamedObjects = BTreeMap<ObjectKey, Arc<WatchedObject>>;

/// An object whose name the store cannot hold: Kubernetes allows longer names, and dots.
#[derive(Debug)]
pub(super) struct MisnamedObject {
    /// The kind of the object.
    pub(super) kind: Kind,
    /// The object.
    pub(super) object: Arc<WatchedObject>,
    /// The problem with the name of the object.
    pub(super) problem: InvalidManifestName,
}

/// The watch of one kind.
struct KindWatch {
    kind: Kind,
    resource: ApiResource,
    api: Api<WatchedObject>,
    store: Store<WatchedObject>,
}

/// The watches of all published kinds.
pub(super) struct KindWatches {
    kinds: Vec<KindWatch>,
    instance: Instance,
    changed: Arc<Notify>,
}

impl std::fmt::Debug for KindWatches {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("KindWatches")
    }
}

impl KindWatches {
    /// Starts the watches.
    pub(super) fn start(client: &Client, instance: Instance) -> Self {
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
            KindWatch { kind, resource, api, store }
        });
        Self { kinds: caches.into(), instance, changed }
    }

    /// Waits until every watch has listed all objects.
    pub(super) async fn wait_until_complete(&self) {
        for cache in &self.kinds {
            // It fails only if the watch ended, but that runs as long as the program.
            let _ = cache.store.wait_until_ready().await;
        }
    }

    /// Waits for a change of any object.
    pub(super) async fn changed(&self) {
        self.changed.notified().await;
    }

    /// All objects.
    pub(super) fn objects(&self) -> Objects {
        let mut objects = Objects::default();
        for cache in &self.kinds {
            for object in cache.store.state() {
                let name = object.metadata.name.as_deref().unwrap_or_default();
                match (name.parse::<Name>(), self.instance.owns(&*object)) {
                    (Ok(name), true) => drop(objects.named.insert((cache.kind, name), object)),
                    (Ok(name), false) => drop(objects.foreign.insert((cache.kind, name), object)),
                    (Err(problem), true) => {
                        objects.misnamed.push(MisnamedObject { kind: cache.kind, object, problem });
                    }
                    (Err(_), false) => {}
                }
            }
        }
        objects
    }

    /// The API of a kind.
    pub(super) fn api_of(&self, kind: Kind) -> Option<(&Api<WatchedObject>, &ApiResource)> {
        let cache = self.kinds.iter().find(|cache| cache.kind == kind)?;
        Some((&cache.api, &cache.resource))
    }
}

impl Objects {
    /// The stamps of all objects, by UID. A round is due when the stamps change. Stamps of objects of other
    /// installations are constant.
    pub(super) fn stamps(&self) -> BTreeMap<Uid, ObjectStamp> {
        let misnamed = self.misnamed.iter().map(|misnamed| &misnamed.object);
        let stamp = |object: &Arc<WatchedObject>| {
            let generation = object.metadata.generation.unwrap_or(0);
            (uid(object), (generation, is_deleted(object), has_finalizer(&**object)))
        };
        let foreign = self.foreign.values().map(|object| (uid(object), (0, false, false)));
        self.named.values().chain(misnamed).map(stamp).chain(foreign).collect()
    }
}

/// Removes fields that are not used, to save memory.
fn strip_unused(object: &mut WatchedObject) {
    object.types = None;
    object.metadata.managed_fields = None;
    object.metadata.annotations = None;
}

/// The UID of an object.
pub(super) fn uid(object: &WatchedObject) -> Uid {
    object.metadata.uid.clone().unwrap_or_default()
}
