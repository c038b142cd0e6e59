//! The statuses of published objects. A status that stays the same is not written.
//!
//! - [`object_status`]: the status of any kind, with its part in a file for each kind
//! - [`ready`]: whether the spec of an object is in force
//! - [`context`]: the inputs

mod context;
mod object_status;
mod plan;
mod rate_limit;
mod ready;
mod risk_policy;
mod source;
mod tenant;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use kube::Resource;
use tokio::time::Instant;

use self::{
    context::{StatusContext, TenantCounts},
    object_status::ObjectStatus,
    ready::ready_state,
};
use super::{
    Publisher,
    apply::BoundedWrites,
    fetch::{ObjectKey, WatchedObject, is_deleted},
    validate::Validated,
};
use crate::{
    compact::CompactJson,
    conditions::{ReadyState, ready_reason},
    system,
};

/// A status that was written, and the identity of its object.
#[derive(Clone, Debug)]
pub(super) struct WrittenStatus {
    uid: Option<String>,
    status: CompactJson,
}

/// A status to write.
struct StatusUpdate {
    key: ObjectKey,
    object: Arc<WatchedObject>,
    status: ObjectStatus,
    /// The state to report as an event: its reason is another one than before.
    event: Option<ReadyState>,
}

impl Publisher {
    /// Writes the status of every object whose status changed.
    pub(super) async fn write_statuses(
        &mut self,
        objects: &BTreeMap<ObjectKey, Arc<WatchedObject>>,
        finalized: &BTreeSet<ObjectKey>,
        validated: &Validated,
    ) {
        let in_force = self.in_force.borrow().clone();
        let observed = self.observed.borrow_and_update().clone();
        let context = StatusContext {
            in_force: &in_force,
            tenant_counts: &TenantCounts::of(&in_force),
            observed: &observed,
            now: system::now(),
        };
        self.retries.retain(|key, _| objects.contains_key(key));
        let mut updates = Vec::new();
        for (key, object) in objects {
            let is_postponed = self.retries.get(key).is_some_and(|(_, at)| *at > Instant::now());
            let is_going = is_deleted(object) && validated.is_gone(key);
            if is_postponed || is_going || !finalized.contains(key) {
                continue;
            }
            let Some(before) = self.before(key, object) else { continue };
            let ready_state = ready_state(key, object, validated);
            let generation = object.metadata.generation;
            let status = before.next(key, generation, &ready_state, &context);
            let has_changed = before != status;
            self.health.metrics.reconciled(key.0.as_str(), has_changed);
            if !ready_state.is_ready() {
                self.health.metrics.failed(key.0.as_str(), ready_state.reason());
            }
            if has_changed {
                let old_reason = ready_reason(before.conditions());
                let is_new_reason = old_reason != Some(ready_state.reason().as_str());
                let event = (is_new_reason && !ready_state.is_ready()).then_some(ready_state);
                let (key, object) = (key.clone(), Arc::clone(object));
                updates.push(StatusUpdate { key, object, status, event });
            }
        }
        let mut all = BoundedWrites::new();
        for update in updates {
            all.wait_for_slot().await;
            all.push(self.write(update));
        }
        for (key, written) in all.finish().await {
            if let Some(written) = written {
                self.retries.remove(&key);
                self.written.insert(key, written);
            } else {
                self.postpone(key);
            }
        }
    }

    /// Reports a failure of the store on the objects that changed since. The others are in force as
    /// they were.
    pub(super) async fn report_store_failure(&mut self) {
        let failure = ReadyState::store_unavailable();
        let now = system::now();
        let mut all = BoundedWrites::new();
        for (key, object) in self.caches.objects() {
            let Some(before) = self.before(&key, &object) else { continue };
            let has_changed = before.observed_generation() != object.metadata.generation;
            let status = before.with_ready_state(&failure, now);
            if !is_deleted(&object) && has_changed && status != before {
                all.wait_for_slot().await;
                all.push(self.write(StatusUpdate { key, object, status, event: None }));
            }
        }
        let written = all.finish().await;
        self.written.extend(written.into_iter().filter_map(|(key, written)| Some((key, written?))));
    }

    /// Forgets the written statuses that the watch brought back.
    pub(super) fn forget_written(&mut self, objects: &BTreeMap<ObjectKey, Arc<WatchedObject>>) {
        self.written.retain(|key, written| {
            let object = objects.get(key);
            object.is_some_and(|object| object.status.as_ref() != Some(&written.status))
        });
    }

    /// The status of an object as it was last written.
    fn before(&self, key: &ObjectKey, object: &WatchedObject) -> Option<ObjectStatus> {
        let written = self.written.get(key).filter(|written| written.uid == object.metadata.uid);
        let status = written.map(|written| &written.status).or(object.status.as_ref());
        ObjectStatus::read(key.0, status)
    }

    async fn write(&self, update: StatusUpdate) -> (ObjectKey, Option<WrittenStatus>) {
        let StatusUpdate { key, object, status, event } = update;
        let Some((api, resource)) = self.caches.of(key.0) else { return (key, None) };
        match self.writer.status(api, &*object, resource, &status).await {
            Err(error) if error.is_not_found() => {}
            Err(error) => {
                let (kind, name) = (key.0.as_str(), &key.1);
                tracing::warn!(%error, kind, %name, "failed to write a status; retrying");
                return (key, None);
            }
            Ok(()) => {
                if let Some(state) = event {
                    let reference = object.object_ref(resource);
                    let (reason, note) = (state.reason().as_str(), state.message().to_owned());
                    self.writer.event(&reference, true, reason, "Publish", note).await;
                }
            }
        }
        let uid = object.metadata.uid.clone();
        match serde_json::to_value(&status) {
            Ok(status) => (key, Some(WrittenStatus { uid, status: CompactJson::from(&status) })),
            // It was written a moment ago, from the same value.
            Err(_) => (key, None),
        }
    }
}
