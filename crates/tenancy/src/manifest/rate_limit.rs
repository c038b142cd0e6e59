//! Rate limits: other numbers for a plan or a tenant, for ever or until a time.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::LimitName;
use crate::Name;

/// Other numbers for limits of a plan. What is set for a tenant goes before what is set for its plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RateLimitSpec {
    /// Whose limits.
    pub target: RateLimitTarget,
    /// The numbers.
    pub limits: Vec<RateLimitNumber>,
    /// Until when; for ever where left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
}

/// Whose limits: exactly one of both.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum RateLimitTarget {
    /// Every tenant of a plan.
    Plan(Name),
    /// One tenant.
    Tenant(Name),
}

/// Another number for one limit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RateLimitNumber {
    /// The limit's name in the plan.
    pub name: LimitName,
    /// How many in one window.
    pub requests: u64,
}
