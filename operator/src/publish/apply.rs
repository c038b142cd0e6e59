//! What is done to objects and keys around a change of the store: kept before, let go after.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use assay_store::Store;
use futures_util::{StreamExt, stream::FuturesUnordered};
use jiff::Timestamp;

use super::{
    RoundError,
    build::Stored,
    fetch::{Caches, ObjectKey, WatchedObject, has_finalizer, is_deleted},
    former,
    validate::Validated,
};
use crate::writer::Writer;

/// Most writes under way at once.
const CONCURRENCY: usize = 16;

/// Writes of which a few are under way at once. No more than those are there either: one takes ten
/// kilobytes, and there may be thousands to do.
#[derive(Debug)]
pub(super) struct BoundedWrites<F: Future> {
    running: FuturesUnordered<F>,
    done: Vec<F::Output>,
}

impl<F: Future> BoundedWrites<F> {
    /// None yet.
    pub(super) fn new() -> Self {
        Self { running: FuturesUnordered::new(), done: Vec::new() }
    }

    /// Waits until there is room for another one.
    pub(super) async fn wait_for_slot(&mut self) {
        while self.running.len() >= CONCURRENCY {
            self.done.extend(self.running.next().await);
        }
    }

    /// Begins another one.
    pub(super) fn push(&mut self, write: F) {
        self.running.push(write);
    }

    /// What came of each, once all are done.
    pub(super) async fn finish(mut self) -> Vec<F::Output> {
        while let Some(done) = self.running.next().await {
            self.done.push(done);
        }
        self.done
    }
}

/// Sees to it that no object goes before its rows do; says of which ones that is sure. With the others
/// it is to be tried again.
pub(super) async fn add_finalizers(
    writer: &Writer,
    caches: &Caches,
    objects: &BTreeMap<ObjectKey, Arc<WatchedObject>>,
) -> BTreeSet<ObjectKey> {
    let mut finalized: BTreeSet<ObjectKey> = objects
        .iter()
        .filter(|(_, object)| has_finalizer(object))
        .map(|(key, _)| key.clone())
        .collect();
    let mut all = BoundedWrites::new();
    for (key, object) in objects {
        if !is_deleted(object) && !has_finalizer(object) {
            all.wait_for_slot().await;
            all.push(set_finalizer(writer, caches, key, object, true));
        }
    }
    let done = all.finish().await;
    finalized.extend(done.into_iter().filter(|(_, is_set)| *is_set).map(|(key, _)| key));
    finalized
}

/// Lets objects go that were deleted and that nothing in force needs; says with which ones that failed.
pub(super) async fn remove_finalizers(
    writer: &Writer,
    caches: &Caches,
    objects: &BTreeMap<ObjectKey, Arc<WatchedObject>>,
    validated: &Validated,
) -> Vec<ObjectKey> {
    let mut all = BoundedWrites::new();
    for (key, object) in objects {
        if is_deleted(object) && has_finalizer(object) && validated.is_gone(key) {
            all.wait_for_slot().await;
            all.push(set_finalizer(writer, caches, key, object, false));
        }
    }
    let done = all.finish().await;
    done.into_iter().filter(|(_, is_set)| !is_set).map(|(key, _)| key).collect()
}

/// Puts the finalizer on an object or takes it away, and says whether it is as it should be.
async fn set_finalizer(
    writer: &Writer,
    caches: &Caches,
    key: &ObjectKey,
    object: &WatchedObject,
    there: bool,
) -> (ObjectKey, bool) {
    let Some((api, resource)) = caches.of(key.0) else { return (key.clone(), false) };
    let is_set = match writer.finalizer(api, object, resource, there).await {
        Ok(_) => true,
        // Without the object there is nothing to take away, and nothing that could be published.
        Err(error) if error.is_not_found() => !there,
        Err(error) => {
            let (kind, name) = (key.0.as_str(), &key.1);
            tracing::warn!(%error, kind, %name, "failed to set the finalizer");
            false
        }
    };
    (key.clone(), is_set)
}

/// Ends every key of tenants that were deleted so long ago that they cannot come back, and says whether
/// there was one: a tenant of the same name that comes later is another one.
pub(super) async fn revoke_keys_of_expired_tenants(
    store: &dyn Store,
    writer: &Writer,
    stored: &Stored,
    now: Timestamp,
) -> Result<bool, RoundError> {
    let forgotten = former::expired(&stored.specs, now);
    let mut any = false;
    for record in &stored.keys {
        if !forgotten.contains(&record.tenant) || !record.is_good(now) {
            continue;
        }
        if !writer.may_write() {
            return Err(RoundError::NotLeader);
        }
        store.revoke_key(&record.id, now).await?;
        any = true;
    }
    Ok(any)
}
