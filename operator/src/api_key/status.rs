//! The status of an `ApiKey`.

use std::time::Duration;

use assay_crds::{
    ApiKey,
    status::{ApiKeyStatus, Status as _},
};
use jiff::Timestamp;
use kube::{Resource, ResourceExt};

use super::{
    apply::AppliedKeys,
    context::{Context, KeyError},
    fetch::Inputs,
    records::{latest_expiring, rotates_at},
    secret::{self, ROTATE},
};
use crate::{
    conditions::{READY, ReadyState, conditions, reason_of},
    reason::ConditionReason,
};

/// Writes the status if it changed, and an event if its reason changed. Returns the time until the status must change
/// again, such as at the key's expiry.
pub(super) async fn write(
    inputs: &Inputs,
    applied: &AppliedKeys,
    context: &Context,
    now: Timestamp,
) -> Result<Option<Duration>, KeyError> {
    let before = context.written.current(&inputs.object);
    let status = status(inputs, applied, &before, now);
    let next = [status.rotates_at, status.expires_at, status.previous_expires_at]
        .into_iter()
        .flatten()
        .filter(|time| *time > now)
        .min()
        .and_then(|time| u64::try_from(time.duration_since(now).as_secs()).ok())
        .map(|seconds| Duration::from_secs(seconds + 1));
    if !context.written.write(&inputs.object, &before, status, &context.shared).await? {
        return Ok(next);
    }
    let ready_state = &applied.ready_state;
    let reason = ready_state.reason().as_str();
    if !ready_state.is_ready() && reason_of(READY, before.conditions()) != Some(reason) {
        let reference = inputs.object.object_ref(&());
        let note = ready_state.message().to_owned();
        context.shared.writer.event(&reference, true, reason, "Reconcile", note).await;
    }
    Ok(next)
}

/// Reports a failure in the object's status, unless the API server failed.
pub(super) async fn report_failure(
    object: &ApiKey,
    error: &KeyError,
    context: &Context,
    now: Timestamp,
) {
    let ready_state = match error.reason() {
        ConditionReason::KeyTaken => ReadyState::Stalled(
            ConditionReason::KeyTaken,
            "the key in the Secret belongs to another ApiKey: delete the Secret to get a new key"
                .into(),
        ),
        ConditionReason::StoreUnavailable => ReadyState::store_unavailable(),
        _ => return,
    };
    let before = context.written.current(object);
    let mut status = before.clone();
    // The observed generation stays: the newest one was not reconciled yet.
    let generation = before.observed_generation();
    status.set(generation, conditions(&ready_state, before.conditions(), generation, now));
    if let Err(error) = context.written.write(object, &before, status, &context.shared).await {
        let (name, namespace) = (object.name_any(), object.namespace().unwrap_or_default());
        tracing::warn!(%error, %namespace, %name, "failed to write a status; retrying");
    }
}

fn status(
    inputs: &Inputs,
    applied: &AppliedKeys,
    before: &ApiKeyStatus,
    now: Timestamp,
) -> ApiKeyStatus {
    let find = |id: &str| applied.records.iter().find(|record| record.id.as_str() == id);
    // While no change is permitted, the status still describes the key that was issued before.
    let current = match &applied.current {
        Some(id) => find(id.as_str()),
        None => before.key_id.as_deref().and_then(find).filter(|record| record.is_active(now)),
    };
    let mut status = current.map_or_else(ApiKeyStatus::default, |record| {
        let others = applied.records.iter().filter(|other| other.id != record.id);
        let previous = latest_expiring(others, now);
        ApiKeyStatus {
            key_id: Some(record.id.to_string()),
            secret_name: Some(secret::name(&inputs.object)),
            created_at: Some(record.created_at),
            expires_at: record.expires_at,
            rotates_at: rotates_at(&inputs.object.spec.rotation, record),
            previous_key_id: previous.map(|record| record.id.to_string()),
            previous_expires_at: previous.and_then(|record| record.expires_at),
            rotation_request: inputs.object.annotations().get(ROTATE).cloned(),
            ..ApiKeyStatus::default()
        }
    });
    let generation = inputs.object.meta().generation;
    let conditions = conditions(&applied.ready_state, before.conditions(), generation, now);
    status.set(generation, conditions);
    status
}
