//! Load: connections on which requests are in flight together, from one thread, so that the server has work at any
//! time and the caller costs little.

use std::{
    cell::Cell,
    io::{self, ErrorKind, Read, Write},
    net::{SocketAddr, TcpStream},
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use axum::{body::Bytes, http::Request};
use futures_util::future::try_join_all;
use h2::client::SendRequest;
use rustls::{ClientConfig, ClientConnection, StreamOwned, pki_types::ServerName};

/// Number of connections with a request in flight.
const CONNECTIONS: usize = 32;
/// Number of streams of one HTTP/2 connection with a request in flight.
const STREAMS: usize = 64;
/// Bytes of answers that the caller takes before it tells that it read them.
const WINDOW_BYTES: u32 = 16 << 20;
/// Largest head of an answer in bytes.
const BUFFER_BYTES: usize = 64 * 1024;

/// Server under load.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    /// Listening address.
    pub(crate) address: SocketAddr,
    /// Protocol of the connections.
    pub(crate) protocol: Protocol,
}

/// Protocol of connections.
#[derive(Clone, Debug)]
pub(crate) enum Protocol {
    /// HTTP/1.1 in plain text.
    Http1,
    /// HTTP/1.1 over TLS.
    Http1OverTls(Arc<ClientConfig>),
    /// HTTP/2 in plain text, on one connection.
    Http2,
}

trait Stream: Read + Write {}
impl<S: Read + Write> Stream for S {}

/// Connection on which requests are sent and answers are read.
struct Connection {
    stream: Box<dyn Stream>,
    buffer: Vec<u8>,
}

impl Connection {
    fn open(target: &Target) -> io::Result<Self> {
        let stream = TcpStream::connect(target.address)?;
        stream.set_nodelay(true)?;
        let stream: Box<dyn Stream> = match &target.protocol {
            Protocol::Http1 | Protocol::Http2 => Box::new(stream),
            Protocol::Http1OverTls(config) => {
                let name = ServerName::try_from("localhost").map_err(io::Error::other)?;
                let session = ClientConnection::new(Arc::clone(config), name);
                Box::new(StreamOwned::new(session.map_err(io::Error::other)?, stream))
            }
        };
        Ok(Self { stream, buffer: vec![0; BUFFER_BYTES] })
    }

    fn send(&mut self, request: &[u8]) -> io::Result<()> {
        self.stream.write_all(request)?;
        self.stream.flush()
    }

    /// Reads one answer, and returns its body.
    fn receive(&mut self) -> io::Result<&[u8]> {
        let (mut filled, mut answer) = (0, None);
        loop {
            if let Some((head, end)) = answer
                && filled >= end
            {
                return Ok(self.buffer.get(head..end).unwrap_or_default());
            }
            let free = self.buffer.get_mut(filled..).unwrap_or_default();
            match self.stream.read(free)? {
                0 => return Err(ErrorKind::UnexpectedEof.into()),
                count => filled += count,
            }
            if answer.is_none() {
                answer = bounds(self.buffer.get(..filled).unwrap_or_default())?;
            }
        }
    }
}

/// Returns the bounds of an answer's body; `None` if its head is not complete.
fn bounds(bytes: &[u8]) -> io::Result<Option<(usize, usize)>> {
    let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") else {
        return Ok(None);
    };
    let head =
        std::str::from_utf8(bytes.get(..end).unwrap_or_default()).map_err(io::Error::other)?;
    let mut lines = head.split("\r\n");
    if lines.next().and_then(|line| line.split(' ').nth(1)) != Some("200") {
        return Err(io::Error::other(head.to_owned()));
    }
    let length = lines.find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
    });
    let length = length.ok_or_else(|| io::Error::other("an answer without its length"))?;
    Ok(Some((end + 4, end + 4 + length)))
}

/// Sends one request, and returns the body of its answer.
pub(crate) fn ask(target: &Target, request: &[u8]) -> io::Result<Vec<u8>> {
    let mut connection = Connection::open(target)?;
    connection.send(request)?;
    connection.receive().map(<[u8]>::to_vec)
}

/// Sends `count` requests as fast as they are answered, and returns the time that it took. `request` returns the
/// request with a number.
pub(crate) fn saturate(
    target: &Target,
    count: u64,
    mut request: impl FnMut(u64) -> Arc<[u8]>,
) -> io::Result<Duration> {
    if matches!(target.protocol, Protocol::Http2) {
        return saturate_streams(target.address, count, &request(0));
    }
    let connections = (0..CONNECTIONS).map(|_| Connection::open(target));
    let mut connections = connections.collect::<io::Result<Vec<_>>>()?;
    let begun = Instant::now();
    let mut number = 0;
    for connection in &mut connections {
        connection.send(&request(number))?;
        number += 1;
    }
    let mut answered = 0;
    while answered < count {
        for connection in &mut connections {
            if answered == count {
                break;
            }
            connection.receive()?;
            answered += 1;
            if number < count {
                connection.send(&request(number))?;
                number += 1;
            }
        }
    }
    Ok(begun.elapsed())
}

/// Sends the same request `count` times over HTTP/2, as fast as it is answered, and returns the time that it took.
fn saturate_streams(address: SocketAddr, count: u64, request: &[u8]) -> io::Result<Duration> {
    let (request, body) = of_http2(request)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let stream = tokio::net::TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let mut builder = h2::client::Builder::new();
        builder.initial_window_size(WINDOW_BYTES).initial_connection_window_size(WINDOW_BYTES);
        let (caller, connection) = builder.handshake(stream).await.map_err(io::Error::other)?;
        let connection = tokio::spawn(connection);
        let begun = Instant::now();
        let left = Cell::new(count);
        let streams = (0..STREAMS).map(|_| repeat(caller.clone(), &left, &request, &body));
        let answered = try_join_all(streams).await;
        connection.abort();
        answered.map_err(io::Error::other)?;
        Ok(begun.elapsed())
    })
}

/// Sends a request again and again, until none is left.
async fn repeat(
    mut caller: SendRequest<Bytes>,
    left: &Cell<u64>,
    request: &Request<()>,
    body: &Bytes,
) -> Result<(), h2::Error> {
    while left.get() > 0 {
        left.set(left.get() - 1);
        caller = caller.ready().await?;
        let (response, mut sender) = caller.send_request(request.clone(), false)?;
        sender.send_data(body.clone(), true)?;
        let mut answer = response.await?.into_body();
        while let Some(data) = answer.data().await {
            let length = data?.len();
            answer.flow_control().release_capacity(length)?;
        }
    }
    Ok(())
}

/// Returns the HTTP/2 form of a request of HTTP/1.1, and its body.
fn of_http2(request: &[u8]) -> io::Result<(Request<()>, Bytes)> {
    let text = std::str::from_utf8(request).map_err(io::Error::other)?;
    let (head, body) = text.split_once("\r\n\r\n").ok_or(ErrorKind::InvalidData)?;
    let mut lines = head.split("\r\n");
    let path = lines.next().and_then(|line| line.split(' ').nth(1)).unwrap_or_default();
    let mut builder = Request::post(format!("http://assay{path}"));
    for (name, value) in lines.filter_map(|line| line.split_once(": ")) {
        if name != "host" {
            builder = builder.header(name, value);
        }
    }
    let request = builder.body(()).map_err(io::Error::other)?;
    Ok((request, Bytes::copy_from_slice(body.as_bytes())))
}

/// Sends `count` requests at a fixed rate over `connections`, and returns the time of each from its planned start.
pub(crate) fn pace(
    target: &Target,
    rate: f64,
    count: u32,
    connections: u32,
    request: &[u8],
) -> io::Result<Vec<Duration>> {
    let begun = Instant::now();
    let (interval, target) = (Duration::from_secs_f64(1.0 / rate), target.clone());
    thread::scope(|scope| {
        let workers: Vec<_> = (0..connections)
            .map(|worker| {
                let target = &target;
                scope.spawn(move || -> io::Result<Vec<Duration>> {
                    let mut connection = Connection::open(target)?;
                    let mut times = Vec::new();
                    for number in (worker..count).step_by(connections as usize) {
                        let planned = begun + interval * number;
                        thread::sleep(planned.saturating_duration_since(Instant::now()));
                        connection.send(request)?;
                        connection.receive()?;
                        times.push(planned.elapsed());
                    }
                    Ok(times)
                })
            })
            .collect();
        let mut all = Vec::new();
        for worker in workers {
            all.extend(worker.join().map_err(|_| io::Error::other("a caller panicked"))??);
        }
        Ok(all)
    })
}
