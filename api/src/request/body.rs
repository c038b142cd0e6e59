//! JSON bodies with a type that the API's description names, read within limits of size and time.

use std::{convert::Infallible, marker::PhantomData, time::Duration};

use assay_request::{
    json,
    problem::{Code, Problem},
    row::RowFormat,
};
use axum::{
    body::{Body, Bytes},
    extract::{FromRequest, Request},
    http::{HeaderMap, header},
};
use serde::de::DeserializeOwned;
use tokio::time::timeout;

use super::coded_body::{BodyError, CodedBody};

/// Request body with a `T` as JSON, read by [`read`](Self::read).
#[derive(Debug)]
pub struct JsonBody<T> {
    headers: HeaderMap,
    body: Body,
    content: PhantomData<fn() -> T>,
}

impl<T, S: Sync> FromRequest<S> for JsonBody<T> {
    type Rejection = Infallible;

    async fn from_request(request: Request, _: &S) -> Result<Self, Infallible> {
        Ok(Self::of_request(request))
    }
}

impl<T> JsonBody<T> {
    /// Returns the body of a request.
    pub(crate) fn of_request(request: Request) -> Self {
        let (parts, body) = request.into_parts();
        Self { headers: parts.headers, body, content: PhantomData }
    }

    /// Returns the header fields of the request.
    pub(crate) const fn headers(&self) -> &HeaderMap {
        &self.headers
    }
}

impl<T: DeserializeOwned> JsonBody<T> {
    /// Reads and parses a body of at most `limit` bytes that must arrive within `time`.
    ///
    /// # Errors
    ///
    /// Returns a problem that describes the error and names the field.
    pub(crate) async fn read(self, limit: usize, time: Duration) -> Result<T, Problem> {
        read_json(&self.headers, self.body, limit, time).await
    }
}

/// Request body with rows, each a `T`: on lines of JSON, or in an array.
#[derive(Debug)]
pub struct RowsBody<T> {
    headers: HeaderMap,
    body: Body,
    content: PhantomData<fn() -> T>,
}

impl<T, S: Sync> FromRequest<S> for RowsBody<T> {
    type Rejection = Infallible;

    async fn from_request(request: Request, _: &S) -> Result<Self, Infallible> {
        let (parts, body) = request.into_parts();
        Ok(Self { headers: parts.headers, body, content: PhantomData })
    }
}

impl<T> RowsBody<T> {
    /// Returns the form of the rows.
    ///
    /// # Errors
    ///
    /// Returns a problem if the media type of the body is neither JSON lines nor JSON.
    pub(crate) fn format(&self) -> Result<RowFormat, Problem> {
        RowFormat::of(&self.headers)
    }

    /// Returns the body, to be decoded while it arrives.
    ///
    /// # Errors
    ///
    /// Returns a problem if the content coding of the body is not supported.
    pub(crate) fn open(self) -> Result<CodedBody, Problem> {
        CodedBody::new(&self.headers, self.body)
    }

    /// Reads a body of at most `limit` bytes that must arrive within `time`.
    ///
    /// # Errors
    ///
    /// Returns a problem that describes the error.
    pub(crate) async fn read(self, limit: usize, time: Duration) -> Result<Bytes, Problem> {
        read_bytes(&self.headers, self.body, limit, time).await
    }
}

async fn read_json<T: DeserializeOwned>(
    headers: &HeaderMap,
    body: Body,
    limit: usize,
    time: Duration,
) -> Result<T, Problem> {
    json::require_type(headers)?;
    json::parse(&read_bytes(headers, body, limit, time).await?)
}

/// Reads and decodes a body of at most `limit` bytes that must arrive within `time`.
///
/// # Errors
///
/// Returns a problem if the body is too large, late, or in a coding that is not supported.
pub(crate) async fn read_bytes(
    headers: &HeaderMap,
    body: Body,
    limit: usize,
    time: Duration,
) -> Result<Bytes, Problem> {
    let body = CodedBody::new(headers, body)?;
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
        Ok(ReadOutcome::Complete(bytes)) => Ok(bytes),
        Ok(ReadOutcome::TooLarge) => {
            let detail = format!("the body is larger than {limit} bytes");
            Err(Problem::new(Code::BodyTooLarge, detail))
        }
        Ok(ReadOutcome::Refused(error)) => {
            let code = match error {
                BodyError::TooLarge => Code::BodyTooLarge,
                BodyError::Broken | BodyError::Malformed(_) => Code::MalformedHttp,
            };
            Err(Problem::new(code, error.text()))
        }
        Err(_) => Err(Problem::new(
            Code::RequestTimeout,
            format!("the body did not arrive within {} seconds", time.as_secs()),
        )),
    }
}

enum ReadOutcome {
    Complete(Bytes),
    TooLarge,
    Refused(BodyError),
}

async fn read(mut body: CodedBody, limit: usize) -> ReadOutcome {
    let (mut first, mut joined) = (Bytes::new(), Vec::new());
    while let Some(data) = body.next().await {
        let data = match data {
            Ok(data) => data,
            Err(error) => return ReadOutcome::Refused(error),
        };
        if first.len() + joined.len() + data.len() > limit {
            return ReadOutcome::TooLarge;
        }
        // Most bodies arrive whole, and are not copied.
        if first.is_empty() && joined.is_empty() {
            first = data;
        } else {
            joined.extend_from_slice(&std::mem::take(&mut first));
            joined.extend_from_slice(&data);
        }
    }
    ReadOutcome::Complete(if joined.is_empty() { first } else { joined.into() })
}
