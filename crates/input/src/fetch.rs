//! Conditional download over HTTP, within limits of time and size, from permitted servers only, also after redirects.

use std::{
    io,
    net::{IpAddr, SocketAddr},
    time::{Duration, Instant},
};

use assay_egress::{CredentialsError, CredentialsFile, EgressSettings, Networks, TraceParent};
use ureq::{
    Agent,
    config::Config,
    http::{Response, StatusCode, Uri, header},
    unversioned::{
        resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver},
        transport::{DefaultConnector, NextTimeout},
    },
};

use super::{InputLimits, SpoolError, SpooledFile, location::Location};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);
const MOST_REDIRECTS: u32 = 5;

/// Rights for fetching URLs: the private networks that URLs may lead to, and credentials for their server.
#[derive(Clone, Debug, Default)]
pub struct UrlAccess {
    /// Private networks that a URL may lead to, besides all public addresses.
    pub networks: Networks,
    /// Credentials for the server of the URL.
    pub credentials: Option<CredentialsFile>,
}

/// Validators of the last response, for a conditional request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Conditions {
    /// Entity tag of the response.
    pub etag: Option<String>,
    /// Value of `Last-Modified`.
    pub last_modified: Option<String>,
}

/// Result of a request.
#[derive(Debug)]
pub enum FetchOutcome {
    /// The content has not changed.
    NotModified,
    /// The content, and the validators for the next request.
    New(SpooledFile, Conditions),
}

/// Reason why a URL could not be fetched. Messages show URLs without user name, password and query, which may be
/// secret.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// The text is not a URL that can be fetched.
    #[error("`{0}` is not an http or https URL")]
    Scheme(String),
    /// The credentials cannot be sent.
    #[error(transparent)]
    Credentials(#[from] CredentialsError),
    /// The server could not be reached or did not answer in time.
    #[error("failed to fetch {url}: {source}")]
    Transport {
        /// The URL.
        url: String,
        /// The error of the HTTP client.
        #[source]
        source: Box<ureq::Error>,
    },
    /// The server is in a network that may not be reached.
    #[error(
        "failed to fetch {url}: {address} is not a public address; allow its network with --source-networks"
    )]
    PrivateAddressError {
        /// The URL, which may be that of a redirect.
        url: String,
        /// The address.
        address: IpAddr,
    },
    /// The server responded with an error status.
    #[error("failed to fetch {url}: the server answered {status}")]
    Status {
        /// The URL.
        url: String,
        /// The status.
        status: StatusCode,
    },
    /// The server redirects to a URL that is not followed.
    #[error("failed to fetch {url}: the server redirects to {target}, {reason}")]
    Redirect {
        /// The URL.
        url: String,
        /// The target.
        target: String,
        /// The reason.
        reason: &'static str,
    },
    /// The response could not be read to its end.
    #[error(transparent)]
    Body(#[from] SpoolError),
}

/// Fetches `url`, unless its content has not changed since `known`. Redirects are followed, from https to https only;
/// each server must have a public address or be in one of the allowed networks, by the address that its name resolves
/// to.
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
    access: &UrlAccess,
) -> Result<FetchOutcome, FetchError> {
    let mut location =
        Location::parse(url).ok_or_else(|| FetchError::Scheme(Location::redacted(url)))?;
    let credentials = access.credentials.as_ref();
    let mut authorization =
        credentials.map(|file| file.authorization(location.as_str())).transpose()?;
    let deadline = Instant::now() + timeout;
    for _ in 0..=MOST_REDIRECTS {
        let left = deadline.saturating_duration_since(Instant::now());
        let response = request(&location, known, left, &access.networks, authorization.as_deref())?;
        let status = response.status();
        let url = || location.shown();
        match status {
            StatusCode::NOT_MODIFIED => return Ok(FetchOutcome::NotModified),
            _ if status.is_success() => {
                let conditions = conditions(&response);
                let body = response.into_body().into_reader();
                return Ok(FetchOutcome::New(
                    SpooledFile::from_reader(body, &url(), limits)?,
                    conditions,
                ));
            }
            _ if status.is_redirection() => {
                let target = location.redirected(&response)?;
                if !target.is_same_origin(&location) {
                    // Credentials are for the server that they were given for.
                    authorization = None;
                }
                location = target;
            }
            _ => return Err(FetchError::Status { url: url(), status }),
        }
    }
    let (url, target) = (Location::redacted(url), location.shown());
    Err(FetchError::Redirect { url, target, reason: "after too many other redirects" })
}

/// Sends one request, and follows no redirect.
fn request(
    location: &Location,
    known: &Conditions,
    timeout: Duration,
    networks: &Networks,
    authorization: Option<&str>,
) -> Result<Response<ureq::Body>, FetchError> {
    let url = location.as_str();
    let egress = EgressSettings::from_environment();
    // A proxy resolves names itself, and decides by its own rules; an address is known here too.
    let literal = location.address().filter(|address| !networks.permits(*address));
    if let Some(address) = literal {
        return Err(FetchError::PrivateAddressError { url: location.shown(), address });
    }
    let config = egress
        .configure(Agent::config_builder(), url)
        .timeout_global(Some(timeout))
        .timeout_connect(Some(CONNECT_TIMEOUT))
        .max_redirects(0)
        .http_status_as_error(false)
        .middleware(TraceParent)
        .user_agent(concat!("assay/", env!("CARGO_PKG_VERSION")))
        .build();
    // The name of a proxy is resolved by the same resolver; its operator chose it.
    let networks = (!egress.is_proxied(url)).then(|| networks.clone());
    let resolver = GuardedResolver { networks, ..GuardedResolver::default() };
    let agent = Agent::with_parts(config, DefaultConnector::default(), resolver);
    let mut request = agent.get(url);
    if let Some(etag) = &known.etag {
        request = request.header(header::IF_NONE_MATCH, etag);
    }
    if let Some(last_modified) = &known.last_modified {
        request = request.header(header::IF_MODIFIED_SINCE, last_modified);
    }
    if let Some(authorization) = authorization {
        request = request.header(header::AUTHORIZATION, authorization);
    }
    request.call().map_err(|source| failed(location, source))
}

fn failed(location: &Location, source: ureq::Error) -> FetchError {
    let url = location.shown();
    let private = match &source {
        ureq::Error::Io(error) => {
            error.get_ref().and_then(|error| error.downcast_ref::<PrivateAddressError>())
        }
        _ => None,
    };
    match private {
        Some(PrivateAddressError(address)) => {
            FetchError::PrivateAddressError { url, address: *address }
        }
        None => FetchError::Transport { url, source: Box::new(source) },
    }
}

impl Location {
    /// Returns the URL that a response redirects to.
    fn redirected(&self, response: &Response<ureq::Body>) -> Result<Self, FetchError> {
        let target = response.headers().get(header::LOCATION).and_then(|value| value.to_str().ok());
        let refused = |target: &str, reason| FetchError::Redirect {
            url: self.shown(),
            target: Self::redacted(target),
            reason,
        };
        let text = target.ok_or_else(|| refused("nowhere", "which is no location"))?;
        let target =
            self.join(text).ok_or_else(|| refused(text, "which is no http or https URL"))?;
        if self.is_https() && !target.is_https() {
            return Err(refused(target.as_str(), "which is not encrypted"));
        }
        Ok(target)
    }
}

/// Resolves names to addresses that may be reached; connections are made to exactly the addresses that were checked.
#[derive(Debug, Default)]
struct GuardedResolver {
    resolver: DefaultResolver,
    /// Private networks that may be reached; `None`: all addresses may be reached.
    networks: Option<Networks>,
}

/// The error of a name that resolves to an address that may not be reached.
#[derive(Debug, thiserror::Error)]
#[error("{0} is not a public address")]
struct PrivateAddressError(IpAddr);

impl Resolver for GuardedResolver {
    fn resolve(
        &self,
        uri: &Uri,
        config: &Config,
        timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, ureq::Error> {
        let found = self.resolver.resolve(uri, config, timeout)?;
        let is_refused = |address: &IpAddr| {
            self.networks.as_ref().is_some_and(|networks| !networks.permits(*address))
        };
        match found.iter().map(SocketAddr::ip).find(is_refused) {
            Some(address) => {
                let error =
                    io::Error::new(io::ErrorKind::PermissionDenied, PrivateAddressError(address));
                Err(ureq::Error::Io(error))
            }
            None => Ok(found),
        }
    }
}

fn conditions<B>(response: &Response<B>) -> Conditions {
    let text = |name| {
        let value = response.headers().get(name)?;
        value.to_str().ok().map(str::to_owned)
    };
    Conditions { etag: text(header::ETAG), last_modified: text(header::LAST_MODIFIED) }
}
