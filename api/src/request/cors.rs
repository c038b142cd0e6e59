//! Cross-origin requests (CORS): refused unless the settings list the origin.

use axum::{
    extract::Request,
    http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header},
    response::{IntoResponse, Response},
};

/// Methods that pages may use.
const METHODS: &str = "GET, POST";
const HEADERS: &str = "authorization, cache-control, content-type, idempotency-key, traceparent, tracestate, \
                       x-api-key, x-request-id";
/// Response header fields that pages may read, in addition to those that browsers always expose.
const EXPOSED: &str = "age, cache-status, deprecation, idempotent-replayed, link, ratelimit, ratelimit-policy, \
                       retry-after, sunset, x-request-id, x-ratelimit-limit, x-ratelimit-remaining, \
                       x-ratelimit-reset";
/// Time in seconds for which a browser may cache a preflight response.
const MAX_AGE: &str = "600";

/// Origins whose pages may call the API.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cors {
    origins: Vec<String>,
}

impl Cors {
    /// Allows exactly these origins.
    #[must_use]
    pub const fn new(origins: Vec<String>) -> Self {
        Self { origins }
    }

    /// Returns the origin of a request if it is allowed.
    pub(crate) fn origin(&self, headers: &HeaderMap) -> Option<HeaderValue> {
        let origin = headers.get(header::ORIGIN)?;
        self.origins.iter().any(|known| known.as_bytes() == origin).then(|| origin.clone())
    }

    /// Returns the response to a preflight request of `origin`; `None` for other requests.
    pub(crate) fn preflight(origin: Option<&HeaderValue>, request: &Request) -> Option<Response> {
        let asks = request.method() == Method::OPTIONS
            && request.headers().contains_key(header::ACCESS_CONTROL_REQUEST_METHOD);
        (asks && origin.is_some()).then(|| {
            let fields = [
                (header::ACCESS_CONTROL_ALLOW_METHODS, METHODS),
                (header::ACCESS_CONTROL_ALLOW_HEADERS, HEADERS),
                (header::ACCESS_CONTROL_MAX_AGE, MAX_AGE),
            ];
            (StatusCode::NO_CONTENT, fields).into_response()
        })
    }

    /// Sets the CORS header fields of a response.
    pub(crate) fn set_response_headers(
        &self,
        headers: &mut HeaderMap,
        origin: Option<HeaderValue>,
    ) {
        if self.origins.is_empty() {
            return;
        }
        headers.append(header::VARY, HeaderValue::from_static("origin"));
        if let Some(origin) = origin {
            headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
            let exposed: HeaderName = header::ACCESS_CONTROL_EXPOSE_HEADERS;
            headers.insert(exposed, HeaderValue::from_static(EXPOSED));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_exact_origin_may_call() {
        let cors = Cors::new(vec!["https://a.example".into()]);
        let origin = |text: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::ORIGIN, HeaderValue::from_static(text));
            cors.origin(&headers).is_some()
        };
        assert!(origin("https://a.example"));
        for other in ["https://a.example.evil", "http://a.example", "https://A.example", "null"] {
            assert!(!origin(other), "{other}");
        }
    }
}
