//! Operations that will end: the notice of six months at least, in header fields of every response and in the
//! description.

use axum::{
    http::{HeaderMap, HeaderName, HeaderValue, header},
    middleware::map_response,
    response::Response,
    routing::MethodRouter,
};
use jiff::{civil::Date, tz::TimeZone};
use serde_json::{Value, json};

/// Time from which an operation is deprecated (RFC 9745).
const DEPRECATION: HeaderName = HeaderName::from_static("deprecation");
/// Time from which an operation may be gone (RFC 8594).
const SUNSET: HeaderName = HeaderName::from_static("sunset");

/// The operations that will end, by their identifiers: none at present.
const DEPRECATED: &[(&str, Deprecation)] = &[];

/// Notice that an operation will end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Deprecation {
    /// Day of the release that announced it.
    since: Date,
    /// First day on which the operation may be gone: six months after `since` or later.
    sunset: Date,
    /// Path of the operation that takes its place.
    successor: &'static str,
}

impl Deprecation {
    /// Returns the notice about an operation; `None` if it stays.
    pub(crate) fn of(operation: &str) -> Option<Self> {
        let found = DEPRECATED.iter().find(|(id, _)| *id == operation);
        found.map(|(_, deprecation)| *deprecation)
    }

    /// Returns the handler with the notice in all its responses.
    pub(crate) fn with_notice<S: Clone + Send + Sync + 'static>(
        self,
        handler: MethodRouter<S>,
    ) -> MethodRouter<S> {
        handler.route_layer(map_response(move |mut response: Response| async move {
            self.set_fields(response.headers_mut());
            response
        }))
    }

    /// Marks the description of an operation.
    pub(crate) fn mark(self, described: &mut Value) {
        let Self { since, sunset, successor } = self;
        described["deprecated"] = json!(true);
        let text = described["description"].as_str().unwrap_or_default();
        let text = format!(
            "{text} Deprecated since {since}: use `{successor}`; this operation may be gone from {sunset} on."
        );
        described["description"] = text.into();
    }

    fn set_fields(self, headers: &mut HeaderMap) {
        let at = |day: Date| day.to_zoned(TimeZone::UTC).ok();
        let fields = [
            (DEPRECATION, at(self.since).map(|time| format!("@{}", time.timestamp().as_second()))),
            (
                SUNSET,
                at(self.sunset).map(|time| time.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string()),
            ),
            (header::LINK, Some(format!("<{}>; rel=\"successor-version\"", self.successor))),
        ];
        for (name, value) in fields {
            if let Some(value) = value.and_then(|value| HeaderValue::try_from(value).ok()) {
                headers.append(name, value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use axum::{Router, body::Body, http::Request, http::StatusCode, routing::get};
    use jiff::{ToSpan, civil::date};
    use tower_service::Service;

    use super::*;
    use crate::operations::operations;

    const NOTICE: Deprecation = Deprecation {
        since: date(2026, 11, 28),
        sunset: date(2027, 6, 1),
        successor: "/api/v2/check/address",
    };

    #[tokio::test]
    async fn every_response_of_an_operation_that_will_end_says_so() {
        // Given an operation that refuses requests, when it is deprecated...
        let handler = get(|| async { StatusCode::TOO_MANY_REQUESTS });
        let mut router: Router = Router::new().route("/", NOTICE.with_notice(handler));
        let request = Request::get("/").body(Body::empty()).unwrap();
        let response = router.call(request).await.unwrap();
        // ...then each response has the time of the notice, of the end, and what to use instead.
        assert_eq!(response.status(), StatusCode::TOO_MANY_REQUESTS);
        for (name, value) in [
            ("deprecation", "@1795824000"),
            ("sunset", "Tue, 01 Jun 2027 00:00:00 GMT"),
            ("link", "</api/v2/check/address>; rel=\"successor-version\""),
        ] {
            assert_eq!(response.headers()[name], value);
        }
    }

    #[test]
    fn the_description_marks_an_operation_that_will_end() {
        let mut described = json!({ "description": "Checks." });
        NOTICE.mark(&mut described);
        assert_eq!(described["deprecated"], true);
        let text = described["description"].as_str().unwrap();
        assert!(text.contains("use `/api/v2/check/address`"), "{text}");
        assert!(text.contains("gone from 2027-06-01 on"), "{text}");
    }

    #[test]
    fn notices_are_given_for_six_months_at_least_and_name_operations() {
        let known: Vec<_> = operations().into_iter().map(|operation| operation.id).collect();
        for (id, notice) in DEPRECATED.iter().copied().chain([("check_address", NOTICE)]) {
            assert!(known.contains(&id), "{id} is no operation");
            assert!(notice.sunset >= notice.since.saturating_add(6.months()), "{id}");
        }
    }
}
