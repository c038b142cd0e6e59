//! Outgoing requests carry the trace context of the work that sends them.

use std::{
    fs,
    sync::{Arc, Mutex},
};

use assay_tests::{Collector, Server, assay, tenant};

use super::{BTC, PATH, TRACE, body, traceparent};
use crate::support::wait_until;

/// A server that refuses every request, and records the path and `traceparent`.
struct RecordingServer {
    endpoint: String,
    requests: Arc<Mutex<Vec<(String, String)>>>,
    _server: tokio::runtime::Runtime,
}

impl RecordingServer {
    fn start() -> Self {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&requests);
        let refusing = axum::Router::new().fallback(move |request: axum::extract::Request| {
            let field = request.headers().get("traceparent");
            let parent = field.map_or("", |value| value.to_str().unwrap()).to_owned();
            heard.lock().unwrap().push((request.uri().path().to_owned(), parent));
            async { axum::http::StatusCode::FORBIDDEN }
        });
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        runtime.spawn(async move { axum::serve(listener, refusing).await });
        Self { endpoint, requests, _server: runtime }
    }

    /// The `traceparent` values of requests below a path.
    fn parents(&self, path: &str) -> Vec<String> {
        let requests = self.requests.lock().unwrap();
        let below = requests.iter().filter(|(sent_path, _)| sent_path.starts_with(path));
        below.map(|(_, parent)| parent.clone()).filter(|parent| !parent.is_empty()).collect()
    }
}

#[test]
fn requests_to_lists_nodes_and_explorers_carry_their_span() {
    let (recorder, collector) = (RecordingServer::start(), Collector::start());
    let endpoint = &recorder.endpoint;
    let manifests = format!(
        "apiVersion: assay.dev/v1alpha1\nkind: IntelSource\nmetadata: {{name: own}}\n\
         spec: {{location: {endpoint}/list.csv, format: labels-csv, schedule: '* * * * *'}}\n---\n\
         apiVersion: assay.dev/v1alpha1\nkind: ChainSource\nmetadata: {{name: node}}\n\
         spec: {{chain: ltc, mode: follow, protocol: rpc, endpoint: \"{endpoint}/node\"}}\n---\n\
         apiVersion: assay.dev/v1alpha1\nkind: ChainSource\nmetadata: {{name: explorer}}\n\
         spec: {{chain: btc, mode: on_demand, protocol: esplora, endpoint: \"{endpoint}/explorer\"}}\n---\n{}",
        tenant("acme", "enterprise")
    );
    let directory = Arc::new(tempfile::tempdir().unwrap());
    fs::write(directory.path().join("world.yaml"), manifests).unwrap();
    let run = |arguments: &[&str]| assay(directory.path(), arguments).ok().stdout;
    let _ = run(&["apply", "-f", "world.yaml"]);
    let key = run(&["keys", "create", "--tenant", "acme"]);
    let server = Server::start(
        Arc::clone(&directory),
        &["--feeds", "on", "--otlp-endpoint", &collector.endpoint()],
    );

    // True if a request's parent is a span of this name that the collector received.
    let is_span = |parent: &str, name: &str| {
        let [version, trace, span, flags] = parent.split('-').collect::<Vec<_>>()[..] else {
            panic!("{parent} is no traceparent");
        };
        assert_eq!((version, flags), ("00", "01"));
        let mut spans = collector.spans(trace).into_iter();
        spans.any(|told| hex::encode(&told.span_id) == span && told.name == name)
    };
    for (path, name) in [("/list.csv", "import"), ("/node", "open_source")] {
        wait_until(name, || recorder.parents(path).iter().any(|parent| is_span(parent, name)));
    }

    // A check on demand asks within the caller's trace.
    let caller = server.caller(key.trim());
    let answer = caller.post(PATH, &body(BTC), &[("traceparent", &traceparent())]);
    assert_eq!(answer.status, 200, "{}", answer.text);
    let of_caller: Vec<String> = recorder.parents("/explorer");
    let of_caller: Vec<_> = of_caller.iter().filter(|parent| parent.contains(TRACE)).collect();
    assert!(!of_caller.is_empty());
    for parent in of_caller {
        wait_until("ask_source", || is_span(parent, "ask_source"));
    }
}

#[test]
fn without_a_collector_no_span_is_sent() {
    let recorder = RecordingServer::start();
    let directory = Arc::new(tempfile::tempdir().unwrap());
    let manifest = format!(
        "apiVersion: assay.dev/v1alpha1\nkind: IntelSource\nmetadata: {{name: own}}\n\
         spec: {{location: {}/list.csv, format: labels-csv, schedule: '* * * * *'}}\n",
        recorder.endpoint
    );
    fs::write(directory.path().join("list.yaml"), manifest).unwrap();
    let _ = assay(directory.path(), ["apply", "-f", "list.yaml"]).ok();
    let _server = Server::start(directory, &["--feeds", "on"]);
    wait_until("the list is asked for", || !recorder.requests.lock().unwrap().is_empty());
    assert!(recorder.parents("/").is_empty());
}
