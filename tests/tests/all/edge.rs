//! The edge: TLS, HTTP/2, callers that are slow or too many, pages in browsers.

use std::{
    fs,
    io::{Read, Write},
    net::TcpStream,
    path::PathBuf,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use assay_tests::{Caller, Server};
use tempfile::TempDir;
use tokio::{runtime::Runtime, time::timeout};

use crate::{
    support::wait_until,
    wire::{Authority, LONG, ask, connect, http1, http2, read_until, request2, shown},
};

const PATH: &str = "/api/v1/check/address";
const SCREEN: &str = "/api/v1/screen";
const BODY: &str = r#"{"blockchain":"btc","address":"1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa"}"#;
const ROW: &str = "{\"blockchain\":\"btc\",\"address\":\"1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa\"}\n";

/// A server of the sample world with further arguments, and a caller on Enterprise.
fn start_in(directory: Arc<TempDir>, arguments: &[&str]) -> (Server, Caller) {
    let all: Vec<&str> = ["--sample"].iter().chain(arguments).copied().collect();
    let server = Server::start(directory, &all);
    let line = server.greeting().lines().find(|line| line.trim().starts_with("sample-enterprise"));
    let key = line.unwrap().split_whitespace().nth(1).unwrap().to_owned();
    let caller = server.caller(&key);
    (server, caller)
}

fn start(arguments: &[&str]) -> (Server, Caller) {
    start_in(Arc::new(tempfile::tempdir().unwrap()), arguments)
}

fn fields(key: &str) -> [(&str, &str); 2] {
    [("x-api-key", key), ("content-type", "application/json")]
}

/// A server that speaks TLS with a certificate of `authority`.
struct Secured {
    server: Server,
    key: String,
    authority: Authority,
    directory: Arc<TempDir>,
    runtime: Runtime,
}

impl Secured {
    fn start() -> Self {
        Self::start_with(&[])
    }

    fn start_with(more: &[&str]) -> Self {
        let directory = Arc::new(tempfile::tempdir().unwrap());
        let authority = Authority::new();
        let (certificate, key) = authority.sign();
        fs::write(directory.path().join("cert.pem"), certificate).unwrap();
        fs::write(directory.path().join("key.pem"), key).unwrap();
        let files = ["--tls-cert", "cert.pem", "--tls-key", "key.pem"];
        let (server, caller) = start_in(Arc::clone(&directory), &[&files, more].concat());
        Self { server, key: caller.key, authority, directory, runtime: Runtime::new().unwrap() }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// The certificate that new connections are shown.
    fn shown(&self) -> Vec<u8> {
        let connected = self.authority.connect(self.server.api, "h2");
        self.runtime.block_on(async { shown(&connected.await.unwrap()) })
    }
}

#[test]
fn by_tls_both_versions_are_offered_and_answered() {
    let secured = Secured::start();
    let (api, key) = (secured.server.api, secured.key.as_str());
    assert!(secured.server.greeting().contains(&format!("https://{api}")));
    secured.runtime.block_on(async {
        let stream = secured.authority.connect(api, "h2").await.unwrap();
        assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
        let answer = http2(stream, request2("POST", PATH, &fields(key)), BODY).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        assert_eq!(answer.headers["strict-transport-security"], "max-age=31536000");

        let mut stream = secured.authority.connect(api, "http/1.1").await.unwrap();
        assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"http/1.1"[..]));
        let (head, text) = http1(&mut stream, "POST", PATH, &fields(key), BODY).await;
        assert!(head.starts_with("HTTP/1.1 200"), "{head}: {text}");
        assert!(head.contains("strict-transport-security: max-age=31536000"), "{head}");

        // Who trusts somebody else sees that it is not them.
        assert!(Authority::new().connect(api, "h2").await.is_err());
    });
    let plain = Caller::new(secured.server.admin, "").send("GET", "/healthz", "", []);
    assert_eq!(plain.status, 200, "the admin port is apart");
    assert_eq!(plain.header("strict-transport-security"), "");
    let answer = ask(api, b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n");
    assert!(!answer.contains("200"), "in plain text nothing is answered: {answer}");
}

#[test]
fn who_does_not_agree_on_tls_is_sent_away_in_time() {
    let secured = Secured::start_with(&["--header-timeout", "1s", "--max-connections", "1"]);
    // Says nothing; begins to agree and falls silent; says something else.
    for begun in [&b""[..], b"\x16\x03\x01\x02\x00\x01", b"GET / HTTP/1.1\r\n\r\n"] {
        let mut stream = connect(secured.server.api);
        stream.write_all(begun).unwrap();
        let start = Instant::now();
        let _ = read_until(&mut stream, "\u{0}never");
        assert!(start.elapsed() < LONG / 2, "{begun:?}");
    }
    assert!(!secured.shown().is_empty(), "the place is free again");
}

#[test]
fn stopping_finishes_what_is_under_way_over_http2_by_tls() {
    let mut secured = Secured::start_with(&["--body-timeout", "50s", "--request-timeout", "50s"]);
    let connected = secured.authority.connect(secured.server.api, "h2");
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
    let secured = Secured::start();
    let first = secured.shown();
    let mut open = secured
        .runtime
        .block_on(secured.authority.connect(secured.server.api, "http/1.1"))
        .unwrap();
    let mut still_answered = || {
        let fields = fields(&secured.key);
        let asked = http1(&mut open, "POST", PATH, &fields, BODY);
        let (head, _) = secured.runtime.block_on(asked);
        assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    };
    still_answered();

    let (certificate, key) = secured.authority.sign();
    fs::write(secured.file("cert.pem"), &certificate).unwrap();
    fs::write(secured.file("key.pem"), key).unwrap();
    wait_until("the new one is shown", || secured.shown() != first);
    let second = secured.shown();
    still_answered();

    // One that does not belong to its key changes nothing, and is told.
    let (stranger, _) = secured.authority.sign();
    fs::write(secured.file("cert.pem"), stranger).unwrap();
    let told = "the new TLS certificate cannot be used; the old one stays";
    wait_until("it is told", || secured.server.log().contains(told));
    assert_eq!(secured.shown(), second);
    fs::write(secured.file("cert.pem"), "junk").unwrap();
    wait_until("it is told", || secured.server.log().contains("cert.pem holds no certificate"));
    assert_eq!(secured.shown(), second);
    still_answered();

    let (certificate, key) = secured.authority.sign();
    fs::write(secured.file("key.pem"), key).unwrap();
    fs::write(secured.file("cert.pem"), certificate).unwrap();
    wait_until("the next one is shown", || secured.shown() != second);
    still_answered();
}

#[test]
fn a_certificate_that_cannot_be_used_is_told_at_the_start() {
    let directory = tempfile::tempdir().unwrap();
    let (certificate, _) = Authority::new().sign();
    let (_, stranger) = Authority::new().sign();
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
    assert!(serve("cert.pem", "cert.pem").contains("cert.pem holds no private key"));
}

#[test]
fn http2_is_spoken_in_plain_text_by_who_knows_it() {
    let (server, caller) = start(&[]);
    Runtime::new().unwrap().block_on(async {
        let stream = tokio::net::TcpStream::connect(server.api).await.unwrap();
        let answer = http2(stream, request2("POST", PATH, &fields(&caller.key)), BODY).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        assert!(answer.headers.contains_key("ratelimit"));
        assert!(!answer.headers.contains_key("strict-transport-security"));
        let stream = tokio::net::TcpStream::connect(server.api).await.unwrap();
        let answer = http2(stream, request2("POST", PATH, &[("x-api-key", "junk")]), BODY).await;
        assert_eq!(answer.status, 401);
        assert!(answer.text.contains("\"invalid_key\""), "{}", answer.text);
    });
}

#[test]
fn http2_has_bounds() {
    let (server, caller) = start(&[]);
    Runtime::new().unwrap().block_on(async {
        let stream = tokio::net::TcpStream::connect(server.api).await.unwrap();
        let (client, connection) = h2::client::handshake(stream).await.unwrap();
        let ended = tokio::spawn(connection);
        let mut client = client.ready().await.unwrap();
        // The first answer comes after the settings.
        let (answer, _) = client.send_request(request2("GET", "/healthz", &[]), true).unwrap();
        assert_eq!(answer.await.unwrap().status(), 200);
        assert_eq!(client.current_max_send_streams(), 100);

        let large = "x".repeat(20_000);
        let request = request2("GET", "/healthz", &[("x-large", &large)]);
        let (answer, _) = client.send_request(request, true).unwrap();
        let refused = answer.await.map(|answer| answer.status().as_u16());
        assert!(!matches!(refused, Ok(200)), "header fields are bounded: {refused:?}");

        // Requests that are taken back as soon as they are sent.
        let mut sent = 0;
        while let Ok(ready) = client.clone().ready().await {
            let mut ready = ready;
            let request = request2("POST", PATH, &fields(&caller.key));
            let Ok((answer, mut stream)) = ready.send_request(request, false) else { break };
            stream.send_reset(h2::Reason::CANCEL);
            drop(answer);
            sent += 1;
            assert!(sent < 100_000, "such a caller is never sent away");
        }
        let ended = timeout(LONG, ended).await.expect("the connection is closed");
        assert!(ended.unwrap().is_err(), "after {sent} requests");
    });
    assert_eq!(caller.post(PATH, BODY, &[]).status, 200, "others are answered");
}

/// Writes a letter now and then until the server closes; tells how long that took, and what came back.
fn dribble(mut stream: TcpStream, letter: &[u8]) -> (Duration, String) {
    let start = Instant::now();
    let mut sending = stream.try_clone().unwrap();
    let letter = letter.to_owned();
    let sender = thread::spawn(move || {
        while sending.write_all(&letter).is_ok() && start.elapsed() < LONG {
            thread::sleep(Duration::from_millis(100));
        }
    });
    let answer = read_until(&mut stream, "\u{0}never");
    // What is still sent meets a closed door.
    let _ = stream.shutdown(std::net::Shutdown::Both);
    sender.join().unwrap();
    (start.elapsed(), answer)
}

fn post(path: &str, key: &str, media_type: &str, more: &str) -> String {
    format!(
        "POST {path} HTTP/1.1\r\nhost: x\r\nx-api-key: {key}\r\ncontent-type: {media_type}\r\n{more}\r\n"
    )
}

#[test]
fn who_sends_letter_by_letter_is_sent_away_in_time() {
    let (server, caller) =
        start(&["--header-timeout", "1s", "--body-timeout", "1s", "--stall-timeout", "1s"]);
    let open = |text: &str| {
        let mut stream = connect(server.api);
        stream.write_all(text.as_bytes()).unwrap();
        stream
    };
    // In the head, before and after it is known which version is spoken.
    for begun in ["", "GET /healthz HTTP/1.1\r\nhost: x\r\nx-slow: "] {
        let (took, answer) = dribble(open(begun), b"x");
        assert!(took < LONG / 2, "{begun}: {took:?}");
        assert!(!answer.contains("200 OK"), "{answer}");
    }
    // In a check's body.
    let begun = post(PATH, &caller.key, "application/json", "content-length: 8000\r\n");
    let (took, answer) = dribble(open(&begun), b" ");
    assert!(took < LONG / 2, "{took:?}");
    assert!(answer.starts_with("HTTP/1.1 408"), "{answer}");
    // In a row that never ends.
    let begun = post(SCREEN, &caller.key, "application/x-ndjson", "transfer-encoding: chunked\r\n");
    let (took, answer) = dribble(open(&begun), b"1\r\n \r\n");
    assert!(took < LONG / 2, "{took:?}");
    assert!(answer.contains("no row arrived for 1 seconds"), "{answer}");
    // In HTTP/2's own frames, of which the first never becomes whole.
    let (took, _) = dribble(open("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), b"\x00");
    assert!(took < LONG / 2, "{took:?}");
    assert_eq!(caller.post(PATH, BODY, &[]).status, 200);
}

#[test]
fn who_takes_no_answers_is_sent_away_and_costs_little() {
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
    let start = Instant::now();
    for stream in &mut streams {
        // Until the server takes no more, and closes: a write that waits for ever would time out.
        let error = loop {
            if let Err(error) = stream.write_all(chunk.as_bytes()) {
                break error.kind();
            }
            assert!(start.elapsed() < LONG * 2, "it reads on and on");
        };
        assert_ne!(error, std::io::ErrorKind::WouldBlock, "it is not closed");
    }
    let grown = server.peak_resident_bytes().saturating_sub(before);
    assert!(grown < 64 << 20, "{grown} bytes more");
    assert_eq!(caller.post(PATH, BODY, &[]).status, 200);
}

#[test]
fn who_takes_no_answers_by_http2_is_sent_away_too() {
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

/// A bulk request that takes up a place: its first row is answered, more may come.
fn bulk(server: &Server, key: &str) -> (TcpStream, String) {
    let mut stream = connect(server.api);
    let head = post(SCREEN, key, "application/x-ndjson", "transfer-encoding: chunked\r\n");
    let row = format!("{:x}\r\n{ROW}\r\n", ROW.len());
    stream.write_all((head + &row).as_bytes()).unwrap();
    let answer = read_until(&mut stream, "\"error\":null}");
    (stream, answer)
}

#[test]
fn when_too_many_ask_strangers_are_refused_first_then_bulk_then_single_checks() {
    let (server, caller) = start(&["--max-requests", "8", "--body-timeout", "50s"]);
    let stranger = || caller.post(PATH, BODY, &[("x-api-key", "")]);
    let single = || caller.post(PATH, BODY, &[]);
    let lost = || caller.send("GET", "/nowhere", "", []);
    assert_eq!((stranger().status, lost().status, single().status), (401, 404, 200));

    let mut held = Vec::new();
    let mut hold_bulk = |count: usize| {
        for _ in 0..count {
            let (stream, answer) = bulk(&server, &caller.key);
            assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
            held.push(stream);
        }
    };
    hold_bulk(4);
    let refused = stranger();
    assert_eq!(refused.problem(), (503, "overloaded".into()));
    assert_eq!(refused.header("retry-after"), "1");
    assert_eq!(lost().problem(), (503, "overloaded".into()));
    assert_eq!(single().status, 200);
    hold_bulk(2);
    let (_, answer) = bulk(&server, &caller.key);
    assert!(answer.starts_with("HTTP/1.1 503") && answer.contains("\"overloaded\""), "{answer}");
    assert_eq!(single().status, 200);

    // Two single checks whose bodies do not come.
    for _ in 0..2 {
        let mut stream = connect(server.api);
        let begun = post(PATH, &caller.key, "application/json", "content-length: 80\r\n");
        stream.write_all(begun.as_bytes()).unwrap();
        held.push(stream);
    }
    wait_until("single checks are refused", || single().problem_or_status() == "overloaded");
    for path in ["/healthz", "/readyz"] {
        assert_eq!(caller.send("GET", path, "", []).status, 200, "{path}");
    }
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

trait ProblemOrStatus {
    fn problem_or_status(&self) -> String;
}

impl ProblemOrStatus for assay_tests::Answer {
    fn problem_or_status(&self) -> String {
        if self.status == 200 { "200".into() } else { self.problem().1 }
    }
}

#[test]
fn pages_in_browsers_may_call_only_from_named_origins() {
    let asks = |origin: &'static str| {
        [
            ("origin", origin),
            ("access-control-request-method", "POST"),
            ("access-control-request-headers", "x-api-key,content-type"),
        ]
    };
    let (_off, caller) = start(&[]);
    let answer = caller.send("OPTIONS", PATH, "", asks("https://console.example"));
    assert_eq!(answer.problem(), (405, "method_not_allowed".into()));
    let answer = caller.post(PATH, BODY, &[("origin", "https://console.example")]);
    assert_eq!((answer.status, answer.header("access-control-allow-origin")), (200, ""));

    let origins =
        ["--cors-origin", "https://console.example", "--cors-origin", "http://localhost:3000"];
    let (on, caller) = start(&origins);
    for origin in ["https://console.example", "http://localhost:3000"] {
        let answer = caller.send("OPTIONS", PATH, "", asks(origin));
        assert_eq!(answer.status, 204, "{}", answer.text);
        assert_eq!(answer.header("access-control-allow-origin"), origin);
        assert_eq!(answer.header("access-control-allow-methods"), "GET, POST");
        assert!(answer.header("access-control-allow-headers").contains("x-api-key"));
        assert_eq!(answer.header("access-control-allow-credentials"), "");
        let answer = caller.post(PATH, BODY, &[("origin", origin)]);
        assert_eq!(answer.header("access-control-allow-origin"), origin);
        assert!(answer.header("access-control-expose-headers").contains("ratelimit"));
        assert_eq!(answer.header("vary"), "origin");
        // A page must be able to read what was wrong.
        let answer = caller.post(PATH, "{", &[("origin", origin)]);
        assert_eq!((answer.status, answer.header("access-control-allow-origin")), (400, origin));
    }
    let answer = caller.send("OPTIONS", PATH, "", asks("https://console.example.evil"));
    assert_eq!((answer.status, answer.header("access-control-allow-origin")), (405, ""));
    let admin = Caller::new(on.admin, "");
    let answer = admin.send("GET", "/metrics", "", [("origin", "https://console.example")]);
    assert_eq!((answer.status, answer.header("access-control-allow-origin")), (200, ""));
}

#[test]
fn every_answer_says_what_browsers_must_not_do_with_it() {
    let (server, caller) = start(&[]);
    let admin = Caller::new(server.admin, "");
    let large = "x".repeat(20_000);
    let answers = [
        caller.post(PATH, BODY, &[]),
        caller.post(PATH, "{", &[]),
        caller.post(PATH, BODY, &[("x-api-key", "")]),
        caller.post(PATH, BODY, &[("x-large", &large)]),
        caller.get("/nowhere"),
        caller.get(PATH),
        caller.get("/openapi.json"),
        caller.get("/healthz"),
        admin.get("/metrics"),
    ];
    for answer in answers {
        let shown = |name: &str| answer.header(name).to_owned();
        assert_eq!(shown("x-content-type-options"), "nosniff", "{}", answer.status);
        assert_eq!(shown("cache-control"), "no-store", "{}", answer.status);
        assert!(shown("content-security-policy").starts_with("default-src 'none'"));
        assert_eq!(shown("referrer-policy"), "no-referrer");
    }
}

#[test]
fn older_callers_see_limits_their_way_where_that_is_set() {
    let (_off, caller) = start(&[]);
    assert_eq!(caller.post(PATH, BODY, &[]).header("x-ratelimit-limit"), "");
    let (_on, caller) = start(&["--legacy-rate-limit-headers"]);
    let answer = caller.post(PATH, BODY, &[]);
    // The limit with least room: 200 requests a second.
    assert_eq!(answer.header("x-ratelimit-limit"), "200");
    assert_eq!(answer.header("x-ratelimit-remaining"), "199");
    assert_eq!(answer.header("x-ratelimit-reset"), "1");
    assert!(answer.header("ratelimit").contains("\"burst\";r=199;t=1"));
}

#[test]
fn an_open_http2_connection_that_asks_nothing_gives_its_place_to_another() {
    let (server, _) = start(&["--max-connections", "1", "--header-timeout", "1s"]);
    Runtime::new().unwrap().block_on(async {
        let stream = tokio::net::TcpStream::connect(server.api).await.unwrap();
        let (client, connection) = h2::client::handshake(stream).await.unwrap();
        // It answers pings for as long as it is asked.
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
