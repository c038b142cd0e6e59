//! Header fields of a request: the key, the request id, the idempotency key, and the accepted age of an answer.

use http::{HeaderMap, HeaderName, header};
use jiff::SignedDuration;

use crate::problem::{Code, Problem};

const X_API_KEY: HeaderName = HeaderName::from_static("x-api-key");
/// Header field of the request id, which identifies a request in responses and logs.
pub const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// Header field of an idempotency key.
pub const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
/// Longest idempotency key in characters.
const MAX_IDEMPOTENCY_KEY_LENGTH: usize = 255;
/// Longest request id that a caller may send.
const MAX_REQUEST_ID_LENGTH: usize = 128;

/// Returns the key that the request presents, by `X-API-Key` or as a Bearer token. With `X-API-Key`, an
/// `Authorization` of another scheme is ignored: it may belong to a proxy.
///
/// # Errors
///
/// Returns an error if there is no key, or several keys that differ.
pub fn presented_key(headers: &HeaderMap) -> Result<&str, Problem> {
    let invalid = |detail: &str| {
        Problem::new(Code::InvalidKey, detail)
            .header(header::WWW_AUTHENTICATE, "Bearer realm=\"assay\", error=\"invalid_token\"")
    };
    let (mut presented, mut differ) = (None, false);
    let mut add = |key| differ |= *presented.get_or_insert(key) != key;
    for value in headers.get_all(X_API_KEY) {
        add(value.to_str().map_err(|_| invalid("X-API-Key is not plain text"))?.trim());
    }
    for value in headers.get_all(header::AUTHORIZATION) {
        let text = value.to_str().map_err(|_| invalid("Authorization is not plain text"))?;
        let (scheme, token) = text.trim().split_once(' ').unwrap_or((text.trim(), ""));
        if scheme.eq_ignore_ascii_case("bearer") {
            add(token.trim());
        } else if !headers.contains_key(X_API_KEY) {
            return Err(invalid("Authorization must be `Bearer <API key>`"));
        }
    }
    match presented {
        None => Err(Problem::new(
            Code::MissingKey,
            "send the API key as `X-API-Key: <key>` or `Authorization: Bearer <key>`",
        )
        .header(header::WWW_AUTHENTICATE, "Bearer realm=\"assay\"")),
        Some(_) if differ => Err(invalid("the request presents different API keys")),
        Some(key) => Ok(key),
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

/// True if a request has an idempotency key, valid or not.
#[must_use]
pub fn has_idempotency_key(headers: &HeaderMap) -> bool {
    headers.contains_key(IDEMPOTENCY_KEY)
}

/// Returns the idempotency key of a request, without quotes: a quoted string (IETF httpapi draft) or the bare text.
///
/// # Errors
///
/// Returns a problem if the field is not valid or sent several times.
pub fn idempotency_key(headers: &HeaderMap) -> Result<Option<String>, Problem> {
    let mut fields = headers.get_all(IDEMPOTENCY_KEY).iter();
    let Some(field) = fields.next() else { return Ok(None) };
    if fields.next().is_some() {
        return Err(invalid_idempotency_key("is sent several times: send one"));
    }
    let text = field.to_str().map_err(|_| invalid_idempotency_key("is not plain text"))?;
    read_idempotency_key(text).map(Some).map_err(invalid_idempotency_key)
}

/// Refuses a request with an idempotency key to an operation that has none.
///
/// # Errors
///
/// Returns a problem if the request has an idempotency key.
pub fn refuse_idempotency_key(headers: &HeaderMap) -> Result<(), Problem> {
    if has_idempotency_key(headers) {
        let message =
            "is not supported here, because rows are answered while they arrive: leave it out";
        return Err(invalid_idempotency_key(message));
    }
    Ok(())
}

/// Reads an idempotency key; an error describes the problem.
fn read_idempotency_key(text: &str) -> Result<String, &'static str> {
    let text = text.trim_matches([' ', '\t']);
    let key = match text.strip_prefix('"') {
        Some(rest) => unquoted(rest).ok_or("is no quoted text: escape `\"` and `\\` by `\\`")?,
        None if text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'"') => text.to_owned(),
        None => return Err("has characters that only a key in quotes may have"),
    };
    if may_hold_key(&key) {
        return Err("looks like an API key: send a random text, such as a UUID");
    }
    if (1..=MAX_IDEMPOTENCY_KEY_LENGTH).contains(&key.len()) {
        Ok(key)
    } else {
        Err("must have 1 to 255 characters, such as a UUID")
    }
}

/// Returns the content of a quoted text (RFC 9651, section 3.3.3) behind its first quote; `None` if it is not valid.
fn unquoted(text: &str) -> Option<String> {
    let mut key = String::new();
    let mut characters = text.chars();
    loop {
        match characters.next()? {
            '"' => return characters.next().is_none().then_some(key),
            '\\' => key.push(characters.next().filter(|next| matches!(next, '"' | '\\'))?),
            plain @ ' '..='~' => key.push(plain),
            _ => return None,
        }
    }
}

fn invalid_idempotency_key(message: &str) -> Problem {
    Problem::new(Code::InvalidRequest, format!("Idempotency-Key {message}"))
        .field("Idempotency-Key", message)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_idempotency_key_is_quoted_or_bare() {
        let uuid = "8e03978e-40d5-43e8-bc93-6894a57f9324";
        let most = "k".repeat(255);
        for (field, key) in [
            (uuid, uuid),
            (&*format!("\"{uuid}\""), uuid),
            (&*format!("  {uuid}\t"), uuid),
            (&*most, &*most),
            (r#""a key, \"quoted\" \\""#, r#"a key, "quoted" \"#),
            (r"a\b", r"a\b"),
        ] {
            assert_eq!(read_idempotency_key(field), Ok(key.to_owned()), "{field}");
        }
    }

    #[test]
    fn a_field_that_is_no_key_is_refused() {
        let long = "k".repeat(256);
        for field in [
            "",
            "\"\"",
            "\"a",
            "a\"",
            "\"a\"b",
            "\"a\";p=1",
            "a b",
            r#""\a""#,
            "\"ä\"",
            "\"a\tb\"",
            &long,
        ] {
            assert!(read_idempotency_key(field).is_err(), "{field}");
        }
        assert!(read_idempotency_key("assay_live_1_2_3").is_err(), "an API key is kept nowhere");
        let mut headers = HeaderMap::new();
        assert_eq!(idempotency_key(&headers).unwrap(), None);
        assert!(refuse_idempotency_key(&headers).is_ok());
        for _ in 0..2 {
            headers.append(IDEMPOTENCY_KEY, http::HeaderValue::from_static("a"));
        }
        assert!(idempotency_key(&headers).is_err(), "several fields");
        assert!(refuse_idempotency_key(&headers).is_err());
    }
}
