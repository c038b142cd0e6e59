//! Watched objects of Assay's own kinds. Specs stay unparsed, so that an object that cannot be parsed does not block
//! other objects.

use assay_tenancy::CompactJson;
use kube::core::Object;
use serde::de::DeserializeOwned;

/// A watched object, stored as compact JSON.
pub(crate) type WatchedObject = Object<CompactJson, CompactJson>;

/// Parses the status of an object. An absent or invalid status becomes an empty status.
pub(crate) fn parse_status<S: Default + DeserializeOwned>(object: &WatchedObject) -> S {
    let status = object.status.as_ref();
    status.and_then(|status| serde_json::from_value(status.value()).ok()).unwrap_or_default()
}

/// Says whether an object was deleted and exists only because of its finalizers.
pub(crate) fn is_deleted(object: &WatchedObject) -> bool {
    object.metadata.deletion_timestamp.is_some()
}
