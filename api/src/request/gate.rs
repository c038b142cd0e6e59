//! Authentication and rate limiting, before the body of a request is read. Every response to a valid key states the
//! limits.

use std::{fmt, future::Future, sync::Arc};

use assay_address::ChainId;
use assay_limiter::{Charge, Decision, LimitStatus, RequestKind, StoreLossPolicy};
use assay_request::{
    head,
    problem::{Code, Problem},
};
use assay_service::{Caller, DenialReason};
use assay_telemetry::{request::WorkScope, stage};
use assay_tenancy::key::Scope;
use axum::{
    extract::{Request, State},
    http::{HeaderName, StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use jiff::Timestamp;
use tracing::Instrument as _;

use super::{
    answer_records::Handled,
    legacy_headers,
    load::{Class, ShedReason, TenantBounds, TenantPermit, refused},
    problem::ProblemResponse,
    streamed::hold_until_end,
};
use crate::{App, LimiterOutcome, connection::table::ConnectionMark, response::field_value};

const RATE_LIMIT: HeaderName = HeaderName::from_static("ratelimit");
const RATE_LIMIT_POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");

/// Requirements of a route.
#[derive(Clone, Copy, Debug)]
pub struct Gate {
    /// Scope that the key must have.
    pub scope: Scope,
    /// Kind of request that limits count.
    pub kind: RequestKind,
}

impl Gate {
    /// Returns the priority class of an authenticated request.
    fn class(self) -> Class {
        if self.scope == Scope::Screen { Class::Bulk } else { Class::Single }
    }
}

/// Authenticates a request and counts it, then passes it on or refuses it. A check that was not answered is not
/// charged.
pub async fn pass(
    State((app, gate)): State<(Arc<App>, Gate)>,
    request: Request,
    next: Next,
) -> Response {
    let handle = |mut request: Request, admitted: AdmittedCaller| {
        request.extensions_mut().insert(admitted.caller);
        request.extensions_mut().insert(admitted.permit);
        async { Handled::from_extensions(next.run(request).await) }
    };
    let mark = request.extensions().get::<ConnectionMark>().cloned();
    gate_around(&app, gate, mark.as_ref(), request, handle).await.into_extensions()
}

/// A caller whose request was admitted, and the request's permit.
#[derive(Clone, Debug)]
pub(crate) struct AdmittedCaller {
    /// The caller.
    pub(crate) caller: Caller,
    /// The permit.
    pub(crate) permit: TenantPermit,
}

/// Does what [`pass`] does before and after the handler `handle`, for a request on the connection with `mark`.
pub(crate) async fn gate_around<F: Future<Output = Handled>>(
    app: &App,
    gate: Gate,
    mark: Option<&ConnectionMark>,
    request: Request,
    handle: impl FnOnce(Request, AdmittedCaller) -> F,
) -> Handled {
    let service = &app.service;
    if service.is_key_data_stale() {
        return Handled::new(ProblemResponse(key_data_stale()).into_response());
    }
    let now = service.clock.now();
    let authenticated = stage!("authenticate").in_scope(|| {
        let key = head::presented_key(request.headers())?;
        service.authenticate(key, gate.scope, now).map_err(|reason| denied(reason, gate.scope))
    });
    let caller = match authenticated {
        Ok(caller) => caller,
        Err(problem) => {
            let permit = app.load.acquire_unauthenticated();
            let problem = permit.map_or_else(
                || shed(app, Class::Unauthenticated, ShedReason::Server, None),
                |_| problem,
            );
            return Handled::new(ProblemResponse(problem).into_response());
        }
    };
    if let Some(mark) = mark {
        mark.record_key();
    }
    let bounds = TenantBounds::new(&caller.tenant.name, &caller.tenant.plan);
    let permit = match TenantPermit::take(&app.load, bounds, gate.class()) {
        Ok(permit) => permit,
        Err(reason) => {
            let problem = shed(app, gate.class(), reason, None);
            return Handled::new(ProblemResponse(problem).into_response());
        }
    };
    service.key_use.note(&caller.key, now);

    let limits = caller.tenant.limits(now);
    let store_loss = StoreLossPolicy::of_plan(&caller.tenant.plan);
    let seconds = u64::try_from(now.as_second()).unwrap_or_default();
    // The check of a request with an idempotency key is taken once it is known that the request is no repetition.
    let is_keyed = head::has_idempotency_key(request.headers()) && !caller.is_sandbox();
    let kind = if is_keyed { RequestKind::Request } else { gate.kind };
    let admission = service.limiter.admit(caller.account(), kind, &limits, store_loss, seconds);
    match admission.instrument(stage!("limit")).await {
        Decision::Admitted { charge } => {
            app.metrics.limiter(LimiterOutcome::Admitted);
            let charge = ChargeGuard { app, caller: caller.clone(), charge, is_answered: false };
            let admitted = AdmittedCaller { caller: caller.clone(), permit: permit.clone() };
            let Handled { response, records, subject } = handle(request, admitted).await;
            records.commit(app, &caller);
            charge.finish(response.status());
            let statuses = service.limiter.statuses(caller.account(), &limits, store_loss, seconds);
            let response = hold_until_end(response, permit, WorkScope::current);
            Handled { subject, ..Handled::new(app.with_limits(response, &statuses)) }
        }
        Decision::Refused { violated, retry_after, statuses } => {
            app.metrics.limiter(LimiterOutcome::Refused);
            let names = violated.iter().map(ToString::to_string).collect();
            let problem = quota_exceeded(names, retry_after);
            Handled::new(app.with_limits(ProblemResponse(problem).into_response(), &statuses))
        }
        Decision::Unavailable { violated, closed, retry_after, statuses } => {
            app.metrics.limiter(LimiterOutcome::Unavailable);
            let names = violated.iter().map(ToString::to_string).collect();
            let problem = uncounted(names, closed, retry_after);
            Handled::new(app.with_limits(ProblemResponse(problem).into_response(), &statuses))
        }
    }
}

/// Counts one check of a caller who has no key in the request, and returns its charge. The charge is refunded if it is
/// dropped before [`ChargeGuard::finish`].
///
/// # Errors
///
/// Returns the problem of a limit that has no room, or cannot be counted.
pub(crate) async fn charge_check<'a>(
    app: &'a App,
    caller: &Caller,
    now: Timestamp,
) -> Result<ChargeGuard<'a>, Problem> {
    let limits = caller.tenant.limits(now);
    let store_loss = StoreLossPolicy::of_plan(&caller.tenant.plan);
    let seconds = u64::try_from(now.as_second()).unwrap_or_default();
    let limiter = &app.service.limiter;
    let kind = RequestKind::Check;
    let admission = limiter.admit(caller.account(), kind, &limits, store_loss, seconds);
    match admission.instrument(stage!("limit")).await {
        Decision::Admitted { charge } => {
            app.metrics.limiter(LimiterOutcome::Admitted);
            Ok(ChargeGuard { app, caller: caller.clone(), charge, is_answered: false })
        }
        Decision::Refused { violated, retry_after, .. } => {
            app.metrics.limiter(LimiterOutcome::Refused);
            let names = violated.iter().map(ToString::to_string).collect();
            Err(quota_exceeded(names, retry_after))
        }
        Decision::Unavailable { violated, closed, retry_after, .. } => {
            app.metrics.limiter(LimiterOutcome::Unavailable);
            let names = violated.iter().map(ToString::to_string).collect();
            Err(uncounted(names, closed, retry_after))
        }
    }
}

/// Returns the problem of exceeded limits.
fn quota_exceeded(names: Vec<String>, retry_after: u64) -> Problem {
    Problem::new(Code::QuotaExceeded, exhausted_text(&names, retry_after))
        .violated(names)
        .retry_after(retry_after, assay_system::random_u64())
}

/// Returns the problem of limits that cannot be counted. `closed`: the plan then allows no request.
fn uncounted(names: Vec<String>, closed: bool, retry_after: u64) -> Problem {
    let detail = uncounted_text(&names, retry_after);
    let problem = if closed {
        Problem::new(Code::Unavailable, detail)
    } else {
        let detail = format!("the fallback allowance is used up: {detail}");
        Problem::new(Code::ReducedCapacity, detail)
    };
    problem.violated(names).retry_after(retry_after, assay_system::random_u64())
}

/// Counts a request that has no permit, and returns its problem. `chain`: the chain that has no free permit.
pub(crate) fn shed(app: &App, class: Class, reason: ShedReason, chain: Option<ChainId>) -> Problem {
    app.metrics.shed(class);
    refused(reason, chain)
}

/// Returns the text of exceeded limits, with the time of the next try.
pub(crate) fn exhausted_text(names: &[String], retry_after: u64) -> String {
    let verb = if names.len() == 1 { "is" } else { "are" };
    format!("{} {verb} used up; {}", names.join(" and "), try_again(retry_after))
}

/// Returns the text of limits that cannot be counted because a token store is unreachable, with the time of the next
/// try.
pub(crate) fn uncounted_text(names: &[String], retry_after: u64) -> String {
    let limits = if names.is_empty() { "limits".to_owned() } else { names.join(" and ") };
    format!("{limits} cannot be counted at present; {}", try_again(retry_after))
}

fn try_again(seconds: u64) -> String {
    let unit = if seconds == 1 { "second" } else { "seconds" };
    format!("try again in {seconds} {unit}")
}

/// Returns the problem of a server whose key data is stale.
fn key_data_stale() -> Problem {
    let detail = "API keys cannot be verified: the server's key data is stale; try again later";
    Problem::new(Code::KeyDataStale, detail).retry_after(5, assay_system::random_u64())
}

/// Refunds the charge of a check that was not answered, also if the request is canceled.
pub(crate) struct ChargeGuard<'a> {
    app: &'a App,
    caller: Caller,
    charge: Charge,
    is_answered: bool,
}

impl ChargeGuard<'_> {
    /// Settles the charge of a response with a status.
    pub(crate) fn finish(mut self, status: StatusCode) {
        self.is_answered = status == StatusCode::OK;
    }
}

impl Drop for ChargeGuard<'_> {
    fn drop(&mut self) {
        if !self.is_answered {
            self.app.service.limiter.refund(self.caller.account(), &self.charge);
        }
    }
}

/// Returns the problem of a denied caller; `scope` is the scope that the operation needs.
pub(crate) fn denied(denied: DenialReason, scope: Scope) -> Problem {
    match denied {
        DenialReason::InvalidKey => Problem::new(
            Code::InvalidKey,
            "the API key is not valid: check that it was copied whole",
        )
        .header(header::WWW_AUTHENTICATE, "Bearer realm=\"assay\", error=\"invalid_token\""),
        DenialReason::TenantSuspended => Problem::new(
            Code::TenantSuspended,
            "the tenant is suspended: all its API keys are refused",
        ),
        DenialReason::NoApiAccess => {
            Problem::new(Code::NoApiAccess, "the tenant's plan has no access to the API")
        }
        // The text of RFC 6750, section 3.1.
        DenialReason::InsufficientScope => Problem::new(
            Code::InsufficientScope,
            format!("the API key lacks the scope `{scope}`, which this operation requires"),
        )
        .header(
            header::WWW_AUTHENTICATE,
            &format!("Bearer realm=\"assay\", error=\"insufficient_scope\", scope=\"{scope}\""),
        ),
    }
}

impl App {
    /// Adds the status of every limit, and `X-RateLimit-*` if enabled.
    fn with_limits(&self, response: Response, statuses: &[LimitStatus]) -> Response {
        let mut response = with_limits(response, statuses);
        if self.settings.legacy_rate_limit_headers {
            legacy_headers::add(response.headers_mut(), statuses);
        }
        response
    }
}

/// Adds the status of every limit (IETF httpapi draft, structured fields).
fn with_limits(mut response: Response, statuses: &[LimitStatus]) -> Response {
    let policies = FieldList(statuses, |LimitStatus { name, requests, window_seconds, .. }, to| {
        write!(to, "\"{name}\";q={requests};w={window_seconds}")
    });
    let limits = FieldList(statuses, |LimitStatus { name, remaining, resets_in, .. }, to| {
        write!(to, "\"{name}\";r={remaining};t={resets_in}")
    });
    let headers = response.headers_mut();
    for (name, value) in [
        (RATE_LIMIT_POLICY, field_value(format_args!("{policies}"))),
        (RATE_LIMIT, field_value(format_args!("{limits}"))),
    ] {
        if let Some(value) = value {
            headers.insert(name, value);
        }
    }
    response
}

/// Limits as the list of a header field; the function writes one of them.
struct FieldList<'a>(&'a [LimitStatus], fn(&LimitStatus, &mut fmt::Formatter<'_>) -> fmt::Result);

impl fmt::Display for FieldList<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(statuses, write) = self;
        for (index, status) in statuses.iter().enumerate() {
            if index > 0 {
                formatter.write_str(", ")?;
            }
            write(status, formatter)?;
        }
        Ok(())
    }
}
