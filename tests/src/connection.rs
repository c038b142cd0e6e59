//! A fast HTTP client: sends a request, serialized once, repeatedly over one connection, for thousands of requests per
//! second.

use std::{
    io::{self, BufRead, BufReader, ErrorKind, Read, Write},
    net::{SocketAddr, TcpStream},
};

/// A connection.
#[derive(Debug)]
pub struct Connection {
    stream: BufReader<TcpStream>,
    line: String,
    /// True if the last answer announced that the server closes the connection.
    pub is_over: bool,
    /// The body of the last answer.
    pub body: Vec<u8>,
}

impl Connection {
    /// Connects.
    ///
    /// # Panics
    ///
    /// Panics if the server does not listen.
    #[must_use]
    pub fn open(server: SocketAddr) -> Self {
        Self::try_open(server).expect("a connection")
    }

    /// Connects, without retries.
    ///
    /// # Errors
    ///
    /// Returns an error if the server does not listen.
    pub fn try_open(server: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect(server)?;
        stream.set_nodelay(true)?;
        Ok(Self {
            stream: BufReader::new(stream),
            line: String::new(),
            is_over: false,
            body: Vec::new(),
        })
    }

    /// Sends a request, reads the whole answer, and returns its status.
    ///
    /// # Panics
    ///
    /// Panics if there is no answer, or an answer without its length.
    pub fn ask(&mut self, request: &[u8]) -> u16 {
        self.try_ask(request).expect("an answer")
    }

    /// Sends a request, reads the whole answer, and returns its status, without retries.
    ///
    /// # Errors
    ///
    /// Returns an error if the connection fails or the answer is invalid.
    pub fn try_ask(&mut self, request: &[u8]) -> io::Result<u16> {
        self.stream.get_mut().write_all(request)?;
        let status = self.next_line()?.split(' ').nth(1).and_then(|status| status.parse().ok());
        let mut length = None;
        loop {
            let line = self.next_line()?;
            if line.is_empty() {
                break;
            }
            let (name, value) = line.split_once(':').unwrap_or((line, ""));
            if name.eq_ignore_ascii_case("content-length") {
                length = value.trim().parse().ok();
            } else if name.eq_ignore_ascii_case("connection") {
                self.is_over = value.trim().eq_ignore_ascii_case("close");
            }
        }
        let unreadable = || io::Error::from(ErrorKind::InvalidData);
        self.body.resize(length.ok_or_else(unreadable)?, 0);
        self.stream.read_exact(&mut self.body)?;
        status.ok_or_else(unreadable)
    }

    fn next_line(&mut self) -> io::Result<&str> {
        self.line.clear();
        if self.stream.read_line(&mut self.line)? == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        Ok(self.line.trim_end())
    }

    /// The bytes of a request that checks an address.
    #[must_use]
    pub fn check(key: &str, chain: &str, address: &str) -> Vec<u8> {
        let body = format!("{{\"blockchain\":\"{chain}\",\"address\":\"{address}\"}}");
        format!(
            "POST /api/v1/check/address HTTP/1.1\r\nhost: assay\r\nx-api-key: {key}\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        )
        .into_bytes()
    }
}
