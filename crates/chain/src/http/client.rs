//! HTTP client over the network.

use std::{
    fmt,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use assay_egress::{CredentialsFile, EgressSettings, TraceParent, basic};
use sha2::{Digest, Sha256};
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
    /// The key of an API.
    ExplorerKey(ExplorerKey),
}

/// The key of an API, with the place of requests in which the API takes it.
#[derive(Clone, PartialEq, Eq)]
pub struct ExplorerKey {
    /// The key.
    pub key: KeySource,
    /// The place.
    pub place: KeyPlace,
}

/// The key of an API, or the file that holds it.
#[derive(Clone, PartialEq, Eq)]
pub enum KeySource {
    /// A file with the key in one line, read for every request.
    File(CredentialsFile),
    /// The key.
    Given(String),
}

/// Place of the key in a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyPlace {
    /// A parameter of the query.
    Query(&'static str),
    /// A header.
    Header(&'static str),
}

/// Credentials as one request sends them.
#[derive(Clone, PartialEq, Eq)]
enum Sent {
    Authorization(String),
    Key(KeyPlace, String),
}

impl fmt::Debug for HttpCredentials {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => formatter.write_str("None"),
            Self::Password { user, .. } => write!(formatter, "Password({user}, ...)"),
            Self::File(file) => write!(formatter, "{file:?}"),
            Self::ExplorerKey(key) => write!(formatter, "ExplorerKey({:?}, ...)", key.place),
        }
    }
}

/// Text that is no URL of a supported scheme.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not an http or https URL")]
pub struct InvalidUrl(String);

/// HTTP client of one server.
pub struct Client {
    agent: Agent,
    url: ServerUrl,
    credentials: HttpCredentials,
    /// Header for a token; `None` for `Authorization`.
    token_header: Option<&'static str>,
    headers: Vec<(&'static str, &'static str)>,
    /// The key of the last request, which servers quote.
    last_key: Mutex<Option<String>>,
}

/// Formats the server, and never its credentials.
impl fmt::Debug for Client {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Client").field("server", &self.url.server).finish_non_exhaustive()
    }
}

/// URL of a server. Providers of nodes put keys into its path and query, which are for this server alone.
struct ServerUrl {
    whole: String,
    /// Scheme, host and port, for messages.
    server: String,
    /// Path and query; empty without them.
    secret: String,
}

impl Client {
    /// Returns a client of the server at `url`. A name and password in the URL are used if `credentials` has none. A
    /// response takes at most `timeout`. Redirects are followed only without credentials, and from a URL without path and
    /// query, which may be a key.
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
        let is_open = credentials == HttpCredentials::None && url.secret.is_empty();
        let most_redirects = if is_open { MOST_REDIRECTS } else { 0 };
        let agent = EgressSettings::from_environment()
            .configure(Agent::config_builder(), &url.whole)
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
        let (headers, last_key) = (Vec::new(), Mutex::new(None));
        Ok(Self { agent, url, credentials, token_header: None, headers, last_key })
    }

    /// Returns the client with another header than `Authorization` for a token, which is sent as it is. A name and a password stay in
    /// `Authorization`.
    #[must_use]
    pub fn with_token_header(self, name: &'static str) -> Self {
        Self { token_header: Some(name), ..self }
    }

    /// The header for credentials, with its value.
    fn header_of<'v>(&self, authorization: &'v str) -> (&'static str, &'v str) {
        let own = self.token_header.zip(authorization.strip_prefix("Bearer "));
        own.unwrap_or((header::AUTHORIZATION.as_str(), authorization))
    }

    /// Returns the client with a header in every request.
    #[must_use]
    pub fn with_header(mut self, name: &'static str, value: &'static str) -> Self {
        self.headers.push((name, value));
        self
    }

    fn sent(&self) -> Result<Option<Sent>, ExchangeError> {
        let HttpCredentials::ExplorerKey(ExplorerKey { key, place }) = &self.credentials else {
            return Ok(self.authorization()?.map(Sent::Authorization));
        };
        let key = match key {
            KeySource::Given(key) => key.clone(),
            KeySource::File(file) => {
                let key = file.key(&self.url.whole);
                key.map_err(|error| ExchangeError::NotSent(error.to_string()))?
            }
        };
        // A key that needs an encoding in a query is no key of an API.
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
        if key.is_empty() || !key.bytes().all(is_plain) {
            let reason = "the key has other characters than letters, digits, `-`, `_`, `.` and `~`";
            return Err(ExchangeError::NotSent(reason.to_owned()));
        }
        *self.last_key.lock().unwrap_or_else(PoisonError::into_inner) = Some(key.clone());
        Ok(Some(Sent::Key(*place, key)))
    }

    fn authorization(&self) -> Result<Option<String>, ExchangeError> {
        Ok(match &self.credentials {
            HttpCredentials::None | HttpCredentials::ExplorerKey(_) => None,
            HttpCredentials::Password { user, password } => {
                Some(basic(&format!("{user}:{password}")))
            }
            HttpCredentials::File(file) => {
                Some(file.authorization(&self.url.whole).map_err(|error| {
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

    fn send(&self, request: Request<'_>, sent: Option<&Sent>) -> Result<Response, ExchangeError> {
        let mut url = format!("{}{}", self.url.whole, request.path);
        let mut headers: Vec<(&str, &str)> = self.headers.clone();
        match sent {
            None => {}
            Some(Sent::Authorization(value)) => headers.push(self.header_of(value)),
            Some(Sent::Key(KeyPlace::Header(name), key)) => headers.push((name, key)),
            Some(Sent::Key(KeyPlace::Query(name), key)) => {
                let joint = if url.contains('?') { '&' } else { '?' };
                url = format!("{url}{joint}{name}={key}");
            }
        }
        let is_secret = sent.is_some() || !self.url.secret.is_empty();
        let answered = if let Some(body) = request.body {
            let mut post = self.agent.post(&url).header(header::CONTENT_TYPE, "application/json");
            for (name, value) in headers {
                post = post.header(name, value);
            }
            post.send(body)
        } else {
            let mut get = self.agent.get(&url);
            for (name, value) in headers {
                get = get.header(name, value);
            }
            get.call()
        };
        let (head, body) = answered.map_err(|error| no_answer(&error))?.into_parts();
        if head.status.is_redirection() && is_secret {
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
        let body = if head.status.is_success() {
            body
        } else {
            self.quoted(&String::from_utf8_lossy(&body)).into_bytes()
        };
        Ok(Response { status: head.status.as_u16(), retry_after, body })
    }
}

impl Http for Client {
    fn url(&self) -> &str {
        &self.url.server
    }

    fn quoted(&self, said: &str) -> String {
        let said = self.url.without_secret(said);
        let key = self.last_key.lock().unwrap_or_else(PoisonError::into_inner).clone();
        key.map_or_else(|| said.clone(), |key| said.replace(&key, "..."))
    }

    fn subject(&self) -> String {
        let server = &self.url.server;
        match self.sent() {
            Ok(Some(Sent::Key(_, key))) => {
                let digest = Sha256::digest(key.as_bytes());
                let start = digest.first_chunk::<8>().map(hex::encode).unwrap_or_default();
                format!("{server} {start}")
            }
            _ => server.clone(),
        }
    }

    fn exchange(&self, request: Request<'_>) -> Result<Response, ExchangeError> {
        let sent = self.sent()?;
        let answer = self.send(request, sent.as_ref())?;
        if answer.status == StatusCode::UNAUTHORIZED.as_u16() {
            // A node that restarted has written another cookie.
            let renewed = self.sent()?;
            if renewed != sent {
                return self.send(request, renewed.as_ref());
            }
        }
        Ok(answer)
    }
}

/// Returns the error of a server that redirects requests with credentials. Of the target only the host is told.
fn redirected(target: Option<&str>) -> ExchangeError {
    let target = match target {
        Some(url) if url.contains("://") => server_of(url),
        Some(url) if url.starts_with("//") => server_of(url.trim_start_matches('/')),
        _ => "another path of its own",
    };
    ExchangeError::Permanent(format!(
        "it redirects to {}, and credentials, paths and queries are for this server only: write the URL that it \
         redirects to, if that server may have them",
        shortened(target)
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
        // Such an error quotes the URL.
        ureq::Error::BadUri(_) => ExchangeError::Permanent("its URL is not valid".to_owned()),
        _ if is_transient => ExchangeError::Transient(error.to_string()),
        _ => ExchangeError::Permanent(error.to_string()),
    }
}

impl ServerUrl {
    /// Removes path and query, and each of their parts that may be a key, from a server's words: servers quote what they do not know.
    /// Short parts are no keys.
    fn without_secret(&self, said: &str) -> String {
        const SHORTEST_KEY: usize = 8;
        let parts = self.secret.split(['/', '?', '&', '=', '#']);
        let mut keys: Vec<&str> = parts.chain([&*self.secret]).collect();
        keys.retain(|part| part.len() >= SHORTEST_KEY);
        // One key may be a part of another.
        keys.sort_by_key(|part| std::cmp::Reverse(part.len()));
        keys.into_iter().fold(said.to_owned(), |said, key| said.replace(key, "..."))
    }
}

/// Separates name and password from a URL.
fn split_user(url: &str) -> Result<(ServerUrl, HttpCredentials), InvalidUrl> {
    let invalid = || InvalidUrl(server_of(url).to_owned());
    let (scheme, rest) = url.split_once("://").ok_or_else(invalid)?;
    if !matches!(scheme, "http" | "https") || rest.is_empty() {
        return Err(invalid());
    }
    let end = rest.find('/').unwrap_or(rest.len());
    let (authority, path) = rest.split_at_checked(end).unwrap_or((rest, ""));
    let (user, host) = match authority.rsplit_once('@') {
        Some((user, host)) => (Some(user), host),
        None => (None, authority),
    };
    // A query may follow the host at once.
    let end = host.find(['?', '#']).unwrap_or(host.len());
    let (host, query) = host.split_at_checked(end).unwrap_or((host, ""));
    // What stands for a port may be a password with a slash in it.
    let port = host.rsplit_once(':').filter(|_| !host.ends_with(']')).map(|(_, port)| port);
    if port.is_some_and(|port| port.parse::<u16>().is_err()) {
        return Err(InvalidUrl(format!("{scheme}://...")));
    }
    let path = path.trim_end_matches('/');
    let url = ServerUrl {
        whole: format!("{scheme}://{host}{query}{path}"),
        server: format!("{scheme}://{host}"),
        secret: format!("{query}{path}"),
    };
    let credentials = user.map_or(HttpCredentials::None, |pair| {
        let (user, password) = pair.split_once(':').unwrap_or((pair, ""));
        HttpCredentials::Password { user: user.to_owned(), password: password.to_owned() }
    });
    Ok((url, credentials))
}

/// The host of a URL, without what may be a password or a key.
pub(crate) fn server_of(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let host = rest.rsplit_once('@').map_or(rest, |(_, host)| host);
    host.split(['/', '?', '#']).next().unwrap_or_default()
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
    fn the_key_of_an_api_is_never_shown() {
        let client = |place| {
            let key = ExplorerKey { key: KeySource::Given("SECRET-KEY".into()), place };
            let time = Duration::from_secs(1);
            Client::new("https://api.example/v2/api", HttpCredentials::ExplorerKey(key), time)
                .unwrap()
        };
        for place in [KeyPlace::Query("apikey"), KeyPlace::Header("api-key")] {
            let client = client(place);
            let subject = client.subject();
            assert_eq!(subject, "https://api.example 04eda6b4c02e916b");
            assert!(client.sent().unwrap() == Some(Sent::Key(place, "SECRET-KEY".into())));
            assert!(!format!("{client:?} {:?}", client.credentials).contains("SECRET"));
            assert_eq!(client.quoted("Invalid API Key SECRET-KEY"), "Invalid API Key ...");
        }
        let key =
            ExplorerKey { key: KeySource::Given("a&b".into()), place: KeyPlace::Query("apikey") };
        let credentials = HttpCredentials::ExplorerKey(key);
        let client = Client::new("https://api.example", credentials, Duration::from_secs(1));
        let error = client.unwrap().exchange(Request::get("")).unwrap_err().to_string();
        assert!(error.starts_with("the key has other characters"), "{error}");
    }

    #[test]
    fn a_password_in_the_url_is_used_and_never_shown() {
        let client = |url| Client::new(url, HttpCredentials::None, Duration::from_secs(1));
        let with = client("http://user:p:a@ss@127.0.0.1:8332/wallet/").unwrap();
        assert_eq!(with.url(), "http://127.0.0.1:8332");
        assert_eq!(with.url.whole, "http://127.0.0.1:8332/wallet");
        assert_eq!(
            with.credentials,
            HttpCredentials::Password { user: "user".into(), password: "p:a@ss".into() }
        );
        assert!(!format!("{with:?}").contains("p:a@ss"));
        let plain = client("https://node.example").unwrap();
        assert_eq!(plain.url(), "https://node.example");
        assert_eq!(plain.credentials, HttpCredentials::None);
        for wrong in ["ftp://a:b@c", "node:8332", "http://", "http://user:a:b/c@node/"] {
            let said = client(wrong).unwrap_err().to_string();
            assert!(!said.contains("a:b"), "{said}");
        }
    }

    #[test]
    fn paths_and_queries_are_sent_and_never_shown() {
        for url in [
            "https://node.example/v3/SECRET-KEY",
            "https://node.example/v3/SECRET-KEY/mainnet",
            "https://node.example?apikey=SECRET-KEY",
        ] {
            let client = Client::new(url, HttpCredentials::None, Duration::from_secs(1)).unwrap();
            assert_eq!((client.url(), &*client.url.whole), ("https://node.example", url));
            assert!(!format!("{client:?}").contains("SECRET"));
            let quoted = client.quoted(&format!("cannot POST {}", &url[20..]));
            assert_eq!(quoted, "cannot POST ...");
            let quoted = client.quoted("key `SECRET-KEY` is out of its quota");
            assert_eq!(quoted, "key `...` is out of its quota");
        }
    }

    /// Given a server that redirects to another one, then a URL without path is redirected, and one that may have a key is not.
    #[test]
    fn a_redirect_never_gets_the_key_of_a_url() {
        use std::{
            io::{Read as _, Write as _},
            net::TcpListener,
        };

        let serve = |answer: String| {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let address = listener.local_addr().unwrap();
            std::thread::spawn(move || {
                for connection in listener.incoming() {
                    let mut connection = connection.unwrap();
                    let mut asked = [0; 4096];
                    let _ = connection.read(&mut asked);
                    let _ = connection.write_all(answer.as_bytes());
                }
            });
            address
        };
        let other = serve("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nother".to_owned());
        let redirecting = serve(format!(
            "HTTP/1.1 307 Temporary Redirect\r\nLocation: http://{other}/v3/KEY\r\nContent-Length: 0\r\n\r\n"
        ));
        let ask = |url: String| {
            let client = Client::new(&url, HttpCredentials::None, Duration::from_secs(5)).unwrap();
            client.exchange(Request::get(""))
        };
        assert_eq!(ask(format!("http://{redirecting}")).unwrap().body, b"other");
        for url in [format!("http://{redirecting}/v3/KEY"), format!("http://{redirecting}?key=KEY")]
        {
            let said = ask(url).unwrap_err().to_string();
            assert!(said.contains(&format!("it redirects to {other}, and")), "{said}");
            assert!(!said.contains("KEY"), "{said}");
        }
    }
}
