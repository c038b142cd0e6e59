//! The Secret that holds a key.

use assay_crds::ApiKey;
use assay_tenancy::{Name, key::ApiKey as KeyText};
use k8s_openapi::{ByteString, api::core::v1::Secret};
use kube::ResourceExt;

use crate::{owned::MANAGED_BY, writer::MANAGER};

/// The Secret's key that holds the API key.
pub(super) const KEY: &str = "api-key";
/// The Secret's key that holds the visible part of the API key.
pub(super) const ID: &str = "key-id";
/// The annotation with the name of the `ApiKey` that the Secret belongs to.
pub(super) const OWNER: &str = "assay.dev/api-key";
/// The annotation with the tenant of the API key.
pub(super) const TENANT: &str = "assay.dev/tenant";
/// The annotation whose changed value on an `ApiKey` requests a rotation. On the Secret, the annotation holds the value
/// that was handled last.
pub(super) const ROTATE: &str = "assay.dev/rotate";

/// The name of the Secret of an `ApiKey`.
pub(super) fn name(object: &ApiKey) -> String {
    let name = object.spec.secret_name.as_ref().map(Name::to_string);
    name.unwrap_or_else(|| object.name_any())
}

/// The API key in a Secret.
pub(super) fn key(secret: &Secret) -> Option<KeyText> {
    let ByteString(bytes) = secret.data.as_ref()?.get(KEY)?;
    std::str::from_utf8(bytes).ok()?.trim().parse().ok()
}

/// Says whether the operator created a Secret for the `ApiKey` of that name.
pub(super) fn belongs_to(secret: &Secret, name: &str) -> bool {
    owner(secret) == Some(name)
}

/// The `ApiKey` for which the operator created a Secret. `None` if it created the Secret for none.
pub(super) fn owner(secret: &Secret) -> Option<&str> {
    let is_managed = secret.labels().get(MANAGED_BY).is_some_and(|manager| manager == MANAGER);
    secret.annotations().get(OWNER).filter(|_| is_managed).map(String::as_str)
}
