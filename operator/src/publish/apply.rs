//! What is done to objects and keys around a change of the store: kept before, let go after.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use assay_store::Store;
use futures_util::{StreamExt, stream};
use jiff::Timestamp;

use super::{
    RoundError,
    build::Stored,
    fetch::{Caches, Key, Manifest, is_deleted, is_kept},
    former,
    validate::Verdict,
};
use crate::writer::Writer;

/// Most writes under way at once.
pub(super) const CONCURRENCY: usize = 16;

/// Sees to it that no object goes before its rows do; says of which ones that is sure. With the others
/// it is to be tried again.
pub(super) async fn keep(
    writer: &Writer,
    caches: &Caches,
    objects: &BTreeMap<Key, Arc<Manifest>>,
) -> BTreeSet<Key> {
    let mut kept: BTreeSet<Key> =
        objects.iter().filter(|(_, object)| is_kept(object)).map(|(key, _)| key.clone()).collect();
    let mut tasks = Vec::new();
    for (key, object) in objects {
        if !is_deleted(object) && !is_kept(object) {
            tasks.push(set_finalizer(writer, caches, key, object, true));
        }
    }
    let done: Vec<(Key, bool)> = stream::iter(tasks).buffer_unordered(CONCURRENCY).collect().await;
    kept.extend(done.into_iter().filter(|(_, is_set)| *is_set).map(|(key, _)| key));
    kept
}

/// Lets objects go that were deleted and that nothing in force needs; says with which ones that failed.
pub(super) async fn let_go(
    writer: &Writer,
    caches: &Caches,
    objects: &BTreeMap<Key, Arc<Manifest>>,
    verdict: &Verdict,
) -> Vec<Key> {
    let mut tasks = Vec::new();
    for (key, object) in objects {
        if is_deleted(object) && is_kept(object) && verdict.is_gone(key) {
            tasks.push(set_finalizer(writer, caches, key, object, false));
        }
    }
    let done: Vec<(Key, bool)> = stream::iter(tasks).buffer_unordered(CONCURRENCY).collect().await;
    done.into_iter().filter(|(_, is_set)| !is_set).map(|(key, _)| key).collect()
}

/// Puts the finalizer on an object or takes it away, and says whether it is as it should be.
async fn set_finalizer(
    writer: &Writer,
    caches: &Caches,
    key: &Key,
    object: &Manifest,
    there: bool,
) -> (Key, bool) {
    let Some((api, resource)) = caches.of(key.0) else { return (key.clone(), false) };
    let is_set = match writer.finalizer(api, object, resource, there).await {
        Ok(_) => true,
        // Without the object there is nothing to take away, and nothing that could be published.
        Err(error) if error.is_gone() => !there,
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
pub(super) async fn end_forgotten_keys(
    store: &dyn Store,
    writer: &Writer,
    stored: &Stored,
    now: Timestamp,
) -> Result<bool, RoundError> {
    let forgotten = former::forgotten(&stored.specs, now);
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
