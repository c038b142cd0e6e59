//! Finalizers around a change of the store, and the keys of tenants that can no longer be restored.

use std::collections::BTreeSet;

use assay_store::control::KeyRecord;
use assay_tenancy::key::KeyId;
use futures_util::{StreamExt, stream::FuturesUnordered};
use jiff::Timestamp;

use super::{
    fetch::{Caches, NamedObjects, ObjectKey, Uid, uid},
    former,
    stored::StoredManifests,
    validate::Validated,
};
use crate::{
    watched::{WatchedObject, is_deleted},
    writer::{Writer, has_finalizer},
};

/// The largest number of writes at once.
const CONCURRENCY: usize = 16;

/// Writes of which a limited number run, and exist, at once: each takes ten kilobytes, and there may be
/// thousands.
#[derive(Debug)]
pub(super) struct BoundedWrites<F: Future> {
    running: FuturesUnordered<F>,
    done: Vec<F::Output>,
}

impl<F: Future> BoundedWrites<F> {
    /// No writes.
    pub(super) fn new() -> Self {
        Self { running: FuturesUnordered::new(), done: Vec::new() }
    }

    /// Waits until another write may start.
    pub(super) async fn wait_for_slot(&mut self) {
        while self.running.len() >= CONCURRENCY {
            self.done.extend(self.running.next().await);
        }
    }

    /// Starts a write.
    pub(super) fn push(&mut self, write: F) {
        self.running.push(write);
    }

    /// The results of all writes, once they are done.
    pub(super) async fn finish(mut self) -> Vec<F::Output> {
        while let Some(done) = self.running.next().await {
            self.done.push(done);
        }
        self.done
    }
}

/// Adds the finalizer to all objects that lack it, and returns the objects that have it now.
pub(super) async fn add_finalizers(
    writer: &Writer,
    caches: &Caches,
    objects: &NamedObjects,
) -> BTreeSet<ObjectKey> {
    let with_finalizer = objects.iter().filter(|(_, object)| has_finalizer(&***object));
    let mut finalized: BTreeSet<ObjectKey> = with_finalizer.map(|(key, _)| key.clone()).collect();
    let mut all = BoundedWrites::new();
    for (key, object) in objects {
        if !is_deleted(object) && !has_finalizer(&**object) {
            all.wait_for_slot().await;
            let setting = set_finalizer(writer, caches, key, object, true);
            all.push(async move { setting.await.then(|| key.clone()) });
        }
    }
    finalized.extend(all.finish().await.into_iter().flatten());
    finalized
}

/// Removes the finalizer from deleted objects, and from those that left the installation, once nothing in force depends
/// on them, and returns those for which that failed.
pub(super) async fn remove_finalizers(
    writer: &Writer,
    caches: &Caches,
    objects: &NamedObjects,
    left: &NamedObjects,
    validated: &Validated,
) -> Vec<Uid> {
    let mut all = BoundedWrites::new();
    let deleted = objects.iter().filter(|(_, object)| is_deleted(object));
    for (key, object) in deleted.chain(left) {
        if has_finalizer(&**object) && validated.is_gone(key) {
            all.wait_for_slot().await;
            let setting = set_finalizer(writer, caches, key, object, false);
            all.push(async move { (!setting.await).then(|| uid(object)) });
        }
    }
    all.finish().await.into_iter().flatten().collect()
}

/// Adds or removes the finalizer of an object, and returns whether it is as desired.
async fn set_finalizer(
    writer: &Writer,
    caches: &Caches,
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

/// Returns the active keys of deleted tenants that can no longer be restored. They are to be revoked: a
/// tenant of the same name that is created later must not get them back.
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
