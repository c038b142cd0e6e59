//! Plans: limits, retention and API access of the tenants on them.

use std::{fmt, str::FromStr, sync::Arc};

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};

use crate::{Period, period::between, schema::field_rule, text_form::text_form};

/// Longest window of a limit: a month.
pub(crate) const LONGEST_WINDOW: Period = Period::from_seconds(31 * 86_400);
/// Largest number of requests in a window.
pub(crate) const MOST_REQUESTS: u64 = 1_000_000_000_000;
/// Largest fallback share of a limit, in percent.
pub(crate) const LARGEST_FALLBACK_SHARE: u8 = 50;
/// Longest retention of a tenant's records: ten years and a few days.
pub(crate) const LONGEST_RETENTION: Period = Period::from_seconds(3660 * 86_400);
/// Most rows that one bulk request may have.
pub(crate) const MOST_SCREEN_ROWS: u64 = 100_000_000;
/// Most requests of a tenant in flight that a plan may allow.
pub(crate) const MOST_IN_FLIGHT: u32 = 1_000_000;
/// Longest time for which an answer may be served from the cache.
pub(crate) const LONGEST_CACHE: Period = Period::from_seconds(86_400);
const NONE: Period = Period::from_seconds(0);
const SECOND: Period = Period::from_seconds(1);

/// A plan: API access, rate limits, caching and retention of the tenants on it.
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
    /// Name of the plan as customers know it, at most 256 characters.
    #[schemars(length(max = 256))]
    pub display_name: String,
    /// Allows keys of the plan's tenants to call the API. `false`: every request is refused with 403. `true`
    /// needs at least one limit.
    pub api_access: bool,
    /// Rate limits and quotas, at most 8. Each limit allows a number of requests or checks in a window, such as 10 per
    /// second or 1000 per day. A request is admitted only if no limit is used up, and otherwise refused with 429.
    #[schemars(
        length(max = 8),
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"])
    )]
    pub limits: Vec<LimitSpec>,
    /// Longest time for which an answer is served from the cache, such as `5m`; `0s` turns the cache off.
    /// Default `5m`, at most `24h`.
    #[serde(default = "default_cache_lifetime")]
    pub cache_lifetime: Period,
    /// Retention of the answers and the usage of the plan's tenants. A daily purge deletes older records.
    #[serde(default)]
    pub retention: RetentionSpec,
    /// Most rows of one request to `/screen`: 1 to 100000000. Default 100000.
    #[serde(default = "default_max_screen_rows")]
    #[schemars(range(min = 1, max = MOST_SCREEN_ROWS))]
    pub max_screen_rows: u64,
    /// Most rows of one request to `/screen` with `scope=full`, whose flows of funds are traced: 1 to 100000000.
    /// Default 10000.
    #[serde(default = "default_max_full_screen_rows")]
    #[schemars(range(min = 1, max = MOST_SCREEN_ROWS))]
    pub max_full_screen_rows: u64,
    /// Most requests of one tenant that are in flight on one server: 1 to 1000000. Checks are counted for each
    /// blockchain separately. Further requests are refused with 429. Unset: three times as many requests as the server
    /// could still admit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = MOST_IN_FLIGHT))]
    pub max_in_flight: Option<u32>,
    /// Most requests to `/screen` of one tenant that are in flight on one server: 1 to 1000000, and within
    /// `maxInFlight`. Further requests are refused with 429. Unset: three times as many requests to `/screen` as the
    /// server could still admit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = MOST_IN_FLIGHT))]
    pub max_streams: Option<u32>,
    /// Upper bounds for `trace` of the tenants' risk policies, which limit the duration of a check. Default: none.
    #[serde(default)]
    pub trace: TraceCeiling,
    /// Behavior while the token store of a limit cannot be reached: Redis for windows below an hour, PostgreSQL for
    /// longer windows. `fallback` admits requests up to the share in `fallbackShare`; `refuse` answers 503. Default
    /// `fallback`.
    #[serde(default)]
    pub on_token_store_loss: OnTokenStoreLoss,
    /// Share of each limit, in percent, that stays usable while the token store cannot be reached: 0 to 50. Each
    /// replica admits an equal part of the share on its own. While the token store can be reached, tokens of the share
    /// are the last tokens of the limit to be used. Default 10.
    #[serde(default = "default_fallback_share")]
    #[schemars(range(max = LARGEST_FALLBACK_SHARE))]
    pub fallback_share: u8,
}

/// Behavior while the counters that all replicas share cannot be reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnTokenStoreLoss {
    /// Each replica admits requests up to its part of the fallback allowance.
    #[default]
    Fallback,
    /// Requests are refused with 503 once the tokens that the replica holds are used up.
    Refuse,
}

/// Upper bounds for `trace` of a risk policy. A bound that is not set does not apply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct TraceCeiling {
    /// Most hops from the checked address that funds are traced.
    #[schemars(range(min = 1))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hops: Option<u8>,
    /// Most transactions that money passes in each direction.
    #[schemars(range(min = 1))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transactions: Option<u32>,
    /// Most inputs and outputs of traced transactions that are read in each direction.
    #[schemars(range(min = 1))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entries: Option<u32>,
    /// Most transfers that are read for one address.
    #[schemars(range(min = 1))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transfers_per_address: Option<u32>,
}

/// Retention of the answers and the usage of tenants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[schemars(extend("x-kubernetes-validations" = [
    between("checks", NONE, LONGEST_RETENTION),
    between("usage", NONE, LONGEST_RETENTION),
]))]
pub struct RetentionSpec {
    /// Time for which answers are kept, such as `30d`; `GET /checks/{check_id}` shows them again. `0s` keeps none.
    /// Default `30d`, at most 10 years.
    pub checks: Period,
    /// Time for which daily usage counts are kept, such as `400d`. Default `400d`, at most 10 years.
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

const fn default_max_full_screen_rows() -> u64 {
    10_000
}

const fn default_cache_lifetime() -> Period {
    Period::from_seconds(300)
}

/// A rate limit or quota: a number of requests in a window.
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
    /// Name of the limit, unique in the plan: 1 to 32 lowercase letters, digits and hyphens. Responses show the name in
    /// their `RateLimit` header fields.
    pub name: LimitName,
    /// Most requests, or checks, in one window; `counts` says which.
    #[schemars(range(min = 1, max = MOST_REQUESTS))]
    pub requests: u64,
    /// Length of the window, such as `1s`, `1m` or `1d`: `1s` to `31d`. Windows start at multiples of their length
    /// since 1970 (UTC), so that a window of `1d` is the UTC day.
    pub window: Period,
    /// Events that the limit counts: `requests` or `checks`.
    pub counts: Counts,
    /// Callers whose requests count together: one `key`, one `tenant` or the whole `plan`. Default `tenant`.
    #[serde(default)]
    pub per: Per,
    /// Highest number to which a `RateLimit` may raise `requests`. Default: the value of `requests`, so that a
    /// `RateLimit` can only lower it.
    #[schemars(range(min = 1, max = MOST_REQUESTS))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ceiling: Option<u64>,
}

/// Events that a limit counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Counts {
    /// Authenticated requests with any response status.
    Requests,
    /// Checks that were answered with status 200, and rows of `/screen` that were answered.
    Checks,
}

/// Callers whose requests a limit counts together.
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
    /// Requests of one key.
    Key,
    /// Requests of all keys of one tenant.
    #[default]
    Tenant,
    /// Requests of all tenants of the plan.
    Plan,
}

const LIMIT_NAME_RULE: &str = "a limit's name has 1 to 32 lowercase letters, digits and hyphens";

/// The name of a limit.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LimitName(Arc<str>);

impl LimitName {
    /// The name as text.
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

text_form!(LimitName);

impl JsonSchema for LimitName {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "LimitName".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        crate::schema::text(32, "^[a-z0-9-]+$", LIMIT_NAME_RULE)
    }
}
