//! `GET /api/v1/checks`: earlier checks of the caller's tenant, by what people remember of them.

use std::sync::Arc;

use assay_engine::score::{Score, Verdict};
use assay_request::{
    check::require_reference,
    problem::{Code, Problem},
    search::{self, Cursor},
};
use assay_service::Caller;
use assay_store::checks::{CheckFilter, CheckKey, CheckQuery, FoundCheck};
use axum::{
    Json,
    extract::{Extension, Query, State, rejection::QueryRejection},
};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{App, request::problem::ProblemResponse};

/// Largest number of checks of one page, and its default.
const MOST: usize = 100;
const DEFAULT: usize = 20;

/// Conditions on checks: a check is listed if it meets all that are given.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChecksQuery {
    /// Blockchain: its identifier or a well-known name, in any letter case.
    #[serde(default)]
    #[schemars(example = &"btc")]
    pub blockchain: Option<String>,
    /// Address in any form that the blockchain allows; without `blockchain`, as answers show it. A check of a transfer
    /// is found by its receiver.
    #[serde(default)]
    #[schemars(example = &"1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa")]
    pub address: Option<String>,
    /// Your reference from the request, as a whole.
    #[serde(default)]
    #[schemars(length(max = 128), example = &"order-4711")]
    pub reference: Option<String>,
    /// Verdict of the answer.
    #[serde(default)]
    #[schemars(example = Verdict::Review)]
    pub verdict: Option<Verdict>,
    /// Code of a reason of the answer, or identifier of a minimum score rule that fired.
    #[serde(default)]
    #[schemars(example = &"exposure")]
    pub rule: Option<String>,
    /// Time from which checks are listed (RFC 3339).
    #[serde(default)]
    #[schemars(example = "2026-02-11T00:00:00Z")]
    pub from: Option<Timestamp>,
    /// Time before which checks are listed (RFC 3339).
    #[serde(default)]
    #[schemars(example = "2026-02-12T00:00:00Z")]
    pub to: Option<Timestamp>,
    /// Cursor of the next page: `next_cursor` of the page before, with the same conditions.
    #[serde(default)]
    #[schemars(example = &"MTc2NDI5")]
    pub cursor: Option<String>,
    /// Largest number of checks. Default: 20.
    #[serde(default)]
    #[schemars(range(min = 1, max = 100), example = 20)]
    pub limit: Option<usize>,
}

/// The names of the conditions, for messages about one of them.
const PARAMETERS: [&str; 9] =
    ["blockchain", "address", "reference", "verdict", "rule", "from", "to", "cursor", "limit"];

/// One page of checks.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ChecksResponse {
    /// The checks, the newest first.
    pub checks: Vec<ListedCheck>,
    /// Cursor of the next page; null at the end. A page before the end may have fewer checks than `limit`, or none,
    /// because the work for one page is bounded.
    pub next_cursor: Option<String>,
}

/// An earlier check. `GET /checks/{check_id}` shows its answer.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ListedCheck {
    /// Identifier of the check.
    pub check_id: String,
    /// Time of the answer, to the millisecond.
    pub checked_at: Timestamp,
    /// Your reference from the request.
    pub reference: Option<String>,
    /// Identifier of the blockchain.
    pub blockchain: String,
    /// Address in canonical form; for a transfer, the receiver's address.
    pub address: String,
    /// Risk score, 0 to 100.
    pub risk_score: Score,
    /// Verdict of the answer.
    pub verdict: String,
    /// Codes of the answer's reasons, and identifiers of the minimum score rules that fired, each once.
    pub rules: Vec<String>,
}

impl From<FoundCheck> for ListedCheck {
    fn from(found: FoundCheck) -> Self {
        let FoundCheck { key, summary } = found;
        Self {
            check_id: key.id,
            checked_at: Timestamp::from_millisecond(key.made_at).unwrap_or_default(),
            reference: summary.reference,
            blockchain: summary.blockchain,
            address: summary.address,
            risk_score: summary.score,
            verdict: summary.verdict,
            rules: summary.rules,
        }
    }
}

/// Lists earlier checks of the caller's tenant.
///
/// # Errors
///
/// Returns a problem that names the wrong parameter and describes a valid value.
pub async fn list_checks(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    query: Result<Query<ChecksQuery>, QueryRejection>,
) -> Result<Json<ChecksResponse>, ProblemResponse> {
    let Query(asked) = query.map_err(|error| {
        let message = error.body_text();
        let about = |name: &&&str| message.contains(&format!("{name}:"));
        wrong(PARAMETERS.iter().find(about).copied().unwrap_or("limit"), message.clone())
    })?;
    let query = read(asked)?;
    let now = app.service.clock.now();
    let page = app.service.find_checks(&caller, query, now).await.map_err(|error| {
        tracing::error!(%error, "failed to find kept checks");
        Problem::new(Code::Unavailable, "earlier checks cannot be searched at present")
    })?;
    let next = page.next.map(|CheckKey { made_at, id }| Cursor { made_at, id }.text());
    let checks = page.checks.into_iter().map(ListedCheck::from).collect();
    Ok(Json(ChecksResponse { checks, next_cursor: next }))
}

/// Reads the parameters.
fn read(asked: ChecksQuery) -> Result<CheckQuery, Problem> {
    let (blockchain, address) =
        search::subject(asked.blockchain.as_deref(), asked.address.as_deref())?;
    require_reference(asked.reference.as_deref())?;
    if let (Some(from), Some(to)) = (asked.from, asked.to)
        && from >= to
    {
        return Err(wrong("from", format!("`from` {from} is not before `to` {to}")));
    }
    let limit = asked.limit.unwrap_or(DEFAULT);
    if !(1..=MOST).contains(&limit) {
        return Err(wrong("limit", format!("`limit` is {limit}: write 1 to {MOST}")));
    }
    let after = asked.cursor.as_deref().map(Cursor::read).transpose()?;
    let filter = CheckFilter {
        blockchain: blockchain.map(|chain| chain.as_str().to_owned()),
        address,
        reference: asked.reference,
        verdict: asked.verdict.map(|verdict| verdict.as_str().to_owned()),
        rule: asked.rule,
        from: asked.from,
        to: asked.to,
    };
    let after = after.map(|Cursor { made_at, id }| CheckKey { made_at, id });
    Ok(CheckQuery { filter, after, limit })
}

fn wrong(field: &str, message: String) -> Problem {
    Problem::new(Code::InvalidRequest, &message).field(field, message)
}
