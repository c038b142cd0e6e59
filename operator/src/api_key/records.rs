//! The records of an object's keys in the store.

use std::collections::BTreeSet;

use assay_crds::RotationSpec;
use assay_store::control::KeyRecord;
use assay_tenancy::Name;
use jiff::{SignedDuration, Timestamp};
use kube::ResourceExt;

/// Prefix of the names of keys that the operator issued. Names of keys that were created by hand lack the prefix.
const PREFIX: &str = "ApiKey ";

/// The name in the store of the keys of an `ApiKey`.
pub(super) fn name(object: &impl ResourceExt) -> String {
    name_of(&object.namespace().unwrap_or_default(), &object.name_any())
}

/// The name in the store of the keys of the `ApiKey` of that namespace and name.
pub(super) fn name_of(namespace: &str, name: &str) -> String {
    format!("{PREFIX}{namespace}/{name}")
}

/// The namespace of the `ApiKey` of a key. `None`: the key was created by hand.
pub(super) fn namespace(record: &KeyRecord) -> Option<&str> {
    namespace_in(&record.name)
}

/// The namespace in the name of a key. `None`: the key was created by hand.
pub(super) fn namespace_in(name: &str) -> Option<&str> {
    let (namespace, _) = name.strip_prefix(PREFIX)?.split_once('/')?;
    Some(namespace)
}

/// The tenants with keys that the operator issued and that are not revoked.
pub(crate) fn tenants_of_issued_keys(records: &[KeyRecord]) -> BTreeSet<Name> {
    let issued =
        records.iter().filter(|record| namespace(record).is_some() && record.revoked_at.is_none());
    issued.map(|record| record.tenant.clone()).collect()
}

/// The records of an object's keys that are revoked when the object is deleted: the active keys, and the key that was
/// created last, which could become active again.
pub(super) fn revocable<'a>(
    records: impl IntoIterator<Item = &'a KeyRecord> + Clone,
    now: Timestamp,
) -> impl Iterator<Item = &'a KeyRecord> {
    let newest = newest_key(records.clone()).map(|record| record.id.clone());
    let is_revocable = move |record: &&KeyRecord| {
        let can_be_active = record.is_active(now) || newest.as_ref() == Some(&record.id);
        record.revoked_at.is_none() && can_be_active
    };
    records.into_iter().filter(is_revocable)
}

/// The key that was created last.
pub(super) fn newest_key<'a>(
    records: impl IntoIterator<Item = &'a KeyRecord>,
) -> Option<&'a KeyRecord> {
    records.into_iter().max_by_key(|record| record.created_at)
}

/// The active key with the latest expiry time: keys that were replaced expire before it.
pub(super) fn latest_expiring<'a>(
    records: impl IntoIterator<Item = &'a KeyRecord>,
    now: Timestamp,
) -> Option<&'a KeyRecord> {
    let active = records.into_iter().filter(|record| record.is_active(now));
    active.max_by_key(|record| (record.expires_at.is_none(), record.expires_at, record.created_at))
}

/// The time of a key's scheduled rotation.
pub(super) fn rotates_at(rotation: &RotationSpec, record: &KeyRecord) -> Option<Timestamp> {
    add_seconds(record.created_at, rotation.every?.seconds())
}

/// The expiry time of a key that is replaced now.
pub(super) fn overlap_ends(rotation: &RotationSpec, now: Timestamp) -> Timestamp {
    add_seconds(now, rotation.overlap.seconds()).unwrap_or(now)
}

fn add_seconds(time: Timestamp, seconds: u64) -> Option<Timestamp> {
    time.checked_add(SignedDuration::from_secs(i64::try_from(seconds).ok()?)).ok()
}
