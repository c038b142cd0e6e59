//! A connection to one server: HTTP/2, opened when it is needed, and opened again after it broke.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use http::{HeaderMap, Request, StatusCode, header};
use http_body_util::{BodyExt, Full, Limited};
use hyper::{
    body::{Bytes, Incoming},
    client::conn::http2::{self, SendRequest},
};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::pki_types::ServerName;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    sync::Mutex,
    time::timeout,
};
use tokio_rustls::TlsConnector;

use super::{
    ServerUrl,
    credentials::{Credentials, InvalidCredentials},
};

/// Longest time for a connection to be opened.
const CONNECT: Duration = Duration::from_secs(1);
/// Bytes of an answer that may be on their way: a large one does not wait for permission.
const WINDOW: u32 = 4 << 20;
/// Largest answer.
const MOST_BYTES: usize = 256 << 20;

/// A request could not be sent, or its answer not be received.
#[derive(Debug, thiserror::Error)]
pub enum SendError {
    /// The credentials cannot be used.
    #[error(transparent)]
    Credentials(#[from] InvalidCredentials),
    /// The server cannot be connected to.
    #[error("failed to connect to {0}: {1}")]
    Connect(SocketAddr, String),
    /// The connection broke.
    #[error("the connection to {0} broke: {1}")]
    Broken(SocketAddr, String),
}

/// A whole answer.
#[derive(Debug)]
pub(super) struct Received {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

/// An open connection, and the token that is shown on it.
#[derive(Clone)]
struct Open {
    sender: SendRequest<Full<Bytes>>,
    token: Option<String>,
}

/// A server's connection.
pub(super) struct Connection {
    address: SocketAddr,
    open: Mutex<Option<Open>>,
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_tuple("Connection").field(&self.address).finish()
    }
}

impl Connection {
    pub(super) fn new(address: SocketAddr) -> Self {
        Self { address, open: Mutex::default() }
    }

    /// Sends a request and receives the whole answer.
    pub(super) async fn send(
        &self,
        to: &ServerUrl,
        credentials: &Credentials,
        path: &str,
        body: Option<Bytes>,
    ) -> Result<Received, SendError> {
        let answer = self.begin(to, credentials, path, body).await?;
        let (status, headers) = (answer.status(), answer.headers().clone());
        let body = Limited::new(answer.into_body(), MOST_BYTES).collect().await;
        let body = body.map_err(|error| SendError::Broken(self.address, error.to_string()))?;
        Ok(Received { status, headers, body: body.to_bytes() })
    }

    /// Sends a request and receives the beginning of the answer.
    pub(super) async fn begin(
        &self,
        to: &ServerUrl,
        credentials: &Credentials,
        path: &str,
        body: Option<Bytes>,
    ) -> Result<http::Response<Incoming>, SendError> {
        let Open { mut sender, token } = self.open(to, credentials).await?;
        let broken =
            |error: &dyn std::error::Error| SendError::Broken(self.address, in_full(error));
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
    async fn open(&self, to: &ServerUrl, credentials: &Credentials) -> Result<Open, SendError> {
        let mut open = self.open.lock().await;
        if let Some(open) = open.as_ref().filter(|open| !open.sender.is_closed()) {
            return Ok(open.clone());
        }
        let token = credentials.token()?;
        let tls = if to.is_tls { Some(credentials.tls()?) } else { None };
        let connecting = async {
            let stream =
                TcpStream::connect(self.address).await.map_err(|error| error.to_string())?;
            let _ = stream.set_nodelay(true);
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
        let connected = timeout(CONNECT, connecting).await;
        let connected = connected.unwrap_or_else(|_| Err("no answer within a second".to_owned()));
        let sender = connected.map_err(|error| SendError::Connect(self.address, error))?;
        Ok(open.insert(Open { sender, token }).clone())
    }
}

async fn handshake<S>(stream: S) -> Result<SendRequest<Full<Bytes>>, String>
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let mut builder = http2::Builder::new(TokioExecutor::new());
    builder.initial_stream_window_size(WINDOW).initial_connection_window_size(WINDOW);
    let shaken = builder.handshake(TokioIo::new(stream)).await;
    let (sender, connection) = shaken.map_err(|error| in_full(&error))?;
    // It ends with the connection, whose end the sender learns of.
    tokio::spawn(connection);
    Ok(sender)
}

/// An error with its causes.
fn in_full(error: &dyn std::error::Error) -> String {
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
