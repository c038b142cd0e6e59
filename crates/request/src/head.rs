//! Header fields of a request: the key, the request id, and the accepted age of an answer.

use http::{HeaderMap, HeaderName, header};
use jiff::SignedDuration;

use crate::problem::{Code, Problem};

const X_API_KEY: HeaderName = HeaderName::from_static("x-api-key");
/// Header field of the request id, which identifies a request in responses and logs.
pub const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// Longest request id that a caller may send.
const MAX_REQUEST_ID_LENGTH: usize = 128;

/// Returns the key that the request presents, by `X-API-Key` or as a Bearer token. With `X-API-Key`, an
/// `Authorization` of another scheme is ignored: it may belong to a proxy.
///
/// # Errors
///
/// Returns an error if there is no key, or several keys that differ.
pub fn presented_key(headers: &HeaderMap) -> Result<String, Problem> {
    let invalid = |detail: &str| {
        Problem::new(Code::InvalidKey, detail)
            .header(header::WWW_AUTHENTICATE, "Bearer realm=\"assay\", error=\"invalid_token\"")
    };
    let mut keys: Vec<&str> = Vec::new();
    for value in headers.get_all(X_API_KEY) {
        keys.push(value.to_str().map_err(|_| invalid("X-API-Key is not plain text"))?.trim());
    }
    for value in headers.get_all(header::AUTHORIZATION) {
        let text = value.to_str().map_err(|_| invalid("Authorization is not plain text"))?;
        let (scheme, token) = text.trim().split_once(' ').unwrap_or((text.trim(), ""));
        if scheme.eq_ignore_ascii_case("bearer") {
            keys.push(token.trim());
        } else if !headers.contains_key(X_API_KEY) {
            return Err(invalid("Authorization must be `Bearer <API key>`"));
        }
    }
    match keys.split_first() {
        None => Err(Problem::new(
            Code::MissingKey,
            "send the API key as `X-API-Key: <key>` or `Authorization: Bearer <key>`",
        )
        .header(header::WWW_AUTHENTICATE, "Bearer realm=\"assay\"")),
        Some((first, rest)) if rest.iter().all(|other| other == first) => Ok((*first).to_owned()),
        Some(_) => Err(invalid("the request presents different API keys")),
    }
}

/// Returns the caller's request id if it may be repeated in responses and logs.
#[must_use]
pub fn request_id(headers: &HeaderMap) -> Option<&str> {
    headers.get(X_REQUEST_ID).and_then(|value| value.to_str().ok()).filter(|given| {
        (1..=MAX_REQUEST_ID_LENGTH).contains(&given.len())
            && given.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte))
            && !may_hold_key(given)
    })
}

/// True if a text may contain a key, even a misspelt key.
#[must_use]
pub fn may_hold_key(text: &str) -> bool {
    text.contains("assay_")
}

/// Returns the largest age of an answer that the caller accepts: `Cache-Control: no-cache` or
/// `max-age`.
#[must_use]
pub fn max_age(headers: &HeaderMap) -> Option<SignedDuration> {
    let fields = headers.get_all(header::CACHE_CONTROL).iter();
    let directives =
        fields.filter_map(|value| value.to_str().ok()).flat_map(|text| text.split(','));
    directives
        .filter_map(|directive| {
            let directive = directive.trim().to_ascii_lowercase();
            match directive.split_once('=') {
                None if directive == "no-cache" || directive == "no-store" => {
                    Some(SignedDuration::ZERO)
                }
                Some(("max-age", seconds)) => {
                    let seconds = seconds.trim_matches('"').parse::<u32>().ok()?;
                    Some(SignedDuration::from_secs(seconds.into()))
                }
                _ => None,
            }
        })
        .min()
}
