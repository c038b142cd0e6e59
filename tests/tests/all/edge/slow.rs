//! Slow callers, and too many callers.

use std::{
    io::{Read, Write},
    net::TcpStream,
    thread,
    time::Duration,
};

use assay_tests::{Caller, Server};
use tokio::{runtime::Runtime, time::timeout};

use super::{BODY, PATH, caller_of, start};
use crate::{
    support::wait_until,
    wire::{LONG, connect, read_to_close, read_until, request2},
};

/// Time after which an operating system repeats a dropped connection attempt.
const SYN_RETRY: Duration = Duration::from_millis(900);
/// More chunks of rows than all buffers between caller and server hold.
const MOST_CHUNKS: usize = 10_000;
const SCREEN: &str = "/api/v1/screen";
const ROW: &str = "{\"blockchain\":\"btc\",\"address\":\"1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa\"}\n";

/// Writes a letter at intervals until the server closes the connection; returns the server's answer.
fn send_slowly(mut stream: TcpStream, letter: &[u8]) -> String {
    let mut sending = stream.try_clone().unwrap();
    let letter = letter.to_owned();
    let sender = thread::spawn(move || {
        while sending.write_all(&letter).is_ok() {
            // A slow caller is what the test is about.
            thread::sleep(Duration::from_millis(100));
        }
    });
    let answer = read_to_close(&mut stream);
    // Later writes meet a closed connection.
    let _ = stream.shutdown(std::net::Shutdown::Both);
    sender.join().unwrap();
    answer
}

pub(super) fn post(path: &str, key: &str, media_type: &str, more: &str) -> String {
    format!(
        "POST {path} HTTP/1.1\r\nhost: x\r\nx-api-key: {key}\r\ncontent-type: {media_type}\r\n{more}\r\n"
    )
}

#[test]
fn a_client_that_sends_byte_by_byte_is_disconnected() {
    let (server, caller) =
        start(&["--header-timeout", "1s", "--body-timeout", "1s", "--stall-timeout", "1s"]);
    let open = |text: &str| {
        let mut stream = connect(server.api);
        stream.write_all(text.as_bytes()).unwrap();
        stream
    };
    // In the head, before and after it is known which version is spoken.
    for begun in ["", "GET /healthz HTTP/1.1\r\nhost: x\r\nx-slow: "] {
        let answer = send_slowly(open(begun), b"x");
        assert!(!answer.contains("200 OK"), "{answer}");
    }
    // In a check's body.
    let begun = post(PATH, &caller.key, "application/json", "content-length: 8000\r\n");
    let answer = send_slowly(open(&begun), b" ");
    assert!(answer.starts_with("HTTP/1.1 408"), "{answer}");
    // In a row that never ends.
    let begun = post(SCREEN, &caller.key, "application/x-ndjson", "transfer-encoding: chunked\r\n");
    let answer = send_slowly(open(&begun), b"1\r\n \r\n");
    assert!(answer.contains("no row arrived for 1 seconds"), "{answer}");
    // In HTTP/2's own frames, of which the first never becomes whole.
    let _ = send_slowly(open("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), b"\x00");
    assert_eq!(caller.post(PATH, BODY, &[]).status, 200);
}

#[test]
fn a_client_that_reads_nothing_is_disconnected_and_costs_little() {
    let (server, caller) = start(&["--stall-timeout", "1s"]);
    let before = server.peak_resident_bytes();
    let mut streams: Vec<_> = (0..8)
        .map(|_| {
            let head = "transfer-encoding: chunked\r\n";
            let mut stream = connect(server.api);
            let head = post(SCREEN, &caller.key, "application/x-ndjson", head);
            stream.write_all(head.as_bytes()).unwrap();
            stream.set_write_timeout(Some(LONG)).unwrap();
            stream
        })
        .collect();
    let rows = ROW.repeat(500);
    let chunk = format!("{:x}\r\n{rows}\r\n", rows.len());
    for stream in &mut streams {
        // Until the server takes no more, and closes: a write that waits for ever would time out.
        let mut writes = (0..MOST_CHUNKS).map(|_| stream.write_all(chunk.as_bytes()));
        let failed = writes.find_map(Result::err).expect("it reads on and on");
        let error = failed.kind();
        assert_ne!(error, std::io::ErrorKind::WouldBlock, "it is not closed");
    }
    let grown = server.peak_resident_bytes().saturating_sub(before);
    assert!(grown < 64 << 20, "{grown} bytes more");
    assert_eq!(caller.post(PATH, BODY, &[]).status, 200);
}

#[test]
fn an_http2_client_that_reads_nothing_is_disconnected() {
    let (server, caller) = start(&["--stall-timeout", "1s"]);
    Runtime::new().unwrap().block_on(async {
        let stream = tokio::net::TcpStream::connect(server.api).await.unwrap();
        let (client, connection) = h2::client::handshake(stream).await.unwrap();
        let ended = tokio::spawn(connection);
        let mut client = client.ready().await.unwrap();
        let fields = [("x-api-key", caller.key.as_str()), ("content-type", "application/x-ndjson")];
        let request = request2("POST", SCREEN, &fields);
        let (answer, mut sending) = client.send_request(request, false).unwrap();
        let rows = ROW.repeat(500);
        sending.send_data(rows.repeat(20).into(), false).unwrap();
        let answer = answer.await.unwrap();
        assert_eq!(answer.status(), 200);
        // No capacity is ever given back: the answer waits.
        let ended = timeout(LONG, ended).await;
        assert!(ended.is_ok(), "the connection is closed");
        drop(answer);
    });
    assert_eq!(caller.post(PATH, BODY, &[]).status, 200);
}

/// A bulk request in flight: its first row is answered, and it is not finished.
pub(super) fn bulk(server: &Server, key: &str) -> (TcpStream, String) {
    let mut stream = connect(server.api);
    let head = post(SCREEN, key, "application/x-ndjson", "transfer-encoding: chunked\r\n");
    let row = format!("{:x}\r\n{ROW}\r\n", ROW.len());
    stream.write_all((head + &row).as_bytes()).unwrap();
    let answer = read_until(&mut stream, "\"error\":null}");
    (stream, answer)
}

/// Number of requests in flight, without the request that reads the metric.
pub(super) fn requests_in_flight(server: &Server) -> usize {
    let metrics = Caller::new(server.admin, "").send("GET", "/metrics", "", []).text;
    let line = metrics.lines().find_map(|line| line.strip_prefix("assay_http_requests_in_flight "));
    line.unwrap().parse::<usize>().unwrap() - 1
}

#[test]
fn under_overload_unauthenticated_callers_are_refused_first_then_bulk_then_single_checks() {
    let (server, caller) = start(&["--max-requests", "8", "--body-timeout", "50s"]);
    let other = caller_of(&server, "sample-business");
    let stranger = || caller.post(PATH, BODY, &[("x-api-key", "")]);
    let single = || caller.post(PATH, BODY, &[]);
    let lost = || caller.send("GET", "/nowhere", "", []);
    assert_eq!((stranger().status, lost().status, single().status), (401, 404, 200));

    let mut held = Vec::new();
    let mut hold_bulk = |count: usize, caller: &Caller| {
        for _ in 0..count {
            let (stream, answer) = bulk(&server, &caller.key);
            assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
            held.push(stream);
        }
    };
    hold_bulk(4, &caller);
    let refused = stranger();
    assert_eq!(refused.problem(), (503, "overloaded".into()));
    assert_eq!(refused.header("retry-after"), "1");
    assert_eq!(lost().problem(), (503, "overloaded".into()));
    assert_eq!(single().status, 200);
    hold_bulk(1, &caller);
    hold_bulk(1, &other);
    let (_, answer) = bulk(&server, &other.key);
    assert!(answer.starts_with("HTTP/1.1 503") && answer.contains("\"overloaded\""), "{answer}");
    assert_eq!(single().status, 200);

    // Two single checks whose bodies do not come. Nothing else may take their places meanwhile.
    wait_until("the others are over", || requests_in_flight(&server) == 6);
    for count in [7, 8] {
        let mut stream = connect(server.api);
        let begun = post(PATH, &other.key, "application/json", "content-length: 80\r\n");
        stream.write_all(begun.as_bytes()).unwrap();
        held.push(stream);
        wait_until("a check is under way", || requests_in_flight(&server) == count);
    }
    assert_eq!(single().problem(), (503, "overloaded".into()));
    assert_eq!(caller.send("GET", "/healthz", "", []).status, 200);
    let metrics = Caller::new(server.admin, "").send("GET", "/metrics", "", []).text;
    for class in ["unauthenticated", "bulk", "single"] {
        let line = format!("assay_http_requests_shed_total{{class=\"{class}\"}}");
        assert!(metrics.contains(&line), "{metrics}");
    }
    drop(held);
    wait_until("all are answered again", || {
        (stranger().status, lost().status, single().status) == (401, 404, 200)
    });
}

#[test]
fn connections_that_come_at_once_wait_for_a_server_that_is_busy() {
    // Given a server that accepts nothing for a while.
    let (server, caller) = start(&[]);
    server.signal("STOP");
    // When many callers connect at once, then none is late: the system has room for all of them.
    let waiting: Vec<TcpStream> = (0..1500)
        .map(|number| {
            TcpStream::connect_timeout(&server.api, SYN_RETRY)
                .unwrap_or_else(|error| panic!("connection {number}: {error}"))
        })
        .collect();
    // And the server serves the last of them once it goes on.
    server.signal("CONT");
    let mut last = waiting.last().unwrap();
    last.write_all(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
    let mut answer = [0; 12];
    last.set_read_timeout(Some(LONG)).unwrap();
    last.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"HTTP/1.1 200");
    drop(waiting);
    assert_eq!(caller.post(PATH, BODY, &[]).status, 200);
}

#[test]
fn an_idle_http2_connection_is_closed_for_a_new_one() {
    let (server, _) = start(&["--max-connections", "1", "--header-timeout", "1s"]);
    Runtime::new().unwrap().block_on(async {
        let stream = tokio::net::TcpStream::connect(server.api).await.unwrap();
        let (client, connection) = h2::client::handshake(stream).await.unwrap();
        // It answers pings until the connection ends.
        let ended = tokio::spawn(connection);
        let ended = timeout(LONG, ended).await;
        assert!(ended.is_ok(), "it is closed");
        drop(client);
    });
    let mut stream = connect(server.api);
    stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
    let mut answer = [0; 12];
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"HTTP/1.1 200");
}
