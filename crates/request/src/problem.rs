//! Everything that is not an answer: problem details (RFC 9457) from one closed table of codes.

use std::borrow::Cow;

use http::{HeaderName, HeaderValue, StatusCode};
use schemars::JsonSchema;
use serde::Serialize;

/// The media type of problem details.
pub const PROBLEM_JSON: &str = "application/problem+json";

/// Whether trying again can help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    /// The same request fails again.
    No,
    /// The same request may succeed later; `Retry-After` says when, where it is there.
    Later,
}

macro_rules! codes {
    ($($variant:ident $code:literal $status:ident $retry:ident $title:literal;)+) => {
        /// What went wrong. The table is closed within version 1.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Code {
            $(#[doc = $title] $variant,)+
        }

        impl Code {
            /// Every code.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The code as answers give it.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $code,)+ }
            }

            /// The status it comes with.
            #[must_use]
            pub const fn status(self) -> StatusCode {
                match self { $(Self::$variant => StatusCode::$status,)+ }
            }

            /// Whether trying again can help.
            #[must_use]
            pub const fn retry(self) -> Retry {
                match self { $(Self::$variant => Retry::$retry,)+ }
            }

            /// What it means, in a few words.
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
    MalformedHttp "malformed_http" BAD_REQUEST No "The request is not understood.";
    MissingKey "missing_key" UNAUTHORIZED No "No API key was sent.";
    InvalidKey "invalid_key" UNAUTHORIZED No "The API key is not valid.";
    TenantSuspended "tenant_suspended" FORBIDDEN No "The tenant is suspended.";
    NoApiAccess "plan_without_api_access" FORBIDDEN No "The tenant's plan has no access to the API.";
    InsufficientScope "insufficient_scope" FORBIDDEN No "The API key may not be used for this.";
    NotFound "not_found" NOT_FOUND No "There is nothing at this path.";
    MethodNotAllowed "method_not_allowed" METHOD_NOT_ALLOWED No "This method is not allowed here.";
    RequestTimeout "request_timeout" REQUEST_TIMEOUT Later "The request did not arrive in time.";
    BodyTooLarge "body_too_large" PAYLOAD_TOO_LARGE No "The body is too large.";
    UnsupportedMediaType "unsupported_media_type" UNSUPPORTED_MEDIA_TYPE No "The body must be `application/json`.";
    UnsupportedChain "unsupported_chain" UNPROCESSABLE_ENTITY No "The blockchain is not supported.";
    InvalidAddress "invalid_address" UNPROCESSABLE_ENTITY No "The address is not valid on this blockchain.";
    QuotaExceeded "quota_exceeded" TOO_MANY_REQUESTS Later "A rate limit or quota is used up.";
    ReducedCapacity "reduced_capacity" TOO_MANY_REQUESTS Later "Limits cannot be counted, and what may be used meanwhile is used up.";
    HeadersTooLarge "headers_too_large" REQUEST_HEADER_FIELDS_TOO_LARGE No "The request's header fields are too large.";
    InternalError "internal_error" INTERNAL_SERVER_ERROR Later "Something went wrong here; it was logged.";
    DirectoryStale "directory_stale" SERVICE_UNAVAILABLE Later "Keys could not be confirmed for too long.";
    Unavailable "unavailable" SERVICE_UNAVAILABLE Later "The service cannot answer in time.";
    Overloaded "overloaded" SERVICE_UNAVAILABLE Later "Too many requests are under way.";
}

impl Code {
    /// The problem type. Those about limits are registered (IETF httpapi draft); for all others the code
    /// says everything.
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

    /// The code for a refusal of the framework itself.
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

/// A problem on its way out. What belongs to the request is added where it is printed.
#[derive(Clone, Debug)]
pub struct Problem {
    code: Code,
    detail: String,
    errors: Vec<FieldError>,
    violated_policies: Vec<String>,
    headers: Vec<(HeaderName, HeaderValue)>,
}

/// What is wrong with one field.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FieldError {
    /// The field.
    pub field: String,
    /// What is wrong and what would be right.
    pub message: String,
}

/// Problem details as they are printed.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ProblemDetails {
    /// Identifies the kind of problem.
    pub r#type: String,
    /// What it means, in a few words.
    pub title: String,
    /// The status.
    pub status: u16,
    /// What went wrong this time, and what would be right.
    pub detail: String,
    /// The path that was asked for.
    pub instance: String,
    /// The code.
    pub code: String,
    /// Names the request in the logs.
    pub request_id: String,
    /// The fields that are wrong.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<FieldError>,
    /// The limits that are used up.
    #[serde(default, rename = "violated-policies", skip_serializing_if = "Vec::is_empty")]
    pub violated_policies: Vec<String>,
}

impl Problem {
    /// A problem; `detail` says what went wrong this time and what would be right.
    pub fn new(code: Code, detail: impl Into<String>) -> Self {
        Self {
            code,
            detail: detail.into(),
            errors: Vec::new(),
            violated_policies: Vec::new(),
            headers: Vec::new(),
        }
    }

    /// With a field that is wrong.
    #[must_use]
    pub fn field(mut self, field: impl Into<String>, message: impl Into<String>) -> Self {
        self.errors.push(FieldError { field: field.into(), message: message.into() });
        self
    }

    /// With limits that are used up.
    #[must_use]
    pub fn violated(mut self, policies: Vec<String>) -> Self {
        self.violated_policies = policies;
        self
    }

    /// With a header field.
    #[must_use]
    pub fn header(mut self, name: HeaderName, value: &str) -> Self {
        self.headers.extend(HeaderValue::from_str(value).ok().map(|value| (name, value)));
        self
    }

    /// The code.
    #[must_use]
    pub const fn code(&self) -> Code {
        self.code
    }

    /// The problem as it is printed for one request.
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

    /// The header fields that its response has.
    #[must_use]
    pub fn headers(&self) -> &[(HeaderName, HeaderValue)] {
        &self.headers
    }
}
