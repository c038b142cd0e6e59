//! `Idempotency-Key` (IETF httpapi draft): a charged request is answered once, and its repetitions get the same answer
//! without a charge.
//!
//! The request goes on if its caller disconnects, so that the caller finds the answer by repeating it.

use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use assay_request::{
    head,
    problem::{Code, Problem},
};
use assay_service::{Caller, HeldKey, KeyOutcome};
use assay_telemetry::request::run_on_task;
use axum::{
    body::{Body, to_bytes},
    extract::{Extension, Request, State},
    http::{HeaderName, HeaderValue, StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use futures_util::FutureExt;
use tokio::time::timeout;

use super::{
    answer_records::AnswerRecords, body::read_bytes, checks_charge::ChecksCharge,
    problem::ProblemResponse,
};
use crate::{App, response::JSON};

/// Header field of an answer that is repeated.
const REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");
/// Time for which a claim lasts beyond the longest time of a request.
const CLAIM_MARGIN: Duration = Duration::from_secs(5);

/// Operation whose requests may have a key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeyedOperation {
    /// Identifier of the operation, which has keys of its own.
    pub(crate) id: &'static str,
    /// Largest body in bytes.
    pub(crate) max_body: usize,
    /// True if each request is charged as one check; false if the handler takes the checks.
    pub(crate) is_one_check: bool,
}

/// Answers a request with a key once; a request without one is passed on.
pub(crate) async fn answer_once(
    State((app, operation)): State<(Arc<App>, KeyedOperation)>,
    Extension(caller): Extension<Caller>,
    request: Request,
    next: Next,
) -> Response {
    let keyed = head::idempotency_key(request.headers());
    let key = match keyed {
        // The sandbox keeps no answers: a repetition gets one that is alike.
        Ok(Some(_)) if caller.is_sandbox() => return next.run(request).await,
        Ok(Some(key)) => key,
        Ok(None) => return next.run(request).await,
        Err(problem) => return ProblemResponse(problem).into_response(),
    };
    let (mut parts, body) = request.into_parts();
    let time = app.settings.body_timeout;
    let body = match read_bytes(&parts.headers, body, operation.max_body, time).await {
        Ok(body) => body,
        Err(problem) => return ProblemResponse(problem).into_response(),
    };
    // The body is decoded now.
    for field in [header::CONTENT_ENCODING, header::CONTENT_LENGTH, header::TRANSFER_ENCODING] {
        parts.headers.remove(field);
    }
    let answering = async move {
        let once = KeyedRequest { app, caller, operation };
        once.answer(key, Request::from_parts(parts, Body::from(body.clone())), &body, next).await
    };
    match run_on_task(answering).await {
        Ok(Ok(response)) => response,
        Ok(Err(problem)) => ProblemResponse(problem).into_response(),
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        Err(_) => ProblemResponse(unavailable("the server is stopping")).into_response(),
    }
}

/// A request with a key.
struct KeyedRequest {
    app: Arc<App>,
    caller: Caller,
    operation: KeyedOperation,
}

impl KeyedRequest {
    async fn answer(
        self,
        key: String,
        request: Request,
        body: &[u8],
        next: Next,
    ) -> Result<Response, Problem> {
        let longest = self.app.settings.request_timeout;
        let claimed_for = longest + CLAIM_MARGIN;
        let service = &self.app.service;
        let claimed =
            service.claim_key(&self.caller, self.operation.id, key, body, claimed_for).await;
        let claimed = claimed.map_err(|error| {
            tracing::error!(%error, "failed to claim an idempotency key");
            unavailable("idempotency keys cannot be read at present")
        })?;
        let held = match claimed {
            KeyOutcome::Held(held) => held,
            KeyOutcome::Answered(answer) => return Ok(replay(answer)),
            KeyOutcome::InUse => {
                let detail = "a request with this Idempotency-Key is being answered: repeat yours in one second";
                let problem = Problem::new(Code::IdempotencyKeyInUse, detail);
                return Err(problem.header(header::RETRY_AFTER, "1"));
            }
            KeyOutcome::OtherBody => {
                let detail = "a request with another body has this Idempotency-Key: send a new key with a new request, \
                              and the same body with the same key";
                return Err(Problem::new(Code::IdempotencyKeyReused, detail));
            }
        };
        let answering = AssertUnwindSafe(self.answer_new(request, next)).catch_unwind();
        let answered = match timeout(longest, answering).await {
            Ok(Ok(answered)) => answered,
            Ok(Err(panic)) => {
                held.free().await;
                std::panic::resume_unwind(panic)
            }
            Err(_) => Err(unavailable("the response took too long; try again")),
        };
        match answered {
            Ok(Answered::Text { head, text, records }) => {
                if records.is_momentary {
                    held.free().await;
                    records.commit(&self.app, &self.caller);
                } else {
                    self.keep(held, &text, records).await?;
                }
                Ok(Response::from_parts(head, Body::from(text)))
            }
            Ok(Answered::Refused(response)) => {
                held.free().await;
                Ok(response)
            }
            Err(problem) => {
                held.free().await;
                Err(problem)
            }
        }
    }

    /// Answers a request that has its key.
    async fn answer_new(&self, request: Request, next: Next) -> Result<Answered, Problem> {
        let charge = if self.operation.is_one_check {
            Some(Arc::new(ChecksCharge::take(&self.app, &self.caller, 1).await?))
        } else {
            None
        };
        let mut response = next.run(request).await;
        if response.status() != StatusCode::OK {
            return Ok(Answered::Refused(response));
        }
        let mut records = AnswerRecords::take(&mut response);
        records.charge = records.charge.or(charge);
        let (head, body) = response.into_parts();
        let bytes = to_bytes(body, usize::MAX).await;
        let text = bytes.ok().and_then(|bytes| String::from_utf8(bytes.into()).ok());
        // Answers of handlers are texts in memory.
        let text = text.ok_or_else(|| unavailable("the answer cannot be kept"))?;
        Ok(Answered::Text { head, text, records })
    }

    /// Keeps an answer, and then charges it.
    async fn keep(&self, held: HeldKey, text: &str, records: AnswerRecords) -> Result<(), Problem> {
        match held.keep(text).await {
            Ok(true) => {
                records.commit(&self.app, &self.caller);
                Ok(())
            }
            Ok(false) => Err(unavailable("the answer took too long to be kept; try again")),
            Err(error) => {
                tracing::error!(%error, "failed to keep the answer of an idempotency key");
                Err(unavailable("the answer cannot be kept at present"))
            }
        }
    }
}

/// Outcome of a request that had its key.
enum Answered {
    /// An answer to keep.
    Text { head: axum::http::response::Parts, text: String, records: AnswerRecords },
    /// Another response, which frees the key.
    Refused(Response),
}

/// Returns the response that repeats an answer.
fn replay(answer: String) -> Response {
    let fields = [
        (header::CONTENT_TYPE, HeaderValue::from_static(JSON)),
        (REPLAYED, HeaderValue::from_static("true")),
    ];
    (fields, answer).into_response()
}

fn unavailable(detail: &str) -> Problem {
    Problem::new(Code::Unavailable, format!("{detail}; nothing was charged"))
        .header(header::RETRY_AFTER, "1")
}
