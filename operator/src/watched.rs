//! Objects of Assay's own kinds as watches have them. Specs are not parsed: an object that cannot be parsed must not hold
//! up others.

use assay_tenancy::CompactJson;
use kube::core::Object;
use serde::de::DeserializeOwned;

/// An object as a watch has it, in little memory.
pub(crate) type WatchedObject = Object<CompactJson, CompactJson>;

/// Parses the status of an object; an absent or invalid one gives an empty one.
pub(crate) fn parse_status<S: Default + DeserializeOwned>(object: &WatchedObject) -> S {
    let status = object.status.as_ref();
    status.and_then(|status| serde_json::from_value(status.value()).ok()).unwrap_or_default()
}

/// Says whether an object was deleted, and exists only because of its finalizers.
pub(crate) fn is_deleted(object: &WatchedObject) -> bool {
    object.metadata.deletion_timestamp.is_some()
}
