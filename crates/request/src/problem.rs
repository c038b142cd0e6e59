//! Problem details (RFC 9457) of all error responses, from one table of codes.

use std::borrow::Cow;

use http::{HeaderName, HeaderValue, StatusCode, header};
use schemars::JsonSchema;
use serde::Serialize;

/// The media type of problem details.
pub const PROBLEM_JSON: &str = "application/problem+json";

/// Effect of a retry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetryAdvice {
    /// The same request fails again.
    No,
    /// The same request may succeed later; `Retry-After`, if present, says when.
    Later,
}

macro_rules! codes {
    ($($variant:ident $code:literal $status:ident $retry:ident $title:literal;)+) => {
        /// Problem code.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema)]
        #[schemars(rename = "ProblemCode")]
        pub enum Code {
            $(#[doc = $title] #[schemars(rename = $code)] $variant,)+
        }

        impl Code {
            /// All codes.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// Returns the code as responses contain it.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $code,)+ }
            }

            /// Returns the HTTP status of the code.
            #[must_use]
            pub const fn status(self) -> StatusCode {
                match self { $(Self::$variant => StatusCode::$status,)+ }
            }

            /// Returns the effect of a retry.
            #[must_use]
            pub const fn retry(self) -> RetryAdvice {
                match self { $(Self::$variant => RetryAdvice::$retry,)+ }
            }

            /// Returns the meaning of the code in one sentence.
            #[must_use]
            pub const fn title(self) -> &'static str {
                match self { $(Self::$variant => $title,)+ }
            }
        }
    };
}

codes! {
    MalformedJson "malformed_json" BAD_REQUEST No "The body is not valid JSON.";
    InvalidRequest "invalid_request" BAD_REQUEST No "A field of the request is wrong.";
    MalformedHttp "malformed_http" BAD_REQUEST No "The request is malformed.";
    MissingKey "missing_key" UNAUTHORIZED No "No API key was sent.";
    InvalidKey "invalid_key" UNAUTHORIZED No "The API key is not valid.";
    TenantSuspended "tenant_suspended" FORBIDDEN No "The tenant is suspended.";
    NoApiAccess "plan_without_api_access" FORBIDDEN No "The tenant's plan has no access to the API.";
    InsufficientScope "insufficient_scope" FORBIDDEN No "The API key lacks the required scope.";
    NotFound "not_found" NOT_FOUND No "Nothing exists at this path.";
    TransactionNotFound "transaction_not_found" NOT_FOUND Later "The transaction is not known on this blockchain.";
    OutputNotFound "output_not_found" NOT_FOUND No "The transaction has no such output or transfer.";
    MethodNotAllowed "method_not_allowed" METHOD_NOT_ALLOWED No "This method is not allowed here.";
    RequestTimeout "request_timeout" REQUEST_TIMEOUT Later "The request did not arrive in time.";
    IdempotencyKeyInUse "idempotency_key_in_use" CONFLICT Later "A request with this idempotency key is being answered.";
    BodyTooLarge "body_too_large" PAYLOAD_TOO_LARGE No "The body is too large.";
    UnsupportedMediaType "unsupported_media_type" UNSUPPORTED_MEDIA_TYPE No "The media type of the body is not supported.";
    IdempotencyKeyReused "idempotency_key_reused" UNPROCESSABLE_ENTITY No "A request with another body has this idempotency key.";
    UnsupportedChain "unsupported_chain" UNPROCESSABLE_ENTITY No "The blockchain is not supported.";
    InvalidAddress "invalid_address" UNPROCESSABLE_ENTITY No "The address is not valid on this blockchain.";
    ChainNotFollowed "chain_not_followed" UNPROCESSABLE_ENTITY No "No node or indexer is configured for this blockchain.";
    UnsupportedTransfer "unsupported_transfer" UNPROCESSABLE_ENTITY No "The transfer cannot be assessed.";
    QuotaExceeded "quota_exceeded" TOO_MANY_REQUESTS Later "A rate limit or quota is exceeded.";
    ReducedCapacity "reduced_capacity" TOO_MANY_REQUESTS Later "Rate limiting is degraded and the fallback allowance is used up.";
    TooManyInFlight "too_many_in_flight" TOO_MANY_REQUESTS Later "Too many requests of the tenant are in flight.";
    HeadersTooLarge "headers_too_large" REQUEST_HEADER_FIELDS_TOO_LARGE No "The request's header fields are too large.";
    InternalError "internal_error" INTERNAL_SERVER_ERROR Later "Something went wrong here; it was logged.";
    KeyDataStale "key_data_stale" SERVICE_UNAVAILABLE Later "Keys could not be confirmed for too long.";
    Unavailable "unavailable" SERVICE_UNAVAILABLE Later "The service cannot answer in time.";
    Overloaded "overloaded" SERVICE_UNAVAILABLE Later "Too many requests are in flight.";
}

impl Code {
    /// Returns the problem type. The types about limits are registered (IETF httpapi draft); all other types consist of
    /// the code.
    #[must_use]
    pub fn type_uri(self) -> Cow<'static, str> {
        match self {
            Self::QuotaExceeded => {
                Cow::Borrowed("https://iana.org/assignments/http-problem-types#quota-exceeded")
            }
            Self::ReducedCapacity => Cow::Borrowed(
                "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity",
            ),
            other => Cow::Owned(format!("urn:assay:problem:{}", other.as_str())),
        }
    }

    /// Returns the code for a refusal by the HTTP framework.
    #[must_use]
    pub fn for_status(status: StatusCode) -> Self {
        match status {
            StatusCode::NOT_FOUND => Self::NotFound,
            StatusCode::METHOD_NOT_ALLOWED => Self::MethodNotAllowed,
            StatusCode::REQUEST_TIMEOUT => Self::RequestTimeout,
            StatusCode::PAYLOAD_TOO_LARGE => Self::BodyTooLarge,
            StatusCode::UNSUPPORTED_MEDIA_TYPE => Self::UnsupportedMediaType,
            StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE => Self::HeadersTooLarge,
            StatusCode::SERVICE_UNAVAILABLE => Self::Unavailable,
            status if status.is_server_error() => Self::InternalError,
            _ => Self::MalformedHttp,
        }
    }
}

/// A problem. Properties of the request (path, request id) are added by [`Problem::details`].
#[derive(Clone, Debug)]
pub struct Problem {
    code: Code,
    detail: String,
    errors: Vec<FieldError>,
    violated_policies: Vec<String>,
    headers: Vec<(HeaderName, HeaderValue)>,
}

/// An error in one field.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FieldError {
    /// Name of the field.
    pub field: String,
    /// Description of the error in the field, and of a valid value.
    pub message: String,
}

/// Problem details (RFC 9457).
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ProblemDetails {
    /// URI of the problem type.
    pub r#type: String,
    /// Meaning of the problem type in one sentence.
    pub title: String,
    /// HTTP status.
    pub status: u16,
    /// Description of this occurrence of the problem, and of a valid request.
    pub detail: String,
    /// Path of the request.
    pub instance: String,
    /// Problem code.
    #[schemars(with = "Code")]
    pub code: String,
    /// Request id, which identifies the request in the logs.
    pub request_id: String,
    /// Errors in fields.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<FieldError>,
    /// Names of the limits that refuse the request.
    #[serde(default, rename = "violated-policies", skip_serializing_if = "Vec::is_empty")]
    pub violated_policies: Vec<String>,
}

/// Returns a time in seconds that is up to a fifth longer than `seconds`, by a random number. The time is never
/// shorter: a caller who retries earlier is refused again.
#[must_use]
pub const fn add_jitter(seconds: u64, random: u64) -> u64 {
    seconds.saturating_add(random % (seconds / 5).saturating_add(1))
}

impl Problem {
    /// Creates a problem; `detail` describes the error in this request, and a valid request.
    pub fn new(code: Code, detail: impl Into<String>) -> Self {
        Self {
            code,
            detail: detail.into(),
            errors: Vec::new(),
            violated_policies: Vec::new(),
            headers: Vec::new(),
        }
    }

    /// Adds an error in a field.
    #[must_use]
    pub fn field(mut self, field: impl Into<String>, message: impl Into<String>) -> Self {
        self.errors.push(FieldError { field: field.into(), message: message.into() });
        self
    }

    /// Sets the limits that refuse the request.
    #[must_use]
    pub fn violated(mut self, policies: Vec<String>) -> Self {
        self.violated_policies = policies;
        self
    }

    /// Adds a header field to the response.
    #[must_use]
    pub fn header(mut self, name: HeaderName, value: &str) -> Self {
        self.headers.extend(HeaderValue::from_str(value).ok().map(|value| (name, value)));
        self
    }

    /// Adds `Retry-After`, spread by [`add_jitter`] with a random number, so that callers who were refused together
    /// do not retry together.
    #[must_use]
    pub fn retry_after(self, seconds: u64, random: u64) -> Self {
        self.header(header::RETRY_AFTER, &add_jitter(seconds, random).to_string())
    }

    /// Returns the description of the error.
    #[must_use]
    pub fn detail(&self) -> &str {
        &self.detail
    }

    /// Returns the code.
    #[must_use]
    pub const fn code(&self) -> Code {
        self.code
    }

    /// Returns the problem details for one request.
    #[must_use]
    pub fn details(&self, instance: &str, request_id: &str) -> ProblemDetails {
        ProblemDetails {
            r#type: self.code.type_uri().into_owned(),
            title: self.code.title().to_owned(),
            status: self.code.status().as_u16(),
            detail: self.detail.clone(),
            instance: instance.to_owned(),
            code: self.code.as_str().to_owned(),
            request_id: request_id.to_owned(),
            errors: self.errors.clone(),
            violated_policies: self.violated_policies.clone(),
        }
    }

    /// Returns the additional header fields of the response.
    #[must_use]
    pub fn headers(&self) -> &[(HeaderName, HeaderValue)] {
        &self.headers
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn callers_who_are_refused_at_once_come_back_over_a_fifth_of_the_time() {
        for (seconds, latest) in [(0, 0), (1, 1), (4, 4), (5, 6), (60, 72), (86_400, 103_680)] {
            let spread: Vec<u64> = (0..100_000).map(|random| add_jitter(seconds, random)).collect();
            let ends = (spread.iter().min().copied(), spread.iter().max().copied());
            assert_eq!(ends, (Some(seconds), Some(latest)));
        }
        assert_eq!(add_jitter(u64::MAX, u64::MAX), u64::MAX);
    }
}
