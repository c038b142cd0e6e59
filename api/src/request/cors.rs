//! Callers in browsers: off unless origins are named, and then for exactly these.

use axum::{
    extract::Request,
    http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header},
    response::{IntoResponse, Response},
};

/// What may be sent.
const METHODS: &str = "GET, POST";
const HEADERS: &str =
    "authorization, cache-control, content-type, traceparent, tracestate, x-api-key, x-request-id";
/// What may be read beyond what browsers show anyway.
const EXPOSED: &str = "age, cache-status, ratelimit, ratelimit-policy, retry-after, x-request-id, \
                       x-ratelimit-limit, x-ratelimit-remaining, x-ratelimit-reset";
/// For how long, in seconds, a browser need not ask again.
const MAX_AGE: &str = "600";

/// The origins whose pages may call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cors {
    origins: Vec<String>,
}

impl Cors {
    /// Exactly these; nobody where there are none.
    #[must_use]
    pub const fn new(origins: Vec<String>) -> Self {
        Self { origins }
    }

    /// The origin of a request, where it may call.
    pub(crate) fn origin(&self, headers: &HeaderMap) -> Option<HeaderValue> {
        let origin = headers.get(header::ORIGIN)?;
        self.origins.iter().any(|known| known.as_bytes() == origin).then(|| origin.clone())
    }

    /// The answer to a browser that asks whether a page of `origin` may call; `None` where the request
    /// is none of these.
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

    /// Tells the browser who may read the answer.
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
    fn only_the_very_origin_may_call() {
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
