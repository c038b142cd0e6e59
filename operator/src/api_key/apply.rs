//! Making, storing and ending keys.

use assay_crds::ApiKey;
use assay_store::control::KeyRecord;
use assay_tenancy::key::{ApiKey as KeyText, KeyId};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{ObjectReference, Secret};
use kube::{Api, Resource, ResourceExt};

use super::{
    Context, KeyError,
    build::{self, GrantUpdate, KeyAction},
    fetch::Fetched,
};
use crate::{conditions::ReadyState, reason::Reason, system, writer::FINALIZER};

/// What was done.
#[derive(Debug)]
pub(super) struct Done {
    /// How it stands.
    pub(super) ready_state: ReadyState,
    /// What the store keeps of the object's keys now, where that is known to have changed.
    pub(super) records: Option<Vec<KeyRecord>>,
    /// The key that is in the Secret.
    pub(super) current: Option<KeyId>,
    /// Whether anything changed.
    pub(super) is_change: bool,
    /// How new the Secret is, where the key in it is as it should be.
    pub(super) secret: Option<String>,
}

impl Done {
    /// Nothing, because of what a person would have to do.
    pub(super) const fn refused(ready_state: ReadyState) -> Self {
        Self { ready_state, records: None, current: None, is_change: false, secret: None }
    }
}

/// Sees to it that keys are good for that, and for no more; tells of each by a word and a sentence.
pub(super) async fn update_grants(
    fetched: &mut Fetched,
    grant_updates: &[GrantUpdate],
    (reason, what): (&str, &str),
    context: &Context,
) -> Result<(), KeyError> {
    if grant_updates.is_empty() {
        return Ok(());
    }
    for GrantUpdate { id, scopes, expires_at } in grant_updates {
        if !context.writer.may_write() {
            return Err(KeyError::NotLeader);
        }
        context.store.regrant_key(id, scopes, *expires_at).await?;
        context.health.metrics.wrote("store");
        tell(fetched, context, reason, what, id).await;
    }
    let name = build::record_name(&fetched.namespace, &fetched.object.name_any());
    fetched.records = context.store.keys_named(&name).await?;
    Ok(())
}

pub(super) async fn apply(
    fetched: &Fetched,
    work: KeyAction,
    context: &Context,
    now: Timestamp,
) -> Result<Done, KeyError> {
    let api: Api<ApiKey> = Api::namespaced(context.client.0.clone(), &fetched.namespace);
    if !fetched.object.finalizers().iter().any(|name| name == FINALIZER) {
        context.writer.finalizer(&api, &fetched.object, &(), true).await?;
    }
    let secrets: Api<Secret> = Api::namespaced(context.client.0.clone(), &fetched.namespace);
    let there = fetched.secret.as_ref().and_then(ResourceExt::resource_version);
    let (id, is_change, secret) = match work {
        KeyAction::Keep(id) => {
            let secret = match fetched.held() {
                Some(held) if !build::is_owned(fetched) => {
                    write_secret(fetched, &held, &secrets, context).await?
                }
                _ => there,
            };
            (id, false, secret)
        }
        KeyAction::Adopt(replaced) => {
            // It was read a moment ago; without one there is nothing to adopt.
            let Some(held) = fetched.held() else { return Err(KeyError::NotLeader) };
            let secret = if build::is_owned(fetched) {
                there
            } else {
                write_secret(fetched, &held, &secrets, context).await?
            };
            store(fetched, &held, replaced.as_ref(), context, now).await?;
            tell(fetched, context, "KeyAdopted", "is the one that was in its Secret", held.id())
                .await;
            (held.id().clone(), true, secret)
        }
        KeyAction::Make(replaced) => {
            let (id, secret) = system::key_numbers();
            let key = KeyText::generate(fetched.environment, id, secret);
            let secret = write_secret(fetched, &key, &secrets, context).await?;
            store(fetched, &key, replaced.as_ref(), context, now).await?;
            context.health.metrics.key_issued();
            let reason = if replaced.is_some() { "KeyRotated" } else { "KeyMade" };
            tell(fetched, context, reason, "is in its Secret", key.id()).await;
            (key.id().clone(), true, secret)
        }
    };
    let name = build::record_name(&fetched.namespace, &fetched.object.name_any());
    let records = if is_change { Some(context.store.keys_named(&name).await?) } else { None };
    let message = format!("key {id} is in the Secret `{}`", fetched.secret_name());
    let ready_state = ReadyState::Ready(Reason::KeyReady, message);
    Ok(Done { ready_state, records, current: Some(id), is_change, secret })
}

/// Writes the Secret, and says how new it is: a new one is created, so that somebody else's is never
/// overwritten.
async fn write_secret(
    fetched: &Fetched,
    key: &KeyText,
    secrets: &Api<Secret>,
    context: &Context,
) -> Result<Option<String>, KeyError> {
    let body = build::secret(fetched, key);
    let written: Secret = if fetched.secret.is_some() {
        context.writer.apply("secret", secrets, &fetched.secret_name(), &body).await?
    } else {
        let secret: Secret = serde_json::from_value(body).map_err(kube::Error::SerdeError)?;
        context.writer.create("secret", secrets, &secret).await?
    };
    Ok(written.resource_version())
}

async fn store(
    fetched: &Fetched,
    key: &KeyText,
    replaced: Option<&KeyId>,
    context: &Context,
    now: Timestamp,
) -> Result<(), KeyError> {
    if !context.writer.may_write() {
        return Err(KeyError::NotLeader);
    }
    let record = build::grant(fetched).record(key, now);
    let ends = build::overlap_ends(fetched, now);
    context.store.add_key(&record, replaced.map(|id| (id, ends))).await?;
    context.health.metrics.wrote("store");
    Ok(())
}

/// Ends every key of an object that goes; its Secret goes with it.
pub(super) async fn revoke(
    fetched: &Fetched,
    context: &Context,
    now: Timestamp,
) -> Result<(), KeyError> {
    if !fetched.object.finalizers().iter().any(|name| name == FINALIZER) {
        return Ok(());
    }
    for record in fetched.records.iter().filter(|record| record.is_good(now)) {
        if !context.writer.may_write() {
            return Err(KeyError::NotLeader);
        }
        context.store.revoke_key(&record.id, now).await?;
        context.health.metrics.wrote("store");
        tell(fetched, context, "KeyRevoked", "is refused from now on", &record.id).await;
    }
    let api: Api<ApiKey> = Api::namespaced(context.client.0.clone(), &fetched.namespace);
    match context.writer.finalizer(&api, &fetched.object, &(), false).await {
        Err(error) if !error.is_not_found() => Err(error.into()),
        _ => Ok(()),
    }
}

async fn tell(fetched: &Fetched, context: &Context, reason: &str, what: &str, id: &KeyId) {
    let reference: ObjectReference = fetched.object.object_ref(&());
    context.writer.event(&reference, false, reason, "Key", format!("key {id} {what}")).await;
}
