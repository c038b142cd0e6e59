//! HTTP/2 frames without requests: a few are answered, and a connection that floods them is closed.

use std::{io::Write, net::SocketAddr, sync::Arc};

use assay_tests::Server;

use super::start;
use crate::wire::{connect, read_to_close, read_until};

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const HEADERS: u8 = 1;
const PRIORITY: u8 = 2;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
/// A frame's kind, stream and payload.
type Parts = (u8, u32, &'static [u8]);
const FLOODS: [(&str, Parts); 3] = [
    ("SETTINGS", (SETTINGS, 0, &[])),
    ("PING", (PING, 0, &[7; 8])),
    ("PRIORITY", (PRIORITY, 1, &[0, 0, 0, 0, 7])),
];

fn frame((kind, stream, payload): (u8, u32, &[u8]), flags: u8) -> Vec<u8> {
    let length = u8::try_from(payload.len()).unwrap();
    [&[0, 0, length, kind, flags][..], &stream.to_be_bytes(), payload].concat()
}

/// `GET /healthz` on a stream.
fn request(stream: u32) -> Vec<u8> {
    // `:method: GET` and `:scheme: http` of the static table, and a path (RFC 7541).
    let fields = [b"\x82\x86\x04\x08", &b"/healthz"[..], b"\x01\x01x"].concat();
    frame((HEADERS, stream, &fields), 5)
}

fn is_closed_after_a_flood(address: SocketAddr) {
    for (name, parts) in FLOODS {
        let mut stream = connect(address);
        let begun = [PREFACE, &frame((SETTINGS, 0, &[]), 0)].concat();
        stream.write_all(&begun).unwrap();
        let hundred = frame(parts, 0).repeat(100);
        // The other side may be gone before all are sent.
        let sent = (0..50).take_while(|_| stream.write_all(&hundred).is_ok()).count();
        assert!(sent >= 9, "{name}: {sent} hundred");
        let _ = read_to_close(&mut stream);
    }
}

#[test]
fn a_connection_with_control_frames_and_no_request_is_closed() {
    let (server, _) = start(&[]);
    is_closed_after_a_flood(server.api);
    let chain = Server::start_chain(Arc::clone(&server.directory()), &[]);
    is_closed_after_a_flood(chain.api);
}

#[test]
fn control_frames_between_requests_leave_a_connection_open() {
    let (server, _) = start(&[]);
    for (name, parts) in FLOODS {
        let mut stream = connect(server.api);
        stream.write_all(&[PREFACE, &frame((SETTINGS, 0, &[]), 0)].concat()).unwrap();
        for number in 0..5 {
            stream.write_all(&frame(parts, 0).repeat(900)).unwrap();
            stream.write_all(&request(2 * number + 1)).unwrap();
            let answer = read_until(&mut stream, "\"ok\"");
            assert!(answer.contains("\"ok\""), "{name}, request {number}: {answer:?}");
        }
    }
}
