//! Tests that outgoing requests name their span in a W3C `traceparent` header field.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::{
    io::{self, BufRead, BufReader, Write},
    sync::mpsc,
    time::Duration,
};

use assay_chain::http::{
    Http, Request,
    client::{Client, HttpCredentials},
};
use assay_input::{Conditions, InputLimits, UrlAccess, fetch};
use assay_test_servers::Listener;
use opentelemetry::{
    Context,
    trace::{SpanContext, SpanId, TraceContextExt, TraceFlags, TraceId, TraceState},
};

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const SPAN: &str = "b7ad6b7169203331";

/// Starts a server that answers every request and reports its header fields about traces.
fn server() -> (Listener, mpsc::Receiver<Vec<String>>) {
    let (tell, told) = mpsc::channel();
    let listener = Listener::start(move |mut stream| {
        let lines = BufReader::new(stream).lines().map_while(Result::ok);
        let fields = lines.take_while(|line| !line.is_empty());
        let fields = fields.map(|line| line.to_ascii_lowercase());
        let mut fields: Vec<String> = fields.filter(|line| line.starts_with("trace")).collect();
        fields.sort();
        let answer = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}";
        stream.write_all(answer.as_bytes())?;
        tell.send(fields).map_err(io::Error::other)?;
        Ok(false)
    });
    (listener, told)
}

/// Sends one request with each of the clients: of lists, of Esplora, of a node.
fn ask_all(url: &str) {
    let time = Duration::from_secs(5);
    let networks = "127.0.0.0/8".parse().unwrap();
    let access = UrlAccess { networks, ..UrlAccess::default() };
    fetch(url, &Conditions::default(), InputLimits::default(), time, &access).unwrap();
    let client = Client::new(url, HttpCredentials::None, time).unwrap();
    client.exchange(Request::get("/blocks/tip/height")).unwrap();
    client.exchange(Request::post(b"{}")).unwrap();
}

fn span(flags: TraceFlags, state: &str) -> Context {
    let (trace, span) = (TraceId::from_hex(TRACE).unwrap(), SpanId::from_hex(SPAN).unwrap());
    let state: TraceState = state.parse().unwrap();
    Context::new().with_remote_span_context(SpanContext::new(trace, span, flags, false, state))
}

#[test]
fn every_request_names_its_span() {
    let (server, told) = server();
    let url = format!("http://{}", server.address());
    let under_way = span(TraceFlags::SAMPLED, "vendor=1").attach();
    ask_all(&url);
    drop(under_way);
    for _ in 0..3 {
        let fields = [format!("traceparent: 00-{TRACE}-{SPAN}-01"), "tracestate: vendor=1".into()];
        assert_eq!(told.recv().unwrap(), fields);
    }
}

#[test]
fn an_unsampled_span_is_marked_and_an_empty_state_is_not_sent() {
    let (server, told) = server();
    let url = format!("http://{}", server.address());
    let under_way = span(TraceFlags::default(), "").attach();
    ask_all(&url);
    drop(under_way);
    for _ in 0..3 {
        assert_eq!(told.recv().unwrap(), [format!("traceparent: 00-{TRACE}-{SPAN}-00")]);
    }
}

#[test]
fn without_a_span_no_header_is_sent() {
    let (server, told) = server();
    let url = format!("http://{}", server.address());
    ask_all(&url);
    for _ in 0..3 {
        assert!(told.recv().unwrap().is_empty());
    }
}
