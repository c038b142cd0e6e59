//! The statuses of published objects; for sources, only the part about their publication. An unchanged status is not
//! written.
//!
//! - [`object_status`]: the status of any kind; one file for the fields of each kind
//! - [`ready`]: the ready state of an object
//! - [`context`]: the inputs

mod context;
mod object_status;
mod plan;
mod rate_limit;
mod ready;
mod risk_policy;
mod tenant;

use std::{collections::BTreeSet, sync::Arc};

use assay_tenancy::manifest::Kind;
use futures_util::{StreamExt, stream};
use kube::{Resource, ResourceExt};
use tokio::time::Instant;

pub(super) use self::object_status::ObjectStatus;
use self::{
    context::{StatusContext, TenantCounts},
    ready::{misnamed, ready_state},
};
use super::{
    Publisher,
    apply::CONCURRENCY,
    fetch::{ObjectKey, Objects, Uid, uid},
    validate::ValidatedManifests,
};
use crate::{
    conditions::ReadyState,
    watched::{WatchedObject, is_deleted},
    writer::MANAGER,
};

/// A status to write.
struct StatusUpdate {
    kind: Kind,
    object: Arc<WatchedObject>,
    status: ObjectStatus,
    /// The ready state to report as an event.
    event: Option<ReadyState>,
}

impl Publisher {
    /// Writes the status of every object whose status changed.
    pub(super) async fn write_statuses(
        &mut self,
        objects: &Objects,
        finalized: &BTreeSet<ObjectKey>,
        validated: &ValidatedManifests,
    ) {
        let in_force = self.in_force.borrow().clone();
        let context = StatusContext {
            in_force: &in_force,
            tenant_counts: &TenantCounts::count(&in_force),
            scope: &self.shared.scope,
            now: self.shared.clock.now(),
        };
        let existing: BTreeSet<Uid> = objects.stamps().into_keys().collect();
        self.retries.retain(|uid, _| existing.contains(uid));
        let mut updates = Vec::new();
        for (key, object) in &objects.named {
            let is_going = is_deleted(object) && validated.is_unreferenced(key);
            if is_going || !finalized.contains(key) {
                continue;
            }
            let Some(before) = self.last_written_status(key.0, object) else { continue };
            let state = ready_state(key, object, validated, &objects.foreign);
            let status = before.next(key, object.metadata.generation, &state, &context);
            updates.extend(self.update(key.0, object, &before, status, state));
        }
        for object in &objects.misnamed {
            let (kind, state, object) = (object.kind, misnamed(&object.problem), &object.object);
            let Some(before) = self.last_written_status(kind, object) else { continue };
            let generation = object.metadata.generation;
            let status = before.with_ready_state(generation, &state, context.now);
            updates.extend(self.update(kind, object, &before, status, state));
        }
        for (uid, written) in self.write_all(updates).await {
            if let Some(written) = written {
                self.retries.remove(&uid);
                self.written.insert(uid, written);
            } else {
                self.postpone(uid);
            }
        }
    }

    /// Counts a reconciliation, and returns the update if the status changed.
    fn update(
        &self,
        kind: Kind,
        object: &Arc<WatchedObject>,
        before: &ObjectStatus,
        status: ObjectStatus,
        state: ReadyState,
    ) -> Option<StatusUpdate> {
        if self.retries.get(&uid(object)).is_some_and(|(_, at)| *at > Instant::now()) {
            return None;
        }
        let has_changed = *before != status;
        self.shared.metrics.count_reconciliation(kind.as_str(), has_changed);
        if !state.is_ready() {
            self.shared.metrics.count_failure(kind.as_str(), state.reason());
        }
        let is_new_reason = before.reason() != Some(state.reason().as_str());
        let event = (is_new_reason && !state.is_ready()).then_some(state);
        let object = Arc::clone(object);
        has_changed.then_some(StatusUpdate { kind, object, status, event })
    }

    /// Reports a failure of the store on the objects whose newest spec is not in force.
    pub(super) async fn report_store_failure(&mut self) {
        let failure = ReadyState::store_unavailable();
        let now = self.shared.clock.now();
        let mut updates = Vec::new();
        for ((kind, _), object) in self.caches.objects().named {
            let Some(before) = self.last_written_status(kind, &object) else { continue };
            let has_changed = before.observed_generation() != object.metadata.generation;
            let status = before.with_ready_state(None, &failure, now);
            if !is_deleted(&object) && has_changed && status != before {
                updates.push(StatusUpdate { kind, object, status, event: None });
            }
        }
        let written = self.write_all(updates).await;
        self.written.extend(written.into_iter().filter_map(|(uid, written)| Some((uid, written?))));
    }

    async fn write_all(&self, updates: Vec<StatusUpdate>) -> Vec<(Uid, Option<ObjectStatus>)> {
        let writing = stream::iter(updates).map(|update| self.write(update));
        writing.buffer_unordered(CONCURRENCY).collect().await
    }

    /// Forgets the written statuses that the watch has delivered.
    pub(super) fn forget_written(&mut self, objects: &Objects) {
        let misnamed = objects.misnamed.iter().map(|misnamed| (misnamed.kind, &misnamed.object));
        let mut ahead = std::mem::take(&mut self.written);
        for (kind, object) in
            objects.named.iter().map(|((kind, _), it)| (*kind, it)).chain(misnamed)
        {
            let Some(status) = ahead.remove(&uid(object)) else { continue };
            if ObjectStatus::read(kind, object).as_ref() != Some(&status) {
                self.written.insert(uid(object), status);
            }
        }
    }

    /// The last written status of an object.
    fn last_written_status(&self, kind: Kind, object: &WatchedObject) -> Option<ObjectStatus> {
        self.written.get(&uid(object)).cloned().or_else(|| ObjectStatus::read(kind, object))
    }

    async fn write(&self, update: StatusUpdate) -> (Uid, Option<ObjectStatus>) {
        let StatusUpdate { kind, object, status, event } = update;
        let uid = uid(&object);
        let Some((api, resource)) = self.caches.api_of(kind) else { return (uid, None) };
        match self.shared.writer.status(api, &*object, resource, MANAGER, &status).await {
            Err(error) if error.is_not_found() => {}
            Err(error) => {
                let (kind, name) = (kind.as_str(), object.name_any());
                tracing::warn!(%error, kind, %name, "failed to write a status; retrying");
                return (uid, None);
            }
            Ok(()) => {
                if let Some(state) = event {
                    let reference = object.object_ref(resource);
                    let (reason, note) = (state.reason().as_str(), state.message().to_owned());
                    self.shared.writer.event(&reference, true, reason, "Publish", note).await;
                }
            }
        }
        (uid, Some(status))
    }
}
