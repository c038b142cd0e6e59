//! Getting a list over HTTP: only if it changed, within a time and a size.

use std::time::Duration;

use assay_egress::{EgressSettings, TraceParent};
use ureq::{
    Agent,
    http::{Response, StatusCode, header},
};

use super::{InputLimits, SpoolError, Spooled};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);
const MOST_REDIRECTS: u32 = 5;

/// Validators of the last response, for a conditional request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Conditions {
    /// The answer's entity tag.
    pub etag: Option<String>,
    /// Value of `Last-Modified`.
    pub last_modified: Option<String>,
}

/// Result of a request.
#[derive(Debug)]
pub enum Fetched {
    /// Nothing newer.
    NotModified,
    /// A list, and what to say next time.
    New(Spooled, Conditions),
}

/// Why a list could not be got.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// Not a URL that can be fetched.
    #[error("`{0}` is not an http or https URL")]
    Scheme(String),
    /// The server could not be reached or did not answer in time.
    #[error("failed to fetch {url}: {source}")]
    Transport {
        /// The URL.
        url: String,
        /// The error of the HTTP client.
        #[source]
        source: Box<ureq::Error>,
    },
    /// The server refused.
    #[error("failed to fetch {url}: the server answered {status}")]
    Status {
        /// The URL.
        url: String,
        /// The status.
        status: StatusCode,
    },
    /// The answer could not be read to its end.
    #[error(transparent)]
    Body(#[from] SpoolError),
}

/// Gets `url` unless it did not change since `known`.
///
/// # Errors
///
/// Returns an error if the server cannot be reached, refuses, exceeds `timeout` in all, or sends
/// too much.
pub fn fetch(
    url: &str,
    known: &Conditions,
    limits: InputLimits,
    timeout: Duration,
) -> Result<Fetched, FetchError> {
    if !(url.starts_with("https://") || url.starts_with("http://")) {
        return Err(FetchError::Scheme(url.to_owned()));
    }
    let agent: Agent = EgressSettings::from_environment()
        .configure(Agent::config_builder(), url)
        .timeout_global(Some(timeout))
        .timeout_connect(Some(CONNECT_TIMEOUT))
        .max_redirects(MOST_REDIRECTS)
        .http_status_as_error(false)
        .middleware(TraceParent)
        .user_agent(concat!("assay/", env!("CARGO_PKG_VERSION")))
        .build()
        .into();
    let mut request = agent.get(url);
    if let Some(etag) = &known.etag {
        request = request.header(header::IF_NONE_MATCH, etag);
    }
    if let Some(last_modified) = &known.last_modified {
        request = request.header(header::IF_MODIFIED_SINCE, last_modified);
    }
    let response = request.call().map_err(|source| FetchError::Transport {
        url: url.to_owned(),
        source: Box::new(source),
    })?;
    match response.status() {
        StatusCode::NOT_MODIFIED => Ok(Fetched::NotModified),
        status if status.is_success() => {
            let conditions = conditions(&response);
            let body = response.into_body().into_reader();
            Ok(Fetched::New(Spooled::from_reader(body, url, limits)?, conditions))
        }
        status => Err(FetchError::Status { url: url.to_owned(), status }),
    }
}

fn conditions<B>(response: &Response<B>) -> Conditions {
    let text = |name| {
        let value = response.headers().get(name)?;
        value.to_str().ok().map(str::to_owned)
    };
    Conditions { etag: text(header::ETAG), last_modified: text(header::LAST_MODIFIED) }
}
