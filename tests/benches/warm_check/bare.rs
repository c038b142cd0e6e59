//! The bare handler: a handler of the same HTTP library that reads a request's body and returns as many bytes as the
//! answer to a check has. It is this program in a process of its own.

use std::{
    env,
    io::{self, BufRead, BufReader},
    net::SocketAddr,
    process::{Child, Command, Stdio},
};

use axum::{Router, body::Bytes, http::header, routing::post};

/// Environment variable that makes this program the bare handler; its value is the number of bytes of an answer.
const BARE: &str = "ASSAY_BENCH_BARE";

/// The process of the bare handler.
#[derive(Debug)]
pub(crate) struct BareServer {
    child: Child,
    /// Listening address.
    pub(crate) address: SocketAddr,
}

impl BareServer {
    /// Starts the bare handler with answers of `bytes`.
    pub(crate) fn start(bytes: usize) -> io::Result<Self> {
        let mut child = Command::new(env::current_exe()?)
            .env(BARE, bytes.to_string())
            .stdout(Stdio::piped())
            .spawn()?;
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
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
        println!("{}", listener.local_addr()?);
        axum::serve(listener, router).await
    })
}
