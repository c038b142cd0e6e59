//! The bare handler: a handler of the same HTTP library that reads a request's body and returns as many bytes as the
//! answer to a check has. It is this program in a process of its own.

use std::{
    env, fs,
    io::{self, BufRead, BufReader},
    net::SocketAddr,
    path::Path,
    process::{Child, Command, Stdio},
    sync::Arc,
};

use axum::{Router, body::Bytes, http::header, routing::post, serve::Listener};
use rustls::{
    ServerConfig,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::{TlsAcceptor, server::TlsStream};

/// Environment variable that makes this program the bare handler; its value is the number of bytes of an answer.
const BARE: &str = "ASSAY_BENCH_BARE";
/// Environment variable that makes the bare handler serve TLS; its value is the folder with certificate and key.
const TLS: &str = "ASSAY_BENCH_BARE_TLS";

/// Certificate and key of servers, in a folder.
pub(crate) const CERTIFICATE: &str = "certificate.pem";
pub(crate) const KEY: &str = "key.pem";

/// The process of the bare handler.
#[derive(Debug)]
pub(crate) struct BareServer {
    child: Child,
    /// Listening address.
    pub(crate) address: SocketAddr,
}

impl BareServer {
    /// Starts the bare handler with answers of `bytes`. `tls`: the folder with certificate and key; `None` for plain text.
    pub(crate) fn start(bytes: usize, tls: Option<&Path>) -> io::Result<Self> {
        let mut command = Command::new(env::current_exe()?);
        command.env(BARE, bytes.to_string()).stdout(Stdio::piped());
        if let Some(folder) = tls {
            command.env(TLS, folder);
        }
        let mut child = command.spawn()?;
        let mut line = String::new();
        let output = child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
        BufReader::new(output).read_line(&mut line)?;
        Ok(Self { child, address: line.trim().parse().map_err(io::Error::other)? })
    }

    /// Returns the identifier of the process.
    pub(crate) fn process(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for BareServer {
    fn drop(&mut self) {
        // It may be gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Serves as the bare handler if the environment says so; then this function does not return.
pub(crate) fn serve_if_asked() -> io::Result<()> {
    let Some(bytes) = env::var(BARE).ok().and_then(|bytes| bytes.parse().ok()) else {
        return Ok(());
    };
    let answer = Bytes::from(vec![b' '; bytes]);
    let handler = move |_request: Bytes| async move {
        ([(header::CONTENT_TYPE, "application/json")], answer)
    };
    let router = Router::new().route("/api/v1/check/address", post(handler));
    tokio::runtime::Runtime::new()?.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        println!("{}", listener.local_addr()?);
        match env::var_os(TLS) {
            None => axum::serve(listener, router).await,
            Some(folder) => {
                let acceptor = acceptor(Path::new(&folder))?;
                axum::serve(TlsListener { listener, acceptor }, router).await
            }
        }
    })
}

fn acceptor(folder: &Path) -> io::Result<TlsAcceptor> {
    let certificate = CertificateDer::from_pem_slice(&fs::read(folder.join(CERTIFICATE))?);
    let key = PrivateKeyDer::from_pem_slice(&fs::read(folder.join(KEY))?);
    let (certificate, key) =
        (certificate.map_err(io::Error::other)?, key.map_err(io::Error::other)?);
    let config = ServerConfig::builder().with_no_client_auth();
    let config = config.with_single_cert(vec![certificate], key).map_err(io::Error::other)?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}

/// Listener whose connections use TLS.
struct TlsListener {
    listener: TcpListener,
    acceptor: TlsAcceptor,
}

impl Listener for TlsListener {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        loop {
            let (stream, address) = Listener::accept(&mut self.listener).await;
            let _ = stream.set_nodelay(true);
            if let Ok(stream) = self.acceptor.accept(stream).await {
                return (stream, address);
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}
