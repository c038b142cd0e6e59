//! What is to be done about a key, and the Secret that holds it.

use std::collections::BTreeMap;

use assay_store::control::{Grant, KeyRecord};
use assay_tenancy::key::{ApiKey as KeyText, KeyId, Scope};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::{ByteString, api::core::v1::Secret};
use kube::{Resource, ResourceExt};
use serde_json::{Value, json};

use super::{ROTATE, fetch::Fetched, validate::ValidatedKey};
use crate::writer::MANAGER;

/// The Secret's key that holds the API key.
pub(super) const KEY: &str = "api-key";
/// The Secret's key that holds the visible part.
const ID: &str = "key-id";
const MANAGED_BY: &str = "app.kubernetes.io/managed-by";
/// Which object a Secret belongs to.
const OWNER: &str = "assay.dev/api-key";
/// Whose key a Secret holds.
const TENANT: &str = "assay.dev/tenant";

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum KeyAction {
    /// Nothing: the key in the Secret is good.
    Keep(KeyId),
    /// The key in the Secret is to be stored, in the place of another one.
    Adopt(Option<KeyId>),
    /// A new key is to be made, in the place of another one.
    Make(Option<KeyId>),
}

/// What is to be done about a key.
pub(super) fn build(valid: &ValidatedKey<'_>, now: Timestamp) -> KeyAction {
    let fetched = valid.0;
    let replaced = latest(&fetched.records, now).map(|record| record.id.clone());
    let Some(held) = fetched.held() else { return KeyAction::Make(replaced) };
    let known = fetched.records.iter().find(|record| record.id == *held.id());
    match known {
        None => KeyAction::Adopt(replaced),
        Some(record)
            if record.hash == held.hash()
                && record.tenant == fetched.object.spec.tenant
                && record.is_good(now) =>
        {
            if is_due(fetched, record, now) {
                KeyAction::Make(Some(record.id.clone()))
            } else {
                KeyAction::Keep(record.id.clone())
            }
        }
        // Revoked or expired, or another key under the same id.
        Some(record) => KeyAction::Make(replaced.filter(|id| *id != record.id)),
    }
}

/// Of the keys that are good, the one that is so longest: those that were replaced end before.
pub(super) fn latest<'a>(
    records: impl IntoIterator<Item = &'a KeyRecord>,
    now: Timestamp,
) -> Option<&'a KeyRecord> {
    let good = records.into_iter().filter(|record| record.is_good(now));
    good.max_by_key(|record| (record.expires_at.is_none(), record.expires_at, record.created_at))
}

/// What a key is to be good for from now on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct GrantUpdate {
    pub(super) id: KeyId,
    pub(super) scopes: Vec<Scope>,
    pub(super) expires_at: Option<Timestamp>,
}

/// The keys that are good for something else than the object says by now. Those that were replaced end
/// when they would, or earlier. The newest one is good again where it was suspended and nobody revoked
/// it.
pub(super) fn grant_updates(fetched: &Fetched, now: Timestamp) -> Vec<GrantUpdate> {
    let spec = &fetched.object.spec;
    // The store keeps no more.
    let milliseconds = |time: Option<Timestamp>| time.map(Timestamp::as_millisecond);
    let suspended = suspended(fetched, now);
    let latest = latest(&fetched.records, now).or(suspended).map(|record| record.id.clone());
    let good = fetched.records.iter().filter(|record| record.is_good(now)).chain(suspended);
    let grant_updates = good.filter_map(|record| {
        let is_replaced = latest.as_ref() != Some(&record.id);
        let ends = record.expires_at.filter(|_| is_replaced);
        let expires_at = ends.into_iter().chain(spec.expires_at).min();
        let is_same = record.scopes == spec.scopes
            && milliseconds(record.expires_at) == milliseconds(expires_at);
        let update_grants =
            || GrantUpdate { id: record.id.clone(), scopes: spec.scopes.clone(), expires_at };
        (!is_same).then(update_grants)
    });
    grant_updates.collect()
}

/// The key that is in the Secret and not good, although its successor was never made, nobody revoked it,
/// and its object lets it be good for longer.
fn suspended(fetched: &Fetched, now: Timestamp) -> Option<&KeyRecord> {
    let held = fetched.held()?;
    let newest = fetched.records.iter().max_by_key(|record| record.created_at)?;
    let is_held = newest.id == *held.id() && newest.hash == held.hash();
    let may_be_good = fetched.object.spec.expires_at.is_none_or(|expires| now < expires);
    (is_held && may_be_good && newest.revoked_at.is_none() && !newest.is_good(now))
        .then_some(newest)
}

/// The keys that are good although they may not be, each with the end that it gets. None is revoked: it
/// may be allowed again.
pub(super) fn suspensions(fetched: &Fetched, now: Timestamp) -> Vec<GrantUpdate> {
    let good = fetched.records.iter().filter(|record| record.is_good(now));
    let ended = good.map(|record| GrantUpdate {
        id: record.id.clone(),
        scopes: record.scopes.clone(),
        expires_at: Some(now),
    });
    ended.collect()
}

/// Whether a key is to be replaced: its time has come, or somebody asked for it since it was made.
fn is_due(fetched: &Fetched, record: &KeyRecord, now: Timestamp) -> bool {
    let asked = fetched.object.annotations().get(ROTATE);
    let obeyed = fetched.secret.as_ref().and_then(|secret| secret.annotations().get(ROTATE));
    let time_has_come = rotates_at(fetched, record).is_some_and(|time| time <= now);
    time_has_come || (asked.is_some() && asked != obeyed)
}

/// When a key will be replaced.
pub(super) fn rotates_at(fetched: &Fetched, record: &KeyRecord) -> Option<Timestamp> {
    let every = fetched.object.spec.rotation.every?;
    later(record.created_at, every.seconds())
}

/// Until when the key that is replaced stays good.
pub(super) fn overlap_ends(fetched: &Fetched, now: Timestamp) -> Timestamp {
    later(now, fetched.object.spec.rotation.overlap.seconds()).unwrap_or(now)
}

fn later(time: Timestamp, seconds: u64) -> Option<Timestamp> {
    time.checked_add(SignedDuration::from_secs(i64::try_from(seconds).ok()?)).ok()
}

/// What the key is to be good for.
pub(super) fn grant(fetched: &Fetched) -> Grant {
    let spec = &fetched.object.spec;
    Grant {
        tenant: spec.tenant.clone(),
        name: record_name(&fetched.namespace, &fetched.object.name_any()),
        scopes: spec.scopes.clone(),
        expires_at: spec.expires_at,
    }
}

/// What the store calls the keys of an object. People who make keys by hand call theirs otherwise.
pub(super) fn record_name(namespace: &str, name: &str) -> String {
    format!("ApiKey {namespace}/{name}")
}

/// The Secret, as it is applied.
pub(super) fn secret(fetched: &Fetched, key: &KeyText) -> Value {
    let object = &fetched.object;
    let owner = [(OWNER, object.name_any()), (TENANT, object.spec.tenant.to_string())];
    // Beside the key that obeys it, so that both are written or none.
    let asked = object.annotations().get(ROTATE).map(|asked| (ROTATE, asked.clone()));
    json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "Opaque",
        "metadata": {
            "name": fetched.secret_name(),
            "namespace": fetched.namespace,
            // Where somebody changed it meanwhile, it is looked at again first.
            "resourceVersion": fetched.secret.as_ref().and_then(ResourceExt::resource_version),
            "labels": {MANAGED_BY: MANAGER, "app.kubernetes.io/part-of": "assay"},
            "annotations": owner.into_iter().chain(asked).collect::<BTreeMap<_, _>>(),
            "ownerReferences": [object.controller_owner_ref(&())],
        },
        "data": {KEY: bytes(key.expose()), ID: bytes(key.id().as_str())},
    })
}

fn bytes(text: &str) -> ByteString {
    ByteString(text.into())
}

/// Whether a Secret was made for the object of that name.
pub(super) fn is_of(secret: &Secret, name: &str) -> bool {
    let made = secret.labels().get(MANAGED_BY).is_some_and(|manager| manager == MANAGER);
    made && secret.annotations().get(OWNER).is_some_and(|owner| owner == name)
}

/// Whether a Secret goes with the object.
pub(super) fn is_owned(fetched: &Fetched) -> bool {
    let uid = fetched.object.meta().uid.clone().unwrap_or_default();
    let owners =
        fetched.secret.as_ref().and_then(|secret| secret.metadata.owner_references.as_ref());
    owners.is_some_and(|owners| owners.iter().any(|owner| owner.uid == uid))
}

/// Which Secrets are watched.
pub(super) fn label_selector() -> String {
    format!("{MANAGED_BY}={MANAGER}")
}

#[cfg(test)]
mod tests {
    use assay_crds::{ApiKey, ApiKeySpec};
    use assay_tenancy::key::{KeyEnvironment, KeyHash};
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

    use super::{super::fetch::TenantInForce, *};
    use crate::golden::assert_objects;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn text(id: u64) -> KeyText {
        KeyText::generate(KeyEnvironment::Live, id, [id.into(), 7])
    }

    /// What is known of a key whose Secret holds `held`, of which the store knows `records`.
    fn fetched(held: Option<&KeyText>, records: Vec<KeyRecord>) -> Fetched {
        let spec: ApiKeySpec = serde_json::from_value(json!({
            "tenant": "acme", "rotation": {"every": "100h", "overlap": "1h"},
        }))
        .unwrap();
        let secret = held.map(|key| Secret {
            metadata: ObjectMeta::default(),
            data: Some([(KEY.to_owned(), ByteString(key.expose().into()))].into()),
            ..Secret::default()
        });
        Fetched {
            object: ApiKey::new("backend", spec),
            namespace: "team".into(),
            tenant: TenantInForce::default(),
            secret,
            records,
            environment: KeyEnvironment::Live,
        }
    }

    fn record(key: &KeyText, created: i64) -> KeyRecord {
        grant(&fetched(None, vec![])).record(key, at(created))
    }

    fn work(fetched: &Fetched, now: i64) -> KeyAction {
        build(&ValidatedKey(fetched), at(now))
    }

    #[test]
    fn a_key_is_made_once_and_kept_while_it_is_good() {
        let key = text(1);
        assert_eq!(work(&fetched(None, vec![]), 0), KeyAction::Make(None));
        let stored = fetched(Some(&key), vec![record(&key, 0)]);
        assert_eq!(work(&stored, 10), KeyAction::Keep(key.id().clone()));
        assert_eq!(
            work(&stored, 100 * 3600),
            KeyAction::Make(Some(key.id().clone())),
            "its time came"
        );
    }

    #[test]
    fn a_key_that_only_the_secret_knows_is_adopted() {
        let (old, new) = (text(1), text(2));
        assert_eq!(work(&fetched(Some(&new), vec![]), 0), KeyAction::Adopt(None));
        let interrupted = fetched(Some(&new), vec![record(&old, 0)]);
        assert_eq!(work(&interrupted, 0), KeyAction::Adopt(Some(old.id().clone())));
    }

    #[test]
    fn a_key_that_died_or_was_lost_is_replaced() {
        let key = text(1);
        let mut revoked = record(&key, 0);
        revoked.revoked_at = Some(at(1));
        assert_eq!(work(&fetched(Some(&key), vec![revoked]), 2), KeyAction::Make(None));
        let lost = fetched(None, vec![record(&key, 0)]);
        assert_eq!(
            work(&lost, 2),
            KeyAction::Make(Some(key.id().clone())),
            "it overlaps its successor"
        );
        let mut other = record(&key, 0);
        other.hash = KeyHash::from_bytes([1; 32]);
        assert_eq!(work(&fetched(Some(&key), vec![other]), 2), KeyAction::Make(None));
    }

    #[test]
    fn what_is_replaced_is_the_key_that_is_good_longest() {
        let (first, second) = (text(2), text(1));
        let mut replaced = record(&first, 5);
        replaced.expires_at = Some(at(3600));
        let lost = fetched(None, vec![record(&second, 5), replaced]);
        assert_eq!(work(&lost, 6), KeyAction::Make(Some(second.id().clone())));
    }

    #[test]
    fn who_asks_for_a_new_key_gets_one_once() {
        let key = text(1);
        let mut asked = fetched(Some(&key), vec![record(&key, 0)]);
        asked.object.annotations_mut().insert(ROTATE.into(), "monday".into());
        assert_eq!(work(&asked, 1), KeyAction::Make(Some(key.id().clone())));
        let applied = secret(&asked, &key);
        let annotations = &applied["metadata"]["annotations"];
        assert_eq!(annotations[ROTATE], "monday");
        let secret = asked.secret.as_mut().unwrap();
        secret.annotations_mut().insert(ROTATE.into(), "monday".into());
        assert_eq!(work(&asked, 1), KeyAction::Keep(key.id().clone()));
    }

    #[test]
    fn the_secret_is_that_of_the_file() {
        let key = KeyText::generate(KeyEnvironment::Live, 1, [2, 3]);
        let mut made = fetched(None, vec![]);
        made.object.metadata.uid = Some("me".into());
        let mut created = secret(&made, &key);
        // It is created from a value that has no such field.
        created["metadata"].as_object_mut().unwrap().remove("resourceVersion");
        assert_objects("key-created", [created]);
        made.object.annotations_mut().insert(ROTATE.into(), "monday".into());
        made.object.spec.secret_name = Some("elsewhere".parse().unwrap());
        made.secret = Some(Secret {
            metadata: ObjectMeta { resource_version: Some("5".into()), ..ObjectMeta::default() },
            ..Secret::default()
        });
        assert_objects("key-rotated", [secret(&made, &key)]);
    }

    #[test]
    fn keys_are_good_for_what_the_object_says_now() {
        let (current, replaced, dead) = (text(1), text(2), text(3));
        let until = |key: &KeyText, expires: i64| KeyRecord {
            expires_at: Some(at(expires)),
            ..record(key, 0)
        };
        let records = vec![record(&current, 0), until(&replaced, 50), until(&dead, 5)];
        let mut fetched = fetched(Some(&current), records);
        assert_eq!(grant_updates(&fetched, at(10)), [], "nothing is written where nothing changed");

        let update_grants = |key: &KeyText, expires: i64| GrantUpdate {
            id: key.id().clone(),
            scopes: vec![Scope::Check],
            expires_at: Some(at(expires)),
        };
        fetched.object.spec.scopes = vec![Scope::Check];
        fetched.object.spec.expires_at = Some(at(100));
        assert_eq!(
            grant_updates(&fetched, at(10)),
            [update_grants(&current, 100), update_grants(&replaced, 50)]
        );
        fetched.object.spec.expires_at = Some(at(10));
        let ended = [update_grants(&current, 10), update_grants(&replaced, 10)];
        assert_eq!(grant_updates(&fetched, at(10)), ended, "a time that is over ends them");

        // What the store keeps is rounded to the millisecond.
        fetched.object.spec.expires_at = Some("1970-01-01T00:01:40.000000001Z".parse().unwrap());
        fetched.records = vec![KeyRecord { scopes: vec![Scope::Check], ..until(&current, 100) }];
        assert_eq!(grant_updates(&fetched, at(10)), []);
    }

    #[test]
    fn a_key_that_was_suspended_is_good_again_and_the_one_before_it_is_not() {
        let (replaced, current) = (text(1), text(2));
        let overlapping = KeyRecord { expires_at: Some(at(100)), ..record(&replaced, 0) };
        let mut fetched = fetched(Some(&current), vec![overlapping, record(&current, 5)]);
        let suspended = suspensions(&fetched, at(10));
        let ends: Vec<_> = suspended.iter().map(|key| (key.id.clone(), key.expires_at)).collect();
        let both = [&replaced, &current].map(|key| (key.id().clone(), Some(at(10))));
        assert_eq!(ends, both);

        for record in &mut fetched.records {
            record.expires_at = Some(at(10));
        }
        assert_eq!(suspensions(&fetched, at(11)), [], "nothing is written where nothing changed");
        let again = GrantUpdate {
            id: current.id().clone(),
            scopes: fetched.object.spec.scopes.clone(),
            expires_at: None,
        };
        assert_eq!(grant_updates(&fetched, at(11)), [again]);
        fetched.records[1].revoked_at = Some(at(11));
        assert_eq!(grant_updates(&fetched, at(12)), [], "what is revoked stays so");
        fetched.records[1].revoked_at = None;
        fetched.object.spec.expires_at = Some(at(12));
        assert_eq!(grant_updates(&fetched, at(12)), [], "its time is over");
    }
}
