//! Computes the changes of an object's keys and of its Secret. Pure: the random numbers of a new key are an argument.

use std::collections::BTreeMap;

use assay_crds::INSTANCE_LABEL;
use assay_store::control::KeyRecord;
use assay_tenancy::key::{ApiKey as KeyText, KeyId, Scope};
use jiff::Timestamp;
use k8s_openapi::{
    ByteString, api::core::v1::Secret, apimachinery::pkg::apis::meta::v1::ObjectMeta,
};

use super::{
    records::{latest_expiring, newest_key, overlap_ends, rotates_at},
    secret::{ID, KEY, OWNER, ROTATE, TENANT},
    validate::{PermittedChanges, ValidatedKey},
};
use crate::{
    conditions::ReadyState,
    owned::{MANAGED_BY, PART_OF},
    writer::MANAGER,
};

/// The changes of an object's keys.
pub(super) struct KeyPlan {
    /// The keys to revoke: those of an earlier object of the same name.
    pub(super) revocations: Vec<KeyId>,
    /// The changes of scopes and expiry of active keys. The changes of scopes and expiry are written before the change
    /// of the key in the Secret.
    pub(super) updates: Vec<GrantUpdate>,
    /// The event about each updated key.
    pub(super) update_event: Event,
    /// The change of the key in the Secret.
    pub(super) action: Action,
}

/// An event about a key: its reason, and the text after the key's id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Event {
    /// The reason.
    pub(super) reason: &'static str,
    /// The text after the key's id.
    pub(super) text: &'static str,
}

/// The keys have the scopes and expiry of a changed spec.
const CHANGED: Event =
    Event { reason: "KeyChanged", text: "has the scopes and expiry of the spec" };
/// The keys are suspended.
const SUSPENDED: Event =
    Event { reason: "KeySuspended", text: "is refused until its tenant lists this namespace" };
/// A key that was already in the Secret became active.
const ADOPTED: Event = Event { reason: "KeyAdopted", text: "was in the Secret and is active now" };
/// The object's first key was issued.
const ISSUED: Event = Event { reason: "KeyIssued", text: "is in the Secret" };
/// A new key replaced another key.
const ROTATED: Event =
    Event { reason: "KeyRotated", text: "is in the Secret and replaces another key" };

/// A change of the scopes and expiry of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct GrantUpdate {
    /// The key.
    pub(super) id: KeyId,
    /// The scopes.
    pub(super) scopes: Vec<Scope>,
    /// The expiry time.
    pub(super) expires_at: Option<Timestamp>,
}

/// The change of the key in the Secret. The type has no `Debug`, because the Secret holds the key.
pub(super) enum Action {
    /// No change: the key in the Secret is active. The Secret is written only if it lacks its owner reference.
    Keep {
        /// The key.
        id: KeyId,
        /// The Secret to write.
        secret: Option<Box<Secret>>,
    },
    /// Stores a key.
    Store(Box<StoreKey>),
    /// No change: the object's state does not permit any.
    Refuse(ReadyState),
}

/// A key to store after its Secret was written. The type has no `Debug`, because the Secret holds the key.
pub(super) struct StoreKey {
    /// The Secret to write.
    pub(super) secret: Option<Secret>,
    /// The key's record.
    pub(super) record: KeyRecord,
    /// The replaced key, and its new expiry time.
    pub(super) replaced: Option<(KeyId, Timestamp)>,
    /// True if the key is newly issued, false if it was found in the Secret.
    pub(super) is_new: bool,
    /// The event about the key.
    pub(super) event: Event,
}

/// Builds the changes. `numbers` returns random numbers for the id and the secret of a new key.
pub(super) fn build(
    validated: PermittedChanges,
    now: Timestamp,
    numbers: impl FnOnce() -> (u64, [u128; 2]),
) -> KeyPlan {
    let mut revocations = Vec::new();
    let (updates, update_event, action) = match validated {
        PermittedChanges::Active(mut key) => {
            revocations = revoke_keys_of_earlier_object(&mut key, now);
            let updates = grant_updates(&key, now);
            update(&mut key.records, &updates);
            (updates, CHANGED, action(&key, now, numbers))
        }
        PermittedChanges::Expired(mut key, state) => {
            revocations = revoke_keys_of_earlier_object(&mut key, now);
            (grant_updates(&key, now), CHANGED, Action::Refuse(state))
        }
        PermittedChanges::Suspended(records, state) => {
            (suspensions(&records, now), SUSPENDED, Action::Refuse(state))
        }
        PermittedChanges::Refused(state) => (Vec::new(), CHANGED, Action::Refuse(state)),
    };
    KeyPlan { revocations, updates, update_event, action }
}

/// Revokes the active keys of an earlier object of the same name, and returns them. The key in the Secret of an object
/// that was restored from a backup stays active.
fn revoke_keys_of_earlier_object(key: &mut ValidatedKey, now: Timestamp) -> Vec<KeyId> {
    let held = key.secret.as_ref().and_then(|secret| secret.key.as_ref());
    let held = held.map(|key| key.id().clone());
    let is_former =
        |record: &&mut KeyRecord| record.is_active(now) && Some(&record.id) != held.as_ref();
    let is_new = key.is_new;
    let former = key.records.iter_mut().filter(|_| is_new).filter(is_former);
    former
        .map(|record| {
            record.revoked_at = Some(now);
            record.id.clone()
        })
        .collect()
}

/// The records after the updates.
fn update(records: &mut [KeyRecord], updates: &[GrantUpdate]) {
    for record in records {
        if let Some(update) = updates.iter().find(|update| update.id == record.id) {
            record.scopes.clone_from(&update.scopes);
            record.expires_at = update.expires_at;
        }
    }
}

fn action(
    key: &ValidatedKey,
    now: Timestamp,
    numbers: impl FnOnce() -> (u64, [u128; 2]),
) -> Action {
    let replaced = latest_expiring(&key.records, now).map(|record| record.id.clone());
    let Some(held) = key.secret.as_ref().and_then(|secret| secret.key.as_ref()) else {
        return issue(key, replaced, now, numbers);
    };
    let lacks_owner = key.secret.as_ref().is_some_and(|secret| !secret.has_owner);
    let owned = lacks_owner.then(|| secret(key, held));
    if held.environment() != key.environment {
        // It was put there, or is left from an earlier object of another environment.
        return issue(key, replaced, now, numbers);
    }
    match key.records.iter().find(|record| record.id == *held.id()) {
        None => Action::Store(Box::new(StoreKey {
            secret: owned,
            record: key.grant.clone().record(held, now),
            replaced: replaced.map(|id| (id, overlap_ends(&key.rotation, now))),
            is_new: false,
            event: ADOPTED,
        })),
        Some(record)
            if record.hash == held.hash()
                && record.tenant == key.grant.tenant
                && record.is_active(now) =>
        {
            if is_rotation_due(key, record, now) {
                issue(key, Some(record.id.clone()), now, numbers)
            } else {
                Action::Keep { id: record.id.clone(), secret: owned.map(Box::new) }
            }
        }
        // The key is revoked or expired, or another key has its id.
        Some(record) => issue(key, replaced.filter(|id| *id != record.id), now, numbers),
    }
}

fn issue(
    key: &ValidatedKey,
    replaced: Option<KeyId>,
    now: Timestamp,
    numbers: impl FnOnce() -> (u64, [u128; 2]),
) -> Action {
    let (id, random) = numbers();
    let text = KeyText::generate(key.environment, id, random);
    Action::Store(Box::new(StoreKey {
        secret: Some(secret(key, &text)),
        record: key.grant.clone().record(&text, now),
        event: if replaced.is_some() { ROTATED } else { ISSUED },
        replaced: replaced.map(|id| (id, overlap_ends(&key.rotation, now))),
        is_new: true,
    }))
}

/// The keys whose scopes or expiry differ from the spec. Replaced keys keep their expiry time or get an earlier expiry
/// time. The key that was created last is reactivated if it was suspended and not revoked.
fn grant_updates(key: &ValidatedKey, now: Timestamp) -> Vec<GrantUpdate> {
    // The store has a precision of milliseconds.
    let milliseconds = |time: Option<Timestamp>| time.map(Timestamp::as_millisecond);
    let suspended = suspended(key, now);
    let latest = latest_expiring(&key.records, now).or(suspended).map(|record| record.id.clone());
    let active = key.records.iter().filter(|record| record.is_active(now)).chain(suspended);
    let updates = active.filter_map(|record| {
        let is_replaced = latest.as_ref() != Some(&record.id);
        let end = record.expires_at.filter(|_| is_replaced);
        let expires_at = end.into_iter().chain(key.grant.expires_at).min();
        let is_same = record.scopes == key.grant.scopes
            && milliseconds(record.expires_at) == milliseconds(expires_at);
        let (id, scopes) = (record.id.clone(), key.grant.scopes.clone());
        (!is_same).then_some(GrantUpdate { id, scopes, expires_at })
    });
    updates.collect()
}

/// Returns the key stored in the Secret if it is suspended: it is the newest key of the `ApiKey`, is not revoked, and
/// is inactive although it has not reached the spec's expiry time.
fn suspended(key: &ValidatedKey, now: Timestamp) -> Option<&KeyRecord> {
    let held = key.secret.as_ref()?.key.as_ref()?;
    let newest = newest_key(&key.records)?;
    let is_held = newest.id == *held.id() && newest.hash == held.hash();
    let is_allowed = key.grant.expires_at.is_none_or(|expires| now < expires);
    (is_held && is_allowed && newest.revoked_at.is_none() && !newest.is_active(now))
        .then_some(newest)
}

/// Expires all active keys now. Expired keys can be reactivated; revoked keys cannot.
fn suspensions(records: &[KeyRecord], now: Timestamp) -> Vec<GrantUpdate> {
    let active = records.iter().filter(|record| record.is_active(now));
    let ended = active.map(|record| GrantUpdate {
        id: record.id.clone(),
        scopes: record.scopes.clone(),
        expires_at: Some(now),
    });
    ended.collect()
}

/// Says whether a key is due for rotation: by its schedule, or by a request that was not handled yet.
fn is_rotation_due(key: &ValidatedKey, record: &KeyRecord, now: Timestamp) -> bool {
    let handled = key.secret.as_ref().and_then(|secret| secret.handled_request.as_ref());
    let requested = key.rotation_request.as_ref();
    let is_due = rotates_at(&key.rotation, record).is_some_and(|time| time <= now);
    is_due || (requested.is_some() && requested != handled)
}

/// The Secret with a key.
fn secret(key: &ValidatedKey, text: &KeyText) -> Secret {
    let annotations = [(OWNER, key.name.clone()), (TENANT, key.grant.tenant.to_string())];
    // The request is recorded together with the key that answers it.
    let request = key.rotation_request.clone().map(|request| (ROTATE, request));
    let owned = |(name, value): (&str, String)| (name.to_owned(), value);
    let labels = [
        (INSTANCE_LABEL, key.instance.to_string()),
        (MANAGED_BY, MANAGER.to_owned()),
        (PART_OF, "assay".to_owned()),
    ];
    let bytes = |text: &str| ByteString(text.into());
    Secret {
        metadata: ObjectMeta {
            name: Some(key.secret_name.clone()),
            namespace: Some(key.namespace.clone()),
            // If the Secret was changed since, the write fails and the Secret is read again.
            resource_version: key.secret.as_ref().and_then(|known| known.resource_version.clone()),
            labels: Some(labels.map(owned).into()),
            annotations: Some(annotations.into_iter().chain(request).map(owned).collect()),
            owner_references: Some(key.owner.iter().cloned().collect()),
            ..ObjectMeta::default()
        },
        type_: Some("Opaque".to_owned()),
        data: Some(BTreeMap::from([
            (KEY.to_owned(), bytes(text.expose())),
            (ID.to_owned(), bytes(text.id().as_str())),
        ])),
        ..Secret::default()
    }
}

#[cfg(test)]
mod tests;
