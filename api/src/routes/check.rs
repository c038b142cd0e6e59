//! `POST /api/v1/check/address`: the risk of one address. `POST /api/v1/check/transfer`: the risk of one transfer, or of a
//! withdrawal that is not sent yet.

use std::{
    fmt::Write as _,
    sync::Arc,
    time::{Duration, Instant},
};

use assay_address::{CanonicalAddress, ChainId};
use assay_engine::{
    account::{InvalidAccountTransfer, PublishedPlace},
    assessment::Assessment,
    utxo::InvalidTransfer,
};
use assay_request::{
    check::{AddressSubject, CheckRequest, TransferDirection},
    head,
    problem::{Code, Problem},
    transfer::{TransferRequest, TransferSubject},
};
use assay_service::{
    CacheStatus, Caller, ChainVerdict, CheckError, CheckOutcome, TransferError, on_every_evm_chain,
};
use assay_store::usage::{AnswerText, KeptCheck, members};
use axum::{
    extract::{Extension, Request, State},
    http::{HeaderMap, HeaderName, header},
    response::IntoResponse,
};
use jiff::{SignedDuration, Timestamp};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    App,
    request::{
        answer_records::{AnswerRecords, AnsweredCheck, Handled},
        body::JsonBody,
        frame::{ArrivalTime, LoggedSubject},
        gate::{AdmittedCaller, shed},
        load::{Class, Permit, TenantPermit},
        parsed_addresses::ParsedAddresses,
        problem::ProblemResponse,
        sandbox,
    },
    response::{JsonText, field_value, json_response},
};

/// Largest body of a check in bytes.
pub const MAX_BODY_BYTES: usize = 8 * 1024;

const CACHE_STATUS: HeaderName = HeaderName::from_static("cache-status");

/// Answer to a check. The type describes the answer; [`print`] writes it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CheckResponse<'a> {
    /// Identifier of this check.
    pub check_id: String,
    /// Your reference from the request.
    pub reference: Option<String>,
    /// Your direction from the request.
    pub direction: Option<TransferDirection>,
    /// The address as it was submitted; if an output names the transfer, the receiver's address in canonical form.
    pub address_submitted: String,
    /// The assessment.
    #[serde(flatten)]
    pub assessment: &'a Assessment,
    /// The account on each EVM chain, of a check with the blockchain `evm`; left out of other checks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chains: Option<Vec<ChainVerdict>>,
    /// Time of the assessment.
    pub assessed_at: Timestamp,
    /// SHA-256 of the assessment's canonical JSON: everything in this answer except `check_id`, `reference`,
    /// `direction`, `address_submitted`, `assessed_at`, `assessment_digest`, `cached`, `processing_time_ms` and each
    /// source's `fetched_at`.
    pub assessment_digest: &'a str,
    /// True if the assessment is repeated from the cache.
    pub cached: bool,
    /// Milliseconds from the request's arrival to this answer.
    pub processing_time_ms: f64,
}

/// Checks one address.
///
/// # Errors
///
/// Returns a problem that describes the error in the request.
pub async fn check_address(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Extension(ArrivalTime(arrived)): Extension<ArrivalTime>,
    Extension(permit): Extension<TenantPermit>,
    body: JsonBody<CheckRequest>,
) -> Result<JsonText<CheckResponse<'static>>, ProblemResponse> {
    let admitted = AdmittedCaller { caller, permit };
    let handled = answer_address(&app, CheckRequest::subject, &admitted, arrived, body).await?;
    Ok(JsonText::from_response(handled.into_extensions()))
}

/// Checks one address of a request that did not pass the router.
pub(crate) async fn check_address_directly(
    app: &Arc<App>,
    addresses: &ParsedAddresses,
    admitted: AdmittedCaller,
    arrived: Instant,
    request: Request,
) -> Handled {
    let body = JsonBody::of_request(request);
    let subject_of = |request: &CheckRequest| addresses.subject(request);
    let answered = answer_address(app, subject_of, &admitted, arrived, body).await;
    answered.unwrap_or_else(|problem| Handled::new(ProblemResponse(problem).into_response()))
}

/// Answers the check of one address.
async fn answer_address(
    app: &Arc<App>,
    subject_of: impl FnOnce(&CheckRequest) -> Result<AddressSubject, Problem>,
    AdmittedCaller { caller, permit }: &AdmittedCaller,
    arrived: Instant,
    body: JsonBody<CheckRequest>,
) -> Result<Handled, Problem> {
    let accepts = head::max_age(body.headers());
    let request = body.read(MAX_BODY_BYTES, app.settings.body_timeout).await?;
    let subject = subject_of(&request)?;
    if let AddressSubject::One(address) = &subject {
        move_to(app, permit, address.chain())?;
    }
    let now = app.service.clock.now();
    let (chain, outcome) = match &subject {
        AddressSubject::One(address) => {
            let outcome = app.service.check(caller, address, accepts, now).await;
            (address.chain(), outcome.map_err(failed)?)
        }
        AddressSubject::EveryEvmChain(account) => {
            let asking = SeveralChains { app, caller, permit };
            Box::pin(asking.check(account, accepts, now)).await?
        }
    };
    let asked = RequestEcho {
        arrived,
        now,
        reference: request.reference,
        direction: request.direction,
        address_submitted: Some(request.address),
    };
    asked.answer(app, caller, chain, &outcome)
}

/// A caller who asks for checks on several chains, each of which takes permits of its own.
#[derive(Clone, Copy)]
pub(super) struct SeveralChains<'a> {
    pub(super) app: &'a App,
    pub(super) caller: &'a Caller,
    pub(super) permit: &'a TenantPermit,
}

impl SeveralChains<'_> {
    /// Checks the subject of one check.
    pub(super) async fn check_subject(
        self,
        subject: &AddressSubject,
        accepts: Option<SignedDuration>,
        now: Timestamp,
    ) -> Result<(ChainId, CheckOutcome), Problem> {
        match subject {
            AddressSubject::One(address) => {
                let _permits = self.permits(address.chain())?;
                let outcome = self.app.service.check(self.caller, address, accepts, now).await;
                Ok((address.chain(), outcome.map_err(failed)?))
            }
            AddressSubject::EveryEvmChain(account) => self.check(account, accepts, now).await,
        }
    }

    /// Checks an account on every EVM chain, with permits of those that are followed.
    async fn check(
        self,
        account: &CanonicalAddress,
        accepts: Option<SignedDuration>,
        now: Timestamp,
    ) -> Result<(ChainId, CheckOutcome), Problem> {
        let accounts = on_every_evm_chain(account);
        let readers = self.app.service.chains();
        let followed = accounts.iter().map(CanonicalAddress::chain);
        let followed = followed.filter(|chain| readers.is_followed(*chain));
        let _permits =
            followed.map(|chain| self.permits(chain)).collect::<Result<Vec<_>, Problem>>()?;
        let checked = self.app.service.check_chains(self.caller, &accounts, accepts, now).await;
        checked.map_err(failed)
    }

    fn permits(self, chain: ChainId) -> Result<[Permit; 2], Problem> {
        let refused = |reason| shed(self.app, Class::Single, reason, Some(chain));
        self.permit.acquire_for(chain).map_err(refused)
    }
}

/// Checks one transfer.
///
/// # Errors
///
/// Returns a problem that describes the error in the request, or the reason for which the transfer cannot be assessed.
pub async fn check_transfer(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Extension(ArrivalTime(arrived)): Extension<ArrivalTime>,
    Extension(permit): Extension<TenantPermit>,
    headers: HeaderMap,
    body: JsonBody<TransferRequest>,
) -> Result<JsonText<CheckResponse<'static>>, ProblemResponse> {
    let request = body.read(MAX_BODY_BYTES, app.settings.body_timeout).await?;
    let subject = request.subject()?;
    let chain = match &subject {
        TransferSubject::Sent(query) => query.chain,
        TransferSubject::Planned(planned) => planned.to.chain(),
    };
    move_to(&app, &permit, chain)?;

    let now = app.service.clock.now();
    let accepts = head::max_age(&headers);
    let outcome = match subject {
        TransferSubject::Sent(query) => {
            app.service.check_transfer(&caller, query, accepts, now).await
        }
        TransferSubject::Planned(planned) => {
            app.service.check_withdrawal(&caller, planned, accepts, now).await
        }
    };
    let asked = RequestEcho {
        arrived,
        now,
        reference: request.reference,
        direction: Some(request.direction),
        address_submitted: request.address.or(request.to),
    };
    let handled = asked.answer(&app, &caller, chain, &outcome.map_err(failed)?)?;
    Ok(JsonText::from_response(handled.into_extensions()))
}

/// Moves a check to the permits of its chain. A check without a permit is refused and not charged: an answer that the
/// chain is unavailable would be a verdict about an address that was not assessed.
fn move_to(app: &App, permit: &TenantPermit, chain: ChainId) -> Result<(), Problem> {
    permit.move_to(chain).map_err(|reason| shed(app, Class::Single, reason, Some(chain)))
}

/// Returns the problem of a check that failed.
pub(crate) fn failed(error: CheckError) -> Problem {
    let error = match error {
        CheckError::Unserializable(error) => return unserializable(&error),
        CheckError::Sandbox(outcome) => return sandbox::problem(outcome),
        CheckError::Transfer(error) => error,
    };
    let detail = error.to_string();
    match error {
        TransferError::NotFollowed(_) => {
            Problem::new(Code::ChainNotFollowed, &detail).field("blockchain", detail)
        }
        TransferError::Unavailable(..) => Problem::new(Code::Unavailable, detail),
        TransferError::UnknownTransaction(_) => {
            Problem::new(Code::TransactionNotFound, &detail).field("transaction", detail)
        }
        TransferError::Invalid(invalid) => {
            let (code, field) = match invalid {
                InvalidTransfer::NoSuchOutput { .. } => (Code::OutputNotFound, "output"),
                InvalidTransfer::NotPaid(_) => (Code::OutputNotFound, "address"),
                InvalidTransfer::NoAddress(_) => (Code::UnsupportedTransfer, "output"),
                InvalidTransfer::NoAmount | InvalidTransfer::Coinbase => {
                    (Code::UnsupportedTransfer, "transaction")
                }
            };
            Problem::new(code, &detail).field(field, detail)
        }
        TransferError::InvalidOfAccounts(invalid) => {
            let (code, field) = match *invalid {
                InvalidAccountTransfer::Several(_) => (Code::InvalidRequest, "log_index"),
                InvalidAccountTransfer::NoSuchPlace { place: PublishedPlace::Log(_), .. } => {
                    (Code::OutputNotFound, "log_index")
                }
                InvalidAccountTransfer::NoSuchPlace { place: PublishedPlace::Trace(_), .. } => {
                    (Code::OutputNotFound, "trace_index")
                }
                InvalidAccountTransfer::NotPaid(_) => (Code::OutputNotFound, "address"),
                InvalidAccountTransfer::NoTransfer
                | InvalidAccountTransfer::MovesNothing
                | InvalidAccountTransfer::NotFollowed(_)
                | InvalidAccountTransfer::TooLarge
                | InvalidAccountTransfer::Destroyed
                | InvalidAccountTransfer::GivenBack => (Code::UnsupportedTransfer, "transaction"),
            };
            Problem::new(code, &detail).field(field, detail)
        }
        TransferError::OtherLedger(_) => {
            Problem::new(Code::InvalidRequest, &detail).field("transaction", detail)
        }
        TransferError::Read(error) => {
            tracing::error!(%error, "failed to read a transfer");
            Problem::new(Code::Unavailable, "the transaction cannot be read at present")
        }
    }
}

fn unserializable(error: &serde_json::Error) -> Problem {
    tracing::error!(%error, "failed to serialize an answer");
    Problem::new(Code::InternalError, "the answer could not be serialized")
}

/// Properties of a request that its answer repeats.
pub(crate) struct RequestEcho {
    pub(crate) arrived: Instant,
    pub(crate) now: Timestamp,
    pub(crate) reference: Option<String>,
    pub(crate) direction: Option<TransferDirection>,
    pub(crate) address_submitted: Option<String>,
}

impl RequestEcho {
    /// Returns the response with the answer, and the records that it leaves.
    fn answer(
        self,
        app: &App,
        caller: &Caller,
        chain: ChainId,
        outcome: &CheckOutcome,
    ) -> Result<Handled, Problem> {
        let now = self.now;
        let (text, record) = self.write(app, caller, chain, outcome)?;
        let mut handled = Handled::new(json_response(text));
        let is_momentary = outcome.assessed.valid_until.is_some_and(|until| until <= now);
        handled.records = AnswerRecords { checks: vec![record], charge: None, is_momentary };
        if !caller.is_sandbox() {
            set_cache_fields(handled.response.headers_mut(), outcome, now);
        }
        let assessed = Arc::clone(&outcome.assessed);
        handled.subject = Some(LoggedSubject { chain, assessed });
        Ok(handled)
    }

    /// Writes the answer, and returns it with its record.
    pub(crate) fn write(
        self,
        app: &App,
        caller: &Caller,
        chain: ChainId,
        outcome: &CheckOutcome,
    ) -> Result<(String, AnsweredCheck), Problem> {
        let Self { arrived, now, reference, direction, address_submitted } = self;
        let assessed = &outcome.assessed;
        if !caller.is_sandbox() {
            app.metrics.check(assessed.verdict, outcome.cache);
        }
        let before = BeforeAssessment {
            check_id: assay_system::new_id(now).to_string(),
            reference,
            direction,
            address_submitted: address_submitted.unwrap_or_else(|| assessed.address.clone()),
        };
        let after = AfterAssessment {
            assessed_at: assessed.assessed_at,
            assessment_digest: &assessed.digest,
            cached: outcome.cache == CacheStatus::Hit,
            processing_time_ms: milliseconds(arrived.elapsed()),
        };
        let printed = print(&before, &assessed.text, &after);
        let (text, position) = printed.map_err(|error| unserializable(&error))?;
        let keeps = caller.keeps_checks();
        let is_receiver = direction == Some(TransferDirection::Withdrawal) && keeps;
        let receiver = || CanonicalAddress::parse(chain, &assessed.address).ok();
        let (id, tenant) = (before.check_id, caller.tenant.name.clone());
        let record = AnsweredCheck {
            verdict: assessed.verdict,
            now,
            receiver: is_receiver.then(receiver).flatten(),
            kept: keeps.then(|| {
                let summary = assessed.summary().cloned();
                let answer = AnswerText::with_assessment(&text, &assessed.text, position);
                KeptCheck::with_summary(id, tenant, now, answer, summary, before.reference)
            }),
        };
        Ok((text, record))
    }
}

/// Fields that precede the assessment in an answer.
#[derive(Debug)]
struct BeforeAssessment {
    check_id: String,
    reference: Option<String>,
    direction: Option<TransferDirection>,
    address_submitted: String,
}

/// Fields that follow the assessment in an answer.
#[derive(Debug)]
struct AfterAssessment<'a> {
    assessed_at: Timestamp,
    assessment_digest: &'a str,
    cached: bool,
    processing_time_ms: f64,
}

/// Usual size in bytes of the fields before and after the assessment.
const OTHER_FIELDS_BYTES: usize = 640;

/// Joins the parts of an answer: the fields before the assessment, the serialized assessment, and the fields after it.
/// Returns the answer, and the position of the assessment's fields.
fn print(
    before: &BeforeAssessment,
    assessment: &str,
    after: &AfterAssessment<'_>,
) -> Result<(String, usize), serde_json::Error> {
    let BeforeAssessment { check_id, reference, direction, address_submitted } = before;
    let AfterAssessment { assessed_at, assessment_digest, cached, processing_time_ms } = after;
    let mut text = String::with_capacity(assessment.len() + OTHER_FIELDS_BYTES);
    text.push_str("{\"check_id\":");
    push_json(&mut text, Some(check_id))?;
    text.push_str(",\"reference\":");
    push_json(&mut text, reference.as_deref())?;
    text.push_str(",\"direction\":");
    push_json(&mut text, direction.map(TransferDirection::as_str))?;
    text.push_str(",\"address_submitted\":");
    push_json(&mut text, Some(address_submitted))?;
    text.push(',');
    let position = text.len();
    text.push_str(members(assessment).unwrap_or_default());
    // Writing to a string cannot fail.
    let _ = write!(text, ",\"assessed_at\":\"{assessed_at}\",\"assessment_digest\":");
    push_json(&mut text, Some(assessment_digest))?;
    // A time in milliseconds is far from the numbers that Rust and JSON write differently.
    let _ = write!(text, ",\"cached\":{cached},\"processing_time_ms\":{processing_time_ms:?}}}");
    Ok((text, position))
}

/// Adds a text, or `null`, as JSON.
fn push_json(json: &mut String, text: Option<&str>) -> Result<(), serde_json::Error> {
    let is_plain = |text: &str| {
        !text.bytes().fold(false, |found, byte| found | matches!(byte, b'"' | b'\\' | 0..=0x1f))
    };
    match text {
        None => json.push_str("null"),
        Some(text) if is_plain(text) => json.extend(["\"", text, "\""]),
        Some(text) => json.push_str(&serde_json::to_string(text)?),
    }
    Ok(())
}

/// Adds the header fields `Cache-Status` (RFC 9211) and `Age`.
fn set_cache_fields(headers: &mut HeaderMap, outcome: &CheckOutcome, now: Timestamp) {
    let seconds = outcome.time_to_live.as_secs();
    let status = match outcome.cache {
        CacheStatus::Hit => "hit",
        CacheStatus::Miss => "fwd=miss; stored",
        CacheStatus::Bypass => "fwd=request; stored",
    };
    let age = outcome.assessed.age(now).as_secs();
    for (name, value) in [
        (CACHE_STATUS, field_value(format_args!("assay; {status}; ttl={seconds}"))),
        (header::AGE, field_value(format_args!("{age}"))),
    ] {
        if let Some(value) = value {
            headers.insert(name, value);
        }
    }
}

/// Converts to milliseconds, rounded to the microsecond.
fn milliseconds(took: Duration) -> f64 {
    (took.as_secs_f64() * 1_000_000.0).round() / 1000.0
}

#[cfg(test)]
mod tests {
    use assay_engine::{assess, policy::Policy};
    use assay_intel::IntelSnapshot;
    use assay_service::SerializedAssessment;

    use super::*;

    #[test]
    fn an_answer_is_written_as_its_type_describes() {
        let now: Timestamp = "2026-11-20T12:00:00Z".parse().unwrap();
        let address = "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa";
        let subject = CanonicalAddress::parse(ChainId::BTC, address).unwrap();
        let facts = IntelSnapshot::default().facts(&subject);
        let assessment = assess(&subject, &facts, &Policy::default(), now);
        let assessed = SerializedAssessment::new(&assessment, now, 1).unwrap();
        let described = CheckResponse {
            check_id: "one".into(),
            reference: Some("order {4711}".into()),
            direction: Some(TransferDirection::Deposit),
            address_submitted: address.into(),
            assessment: &assessment,
            chains: None,
            assessed_at: now,
            assessment_digest: &assessed.digest,
            cached: true,
            processing_time_ms: 0.214,
        };
        let before = BeforeAssessment {
            check_id: "one".into(),
            reference: Some("order {4711}".into()),
            direction: Some(TransferDirection::Deposit),
            address_submitted: address.into(),
        };
        let after = AfterAssessment {
            assessed_at: now,
            assessment_digest: &assessed.digest,
            cached: true,
            processing_time_ms: 0.214,
        };
        let (printed, _) = print(&before, &assessed.text, &after).unwrap();
        assert_eq!(printed, serde_json::to_string(&described).unwrap());
    }
}
