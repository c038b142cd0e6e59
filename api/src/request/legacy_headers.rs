//! `X-RateLimit-*` header fields, for callers without support for `RateLimit`: they state the limit with the fewest
//! tokens left.

use assay_limiter::LimitStatus;
use axum::http::{HeaderMap, HeaderName, HeaderValue};

const LIMIT: HeaderName = HeaderName::from_static("x-ratelimit-limit");
const REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining");
const RESET: HeaderName = HeaderName::from_static("x-ratelimit-reset");

/// Adds the header fields; the reset is in seconds from now.
pub(crate) fn add(headers: &mut HeaderMap, statuses: &[LimitStatus]) {
    // Of two limits with equal tokens left, the one that resets later.
    let tightest = statuses
        .iter()
        .min_by_key(|status| (status.remaining, std::cmp::Reverse(status.resets_in)));
    let Some(LimitStatus { requests, remaining, resets_in, .. }) = tightest else { return };
    headers.insert(LIMIT, HeaderValue::from(*requests));
    headers.insert(REMAINING, HeaderValue::from(*remaining));
    headers.insert(RESET, HeaderValue::from(*resets_in));
}
