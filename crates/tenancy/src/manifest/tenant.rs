//! Tenants: customers, each with a plan and a risk policy.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Name;

/// A customer: its plan, its risk policy and the namespaces of its keys.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TenantSpec {
    /// Name of the customer, at most 256 characters.
    #[schemars(length(max = 256))]
    pub display_name: String,
    /// Name of the `Plan` that sets its limits and retention.
    pub plan: Name,
    /// Name of the `RiskPolicy` by which its checks are assessed.
    pub policy: Name,
    /// Contact for operators, such as an e-mail address, at most 256 characters. Assay sends nothing to it.
    #[schemars(length(max = 256))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contact: Option<String>,
    /// Kubernetes namespaces in which an `ApiKey` may name this tenant. Default: none. Without meaning outside
    /// of a cluster.
    #[schemars(length(max = 64), extend("x-kubernetes-list-type" = "set"))]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub namespaces: Vec<Name>,
    /// Suspends the tenant: its keys are refused with 403 until this is `false` again. Default `false`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub suspended: bool,
}
