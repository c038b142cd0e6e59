//! HTTP client over the network.

use std::{fmt, time::Duration};

use assay_egress::{CredentialsFile, EgressSettings, TraceParent, basic};
use ureq::{
    Agent,
    http::{StatusCode, header},
};

use super::{ExchangeError, Http, Request, Response, shortened};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const MOST_REDIRECTS: u32 = 5;
/// Number of idle connections to one server that are kept open.
const MOST_IDLE: usize = 16;

/// Credentials for a server.
#[derive(Clone, PartialEq, Eq)]
pub enum HttpCredentials {
    /// No credentials.
    None,
    /// A name and a password.
    Password {
        /// The name.
        user: String,
        /// The password.
        password: String,
    },
    /// A file, such as the cookie that a node writes at every start.
    File(CredentialsFile),
}

impl fmt::Debug for HttpCredentials {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => formatter.write_str("None"),
            Self::Password { user, .. } => write!(formatter, "Password({user}, ...)"),
            Self::File(file) => write!(formatter, "{file:?}"),
        }
    }
}

/// URL of an unsupported scheme.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not an http or https URL")]
pub struct InvalidUrl(String);

/// HTTP client of one server.
#[derive(Debug)]
pub struct Client {
    agent: Agent,
    url: String,
    credentials: HttpCredentials,
}

impl Client {
    /// Returns a client of the server at `url`. A name and password in the URL are used if `credentials` has none. A
    /// response takes at most `timeout`. Redirects are not followed with credentials, which are for this server alone.
    ///
    /// # Errors
    ///
    /// Returns an error if `url` is no http or https URL.
    pub fn new(
        url: &str,
        credentials: HttpCredentials,
        timeout: Duration,
    ) -> Result<Self, InvalidUrl> {
        let (url, within) = split_user(url)?;
        let credentials = if credentials == HttpCredentials::None { within } else { credentials };
        let most_redirects = if credentials == HttpCredentials::None { MOST_REDIRECTS } else { 0 };
        let agent = EgressSettings::from_environment()
            .configure(Agent::config_builder(), &url)
            .timeout_global(Some(timeout))
            .timeout_connect(Some(CONNECT_TIMEOUT))
            .max_redirects(most_redirects)
            .max_idle_connections_per_host(MOST_IDLE)
            .max_idle_connections(MOST_IDLE)
            .http_status_as_error(false)
            .middleware(TraceParent)
            .user_agent(concat!("assay/", env!("CARGO_PKG_VERSION")))
            .build()
            .into();
        Ok(Self { agent, url, credentials })
    }

    fn authorization(&self) -> Result<Option<String>, ExchangeError> {
        Ok(match &self.credentials {
            HttpCredentials::None => None,
            HttpCredentials::Password { user, password } => {
                Some(basic(&format!("{user}:{password}")))
            }
            HttpCredentials::File(file) => {
                Some(file.authorization(&self.url).map_err(|error| {
                    let is_missing = error.is_missing();
                    let reason = error.to_string();
                    // A node that is not running has no cookie.
                    if is_missing {
                        ExchangeError::Transient(reason)
                    } else {
                        ExchangeError::NotSent(reason)
                    }
                })?)
            }
        })
    }

    fn send(
        &self,
        request: Request<'_>,
        authorization: Option<&str>,
    ) -> Result<Response, ExchangeError> {
        let url = format!("{}{}", self.url, request.path);
        let sent = if let Some(body) = request.body {
            let mut post = self.agent.post(&url).header(header::CONTENT_TYPE, "application/json");
            if let Some(authorization) = authorization {
                post = post.header(header::AUTHORIZATION, authorization);
            }
            post.send(body)
        } else {
            let mut get = self.agent.get(&url);
            if let Some(authorization) = authorization {
                get = get.header(header::AUTHORIZATION, authorization);
            }
            get.call()
        };
        let (head, body) = sent.map_err(|error| no_answer(&error))?.into_parts();
        if head.status.is_redirection() && authorization.is_some() {
            let target = head.headers.get(header::LOCATION);
            return Err(redirected(target.and_then(|value| value.to_str().ok())));
        }
        // A date instead of seconds is ignored, because this client reads no clock.
        let retry_after = head
            .headers
            .get(header::RETRY_AFTER)
            .and_then(|value| value.to_str().ok()?.trim().parse().ok())
            .map(Duration::from_secs);
        if body.content_length().is_some_and(|length| length > request.most) {
            return Err(ExchangeError::TooLarge(request.most));
        }
        let body = body.into_with_config().limit(request.most).read_to_vec();
        let body = body.map_err(|error| no_answer(&error))?;
        Ok(Response { status: head.status.as_u16(), retry_after, body })
    }
}

impl Http for Client {
    fn url(&self) -> &str {
        &self.url
    }

    fn exchange(&self, request: Request<'_>) -> Result<Response, ExchangeError> {
        let authorization = self.authorization()?;
        let answer = self.send(request, authorization.as_deref())?;
        if answer.status == StatusCode::UNAUTHORIZED.as_u16() {
            // A node that restarted has written another cookie.
            let renewed = self.authorization()?;
            if renewed != authorization {
                return self.send(request, renewed.as_deref());
            }
        }
        Ok(answer)
    }
}

/// Returns the error of a server that redirects requests with credentials.
fn redirected(target: Option<&str>) -> ExchangeError {
    let target = target.and_then(|target| target.split(['?', '#']).next()).unwrap_or_default();
    ExchangeError::Permanent(format!(
        "it redirects to `{}`, and credentials are for this server only: write the URL that it redirects to, if that \
         server may have them",
        shortened(&without_user(target))
    ))
}

fn no_answer(error: &ureq::Error) -> ExchangeError {
    let is_transient = matches!(
        error,
        ureq::Error::Io(_)
            | ureq::Error::Timeout(_)
            | ureq::Error::HostNotFound
            | ureq::Error::ConnectionFailed
            | ureq::Error::Protocol(_)
    );
    match error {
        ureq::Error::BodyExceedsLimit(most) => ExchangeError::TooLarge(*most),
        _ if is_transient => ExchangeError::Transient(error.to_string()),
        _ => ExchangeError::Permanent(error.to_string()),
    }
}

/// Separates name and password from a URL.
fn split_user(url: &str) -> Result<(String, HttpCredentials), InvalidUrl> {
    let invalid = || InvalidUrl(without_user(url));
    let (scheme, rest) = url.split_once("://").ok_or_else(invalid)?;
    if !matches!(scheme, "http" | "https") || rest.is_empty() {
        return Err(invalid());
    }
    let end = rest.find('/').unwrap_or(rest.len());
    let (host, path) = rest.split_at_checked(end).unwrap_or((rest, ""));
    let path = path.trim_end_matches('/');
    let Some((pair, host)) = host.rsplit_once('@') else {
        return Ok((format!("{scheme}://{host}{path}"), HttpCredentials::None));
    };
    let (user, password) = pair.split_once(':').unwrap_or((pair, ""));
    let credentials =
        HttpCredentials::Password { user: user.to_owned(), password: password.to_owned() };
    Ok((format!("{scheme}://{host}{path}"), credentials))
}

/// Removes passwords from a text.
fn without_user(url: &str) -> String {
    url.rsplit_once('@').map_or(url, |(_, host)| host).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_and_a_password_are_sent_as_basic_authorization() {
        for (user, password, expected) in [
            ("u", "p", "Basic dTpw"),
            ("user", "\u{ff}p?", "Basic dXNlcjrDv3A/"),
            ("", "", "Basic Og=="),
        ] {
            let (user, password) = (user.to_owned(), password.to_owned());
            let credentials = HttpCredentials::Password { user, password };
            let client = Client::new("http://node", credentials, Duration::from_secs(1)).unwrap();
            assert_eq!(client.authorization().unwrap().unwrap(), expected);
        }
    }

    #[test]
    fn a_password_in_the_url_is_used_and_never_shown() {
        let client = |url| Client::new(url, HttpCredentials::None, Duration::from_secs(1));
        let with = client("http://user:p:a@ss@127.0.0.1:8332/wallet/").unwrap();
        assert_eq!(with.url(), "http://127.0.0.1:8332/wallet");
        assert_eq!(
            with.credentials,
            HttpCredentials::Password { user: "user".into(), password: "p:a@ss".into() }
        );
        assert!(!format!("{with:?}").contains("p:a@ss"));
        let plain = client("https://node.example").unwrap();
        assert_eq!(plain.url(), "https://node.example");
        assert_eq!(plain.credentials, HttpCredentials::None);
        for wrong in ["ftp://a:b@c", "node:8332", "http://"] {
            let said = client(wrong).unwrap_err().to_string();
            assert!(!said.contains("a:b"), "{said}");
        }
    }
}
