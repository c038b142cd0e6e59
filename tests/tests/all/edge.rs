//! The network edge: TLS, HTTP/2, slow and too many callers, pages in browsers.

mod crowd;
mod fair;
mod frames;
mod slow;
mod tls;

use std::sync::Arc;

use assay_tests::{Caller, Server};
use tempfile::TempDir;
use tokio::{runtime::Runtime, time::timeout};

use crate::wire::{LONG, http2, request2};

const PATH: &str = "/api/v1/check/address";
const BODY: &str = r#"{"blockchain":"btc","address":"1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa"}"#;

/// A server of the demo data set with further arguments, and a caller on Enterprise.
fn start_in(directory: Arc<TempDir>, arguments: &[&str]) -> (Server, Caller) {
    let all: Vec<&str> = ["--sample"].iter().chain(arguments).copied().collect();
    let server = Server::start(directory, &all);
    let caller = caller_of(&server, "sample-enterprise");
    (server, caller)
}

/// A caller of a tenant of the demo data set.
fn caller_of(server: &Server, tenant: &str) -> Caller {
    let line = server.greeting().lines().find(|line| line.trim().starts_with(tenant));
    let key = line.unwrap().split_whitespace().nth(1).unwrap().to_owned();
    server.caller(&key)
}

fn start(arguments: &[&str]) -> (Server, Caller) {
    start_in(Arc::new(tempfile::tempdir().unwrap()), arguments)
}

fn fields(key: &str) -> [(&str, &str); 2] {
    [("x-api-key", key), ("content-type", "application/json")]
}

#[test]
fn http2_works_without_tls_by_prior_knowledge() {
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
        // A page must be able to read the problem.
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
fn every_answer_restricts_browsers() {
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
fn older_rate_limit_headers_are_sent_if_enabled() {
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
