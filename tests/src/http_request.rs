//! Requests that fake servers read.

use std::{
    io::{self, BufRead, BufReader, Read},
    net::TcpStream,
};

/// The first line of a request, and its body; `None` if the connection was closed.
pub(crate) fn read_request(stream: &TcpStream) -> io::Result<Option<(String, Vec<u8>)>> {
    let mut input = BufReader::new(stream);
    let (mut line, mut length, mut first) = (String::new(), 0, String::new());
    loop {
        line.clear();
        if input.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        if first.is_empty() {
            first.clone_from(&line);
        }
        let field = line.trim().to_ascii_lowercase();
        if let Some(value) = field.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
        if field.is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    input.read_exact(&mut body)?;
    Ok(Some((first, body)))
}
