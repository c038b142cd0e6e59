//! What is told of a key.

use std::time::Duration;

use assay_crds::{
    ApiKey,
    status::{ApiKeyStatus, Status as _},
};
use jiff::Timestamp;
use kube::{Api, Resource, ResourceExt};

use super::{Context, KeyError, ROTATE, apply::Done, build, fetch::Fetched};
use crate::{
    conditions::{ReadyState, conditions, ready_reason},
    reason::Reason,
};

/// Tells how it stands, where that is news; says when to look again.
pub(super) async fn tell(
    fetched: &Fetched,
    done: &Done,
    context: &Context,
    now: Timestamp,
) -> Result<Option<Duration>, KeyError> {
    let uid = fetched.object.uid().unwrap_or_default();
    let told = context.told().get(&uid).cloned();
    let before = told.or_else(|| fetched.object.status.clone()).unwrap_or_default();
    let status = status(fetched, done, &before, now);
    let next = [status.rotates_at, status.expires_at, status.previous_expires_at]
        .into_iter()
        .flatten()
        .filter(|time| *time > now)
        .min()
        .and_then(|time| u64::try_from(time.duration_since(now).as_secs()).ok())
        .map(|seconds| Duration::from_secs(seconds + 1));
    if before == status {
        return Ok(next);
    }
    let api: Api<ApiKey> = Api::namespaced(context.client.0.clone(), &fetched.namespace);
    match context.writer.status(&api, &fetched.object, &(), &status).await {
        Err(error) if !error.is_not_found() => return Err(error.into()),
        Err(_) => return Ok(None),
        Ok(()) => {}
    }
    context.told().insert(uid, status);
    let reason = done.ready_state.reason().as_str();
    if !done.ready_state.is_ready() && ready_reason(before.conditions()) != Some(reason) {
        let reference = fetched.object.object_ref(&());
        let note = done.ready_state.message().to_owned();
        context.writer.event(&reference, true, reason, "Key", note).await;
    }
    Ok(next)
}

/// Tells that something failed, where the API server is not what failed.
pub(super) async fn tell_of_failure(
    object: &ApiKey,
    error: &KeyError,
    context: &Context,
    now: Timestamp,
) {
    let ready_state = match error.reason() {
        Reason::KeyTaken => ReadyState::Stalled(
            Reason::KeyTaken,
            "the key in the Secret is another object's: delete the Secret, and a new key is made"
                .into(),
        ),
        Reason::StoreUnavailable => ReadyState::Waiting(
            Reason::StoreUnavailable,
            "the database cannot be reached or refuses; it is tried again".into(),
        ),
        _ => return,
    };
    let uid = object.uid().unwrap_or_default();
    let before = context.told().get(&uid).cloned().or_else(|| object.status.clone());
    let before = before.unwrap_or_default();
    let mut status = before.clone();
    // The generation stays: what it says was not done yet.
    let generation = before.observed_generation();
    status.set(generation, conditions(&ready_state, before.conditions(), generation, now));
    if status == before {
        return;
    }
    let namespace = object.namespace().unwrap_or_default();
    let api: Api<ApiKey> = Api::namespaced(context.client.0.clone(), &namespace);
    match context.writer.status(&api, object, &(), &status).await {
        Ok(()) => {
            context.told().insert(uid, status);
        }
        Err(error) => tracing::warn!(%error, "failed to write a status"),
    }
}

fn status(fetched: &Fetched, done: &Done, before: &ApiKeyStatus, now: Timestamp) -> ApiKeyStatus {
    let records = done.records.as_ref().unwrap_or(&fetched.records);
    // Where nothing may be done, the key that was made before is still told of.
    let known = |id: &str| records.iter().find(|record| record.id.as_str() == id);
    let current = match &done.current {
        Some(id) => known(id.as_str()),
        None => before.key_id.as_deref().and_then(known).filter(|record| record.is_good(now)),
    };
    let mut status = current.map_or_else(ApiKeyStatus::default, |record| {
        let others = records.iter().filter(|other| other.id != record.id);
        let previous = build::latest(others, now);
        ApiKeyStatus {
            key_id: Some(record.id.to_string()),
            secret_name: fetched.secret_name().parse().ok(),
            created_at: Some(record.created_at),
            expires_at: record.expires_at,
            rotates_at: build::rotates_at(fetched, record),
            previous_key_id: previous.map(|record| record.id.to_string()),
            previous_expires_at: previous.and_then(|record| record.expires_at),
            rotation_request: fetched.object.annotations().get(ROTATE).cloned(),
            ..ApiKeyStatus::default()
        }
    });
    let generation = fetched.object.meta().generation;
    status.set(generation, conditions(&done.ready_state, before.conditions(), generation, now));
    status
}
