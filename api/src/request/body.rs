//! Reading a JSON body, bounded in size and time.

use std::time::Duration;

use assay_request::{
    json,
    problem::{Code, Problem},
};
use axum::{
    body::Body,
    http::{HeaderMap, header},
};
use http_body_util::BodyExt;
use serde::de::DeserializeOwned;
use tokio::time::timeout;

/// Reads and parses a JSON body of at most `limit` bytes that must arrive within `time`.
///
/// # Errors
///
/// A problem that says what is wrong with the body, and in which field.
pub async fn read_json<T: DeserializeOwned>(
    headers: &HeaderMap,
    body: Body,
    limit: usize,
    time: Duration,
) -> Result<T, Problem> {
    json::require_type(headers)?;
    let is_announced_too_large = headers
        .get(header::CONTENT_LENGTH)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.parse::<usize>().ok())
        .is_some_and(|length| length > limit);
    let read = if is_announced_too_large {
        Ok(ReadOutcome::TooLarge)
    } else {
        timeout(time, read(body, limit)).await
    };
    match read {
        Ok(ReadOutcome::Complete(bytes)) => json::parse(&bytes),
        Ok(ReadOutcome::TooLarge) => {
            let detail = format!("the body is larger than {limit} bytes");
            Err(Problem::new(Code::BodyTooLarge, detail))
        }
        Ok(ReadOutcome::Broken) => {
            Err(Problem::new(Code::MalformedHttp, "the body ended too early"))
        }
        Err(_) => Err(Problem::new(
            Code::RequestTimeout,
            format!("the body did not arrive within {} seconds", time.as_secs()),
        )),
    }
}

enum ReadOutcome {
    Complete(Vec<u8>),
    TooLarge,
    Broken,
}

async fn read(mut body: Body, limit: usize) -> ReadOutcome {
    let mut bytes = Vec::new();
    while let Some(frame) = body.frame().await {
        let Ok(frame) = frame else { return ReadOutcome::Broken };
        let Some(data) = frame.data_ref() else { continue };
        if bytes.len() + data.len() > limit {
            return ReadOutcome::TooLarge;
        }
        bytes.extend_from_slice(data);
    }
    ReadOutcome::Complete(bytes)
}
