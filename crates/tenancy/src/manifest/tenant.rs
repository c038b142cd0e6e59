//! Tenants: who asks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Name;

/// A customer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TenantSpec {
    /// The customer's name.
    #[schemars(length(max = 256))]
    pub display_name: String,
    /// The plan it is on.
    pub plan: Name,
    /// The risk policy it is judged by.
    pub policy: Name,
    /// Whom to tell when something is wrong.
    #[schemars(length(max = 256))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contact: Option<String>,
    /// Namespaces in which its keys may be made; of meaning in a cluster only.
    #[schemars(length(max = 64), extend("x-kubernetes-list-type" = "set"))]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub namespaces: Vec<Name>,
    /// Whether its keys are refused for the time being.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub suspended: bool,
}
