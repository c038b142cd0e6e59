//! Rate limits: other numbers for a plan or a tenant, for ever or until a time.

use jiff::Timestamp;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use super::LimitName;
use crate::{
    Name,
    resolve::MOST_REQUESTS,
    schema::{RULES, rule},
};

/// Other numbers for limits of a plan. What is set for a tenant goes before what is set for its plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RateLimitSpec {
    /// Whose limits.
    pub target: RateLimitTarget,
    /// The numbers.
    #[schemars(
        length(min = 1, max = 8),
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"])
    )]
    pub limits: Vec<RateLimitNumber>,
    /// Until when; for ever where left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
}

/// Whose limits: exactly one of both.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum RateLimitTarget {
    /// Every tenant of a plan.
    Plan(Name),
    /// One tenant.
    Tenant(Name),
}

impl JsonSchema for RateLimitTarget {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "RateLimitTarget".into()
    }

    /// By hand: of an object with neither or both, a derived schema could only say that no variant or
    /// more than one fits.
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let (mut plan, mut tenant) =
            (generator.subschema_for::<Name>(), generator.subschema_for::<Name>());
        plan.insert("description".into(), "Every tenant of a plan.".into());
        tenant.insert("description".into(), "One tenant.".into());
        json_schema!({
            "type": "object",
            "properties": {"plan": plan, "tenant": tenant},
            RULES: [rule("has(self.plan) != has(self.tenant)", "name either a plan or a tenant")],
        })
    }
}

/// Another number for one limit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RateLimitNumber {
    /// The limit's name in the plan.
    pub name: LimitName,
    /// How many in one window.
    #[schemars(range(min = 1, max = MOST_REQUESTS))]
    pub requests: u64,
}
