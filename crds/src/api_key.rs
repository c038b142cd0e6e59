//! `ApiKey`: the key of a tenant.

use assay_tenancy::{
    Name, Period,
    key::{RequestedEnvironment, Scope},
    period::{between, seconds},
    schema::field_rule,
};
use jiff::Timestamp;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::status::ApiKeyStatus;

const HOUR: Period = Period::from_seconds(3600);
const TEN_YEARS: Period = Period::from_seconds(3660 * 86_400);

/// An API key of a tenant. The operator issues the key and writes it to a Secret; deleting this object revokes the key.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "assay.dev",
    version = "v1alpha1",
    kind = "ApiKey",
    plural = "apikeys",
    shortname = "ak",
    category = "assay",
    status = "ApiKeyStatus",
    doc = "An API key of a tenant. The operator issues it and writes it to a Secret; deleting this object revokes it.",
    derive = "PartialEq",
    namespaced,
    printcolumn(name = "Tenant", type_ = "string", json_path = ".spec.tenant"),
    printcolumn(name = "Environment", type_ = "string", json_path = ".spec.environment"),
    printcolumn(name = "Secret", type_ = "string", json_path = ".status.secretName"),
    printcolumn(name = "Key", type_ = "string", json_path = ".status.keyId"),
    printcolumn(name = "Expires", type_ = "string", json_path = ".status.expiresAt")
)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [
    field_rule(
        ".tenant",
        "self.tenant == oldSelf.tenant",
        "cannot be changed: create another ApiKey for another tenant",
    ),
    field_rule(
        ".environment",
        "self.environment == oldSelf.environment",
        "cannot be changed: create another ApiKey for another environment",
    ),
    field_rule(
        ".secretName",
        "has(self.secretName) == has(oldSelf.secretName) \
            && (!has(self.secretName) || self.secretName == oldSelf.secretName)",
        "cannot be changed: create another ApiKey for another Secret",
    ),
]))]
pub struct ApiKeySpec {
    /// Tenant that the key belongs to. The tenant's `spec.namespaces` must list the namespace of this object. The field
    /// cannot be changed.
    pub tenant: Name,
    /// Environment in which the key is valid: `live` for the installation's data, `sandbox` for made-up answers that the
    /// request chooses and that read no data. Default `live`. The field cannot be changed.
    #[serde(default)]
    pub environment: RequestedEnvironment,
    /// Operations that the key permits: `check`, `screen`, `usage`, `admin:read`. Default: the first three operations.
    #[serde(default = "default_scopes")]
    #[schemars(length(min = 1, max = 4), extend("x-kubernetes-list-type" = "set"))]
    pub scopes: Vec<Scope>,
    /// Name of the Secret that the operator creates for the key, in the same namespace. The operator does not overwrite
    /// a Secret that it did not create. Unset: the name of this object. The field cannot be changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_name: Option<Name>,
    /// Expiry time. Unset: the key does not expire.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// Rotation of the key: its interval, and the time for which the replaced key stays active.
    #[serde(default)]
    pub rotation: RotationSpec,
}

/// The rotation of a key. A new value of the annotation `assay.dev/rotate` rotates the key immediately.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("x-kubernetes-validations" = [
    field_rule(
        ".every",
        &format!(
            "!has(self.every) || !self.every.matches('{form}') || !self.overlap.matches('{form}') \
                || {every} >= 3600 && {every} <= {TEN_YEARS} && {every} > {overlap}",
            form = "^[0-9]{1,9}[smhd]$",
            every = seconds("self.every"),
            overlap = seconds("self.overlap"),
            TEN_YEARS = TEN_YEARS.seconds(),
        ),
        "must be from 1h to 3660d and longer than the overlap",
    ),
    between("overlap", Period::from_seconds(0), Period::from_seconds(30 * 86_400)),
]))]
pub struct RotationSpec {
    /// Interval between rotations, such as `90d`: `1h` to `3660d`. Unset: the key is rotated only when the
    /// annotation `assay.dev/rotate` gets a new value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub every: Option<Period>,
    /// Time for which the replaced key stays active after a rotation: `0s` to `30d`. Default `24h`.
    pub overlap: Period,
}

impl Default for RotationSpec {
    fn default() -> Self {
        Self { every: None, overlap: Period::from_seconds(24 * HOUR.seconds()) }
    }
}

fn default_scopes() -> Vec<Scope> {
    vec![Scope::Check, Scope::Screen, Scope::Usage]
}
