//! TLS: both versions of HTTP, changed certificates, handshakes that fail.

use std::{fs, io::Write, path::PathBuf, sync::Arc};

use assay_tests::{Authority, Caller, CertificateWithKey, Server};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use super::{BODY, PATH, fields, start_in};
use crate::{
    support::wait_until,
    wire::{ask, connect, connect_tls, http1, http2, read_to_close, request2, shown},
};

/// A server with TLS and a certificate of `authority`.
struct TlsServer {
    server: Server,
    key: String,
    authority: Authority,
    directory: Arc<TempDir>,
    runtime: Runtime,
}

impl TlsServer {
    fn start() -> Self {
        Self::start_with(&[])
    }

    fn start_with(more: &[&str]) -> Self {
        let directory = Arc::new(tempfile::tempdir().unwrap());
        let authority = Authority::new();
        let CertificateWithKey { certificate, key } = authority.server();
        fs::write(directory.path().join("cert.pem"), certificate).unwrap();
        fs::write(directory.path().join("key.pem"), key).unwrap();
        let files = ["--tls-cert", "cert.pem", "--tls-key", "key.pem"];
        let (server, caller) = start_in(Arc::clone(&directory), &[&files, more].concat());
        Self { server, key: caller.key, authority, directory, runtime: Runtime::new().unwrap() }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// The certificate that new connections receive.
    fn shown(&self) -> Vec<u8> {
        let connected = connect_tls(&self.authority, self.server.api, "h2");
        self.runtime.block_on(async { shown(&connected.await.unwrap()) })
    }
}

#[test]
fn by_tls_both_versions_are_offered_and_answered() {
    let secured = TlsServer::start();
    let (api, key) = (secured.server.api, secured.key.as_str());
    assert!(secured.server.greeting().contains(&format!("https://{api}")));
    secured.runtime.block_on(async {
        let stream = connect_tls(&secured.authority, api, "h2").await.unwrap();
        assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
        let answer = http2(stream, request2("POST", PATH, &fields(key)), BODY).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        assert_eq!(answer.headers["strict-transport-security"], "max-age=31536000");

        let mut stream = connect_tls(&secured.authority, api, "http/1.1").await.unwrap();
        assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"http/1.1"[..]));
        let (head, text) = http1(&mut stream, "POST", PATH, &fields(key), BODY).await;
        assert!(head.starts_with("HTTP/1.1 200"), "{head}: {text}");
        assert!(head.contains("strict-transport-security: max-age=31536000"), "{head}");

        // A client with another CA refuses the certificate.
        assert!(connect_tls(&Authority::new(), api, "h2").await.is_err());
    });
    let plain = Caller::new(secured.server.admin, "").send("GET", "/healthz", "", []);
    assert_eq!(plain.status, 200, "the admin port is apart");
    assert_eq!(plain.header("strict-transport-security"), "");
    let answer = ask(api, b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n");
    assert!(!answer.contains("200"), "in plain text nothing is answered: {answer}");
}

#[test]
fn a_client_that_fails_the_tls_handshake_is_disconnected() {
    let secured = TlsServer::start_with(&["--header-timeout", "1s", "--max-connections", "1"]);
    // Says nothing; begins to agree and falls silent; says something else.
    for begun in [&b""[..], b"\x16\x03\x01\x02\x00\x01", b"GET / HTTP/1.1\r\n\r\n"] {
        let mut stream = connect(secured.server.api);
        stream.write_all(begun).unwrap();
        let _ = read_to_close(&mut stream);
    }
    assert!(!secured.shown().is_empty(), "the place is free again");
}

#[test]
fn a_stopping_server_finishes_http2_requests_over_tls() {
    let mut secured = TlsServer::start_with(&["--body-timeout", "50s", "--request-timeout", "50s"]);
    let connected = connect_tls(&secured.authority, secured.server.api, "h2");
    let stream = secured.runtime.block_on(connected).unwrap();
    let status = secured.runtime.block_on(async {
        let (client, connection) = h2::client::handshake(stream).await.unwrap();
        tokio::spawn(connection);
        let mut client = client.ready().await.unwrap();
        let request = request2("POST", PATH, &fields(&secured.key));
        let (answer, mut sending) = client.send_request(request, false).unwrap();
        sending.send_data(BODY[..10].to_owned().into(), false).unwrap();
        // It is under way once something else on the connection was answered after it.
        let (other, _) = client.send_request(request2("GET", "/healthz", &[]), true).unwrap();
        assert_eq!(other.await.unwrap().status(), 200);
        secured.server.signal("TERM");
        tokio::task::block_in_place(|| {
            wait_until("it stops", || secured.server.log().contains("stopping"));
        });
        sending.send_data(BODY[10..].to_owned().into(), true).unwrap();
        answer.await.unwrap().status().as_u16()
    });
    assert_eq!(status, 200);
    assert_eq!(secured.server.wait(), Some(0));
}

#[test]
fn a_new_certificate_is_shown_to_new_connections_and_open_ones_go_on() {
    let secured = TlsServer::start();
    let first = secured.shown();
    let mut open = secured
        .runtime
        .block_on(connect_tls(&secured.authority, secured.server.api, "http/1.1"))
        .unwrap();
    let mut still_answered = || {
        let fields = fields(&secured.key);
        let asked = http1(&mut open, "POST", PATH, &fields, BODY);
        let (head, _) = secured.runtime.block_on(asked);
        assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    };
    still_answered();

    let CertificateWithKey { certificate, key } = secured.authority.server();
    fs::write(secured.file("cert.pem"), &certificate).unwrap();
    fs::write(secured.file("key.pem"), key).unwrap();
    wait_until("the new one is shown", || secured.shown() != first);
    let second = secured.shown();
    still_answered();

    // A certificate that does not match its key changes nothing, and is logged.
    let stranger = secured.authority.server().certificate;
    fs::write(secured.file("cert.pem"), stranger).unwrap();
    let told = "the new TLS certificate cannot be used; keeping the old one";
    wait_until("it is told", || secured.server.log().contains(told));
    assert_eq!(secured.shown(), second);
    fs::write(secured.file("cert.pem"), "junk").unwrap();
    wait_until("it is told", || secured.server.log().contains("cert.pem contains no certificate"));
    assert_eq!(secured.shown(), second);
    still_answered();

    let CertificateWithKey { certificate, key } = secured.authority.server();
    fs::write(secured.file("key.pem"), key).unwrap();
    fs::write(secured.file("cert.pem"), certificate).unwrap();
    wait_until("the next one is shown", || secured.shown() != second);
    still_answered();
}

#[test]
fn an_unusable_certificate_is_reported_at_the_start() {
    let directory = tempfile::tempdir().unwrap();
    let certificate = Authority::new().server().certificate;
    let stranger = Authority::new().server().key;
    fs::write(directory.path().join("cert.pem"), certificate).unwrap();
    fs::write(directory.path().join("key.pem"), stranger).unwrap();
    let serve = |certificate: &str, key: &str| {
        let files = ["--tls-cert", certificate, "--tls-key", key];
        let run = assay_tests::assay(directory.path(), ["serve"].iter().chain(&files));
        assert_eq!(run.code, 1, "{}", run.stdout);
        run.stderr
    };
    assert!(serve("cert.pem", "key.pem").contains("cannot be used with the key in key.pem"));
    assert!(serve("gone.pem", "key.pem").contains("failed to read gone.pem"));
    assert!(serve("cert.pem", "cert.pem").contains("cert.pem contains no private key"));
}
