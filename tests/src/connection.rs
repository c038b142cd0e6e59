//! A caller that costs little: one request, spelled out once and sent again and again over one
//! connection, for whoever has to ask thousands of times a second beside the servers that answer.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpStream},
};

/// A connection.
#[derive(Debug)]
pub struct Connection {
    stream: BufReader<TcpStream>,
    line: String,
    /// The body of the last answer.
    pub body: Vec<u8>,
}

impl Connection {
    /// Connects.
    ///
    /// # Panics
    ///
    /// Where nobody listens.
    #[must_use]
    pub fn to(server: SocketAddr) -> Self {
        let stream = TcpStream::connect(server).expect("a connection");
        stream.set_nodelay(true).expect("small packets");
        Self { stream: BufReader::new(stream), line: String::new(), body: Vec::new() }
    }

    /// Sends a request, reads the answer to its end, and gives its status.
    ///
    /// # Panics
    ///
    /// Where there is no answer, or one that does not tell its length.
    pub fn ask(&mut self, request: &[u8]) -> u16 {
        self.stream.get_mut().write_all(request).expect("a request");
        let status = self.next_line().split(' ').nth(1).expect("a status");
        let status = status.parse().expect("a status");
        let mut length = None;
        loop {
            let line = self.next_line();
            if line.is_empty() {
                break;
            }
            let (name, value) = line.split_once(':').expect("a header field");
            if name.eq_ignore_ascii_case("content-length") {
                length = value.trim().parse().ok();
            }
        }
        self.body.resize(length.expect("a length"), 0);
        self.stream.read_exact(&mut self.body).expect("a body");
        status
    }

    fn next_line(&mut self) -> &str {
        self.line.clear();
        let read = self.stream.read_line(&mut self.line).expect("an answer");
        assert!(read > 0, "the connection ended");
        self.line.trim_end()
    }

    /// The bytes of a check.
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
