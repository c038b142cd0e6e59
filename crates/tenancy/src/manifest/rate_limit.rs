//! Rate limits: new numbers for limits of a plan or a tenant, permanent or until a time.

use jiff::Timestamp;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use super::{LimitName, MOST_REQUESTS};
use crate::{
    Name,
    schema::{RULES, rule},
};

/// New numbers for the limits of a plan, for all its tenants or for one tenant, permanent or until a time. Numbers
/// for a tenant take precedence over numbers for its plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RateLimitSpec {
    /// Plan or tenant whose limits change. Set exactly one of `plan` and `tenant`.
    pub target: RateLimitTarget,
    /// Limits that change, 1 to 8, each with its new number.
    #[schemars(
        length(min = 1, max = 8),
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"])
    )]
    pub limits: Vec<RateLimitNumber>,
    /// Time at which the change ends, such as `2026-12-31T00:00:00Z`: then the plan's numbers apply again.
    /// Unset: the change does not end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
}

/// Plan or tenant whose limits change: exactly one of the two fields.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum RateLimitTarget {
    /// Name of a plan: the change applies to each of its tenants.
    Plan(Name),
    /// Name of a tenant: the change applies to it alone.
    Tenant(Name),
}

impl JsonSchema for RateLimitTarget {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "RateLimitTarget".into()
    }

    /// Written by hand: for an object with neither or both fields, a derived schema would only report that no
    /// variant, or more than one, matches.
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let (mut plan, mut tenant) =
            (generator.subschema_for::<Name>(), generator.subschema_for::<Name>());
        plan.insert(
            "description".into(),
            "Name of a plan: the change applies to each of its tenants.".into(),
        );
        tenant.insert(
            "description".into(),
            "Name of a tenant: the change applies to it alone.".into(),
        );
        json_schema!({
            "type": "object",
            "properties": {"plan": plan, "tenant": tenant},
            RULES: [rule("has(self.plan) != has(self.tenant)", "name either a plan or a tenant")],
        })
    }
}

/// A limit of the plan, and the number that replaces its `requests`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RateLimitNumber {
    /// Name of the limit, as in `limits` of the plan.
    pub name: LimitName,
    /// Most requests, or checks, in one window: from 1 to the `ceiling` of the limit in the plan.
    #[schemars(range(min = 1, max = MOST_REQUESTS))]
    pub requests: u64,
}
