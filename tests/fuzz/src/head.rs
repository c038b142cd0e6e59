//! Any header fields, one a line: no panic; an accepted key was sent, and an accepted name or trace may be logged.

use assay_request::{head, trace::caller_context};
use http::{HeaderMap, HeaderName, HeaderValue};
use opentelemetry::trace::TraceContextExt;

/// Checks the promise of this module for an input.
///
/// # Panics
///
/// Panics if the promise does not hold.
pub fn run(bytes: &[u8]) {
    let mut headers = HeaderMap::new();
    for line in bytes.split(|byte| *byte == b'\n').take(100) {
        let colon = line.iter().position(|byte| *byte == b':').unwrap_or(line.len());
        let (name, value) = line.split_at(colon);
        if let (Ok(name), Ok(value)) = (
            HeaderName::from_bytes(name),
            HeaderValue::from_bytes(value.get(1..).unwrap_or_default()),
        ) {
            headers.append(name, value);
        }
    }
    match head::presented_key(&headers) {
        Ok(key) => {
            let sent = |value: &HeaderValue| value.to_str().is_ok_and(|text| text.contains(key));
            let fields = ["x-api-key", "authorization"];
            assert!(fields.iter().all(|name| headers.get_all(*name).iter().all(sent)));
        }
        Err(problem) => assert_eq!(problem.details("/", "id").status, 401),
    }
    if let Some(id) = head::request_id(&headers) {
        assert!((1..=128).contains(&id.len()) && !id.contains("assay_"));
        assert!(id.bytes().all(|byte| byte.is_ascii_graphic()));
    }
    if let Some(caller) = caller_context(&headers) {
        assert!(caller.span().span_context().is_valid());
    }
    assert!(head::max_age(&headers).is_none_or(|age| !age.is_negative()));
}
