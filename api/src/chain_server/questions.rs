//! Routes of the questions: each question is parsed, answered by the host, and counted.

use std::{sync::Arc, time::Instant};

use assay_address::ChainId;
use assay_chain_protocol::message::{
    CopyPartQuestion, PART_DIGEST, Question, RefusalCode, RefusedQuestion, RequestEnvelope,
};
use assay_service::chains::host::{Answers, ChainHost, RefusalReason};
use axum::{
    Json,
    body::Bytes,
    extract::{Path, State},
    http::{
        HeaderName, HeaderValue, StatusCode,
        header::{CONTENT_TYPE, RETRY_AFTER},
    },
    response::{IntoResponse, Response},
};

use super::ChainApp;

use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};

type App = State<Arc<ChainApp>>;

/// Returns the response with a refusal.
pub(super) fn refusal(refusal: RefusedQuestion) -> Response {
    let status = match refusal.code {
        RefusalCode::Unauthorized => StatusCode::UNAUTHORIZED,
        RefusalCode::NotFound => StatusCode::NOT_FOUND,
        RefusalCode::Invalid => StatusCode::BAD_REQUEST,
        RefusalCode::Behind => StatusCode::CONFLICT,
        RefusalCode::Busy => StatusCode::SERVICE_UNAVAILABLE,
        RefusalCode::DeadlineExceeded => StatusCode::GATEWAY_TIMEOUT,
        RefusalCode::Failed => StatusCode::INTERNAL_SERVER_ERROR,
    };
    let is_busy = refusal.code == RefusalCode::Busy;
    let mut response = (status, Json(refusal)).into_response();
    if is_busy {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
    }
    response
}

fn refused(refused: &RefusalReason) -> Response {
    self::refusal(RefusedQuestion { code: refused.code(), detail: refused.to_string() })
}

pub(super) async fn unknown() -> Response {
    let detail = "there is no such question: see docs/chain-protocol.md".to_owned();
    refusal(RefusedQuestion { code: RefusalCode::NotFound, detail })
}

/// Parses the chain in a path.
fn chain(text: &str) -> Result<ChainId, RefusalReason> {
    text.parse()
        .map_err(|error: assay_address::UnsupportedChain| RefusalReason::Invalid(error.to_string()))
}

/// Parses a question and its chain.
fn read<Q: DeserializeOwned>(
    chain: &str,
    body: &Bytes,
) -> Result<(ChainId, RequestEnvelope<Q>), RefusalReason> {
    let invalid = |error: serde_path_to_error::Error<serde_json::Error>| {
        RefusalReason::Invalid(format!("the message cannot be read: {error}"))
    };
    let asked = serde_path_to_error::deserialize(&mut serde_json::Deserializer::from_slice(body));
    Ok((self::chain(chain)?, asked.map_err(invalid)?))
}

/// Notes a question that could not be answered.
fn noted<T>(
    app: &ChainApp,
    chain: ChainId,
    answered: Result<T, RefusalReason>,
) -> Result<T, RefusalReason> {
    if let Err(RefusalReason::Failed(error)) = &answered {
        app.host.note_failed(chain, error);
    }
    answered
}

/// Returns the response to a question that was answered or refused.
fn answer<T: serde::Serialize>(
    app: &ChainApp,
    question: &'static str,
    begun: Instant,
    answered: Result<T, RefusalReason>,
) -> Response {
    app.metrics.answered(
        question,
        answered.as_ref().err().map(RefusalReason::code),
        begun.elapsed(),
    );
    match answered {
        Ok(answer) => Json(answer).into_response(),
        Err(reason) => refused(&reason),
    }
}

/// Parses a question, lets the host answer it, and counts it.
pub(super) async fn ask<Q: Question>(
    State(app): App,
    Path(name): Path<String>,
    body: Bytes,
) -> Response
where
    ChainHost: Answers<Q>,
{
    let begun = Instant::now();
    let answered = async {
        let (chain, asked) = read::<Q>(&name, &body)?;
        noted(&app, chain, app.host.answer(chain, asked).await)
    };
    answer(&app, Q::PATH, begun, answered.await)
}

pub(super) async fn state(State(app): App, Path(name): Path<String>) -> Response {
    let begun = Instant::now();
    let state = async {
        let chain = chain(&name)?;
        noted(&app, chain, app.host.state(chain).await)
    };
    answer(&app, "state", begun, state.await)
}

pub(super) async fn copy_part(State(app): App, Path(name): Path<String>, body: Bytes) -> Response {
    let begun = Instant::now();
    let read = read::<CopyPartQuestion>(&name, &body);
    let answered =
        read.and_then(|(chain, asked)| noted(&app, chain, app.host.copy_part(chain, asked)));
    let refusal = answered.as_ref().err().map(RefusalReason::code);
    app.metrics.answered(CopyPartQuestion::PATH, refusal, begun.elapsed());
    match answered {
        Ok(bytes) => {
            let digest = hex::encode(Sha256::digest(&bytes));
            (
                [
                    (CONTENT_TYPE, "application/octet-stream"),
                    (HeaderName::from_static(PART_DIGEST), &*digest),
                ],
                bytes,
            )
                .into_response()
        }
        Err(reason) => refused(&reason),
    }
}
