//! Tenants: customers, each with a plan and a risk policy.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Name;

/// A customer: its plan, its risk policy and the namespaces of its keys.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TenantSpec {
    /// Name of the customer, as people know it, at most 256 characters.
    #[schemars(length(max = 256))]
    pub display_name: String,
    /// Name of the `Plan` that sets the limits and the retention of the tenant.
    pub plan: Name,
    /// Name of the `RiskPolicy` by which the checks of the tenant are assessed.
    pub policy: Name,
    /// Contact person or address of the customer, such as `ops@acme.example`, at most 256 characters. The contact is a
    /// note for operators: Assay sends nothing to it. Default: none.
    #[schemars(length(max = 256))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contact: Option<String>,
    /// Kubernetes namespaces in which an `ApiKey` may name this tenant, at most 64. Default: none, so that no
    /// `ApiKey` can. Outside of a cluster the field has no effect.
    #[schemars(length(max = 64), extend("x-kubernetes-list-type" = "set"))]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub namespaces: Vec<Name>,
    /// Suspends the tenant: its keys are refused with 403 until this field is `false` again. Default `false`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub suspended: bool,
}
