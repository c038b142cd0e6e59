//! Keys: what their owners ask for.

use assay_tenancy::{
    Name, Period,
    key::Scope,
    schema::{between, field_rule, seconds},
};
use jiff::Timestamp;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::status::ApiKeyStatus;

const HOUR: Period = Period::from_seconds(3600);
const TEN_YEARS: Period = Period::from_seconds(3660 * 86_400);

/// A key of a tenant. The operator makes it and writes it into a Secret; deleting this object revokes
/// it.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "assay.dev",
    version = "v1alpha1",
    kind = "ApiKey",
    plural = "apikeys",
    shortname = "ak",
    category = "assay",
    status = "ApiKeyStatus",
    doc = "A key of a tenant, kept in a Secret.",
    derive = "PartialEq",
    namespaced,
    printcolumn(name = "Tenant", type_ = "string", json_path = ".spec.tenant"),
    printcolumn(name = "Secret", type_ = "string", json_path = ".status.secretName"),
    printcolumn(name = "Key", type_ = "string", json_path = ".status.keyId"),
    printcolumn(name = "Expires", type_ = "string", json_path = ".status.expiresAt")
)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [
    field_rule(
        ".tenant",
        "self.tenant == oldSelf.tenant",
        "a key stays with its tenant: make another ApiKey for another one",
    ),
    field_rule(
        ".secretName",
        "has(self.secretName) == has(oldSelf.secretName) \
            && (!has(self.secretName) || self.secretName == oldSelf.secretName)",
        "a key stays in its Secret: make another ApiKey for another one",
    ),
]))]
pub struct ApiKeySpec {
    /// Whose it is. The tenant must list this namespace.
    pub tenant: Name,
    /// What it may be used for.
    #[serde(default = "default_scopes")]
    #[schemars(length(min = 1, max = 4), extend("x-kubernetes-list-type" = "set"))]
    pub scopes: Vec<Scope>,
    /// The Secret that holds it, in this namespace; this object's name where left out. The operator
    /// makes it, and takes none that it did not make.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_name: Option<Name>,
    /// From when on it is refused by itself; never where left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// When it is replaced by a new one.
    #[serde(default)]
    pub rotation: RotationSpec,
}

/// When a key is replaced by a new one. Besides, a new value of the annotation `assay.dev/rotate`
/// replaces it at once.
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
    /// After what time it is replaced; only by the annotation where left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub every: Option<Period>,
    /// How long the old key stays good beside the new one.
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
