//! The fields of Assay's own objects that the operator owns: the status, and its finalizer.

use std::borrow::Cow;

use kube::Resource;
use serde::Serialize;

/// An object with only the fields that server-side apply is to own.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OwnedFields<'a, S> {
    api_version: Cow<'a, str>,
    kind: Cow<'a, str>,
    metadata: OwnedMetadata<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<&'a S>,
}

#[derive(Debug, Serialize)]
struct OwnedMetadata<'a> {
    name: &'a str,
    /// The write fails if the object was replaced by another one of the same name.
    #[serde(skip_serializing_if = "Option::is_none")]
    uid: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    finalizers: Option<&'a [&'a str]>,
}

impl<'a, S> OwnedFields<'a, S> {
    /// The status of an object.
    pub(crate) fn status<K: Resource>(
        object: &'a K,
        kind: &'a K::DynamicType,
        status: &'a S,
    ) -> Self {
        Self::new(object, kind, None, Some(status))
    }

    fn new<K: Resource>(
        object: &'a K,
        kind: &'a K::DynamicType,
        finalizers: Option<&'a [&'a str]>,
        status: Option<&'a S>,
    ) -> Self {
        let name = object.meta().name.as_deref().unwrap_or_default();
        let uid = object.meta().uid.as_deref();
        Self {
            api_version: K::api_version(kind),
            kind: K::kind(kind),
            metadata: OwnedMetadata { name, uid, finalizers },
            status,
        }
    }
}

impl<'a> OwnedFields<'a, ()> {
    /// The operator's finalizers of an object.
    pub(crate) fn finalizers<K: Resource>(
        object: &'a K,
        kind: &'a K::DynamicType,
        finalizers: &'a [&'a str],
    ) -> Self {
        Self::new(object, kind, Some(finalizers), None)
    }
}

#[cfg(test)]
mod tests {
    use assay_crds::{ApiKey, status::ApiKeyStatus};
    use serde_json::json;

    use super::*;

    #[test]
    fn only_the_fields_that_are_owned_are_applied() {
        let object: ApiKey = serde_json::from_value(json!({
            "apiVersion": "assay.dev/v1alpha1", "kind": "ApiKey",
            "metadata": {
                "name": "backend", "namespace": "team", "uid": "1", "labels": {"a": "b"},
                "finalizers": ["other"],
            },
            "spec": {"tenant": "acme"},
        }))
        .unwrap();
        let status = ApiKeyStatus { observed_generation: Some(1), ..ApiKeyStatus::default() };
        let kind = json!({"apiVersion": "assay.dev/v1alpha1", "kind": "ApiKey"});
        let mut expected = kind.clone();
        expected["metadata"] = json!({"name": "backend", "uid": "1"});
        expected["status"] = json!({"observedGeneration": 1, "conditions": []});
        assert_eq!(json!(OwnedFields::status(&object, &(), &status)), expected);
        for finalizers in [&["ours"][..], &[]] {
            let mut expected = kind.clone();
            expected["metadata"] = json!({"name": "backend", "uid": "1", "finalizers": finalizers});
            assert_eq!(json!(OwnedFields::finalizers(&object, &(), finalizers)), expected);
        }
    }
}
