//! Plans: what a tenant may do.

use std::{fmt, str::FromStr, sync::Arc};

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{
    Period,
    resolve::{
        LARGEST_FALLBACK_SHARE, LONGEST_CACHE, LONGEST_RETENTION, LONGEST_WINDOW, MOST_REQUESTS,
        MOST_SCREEN_ROWS,
    },
    schema::{between, field_rule},
};

const NONE: Period = Period::from_seconds(0);
const SECOND: Period = Period::from_seconds(1);

/// What tenants on a plan may do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("x-kubernetes-validations" = [
    field_rule(
        ".limits",
        "!self.apiAccess || size(self.limits) > 0",
        "a plan with API access needs at least one limit",
    ),
    between("cacheLifetime", NONE, LONGEST_CACHE),
]))]
pub struct PlanSpec {
    /// The plan's name as customers know it.
    #[schemars(length(max = 256))]
    pub display_name: String,
    /// Whether keys of its tenants may call the API at all.
    pub api_access: bool,
    /// How often. All limits hold at once.
    #[schemars(
        length(max = 8),
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"])
    )]
    pub limits: Vec<LimitSpec>,
    /// How long an answer may be repeated from the cache.
    #[serde(default = "default_cache_lifetime")]
    pub cache_lifetime: Period,
    /// How long what is recorded of its tenants is kept.
    #[serde(default)]
    pub retention: RetentionSpec,
    /// Most rows of one bulk request.
    #[serde(default = "default_max_screen_rows")]
    #[schemars(range(min = 1, max = MOST_SCREEN_ROWS))]
    pub max_screen_rows: u64,
    /// How far money is followed at most, whatever the risk policy says.
    #[serde(default)]
    pub trace: TraceCeiling,
    /// What becomes of requests while the shared counters cannot be reached.
    #[serde(default)]
    pub on_token_store_loss: OnTokenStoreLoss,
    /// The share of each limit, in percent from 0 to 50, that replicas keep for that time. All seats
    /// together hold it; a replica spends the part of its seat. Nothing of it is lost meanwhile.
    #[serde(default = "default_fallback_share")]
    #[schemars(range(max = LARGEST_FALLBACK_SHARE))]
    pub fallback_share: u8,
}

/// What becomes of requests while the counters that all replicas share cannot be reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnTokenStoreLoss {
    /// Each replica goes on with a share that was set aside beforehand, within the limit.
    #[default]
    Fallback,
    /// They are refused (503) once what had been handed out is spent.
    Refuse,
}

/// The most that a risk policy's `trace` may ask for; what is left out is not limited by the plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct TraceCeiling {
    /// Hops.
    #[schemars(range(min = 1))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hops: Option<u8>,
    /// Addresses that are followed further at each hop.
    #[schemars(range(min = 1))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub addresses_per_hop: Option<u32>,
    /// Transfers that are read of one address or transaction.
    #[schemars(range(min = 1))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transfers_per_address: Option<u32>,
}

/// How long what is recorded of tenants is kept; then it is deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[schemars(extend("x-kubernetes-validations" = [
    between("checks", NONE, LONGEST_RETENTION),
    between("usage", NONE, LONGEST_RETENTION),
]))]
pub struct RetentionSpec {
    /// Answers, to be looked up by `check_id`; `0s` keeps none.
    pub checks: Period,
    /// Usage by day.
    pub usage: Period,
}

impl Default for RetentionSpec {
    fn default() -> Self {
        Self {
            checks: Period::from_seconds(30 * 86_400),
            usage: Period::from_seconds(400 * 86_400),
        }
    }
}

const fn default_fallback_share() -> u8 {
    10
}

const fn default_max_screen_rows() -> u64 {
    100_000
}

const fn default_cache_lifetime() -> Period {
    Period::from_seconds(300)
}

/// One limit of a plan: so many requests in a window.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("x-kubernetes-validations" = [
    between("window", SECOND, LONGEST_WINDOW),
    field_rule(
        ".ceiling",
        "!has(self.ceiling) || self.requests <= self.ceiling",
        "must be at least `requests`",
    ),
]))]
pub struct LimitSpec {
    /// The limit's name, shown in `RateLimit` fields.
    pub name: LimitName,
    /// How many in one window.
    #[schemars(range(min = 1, max = MOST_REQUESTS))]
    pub requests: u64,
    /// The window. Windows start at multiples of their length since 1970 (UTC), so that a day's window
    /// is the UTC day.
    pub window: Period,
    /// What is counted.
    pub counts: Counts,
    /// Whose requests are counted together.
    #[serde(default)]
    pub per: Per,
    /// The highest number that a rate limit may raise it to; `requests` where left out.
    #[schemars(range(min = 1, max = MOST_REQUESTS))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ceiling: Option<u64>,
}

/// What a limit counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Counts {
    /// Every authenticated request, whatever its outcome.
    Requests,
    /// Checks that were answered (status 200).
    Checks,
}

/// Whose requests a limit counts together, the narrowest first.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Per {
    /// Those of one key.
    Key,
    /// Those of one tenant, whichever its key.
    #[default]
    Tenant,
    /// Those of all tenants of the plan.
    Plan,
}

const LIMIT_NAME_RULE: &str = "a limit's name has 1 to 32 lowercase letters, digits and hyphens";

/// The name of a limit.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LimitName(Arc<str>);

impl LimitName {
    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for LimitName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let valid = (1..=32).contains(&text.len())
            && text
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
        if valid { Ok(Self(text.into())) } else { Err(LIMIT_NAME_RULE.into()) }
    }
}

impl fmt::Display for LimitName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(&self.0)
    }
}

impl fmt::Debug for LimitName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl Serialize for LimitName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for LimitName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for LimitName {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "LimitName".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        crate::schema::text(32, "^[a-z0-9-]+$", LIMIT_NAME_RULE)
    }
}
