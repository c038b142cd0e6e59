//! A connection to one server: HTTP/2, opened for the first request, and opened again after a failure.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use http::{HeaderMap, Request, StatusCode, header};
use http_body_util::{BodyExt, Full, Limited};
use hyper::{
    body::{Bytes, Incoming},
    client::conn::http2::{self, SendRequest},
};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use rustls::pki_types::ServerName;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    sync::Mutex,
    time::{Instant, timeout},
};
use tokio_rustls::TlsConnector;

use super::{
    ServerUrl,
    contact::{ServerContact, with_contact},
    credentials::{ChainServerCredentials, InvalidCredentials},
};

/// Longest time to open a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);
/// Time after a failed connection attempt in which no other attempt is made: callers fail at once instead of one after
/// the other.
const RECONNECT_PAUSE: Duration = Duration::from_millis(500);
/// Time without a byte after which a connection with open requests is probed by a ping, which a busy server answers.
const KEEP_ALIVE: Duration = Duration::from_millis(400);
/// Longest time for the answer to a ping; after it the connection is closed.
const KEEP_ALIVE_TIMEOUT: Duration = Duration::from_secs(2);
/// HTTP/2 flow-control window in bytes: the server sends that much without waiting for an acknowledgment.
const WINDOW: u32 = 4 << 20;
/// Largest size of an answer in bytes.
const MAX_ANSWER_BYTES: usize = 256 << 20;

/// The reason why a request was not sent, or why its answer was not received.
#[derive(Debug, thiserror::Error)]
pub enum SendError {
    /// The credentials cannot be used.
    #[error(transparent)]
    Credentials(#[from] InvalidCredentials),
    /// The connection attempt failed.
    #[error("failed to connect to {0}: {1}")]
    Connect(SocketAddr, String),
    /// The connection was not open within a second.
    #[error("failed to connect to {0}: no answer within a second")]
    ConnectTimeout(SocketAddr),
    /// The connection broke.
    #[error("the connection to {0} broke: {1}")]
    Broken(SocketAddr, String),
}

/// The status, header fields and body of an answer.
#[derive(Debug)]
pub(super) struct ReceivedAnswer {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

/// An open connection, and the token that its requests carry.
#[derive(Clone)]
struct OpenConnection {
    sender: SendRequest<Full<Bytes>>,
    token: Option<String>,
}

/// The connection to a server, open or not.
pub(super) struct Connection {
    address: SocketAddr,
    contact: Arc<ServerContact>,
    state: Mutex<ConnectionState>,
}

/// The state of a connection.
#[derive(Default)]
struct ConnectionState {
    open: Option<OpenConnection>,
    /// Time and cause of the last connection attempt, if it failed.
    failed: Option<(Instant, ConnectFailure)>,
}

/// The cause of a failed connection attempt.
#[derive(Clone)]
enum ConnectFailure {
    Refused(String),
    Timeout,
}

impl ConnectFailure {
    fn at(self, address: SocketAddr) -> SendError {
        match self {
            Self::Refused(cause) => SendError::Connect(address, cause),
            Self::Timeout => SendError::ConnectTimeout(address),
        }
    }
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_tuple("Connection").field(&self.address).finish()
    }
}

impl Connection {
    pub(super) fn new(address: SocketAddr) -> Self {
        Self { address, contact: Arc::new(ServerContact::new()), state: Mutex::default() }
    }

    /// The times of contact with the server, over this connection and earlier ones.
    pub(super) fn contact(&self) -> &ServerContact {
        &self.contact
    }

    /// Drops the open connection, if any: the next request opens another.
    pub(super) fn close(&self) {
        // A held lock means that a connection is being opened: no connection is open.
        if let Ok(mut state) = self.state.try_lock() {
            state.open = None;
        }
    }

    /// Sends a request and receives the whole answer. After a 401 status, the token is read from its file again and the
    /// request is sent once more.
    pub(super) async fn send(
        &self,
        to: &ServerUrl,
        credentials: &ChainServerCredentials,
        path: &str,
        body: Option<Bytes>,
    ) -> Result<ReceivedAnswer, SendError> {
        let mut answer = self.begin(to, credentials, path, body.clone()).await?;
        if answer.status() == StatusCode::UNAUTHORIZED {
            self.state.lock().await.open = None;
            answer = self.begin(to, credentials, path, body).await?;
        }
        let (status, headers) = (answer.status(), answer.headers().clone());
        let body = Limited::new(answer.into_body(), MAX_ANSWER_BYTES).collect().await;
        let body = body.map_err(|error| SendError::Broken(self.address, error.to_string()))?;
        Ok(ReceivedAnswer { status, headers, body: body.to_bytes() })
    }

    /// Sends a request and receives the status and header fields of the answer.
    pub(super) async fn begin(
        &self,
        to: &ServerUrl,
        credentials: &ChainServerCredentials,
        path: &str,
        body: Option<Bytes>,
    ) -> Result<http::Response<Incoming>, SendError> {
        self.contact.note_question();
        let opened = self.open(to, credentials).await;
        if matches!(opened, Err(SendError::Connect(..) | SendError::Credentials(_))) {
            // The server's machine refused the connection, or nothing was sent.
            self.contact.note_response();
        }
        let OpenConnection { mut sender, token } = opened?;
        let broken =
            |error: &dyn std::error::Error| SendError::Broken(self.address, with_causes(error));
        let method = if body.is_some() { "POST" } else { "GET" };
        let mut request = Request::builder().method(method).uri(to.with_path(path));
        if body.is_some() {
            request = request.header(header::CONTENT_TYPE, "application/json");
        }
        if let Some(token) = token {
            request = request.header(header::AUTHORIZATION, format!("Bearer {token}"));
        }
        let request = request.body(Full::new(body.unwrap_or_default()));
        let request = request.map_err(|error| broken(&error))?;
        sender.ready().await.map_err(|error| broken(&error))?;
        sender.send_request(request).await.map_err(|error| broken(&error))
    }

    /// Returns the open connection, and opens one if none is open.
    async fn open(
        &self,
        to: &ServerUrl,
        credentials: &ChainServerCredentials,
    ) -> Result<OpenConnection, SendError> {
        let mut state = self.state.lock().await;
        if let Some(open) = state.open.as_ref().filter(|open| !open.sender.is_closed()) {
            return Ok(open.clone());
        }
        let failed = state.failed.as_ref().filter(|(at, _)| at.elapsed() < RECONNECT_PAUSE);
        if let Some((_, error)) = failed {
            return Err(error.clone().at(self.address));
        }
        let token = credentials.token()?;
        let tls = if to.is_tls { Some(credentials.tls()?) } else { None };
        let connecting = async {
            let stream =
                TcpStream::connect(self.address).await.map_err(|error| error.to_string())?;
            let _ = stream.set_nodelay(true);
            let stream = with_contact(stream, Arc::clone(&self.contact));
            match tls {
                None => handshake(stream).await,
                Some(tls) => {
                    let name = ServerName::try_from(to.host.clone());
                    let name = name.map_err(|error| error.to_string())?;
                    let stream = TlsConnector::from(tls).connect(name, stream).await;
                    handshake(stream.map_err(|error| error.to_string())?).await
                }
            }
        };
        let failure = match timeout(CONNECT_TIMEOUT, connecting).await {
            Ok(Ok(sender)) => {
                state.failed = None;
                return Ok(state.open.insert(OpenConnection { sender, token }).clone());
            }
            Ok(Err(cause)) => ConnectFailure::Refused(cause),
            Err(_) => ConnectFailure::Timeout,
        };
        state.failed = Some((Instant::now(), failure.clone()));
        Err(failure.at(self.address))
    }
}

async fn handshake<S>(stream: S) -> Result<SendRequest<Full<Bytes>>, String>
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let mut builder = http2::Builder::new(TokioExecutor::new());
    builder.initial_stream_window_size(WINDOW).initial_connection_window_size(WINDOW);
    builder.timer(TokioTimer::new()).keep_alive_interval(KEEP_ALIVE);
    builder.keep_alive_timeout(KEEP_ALIVE_TIMEOUT);
    let shaken = builder.handshake(TokioIo::new(stream)).await;
    let (sender, connection) = shaken.map_err(|error| with_causes(&error))?;
    // The task ends with the connection, and the sender then reports that the connection is closed.
    tokio::spawn(connection);
    Ok(sender)
}

/// Returns an error's message with those of its causes.
fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

/// A connection to a server, shared by all callers that ask the server.
pub(super) type SharedConnection = Arc<Connection>;
