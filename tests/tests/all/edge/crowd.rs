//! More connections than a server accepts: connections without a key are closed first.

use std::{
    io::{Read, Write},
    net::TcpStream,
};

use assay_tests::Caller;

use super::{BODY, PATH, caller_of, start};
use crate::wire::{LONG, connect, read_until};

/// Beginning of a request that is never completed.
const BEGUN: &[u8] = b"GET /api/v1/sources HTTP/1.1\r\nhost: x\r\nx-slow: abcd";

fn begin(stream: &mut TcpStream) {
    stream.write_all(BEGUN).unwrap();
}

/// Sends a check on a connection that is kept open, and returns the status line.
fn check_on(stream: &mut TcpStream, caller: &Caller) -> String {
    let head = format!(
        "POST {PATH} HTTP/1.1\r\nhost: x\r\nx-api-key: {}\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n{BODY}",
        caller.key,
        BODY.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    let answer = read_until(stream, "\"processing_time_ms\"");
    answer.lines().next().unwrap_or_default().to_owned()
}

/// True if the other side closed a connection.
fn is_closed(stream: &mut TcpStream) -> bool {
    stream.set_nonblocking(true).unwrap();
    let read = stream.read(&mut [0]);
    stream.set_nonblocking(false).unwrap();
    match read {
        Ok(0) => true,
        Ok(_) => false,
        Err(error) => error.kind() != std::io::ErrorKind::WouldBlock,
    }
}

#[test]
fn half_open_connections_keep_no_caller_with_a_key_out() {
    // Given a caller with a key, and then far more half-open connections than there are places; they would last for
    // longer than the test waits.
    let (server, caller) = start(&["--max-connections", "32", "--header-timeout", "300s"]);
    let mut kept = connect(server.api);
    assert_eq!(check_on(&mut kept, &caller), "HTTP/1.1 200 OK");
    let mut half_open: Vec<TcpStream> = (0..200).map(|_| connect(server.api)).collect();
    for stream in &mut half_open {
        // The first ones are closed already.
        let _ = stream.write_all(BEGUN);
    }
    // When callers with keys come, on the connection that they have and on new ones.
    assert_eq!(check_on(&mut kept, &caller), "HTTP/1.1 200 OK");
    for tenant in ["sample-enterprise", "sample-business"] {
        let caller = caller_of(&server, tenant);
        let mut stream = connect(server.api);
        stream.set_read_timeout(Some(LONG)).unwrap();
        // Then they are answered.
        assert_eq!(check_on(&mut stream, &caller), "HTTP/1.1 200 OK");
    }
    // And the oldest of the others made room.
    let closed = half_open.iter_mut().map(is_closed).filter(|closed| *closed).count();
    assert!(closed >= 200 - 32, "{closed}");
}

#[test]
fn a_peer_has_few_connections_without_a_key() {
    let (server, caller) = start(&["--max-connections-per-peer", "3", "--header-timeout", "300s"]);
    let mut open: Vec<TcpStream> = Vec::new();
    for _ in 0..5 {
        let mut stream = connect(server.api);
        begin(&mut stream);
        open.push(stream);
    }
    for stream in &mut open[..2] {
        assert_eq!(read_until(stream, "never"), "", "the oldest ones are closed");
    }
    let mut with_key = connect(server.api);
    assert_eq!(check_on(&mut with_key, &caller), "HTTP/1.1 200 OK");
    assert_eq!(check_on(&mut with_key, &caller), "HTTP/1.1 200 OK");
}

#[test]
fn callers_of_a_trusted_proxy_are_known_by_its_header() {
    let (server, caller) = start(&[
        "--max-connections-per-peer",
        "1",
        "--header-timeout",
        "300s",
        "--trusted-proxies",
        "127.0.0.0/8",
        "--proxy-protocol",
    ]);
    let connect_as = |address: &str| {
        let mut stream = connect(server.api);
        let header = format!("PROXY TCP4 {address} 192.0.2.1 4711 443\r\n");
        stream.write_all(header.as_bytes()).unwrap();
        // The answer shows that the header has been read: connections count by caller from then on, in that order.
        stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
        let answer = read_until(&mut stream, "}");
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        stream
    };
    // Given one connection without a key of each of two callers.
    let mut first = connect_as("198.51.100.1");
    begin(&mut first);
    let mut other = connect_as("198.51.100.2");
    begin(&mut other);
    // When one of them opens another one, then its own is closed.
    let mut second = connect_as("198.51.100.1");
    begin(&mut second);
    assert_eq!(read_until(&mut first, "never"), "");
    assert!(!is_closed(&mut other) && !is_closed(&mut second));
    // A caller with a key is served behind the header, and nobody is without one.
    let mut with_key = connect_as("198.51.100.3");
    assert_eq!(check_on(&mut with_key, &caller), "HTTP/1.1 200 OK");
    let mut plain = connect(server.api);
    begin(&mut plain);
    assert_eq!(read_until(&mut plain, "never"), "");
}
