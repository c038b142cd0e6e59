//! Writes a key: the Secret first, then the store.

use assay_crds::ApiKey;
use assay_store::control::KeyRecord;
use assay_tenancy::key::KeyId;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{ObjectReference, Secret};
use kube::{Api, Resource, ResourceExt};
use serde_json::json;

use super::{
    build::{Action, Event, KeyPlan, StoreKey},
    context::{Context, KeyError},
    fetch::Inputs,
    records, secret,
};
use crate::{
    conditions::ReadyState,
    reason::ConditionReason,
    writer::{FINALIZER, has_finalizer},
};

/// The event about a revoked key of a deleted `ApiKey`.
const REVOKED: Event = Event { reason: "KeyRevoked", text: "is revoked" };

/// The records of an object's keys after all changes.
#[derive(Debug)]
pub(super) struct AppliedKeys {
    /// The ready state of the `ApiKey`.
    pub(super) ready_state: ReadyState,
    /// The records of the object's keys.
    pub(super) records: Vec<KeyRecord>,
    /// The key in the Secret, if it is active.
    pub(super) current: Option<KeyId>,
    /// True if a key was stored.
    pub(super) has_changed: bool,
}

/// Applies the changes of an object's keys.
pub(super) async fn apply(
    plan: KeyPlan,
    inputs: &Inputs,
    context: &Context,
) -> Result<AppliedKeys, KeyError> {
    let KeyPlan { revocations, updates, update_event, action } = plan;
    let has_updates = !(updates.is_empty() && revocations.is_empty());
    for id in &revocations {
        context.shared.writer.require_leadership()?;
        context.store.revoke_key(id, context.shared.clock.now()).await?;
        context.shared.metrics.count_write("store");
        report(inputs, context, REVOKED, id).await;
    }
    for update in updates {
        context.shared.writer.require_leadership()?;
        context.store.update_key(&update.id, &update.scopes, update.expires_at).await?;
        context.shared.metrics.count_write("store");
        report(inputs, context, update_event, &update.id).await;
    }
    let (current, has_changed) = match action {
        Action::Refuse(ready_state) => {
            let records = records(inputs, has_updates, context).await?;
            return Ok(AppliedKeys { ready_state, records, current: None, has_changed: false });
        }
        Action::Keep { id, secret } => {
            write_secret(secret.map(|secret| *secret), inputs, context).await?;
            (id, false)
        }
        Action::Store(key) => {
            let StoreKey { secret, record, replaced, is_new, event } = *key;
            write_secret(secret, inputs, context).await?;
            context.shared.writer.require_leadership()?;
            let replaced = replaced.as_ref().map(|(id, ends)| (id, *ends));
            context.store.add_key(&record, replaced).await?;
            context.shared.metrics.count_write("store");
            if is_new {
                context.shared.metrics.count_issued_key();
            }
            report(inputs, context, event, &record.id).await;
            (record.id, true)
        }
    };
    let records = records(inputs, has_updates || has_changed, context).await?;
    let name = secret::name(&inputs.object);
    let message = format!("key {current} is active and in Secret `{name}`");
    let ready_state = ReadyState::Ready(ConditionReason::KeyReady, message);
    Ok(AppliedKeys { ready_state, records, current: Some(current), has_changed })
}

/// Revokes every key of an object that is deleted and exists only because of finalizers. Garbage collection deletes the
/// Secret.
pub(super) async fn revoke(
    inputs: &Inputs,
    context: &Context,
    now: Timestamp,
) -> Result<(), KeyError> {
    for record in records::revocable(&inputs.records, now) {
        context.shared.writer.require_leadership()?;
        context.store.revoke_key(&record.id, now).await?;
        context.shared.metrics.count_write("store");
        report(inputs, context, REVOKED, &record.id).await;
    }
    Ok(())
}

/// Removes the finalizer that earlier releases set, which would block the deletion of the namespace.
pub(super) async fn remove_finalizer(object: &ApiKey, context: &Context) -> Result<(), KeyError> {
    let (finalizers, metadata) = (object.finalizers(), object.meta());
    if !has_finalizer(object) {
        return Ok(());
    }
    let others: Vec<&String> = finalizers.iter().filter(|name| *name != FINALIZER).collect();
    // If the object was changed since, the write fails, and the object is read again.
    let version = &metadata.resource_version;
    let fields = json!({"metadata": {"finalizers": others, "resourceVersion": version}});
    let namespace = object.namespace().unwrap_or_default();
    let api: Api<ApiKey> = Api::namespaced(context.shared.client.clone(), &namespace);
    let name = object.name_any();
    match context.shared.writer.merge::<ApiKey>("finalizer", &api, &name, &fields).await {
        Err(error) if !error.is_not_found() => Err(error.into()),
        _ => Ok(()),
    }
}

/// The records of the object's keys, read again if they changed.
async fn records(
    inputs: &Inputs,
    have_changed: bool,
    context: &Context,
) -> Result<Vec<KeyRecord>, KeyError> {
    if have_changed {
        return Ok(context.store.keys_named(&records::name(&inputs.object)).await?);
    }
    Ok(inputs.records.clone())
}

/// Writes the Secret, if any. A new Secret is created, not applied, so that an existing Secret is never overwritten.
async fn write_secret(
    secret: Option<Secret>,
    inputs: &Inputs,
    context: &Context,
) -> Result<(), KeyError> {
    let Some(secret) = secret else { return Ok(()) };
    let api: Api<Secret> = Api::namespaced(context.shared.client.clone(), &inputs.namespace);
    let Some(existing) = &inputs.secret else {
        context.shared.writer.create("secret", &api, &secret).await?;
        return Ok(());
    };
    let (name, mut secret) = (secret.name_any(), secret);
    let written = context.shared.writer.apply::<Secret>("secret", &api, &name, &secret).await;
    match written {
        // Some clusters demand the right to delete an object of those who change its owner, which the operator lacks.
        Err(error)
            if error.refusal().is_some()
                && secret.owner_references() != existing.owner_references() =>
        {
            secret.metadata.owner_references.clone_from(&existing.metadata.owner_references);
            context.shared.writer.apply::<Secret>("secret", &api, &name, &secret).await?;
        }
        written => drop(written?),
    }
    Ok(())
}

async fn report(inputs: &Inputs, context: &Context, event: Event, id: &KeyId) {
    let reference: ObjectReference = inputs.object.object_ref(&());
    let note = format!("key {id} {}", event.text);
    context.shared.writer.event(&reference, false, event.reason, "Reconcile", note).await;
}
