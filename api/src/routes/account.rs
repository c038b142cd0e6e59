//! `GET /api/v1/account`: the settings of the caller's tenant.

use std::sync::Arc;

use assay_engine::policy::Policy;
use assay_request::problem::{Code, Problem};
use assay_service::Caller;
use assay_store::control::KeyRecord;
use assay_tenancy::{
    directory::Tenant,
    manifest::{Counts, Per},
};
use axum::{
    Json,
    extract::{Extension, State},
};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use crate::{App, request::problem::ProblemResponse};

/// Settings of a tenant.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct AccountResponse {
    /// The tenant.
    pub tenant: AccountTenant,
    /// The tenant's plan.
    pub plan: AccountPlan,
    /// The limits in force, all of which apply to each request.
    pub limits: Vec<AccountLimit>,
    /// The risk policy of the tenant's answers.
    pub policy: AccountPolicy,
    /// The tenant's API keys, including revoked and expired ones, oldest first.
    pub keys: Vec<AccountKey>,
}

/// A tenant.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct AccountTenant {
    /// Name of the tenant.
    pub name: String,
    /// Display name.
    pub display_name: String,
}

/// Properties of a plan in addition to its limits.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct AccountPlan {
    /// Name of the plan.
    pub name: String,
    /// Display name.
    pub display_name: String,
    /// Largest number of rows in one bulk request.
    pub max_screen_rows: u64,
    /// Largest number of rows in one bulk request with `scope=full`.
    pub max_full_screen_rows: u64,
    /// Largest number of your requests in flight on one server, with checks counted separately for each blockchain;
    /// null: a fair share of the server's capacity.
    pub max_in_flight: Option<u32>,
    /// Largest number of your bulk requests in flight on one server; null: a fair share of the server's capacity.
    pub max_streams: Option<u32>,
    /// Seconds for which an answer may be repeated from the cache.
    pub cache_seconds: u64,
    /// Seconds for which an answer can be retrieved again.
    pub checks_kept_seconds: u64,
    /// Seconds for which usage is kept.
    pub usage_kept_seconds: u64,
}

/// A limit in force.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct AccountLimit {
    /// Name, as in `RateLimit` header fields.
    pub name: String,
    /// Requests or checks allowed in one window.
    pub requests: u64,
    /// Length of the window in seconds.
    pub window_seconds: u64,
    /// Unit that the limit counts.
    pub counts: Counts,
    /// Subject whose requests are counted together.
    pub per: Per,
    /// Kind of object that sets the number of requests.
    pub source: LimitSource,
    /// Name of the rate limit that sets the number; null for the plan's own number.
    pub rate_limit: Option<String>,
    /// Expiry time of the rate limit; null if it does not expire.
    pub until: Option<Timestamp>,
    /// The plan's own number of requests.
    pub plan_requests: u64,
}

/// Kind of object that sets a limit's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LimitSource {
    /// The plan.
    Plan,
    /// A rate limit, for the tenant or for its plan.
    RateLimit,
}

/// A policy.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct AccountPolicy {
    /// Name of the policy.
    pub name: String,
    /// Revision of the policy's content, as `policy_revision` in answers.
    pub revision: String,
}

/// An API key, without its secret.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct AccountKey {
    /// Visible part of the key.
    pub id: String,
    /// Name given by its owner.
    pub name: String,
    /// Environment in which the key is valid: `live`, `sample` for the demo data set, or `sandbox`.
    pub environment: String,
    /// Operations that the key permits.
    pub scopes: Vec<String>,
    /// State of the key: `active`, `expired` or `revoked`.
    pub state: String,
    /// Creation time.
    pub created_at: Timestamp,
    /// Expiry time; null if the key does not expire.
    pub expires_at: Option<Timestamp>,
    /// Time at which the key was revoked; null if it was not revoked.
    pub revoked_at: Option<Timestamp>,
    /// Time at which the key was last used; uses through other servers appear within a minute.
    pub last_used_at: Option<Timestamp>,
}

/// Returns the settings of the caller's tenant.
///
/// # Errors
///
/// Returns an error if the tenant's keys cannot be read.
pub async fn show_account(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
) -> Result<Json<AccountResponse>, ProblemResponse> {
    let service = &app.service;
    let keys = service.keys_of(&caller.tenant.name).await.map_err(|error| {
        tracing::error!(%error, "failed to read a tenant's keys");
        Problem::new(Code::Unavailable, "the tenant's keys cannot be read at present")
    })?;
    Ok(Json(AccountResponse::new(&caller.tenant, &keys, service.clock.now())))
}

impl AccountResponse {
    /// Builds the settings of a tenant with these keys, at `now`.
    pub(crate) fn new(tenant: &Tenant<Policy>, keys: &[KeyRecord], now: Timestamp) -> Self {
        let plan = &tenant.plan;
        let limits = plan.limits.iter().map(|limit| {
            let change = tenant.override_of(limit, now);
            AccountLimit {
                name: limit.name.to_string(),
                requests: change.map_or(limit.requests, |change| change.requests),
                window_seconds: limit.window.seconds(),
                counts: limit.counts,
                per: limit.per,
                source: change.map_or(LimitSource::Plan, |_| LimitSource::RateLimit),
                rate_limit: change.map(|change| change.rate_limit.to_string()),
                until: change.and_then(|change| change.until),
                plan_requests: limit.requests,
            }
        });
        Self {
            tenant: AccountTenant {
                name: tenant.name.to_string(),
                display_name: tenant.display_name.clone(),
            },
            plan: AccountPlan {
                name: plan.name.to_string(),
                display_name: plan.display_name.clone(),
                max_screen_rows: plan.max_screen_rows,
                max_full_screen_rows: plan.max_full_screen_rows,
                max_in_flight: plan.max_in_flight,
                max_streams: plan.max_streams,
                cache_seconds: plan.cache_lifetime.seconds(),
                checks_kept_seconds: plan.retention.checks.seconds(),
                usage_kept_seconds: plan.retention.usage.seconds(),
            },
            limits: limits.collect(),
            policy: AccountPolicy {
                name: tenant.policy_name.to_string(),
                revision: tenant.policy.revision().to_string(),
            },
            keys: keys.iter().map(|key| AccountKey::new(key, now)).collect(),
        }
    }
}

impl AccountKey {
    fn new(key: &KeyRecord, now: Timestamp) -> Self {
        Self {
            id: key.id.to_string(),
            name: key.name.clone(),
            environment: key.environment.to_string(),
            scopes: key.scopes.iter().map(ToString::to_string).collect(),
            state: key.state(now).as_str().to_owned(),
            created_at: key.created_at,
            expires_at: key.expires_at,
            revoked_at: key.revoked_at,
            last_used_at: key.last_used_at,
        }
    }
}
