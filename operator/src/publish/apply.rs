//! Adds and removes finalizers, and lists the keys of tenants that can no longer be restored.

use std::{collections::BTreeSet, sync::Arc};

use assay_store::control::KeyRecord;
use assay_tenancy::key::KeyId;
use futures_util::{StreamExt, stream};
use jiff::Timestamp;

use super::{
    fetch::{KindWatches, NamedObjects, ObjectKey, Uid, uid},
    former,
    stored::StoredManifests,
    validate::ValidatedManifests,
};
use crate::{
    watched::{WatchedObject, is_deleted},
    writer::{Writer, has_finalizer},
};

/// The largest number of concurrent writes. A write takes ten kilobytes, and thousands may be due.
pub(super) const CONCURRENCY: usize = 16;

/// Adds the finalizer to all objects that lack it, and returns the objects that now have it.
pub(super) async fn add_finalizers(
    writer: &Writer,
    caches: &KindWatches,
    objects: &NamedObjects,
) -> BTreeSet<ObjectKey> {
    let (finalized, lacking): (Vec<_>, Vec<_>) =
        objects.clone().into_iter().partition(|(_, object)| has_finalizer(&**object));
    let lacking = lacking.into_iter().filter(|(_, object)| !is_deleted(object));
    let setting = stream::iter(lacking).map(async |(key, object)| {
        set_finalizer(writer, caches, &key, &object, true).await.then_some(key)
    });
    let set: Vec<Option<ObjectKey>> = setting.buffer_unordered(CONCURRENCY).collect().await;
    finalized.into_iter().map(|(key, _)| key).chain(set.into_iter().flatten()).collect()
}

/// Removes the finalizer from deleted objects, and from objects that left the installation, if nothing in force depends
/// on these objects. Returns the objects whose finalizer could not be removed.
pub(super) async fn remove_finalizers(
    writer: &Writer,
    caches: &KindWatches,
    objects: &NamedObjects,
    left: &NamedObjects,
    validated: &ValidatedManifests,
) -> Vec<Uid> {
    let deleted = objects.iter().filter(|(_, object)| is_deleted(object));
    let gone = deleted
        .chain(left)
        .filter(|(key, object)| has_finalizer(&***object) && validated.is_unreferenced(key));
    let gone: Vec<_> = gone.map(|(key, object)| (key.clone(), Arc::clone(object))).collect();
    let setting = stream::iter(gone).map(async |(key, object)| {
        (!set_finalizer(writer, caches, &key, &object, false).await).then(|| uid(&object))
    });
    let failed: Vec<Option<Uid>> = setting.buffer_unordered(CONCURRENCY).collect().await;
    failed.into_iter().flatten().collect()
}

/// Adds or removes the finalizer of an object, and returns whether it is as desired.
async fn set_finalizer(
    writer: &Writer,
    caches: &KindWatches,
    (kind, name): &ObjectKey,
    object: &WatchedObject,
    is_present: bool,
) -> bool {
    let Some((api, resource)) = caches.api_of(*kind) else { return false };
    match writer.finalizer(api, object, resource, is_present).await {
        Ok(_) => true,
        // A deleted object has no finalizer, and cannot be published.
        Err(error) if error.is_not_found() => !is_present,
        Err(error) => {
            let kind = kind.as_str();
            tracing::warn!(%error, kind, %name, "failed to set the finalizer; retrying");
            false
        }
    }
}

/// Returns the active keys of deleted tenants that can no longer be restored. The caller revokes the keys: a later
/// tenant of the same name must not get these keys.
pub(super) fn keys_of_expired_tenants(
    stored: &StoredManifests,
    keys: &[KeyRecord],
    now: Timestamp,
) -> Vec<KeyId> {
    let expired = former::expired(&stored.manifests, now);
    let is_affected =
        |record: &&KeyRecord| expired.contains(&record.tenant) && record.is_active(now);
    keys.iter().filter(is_affected).map(|record| record.id.clone()).collect()
}
