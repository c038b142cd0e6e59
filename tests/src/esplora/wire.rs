//! A minimal HTTP server: requests without a body, sequential on a connection.

use std::{
    io::{self, BufRead, BufReader, Write},
    net::TcpStream,
    sync::Arc,
    thread,
};

use super::{Failure, Reply, ServerBehavior, Shared, answers};

/// Serves the next request of a connection. Returns true if another request may follow.
pub(super) fn serve(stream: &TcpStream, shared: &Shared) -> io::Result<bool> {
    // Answers are small and written at once.
    stream.set_nodelay(true)?;
    // Clients do not pipeline: no byte of a second request is read here.
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
    match read_request(&mut lines) {
        Some(path) => respond(stream, shared, &path),
        None => Ok(false),
    }
}

/// The path of the next request.
fn read_request(lines: &mut impl Iterator<Item = String>) -> Option<String> {
    let first = lines.next()?;
    let path = first.split(' ').nth(1)?.to_owned();
    lines.take_while(|line| !line.is_empty()).for_each(drop);
    Some(path)
}

/// Answers a request. Returns false if the connection is closed.
fn respond(mut stream: &TcpStream, shared: &Shared, path: &str) -> io::Result<bool> {
    let (ledger, failure, latency, falsification, without_proofs) = {
        let mut state = shared.state();
        state.requests.push(path.to_owned());
        let (failure, ledger) = (state.failure(), Arc::clone(&state.ledger));
        let ServerBehavior { latency, falsification, without_proofs, .. } = state.behavior;
        (ledger, failure, latency, falsification, without_proofs)
    };
    // A server that answers late is what the test asks for.
    thread::sleep(latency);
    let answered = || {
        if without_proofs && path.ends_with("/merkle-proof") {
            return Reply::Refusal(404, "endpoint does not exist");
        }
        answers::answer(&ledger, path)
    };
    let mut extra = String::new();
    let (status, kind, body) = match failure {
        Some(Failure::Dropped) => return Ok(false),
        Some(Failure::TooManyRequests(after)) => {
            extra = after.map(|after| format!("retry-after: {after}\r\n")).unwrap_or_default();
            (429, "text/plain", b"Too Many Requests".to_vec())
        }
        Some(Failure::Internal) => (500, "text/plain", b"Internal server error".to_vec()),
        Some(Failure::NotJson) => {
            (200, "text/html", b"<html><body>We will be back soon</body></html>".to_vec())
        }
        Some(Failure::Truncated) | None => match answered() {
            Reply::Json(mut value) => {
                if let Some(falsification) = falsification {
                    falsification(path, &mut value);
                }
                (200, "application/json", value.to_string().into_bytes())
            }
            Reply::Text(text) => (200, "text/plain", text.into_bytes()),
            Reply::Bytes(bytes) => (200, "application/octet-stream", bytes),
            Reply::Refusal(status, reason) => (status, "text/plain", reason.as_bytes().to_vec()),
        },
    };
    let head = format!(
        "HTTP/1.1 {status} {}\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n{extra}\r\n",
        if status == 200 { "OK" } else { "Not OK" },
        body.len()
    );
    let breaks_off = failure == Some(Failure::Truncated);
    let sent = if breaks_off { body.get(..body.len() / 2).unwrap_or_default() } else { &body };
    stream.write_all(&[head.as_bytes(), sent].concat())?;
    Ok(!breaks_off)
}
