//! `GET /api/v1/usage`: charges of the caller's tenant.

use std::sync::Arc;

use assay_request::problem::{Code, Problem};
use assay_service::Caller;
use assay_store::usage::Operation;
use axum::{
    Json,
    extract::{Extension, Query, State, rejection::QueryRejection},
};
use jiff::{ToSpan, civil::Date, tz::TimeZone};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{App, request::problem::ProblemResponse};

/// Longest period of one answer in days.
const MAX_DAYS: i32 = 1100;
/// Default period in days.
const DEFAULT_DAYS: i32 = 30;

/// Period of days.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UsageQuery {
    /// First day (UTC). Default: 30 days before the last day.
    #[serde(default)]
    #[schemars(example = "2026-02-01")]
    pub from: Option<Date>,
    /// Last day (UTC). Default: today.
    #[serde(default)]
    #[schemars(example = "2026-02-11")]
    pub to: Option<Date>,
}

/// Charges of a tenant.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct UsageResponse {
    /// First day.
    pub from: Date,
    /// Last day.
    pub to: Date,
    /// Total number of answered checks and rows.
    pub total: u64,
    /// Charges by day, key, plan, operation and verdict.
    pub usage: Vec<UsageRow>,
}

/// Charges of one day, key, plan, operation and verdict.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub struct UsageRow {
    /// The day (UTC).
    pub day: Date,
    /// Visible part of the key.
    pub key: String,
    /// The plan.
    pub plan: String,
    /// `check` for single addresses, `screen` for rows of bulk requests.
    pub operation: String,
    /// The verdict.
    pub verdict: String,
    /// Number of charges.
    pub count: u64,
}

/// Returns the charges of the caller's tenant, up to now.
///
/// # Errors
///
/// Returns a problem that describes an invalid day.
pub async fn show_usage(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    query: Result<Query<UsageQuery>, QueryRejection>,
) -> Result<Json<UsageResponse>, ProblemResponse> {
    let Query(query) = query.map_err(|error| {
        let message = format!("{}; days are written as 2026-01-31", error.body_text());
        Problem::new(Code::InvalidRequest, &message).field("from, to", message)
    })?;
    let now = app.service.store_clock.now(app.service.clock.now());
    let today = now.to_zoned(TimeZone::UTC).date();
    let to = query.to.unwrap_or(today);
    let from = query.from.unwrap_or_else(|| to.saturating_sub(DEFAULT_DAYS.days()));
    if from > to || to.saturating_sub(MAX_DAYS.days()) > from {
        let message = format!("from {from} to {to}: ask for one to {MAX_DAYS} days");
        return Err(Problem::new(Code::InvalidRequest, &message).field("from", message).into());
    }
    let read = app.service.charges_of(&caller.tenant.name, from, to).await;
    let charges = read.map_err(|error| {
        tracing::error!(%error, "failed to read usage");
        Problem::new(Code::Unavailable, "usage cannot be read at present")
    })?;
    let mut usage: Vec<UsageRow> = charges
        .into_iter()
        .map(|(charged, count)| UsageRow {
            day: charged.day,
            key: charged.key.to_string(),
            plan: charged.plan.to_string(),
            operation: Operation::as_str(charged.operation).to_owned(),
            verdict: charged.verdict.into_owned(),
            count,
        })
        .collect();
    usage.sort();
    Ok(Json(UsageResponse { from, to, total: usage.iter().map(|row| row.count).sum(), usage }))
}
