//! A connection to one server: HTTP/2, opened when it is needed, and opened again after it broke.

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

/// Longest time for a connection to be opened.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);
/// Time after a failed attempt in which no other one is made: callers fail at once instead of one after the other.
const RECONNECT_PAUSE: Duration = Duration::from_millis(500);
/// Time without a byte after which a connection with open questions is probed: a server that works on hard ones is
/// heard by its answer.
const KEEP_ALIVE: Duration = Duration::from_millis(400);
/// Longest time for the answer to a probe: a connection that leads nowhere ends.
const KEEP_ALIVE_TIMEOUT: Duration = Duration::from_secs(2);
/// Bytes of an answer that may be on their way: a large one does not wait for permission.
const WINDOW: u32 = 4 << 20;
/// Largest answer.
const MAX_ANSWER_BYTES: usize = 256 << 20;

/// A request could not be sent, or its answer not be received.
#[derive(Debug, thiserror::Error)]
pub enum SendError {
    /// The credentials cannot be used.
    #[error(transparent)]
    Credentials(#[from] InvalidCredentials),
    /// The server cannot be connected to.
    #[error("failed to connect to {0}: {1}")]
    Connect(SocketAddr, String),
    /// Nothing came from the server while it was connected to.
    #[error("failed to connect to {0}: no answer within a second")]
    ConnectTimeout(SocketAddr),
    /// The connection broke.
    #[error("the connection to {0} broke: {1}")]
    Broken(SocketAddr, String),
}

/// A whole answer.
#[derive(Debug)]
pub(super) struct ReceivedAnswer {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

/// An open connection, and the token that is shown on it.
#[derive(Clone)]
struct OpenConnection {
    sender: SendRequest<Full<Bytes>>,
    token: Option<String>,
}

/// A server's connection.
pub(super) struct Connection {
    address: SocketAddr,
    contact: Arc<ServerContact>,
    state: Mutex<ConnectionState>,
}

/// The state of a connection.
#[derive(Default)]
struct ConnectionState {
    open: Option<OpenConnection>,
    /// The last attempt, if it failed.
    failed: Option<(Instant, ConnectFailure)>,
}

/// The cause of an attempt that failed.
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

    /// When the server was heard, over this connection and those before it.
    pub(super) fn contact(&self) -> &ServerContact {
        &self.contact
    }

    /// Lets go of the open connection, if there is one: the next request opens another.
    pub(super) fn close(&self) {
        // While one is being opened, there is none.
        if let Ok(mut state) = self.state.try_lock() {
            state.open = None;
        }
    }

    /// Sends a request and receives the whole answer. A token that is not valid any more is read again, once.
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

    /// Sends a request and receives the beginning of the answer.
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
            // Its machine refused at once, or nothing was sent.
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

    /// The connection, opened if it is not.
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
    // It ends with the connection, whose end the sender learns of.
    tokio::spawn(connection);
    Ok(sender)
}

/// An error with its causes.
fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

/// The connection of each server, shared by all who ask it.
pub(super) type SharedConnection = Arc<Connection>;
