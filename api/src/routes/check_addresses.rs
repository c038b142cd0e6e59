//! `POST /api/v1/check/addresses`: the risk of up to 100 addresses, answered together.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use assay_request::{
    addresses::AddressesRequest,
    check::{AddressSubject, CheckRequest},
    head,
    problem::{Code, Problem, ProblemDetails},
};
use assay_service::Caller;
use axum::{
    extract::{Extension, State},
    http::HeaderMap,
};
use futures_util::{StreamExt, stream};
use jiff::{SignedDuration, Timestamp};
use schemars::JsonSchema;
use serde::Serialize;
use tokio::time::timeout;

use super::check::{CheckResponse, RequestEcho, SeveralChains};
use crate::{
    App,
    request::{
        answer_records::{AnswerRecords, AnsweredCheck},
        body::JsonBody,
        checks_charge::ChecksCharge,
        frame::{ArrivalTime, RequestIdentity},
        load::TenantPermit,
        problem::ProblemResponse,
    },
    response::JsonText,
};

/// Largest body of a check of many addresses in bytes.
pub const MAX_BODY_BYTES: usize = 64 * 1024;
/// Number of checks of one request that run concurrently, so that checks of other callers are not delayed.
const CHECKS_AT_ONCE: usize = 4;
/// Time that is left for writing the answer when the last checks are given up.
const MARGIN: Duration = Duration::from_secs(1);

/// Answer to a check of many addresses. The type describes the answer, which is written piece by piece.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct AddressesResponse<'a> {
    /// The answer of each check, or its problem, in the order of the request.
    pub results: Vec<CheckResult<'a>>,
}

/// Result of one of many checks: the fields of an answer, of which `check_id` is one, or those of a problem, of which
/// `code` is one.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CheckResult<'a> {
    /// The answer, as a check of this address alone gives it.
    #[serde(flatten)]
    pub answer: Option<CheckResponse<'a>>,
    /// The problem, for which nothing is charged.
    #[serde(flatten)]
    pub problem: Option<ProblemDetails>,
}

/// Checks many addresses.
///
/// # Errors
///
/// Returns a problem that describes the error in the request, or that the limits have no room for all checks. Errors of
/// a check are in its result.
pub async fn check_addresses(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Extension(ArrivalTime(arrived)): Extension<ArrivalTime>,
    Extension(permit): Extension<TenantPermit>,
    Extension(identity): Extension<RequestIdentity>,
    headers: HeaderMap,
    body: JsonBody<AddressesRequest>,
) -> Result<JsonText<AddressesResponse<'static>>, ProblemResponse> {
    let request = body.read(MAX_BODY_BYTES, app.settings.body_timeout).await?;
    let checks: Vec<Result<ValidCheck, Problem>> =
        request.checks()?.into_iter().map(|check| check.and_then(ValidCheck::new)).collect();
    let valid = checks.iter().filter(|check| check.is_ok()).count();
    let valid = u64::try_from(valid).unwrap_or(u64::MAX);
    let charge = match valid {
        0 => None,
        _ => Some(Arc::new(ChecksCharge::take(&app, &caller, valid).await?)),
    };
    let batch = Batch {
        several: SeveralChains { app: &app, caller: &caller, permit: &permit },
        arrived,
        now: app.service.clock.now(),
        accepts: head::max_age(&headers),
    };
    let results = checks.into_iter().map(async |check| batch.answer(check?).await);
    let results: Vec<_> = stream::iter(results).buffered(CHECKS_AT_ONCE).collect().await;

    let mut records = AnswerRecords { charge, ..AnswerRecords::default() };
    let mut texts = Vec::with_capacity(results.len());
    for result in results {
        texts.push(match result {
            Ok((text, record)) => {
                records.checks.push(record);
                text
            }
            Err(problem) => written(&problem, &identity)?,
        });
    }
    let mut response = JsonText::new(format!("{{\"results\":[{}]}}", texts.join(",")));
    response.parts_mut().extensions_mut().insert(records);
    Ok(response)
}

/// A check whose body is valid.
struct ValidCheck {
    request: CheckRequest,
    subject: AddressSubject,
}

impl ValidCheck {
    fn new(request: CheckRequest) -> Result<Self, Problem> {
        Ok(Self { subject: request.subject()?, request })
    }
}

/// The checks of one request.
struct Batch<'a> {
    several: SeveralChains<'a>,
    arrived: Instant,
    now: Timestamp,
    accepts: Option<SignedDuration>,
}

impl Batch<'_> {
    /// Returns the text of an answer, with its record.
    async fn answer(&self, check: ValidCheck) -> Result<(String, AnsweredCheck), Problem> {
        let ValidCheck { request, subject } = check;
        let SeveralChains { app, caller, .. } = self.several;
        let left = app.settings.request_timeout.saturating_sub(self.arrived.elapsed() + MARGIN);
        let checking = self.several.check_subject(&subject, self.accepts, self.now);
        let (chain, outcome) = timeout(left, checking).await.map_err(|_| {
            let detail = "the check took too long beside the others; ask again";
            Problem::new(Code::Unavailable, detail)
        })??;
        let echo = RequestEcho {
            arrived: self.arrived,
            now: self.now,
            reference: request.reference,
            direction: request.direction,
            address_submitted: Some(request.address),
        };
        echo.write(app, caller, chain, &outcome)
    }
}

/// Returns the text of a problem.
fn written(problem: &Problem, identity: &RequestIdentity) -> Result<String, Problem> {
    let details = problem.details(&identity.path, &identity.id);
    serde_json::to_string(&details).map_err(|error| {
        tracing::error!(%error, "failed to serialize a problem");
        Problem::new(Code::InternalError, "the answer could not be serialized")
    })
}
