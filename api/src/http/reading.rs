//! Readers of what callers send, each by itself, without a request around them: what fuzzing asks.

use axum::http::HeaderMap;
use jiff::SignedDuration;

use super::{
    body, frame, gate,
    problem::Problem,
    routes::{
        check::{self, CheckRequest},
        screen::{self, ScreenRequest},
    },
};
use crate::telemetry::trace_context;

/// Reads the body of a check.
///
/// # Errors
///
/// What is wrong with it.
pub fn check(bytes: &[u8]) -> Result<CheckRequest, Problem> {
    body::parse(bytes)
}

/// Reads a row of a bulk request.
///
/// # Errors
///
/// What is wrong with it.
pub fn row(bytes: &[u8]) -> Result<ScreenRequest, String> {
    screen::read_row(bytes)
}

/// What the header fields of a request say to us.
#[derive(Debug)]
pub struct Head {
    /// The key that they present.
    pub key: Result<String, Problem>,
    /// The request's name, where the caller gives it a plain one.
    pub request_id: Option<String>,
    /// How old an answer may be.
    pub accepts: Option<SignedDuration>,
    /// The caller's trace, in hexadecimal digits.
    pub trace: Option<String>,
}

/// Reads header fields.
#[must_use]
pub fn head(headers: &HeaderMap) -> Head {
    Head {
        key: gate::presented_key(headers),
        request_id: frame::given_id(headers).map(str::to_owned),
        accepts: check::caller_accepts(headers),
        trace: trace_context::of_caller(headers).map(|context| context.trace_id().to_string()),
    }
}
