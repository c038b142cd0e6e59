//! Conditional download over HTTP, within limits of time and size, from permitted servers only, also after redirects.

use std::{
    io,
    net::{IpAddr, SocketAddr, ToSocketAddrs},
    sync::Arc,
    time::{Duration, Instant},
};

use assay_egress::{CredentialsError, CredentialsFile, EgressSettings, Networks, TraceParent};
use ureq::{
    Agent,
    config::Config,
    http::{Response, StatusCode, Uri, header},
    unversioned::{
        resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver},
        transport::NextTimeout,
    },
};

use super::{
    InputLimits, SpoolError, SpooledFile,
    connection::{ConnectionFacts, ObservedConnector},
    location::Location,
    response::{self, BodyReader, ResponseFault},
};

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
        "failed to fetch {url}: {address} is not a public address; allow its network with --source-networks, in a \
         cluster with the chart's networkPolicy.allowedPrivateCidrs"
    )]
    PrivateAddressError {
        /// The URL, which may be that of a redirect.
        url: String,
        /// The address.
        address: IpAddr,
    },
    /// The response is neither the whole file nor a confirmation that was asked for.
    #[error("failed to fetch {url}: {fault}")]
    Response {
        /// The URL.
        url: String,
        /// The reason.
        fault: ResponseFault,
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
/// to. Only status 200 with a whole file, or 304 to the conditions that were sent, counts.
///
/// # Errors
///
/// Returns an error if the server cannot be reached, refuses, exceeds `timeout` in all, sends too much, or sends
/// anything but the whole file.
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
    let mut known = known.clone();
    let mut is_redirected = false;
    let deadline = Instant::now() + timeout;
    for _ in 0..=MOST_REDIRECTS {
        let left = deadline.saturating_duration_since(Instant::now());
        let facts = Arc::new(ConnectionFacts::default());
        let request = Request {
            location: &location,
            known: &known,
            timeout: left,
            networks: &access.networks,
            authorization: authorization.as_deref(),
        };
        let response = request.send(Arc::clone(&facts))?;
        let refused = |fault| FetchError::Response { url: location.shown(), fault };
        match response.status() {
            StatusCode::OK => {
                ResponseFault::of_head(response.headers()).map_err(refused)?;
                let mut conditions = conditions(&response);
                if is_redirected {
                    // The next redirect may lead to another file, whose age says nothing about this one.
                    conditions.last_modified = None;
                }
                let file = whole_file(response, &location, limits, &facts)?;
                return Ok(FetchOutcome::New(file, conditions));
            }
            StatusCode::NOT_MODIFIED => {
                ResponseFault::of_confirmation(response.headers(), &known).map_err(refused)?;
                return Ok(FetchOutcome::NotModified);
            }
            StatusCode::MOVED_PERMANENTLY
            | StatusCode::FOUND
            | StatusCode::SEE_OTHER
            | StatusCode::TEMPORARY_REDIRECT
            | StatusCode::PERMANENT_REDIRECT => {
                let target = location.redirected(&response)?;
                if !target.is_same_origin(&location) {
                    // Credentials are for the server that they were given for.
                    authorization = None;
                }
                location = target;
                is_redirected = true;
                known.last_modified = None;
            }
            status => return Err(refused(ResponseFault::Status(status))),
        }
    }
    let (url, target) = (Location::redacted(url), location.shown());
    Err(FetchError::Redirect { url, target, reason: "after too many other redirects" })
}

/// Checks that a URL may be fetched, as far as that is known before a request: its scheme, and the addresses of its
/// server. A name that does not resolve is no reason to refuse it.
///
/// # Errors
///
/// Returns an error if the URL is none that can be fetched, or leads to a network that may not be reached.
pub fn check_access(url: &str, networks: &Networks) -> Result<(), FetchError> {
    let location =
        Location::parse(url).ok_or_else(|| FetchError::Scheme(Location::redacted(url)))?;
    let is_refused = |address: &IpAddr| !networks.permits(*address);
    let literal = location.address();
    let addresses: Vec<IpAddr> = match (literal, location.host_and_port()) {
        (Some(address), _) => vec![address],
        (None, Some(server)) if !EgressSettings::from_environment().is_proxied(url) => {
            let found = server.to_socket_addrs();
            found.map(|found| found.map(|found| found.ip()).collect()).unwrap_or_default()
        }
        _ => Vec::new(),
    };
    match addresses.into_iter().find(is_refused) {
        Some(address) => Err(FetchError::PrivateAddressError { url: location.shown(), address }),
        None => Ok(()),
    }
}

/// Spools the file of a response with status 200, if it is whole.
fn whole_file(
    response: Response<ureq::Body>,
    location: &Location,
    limits: InputLimits,
    facts: &ConnectionFacts,
) -> Result<SpooledFile, FetchError> {
    let (stated, is_chunked) = (response.body().content_length(), response::is_chunked(&response));
    facts.begin_body();
    let body = BodyReader::new(response.into_body().into_reader(), stated);
    let file = SpooledFile::from_reader(body, &location.shown(), limits)?;
    let fault = if facts.has_doubtful_end() && !is_chunked {
        Some(ResponseFault::DoubtfulEnd)
    } else if facts.has_surplus() {
        Some(ResponseFault::Surplus(
            stated.map_or("length or chunks".to_owned(), |stated| stated.to_string()),
        ))
    } else {
        ResponseFault::of_file(&file)?
    };
    match fault {
        None => Ok(file),
        Some(fault) => Err(FetchError::Response { url: location.shown(), fault }),
    }
}

/// One request, which follows no redirect.
struct Request<'a> {
    location: &'a Location,
    known: &'a Conditions,
    timeout: Duration,
    networks: &'a Networks,
    authorization: Option<&'a str>,
}

impl Request<'_> {
    /// Sends the request; `facts` tells about its connection.
    fn send(&self, facts: Arc<ConnectionFacts>) -> Result<Response<ureq::Body>, FetchError> {
        let Self { location, known, timeout, networks, authorization } = *self;
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
        let connector = ObservedConnector::new(location.uri().clone(), facts);
        let agent = Agent::with_parts(config, connector, resolver);
        // The server closes the connection after the response: what else it sends was not stated.
        let mut request = agent.get(url).header(header::CONNECTION, "close");
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
    let text = |name| response::text(response.headers(), name);
    Conditions { etag: text(header::ETAG), last_modified: text(header::LAST_MODIFIED) }
}
