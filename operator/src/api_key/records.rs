//! The records of an object's keys in the store.

use assay_crds::{ApiKey, RotationSpec};
use assay_store::control::KeyRecord;
use jiff::{SignedDuration, Timestamp};
use kube::ResourceExt;

/// The name in the store of the keys of an object. Its form differs from the names of keys that are
/// created by hand.
pub(super) fn name(object: &ApiKey) -> String {
    format!("ApiKey {}/{}", object.namespace().unwrap_or_default(), object.name_any())
}

/// The active key with the latest expiry: replaced keys expire before it.
pub(super) fn latest<'a>(
    records: impl IntoIterator<Item = &'a KeyRecord>,
    now: Timestamp,
) -> Option<&'a KeyRecord> {
    let active = records.into_iter().filter(|record| record.is_active(now));
    active.max_by_key(|record| (record.expires_at.is_none(), record.expires_at, record.created_at))
}

/// The time of a key's scheduled rotation.
pub(super) fn rotates_at(rotation: &RotationSpec, record: &KeyRecord) -> Option<Timestamp> {
    later(record.created_at, rotation.every?.seconds())
}

/// The expiry of a key that is replaced now.
pub(super) fn overlap_ends(rotation: &RotationSpec, now: Timestamp) -> Timestamp {
    later(now, rotation.overlap.seconds()).unwrap_or(now)
}

fn later(time: Timestamp, seconds: u64) -> Option<Timestamp> {
    time.checked_add(SignedDuration::from_secs(i64::try_from(seconds).ok()?)).ok()
}
