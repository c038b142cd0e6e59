//! What the program tells about itself: metrics, traces and log lines, and what it keeps to itself.

use std::{
    fs,
    net::TcpListener,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use assay_tests::{Answer, Caller, Server, assay};
use opentelemetry_proto::tonic::{metrics::v1::metric::Data, trace::v1::Span};
use serde_json::Value;

use crate::{
    collector::Collector,
    support::wait_until,
    wire::{http2, request2},
};

const PATH: &str = "/api/v1/check/address";
const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const PARENT: &str = "b7ad6b7169203331";
const BTC: &str = "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa";
const LISTED: &str = "bc1qvazt7n0vgxag90qknvxeevn7aaqfawjxqv9svn";

/// A server of the sample world with further arguments, and a caller on Enterprise.
fn sample_with(arguments: &[&str]) -> (Server, Caller) {
    let directory = Arc::new(tempfile::tempdir().unwrap());
    let all: Vec<&str> = ["--sample"].iter().chain(arguments).copied().collect();
    let server = Server::start(directory, &all);
    let line = server.greeting().lines().find(|line| line.trim().starts_with("sample-enterprise"));
    let key = line.unwrap().split_whitespace().nth(1).unwrap().to_owned();
    let caller = server.caller(&key);
    (server, caller)
}

fn body(address: &str) -> String {
    format!(r#"{{"blockchain":"btc","address":"{address}"}}"#)
}

fn traceparent() -> String {
    format!("00-{TRACE}-{PARENT}-01")
}

fn metrics(server: &Server) -> String {
    Caller::new(server.admin, "").send("GET", "/metrics", "", []).text
}

/// The figure of the first line that begins so.
fn figure(metrics: &str, beginning: &str) -> f64 {
    let line = metrics.lines().find(|line| line.starts_with(beginning));
    let line = line.unwrap_or_else(|| panic!("{beginning} is not in {metrics}"));
    line.rsplit_once(' ').unwrap().1.parse().unwrap()
}

#[test]
fn metrics_say_how_requests_limits_data_and_parts_are() {
    let (server, caller) = sample_with(&[]);
    assert_eq!(caller.check("btc", LISTED).status, 200);
    assert_eq!(caller.post(PATH, "{", &[]).status, 400);
    assert_eq!(caller.post(PATH, "{}", &[("x-api-key", "")]).status, 401);
    let text = metrics(&server);
    let request = |class: &str, code: &str| {
        format!("assay_http_requests_total{{route=\"{PATH}\",class=\"{class}\",code=\"{code}\"}}")
    };
    for line in [
        request("2xx", "ok"),
        request("4xx", "malformed_json"),
        request("4xx", "missing_key"),
        "assay_checks_total{verdict=\"block\",cache=\"miss\"}".into(),
        "assay_reachable{part=\"store\"}".into(),
        // The request for the metrics themselves.
        "assay_http_requests_in_flight".into(),
    ] {
        assert!((figure(&text, &line) - 1.0).abs() < f64::EPSILON, "{line}: {text}");
    }
    assert!(figure(&text, "assay_limiter_decisions_total{outcome=\"admitted\"}") >= 2.0);
    let version = format!("assay_build_info{{version=\"{}\"}} 1", env!("CARGO_PKG_VERSION"));
    assert!(text.contains(&version), "{text}");
    for bound in ["0.1", "0.3"] {
        let bucket = format!(
            "assay_http_request_duration_seconds_bucket{{le=\"{bound}\",route=\"{PATH}\",class=\"2xx\"}}"
        );
        assert!(figure(&text, &bucket) <= 1.0, "{text}");
    }
    for age in ["assay_directory_age_seconds", "assay_intel_age_seconds"] {
        assert!((0.0..60.0).contains(&figure(&text, age)), "{age}: {text}");
    }
    wait_until("the sample's newest block is known", || {
        let text = metrics(&server);
        text.contains("assay_chain_tip_age_seconds{chain=\"btc\"}")
            && figure(&text, "assay_chain_tip_age_seconds{chain=\"btc\"}") >= 0.0
    });
}

#[test]
fn a_trace_goes_on_from_the_callers_span_through_every_stage() {
    let collector = Collector::start();
    let (_server, caller) = sample_with(&["--otlp-endpoint", &collector.endpoint()]);
    let answer = caller.post(PATH, &body(LISTED), &[("traceparent", &traceparent())]);
    assert_eq!(answer.status, 200);
    let name = format!("POST {PATH}");
    let named = |name: &str| -> Option<Span> {
        collector.spans(TRACE).into_iter().find(|span| span.name == name)
    };
    wait_until("the trace arrives", || named(&name).is_some() && named("assess").is_some());
    let root = named(&name).unwrap();
    assert_eq!(hex::encode(&root.parent_span_id), PARENT);
    assert_eq!(root.kind, 2, "a server's span");
    let attribute = |key: &str| {
        let found = root.attributes.iter().find(|attribute| attribute.key == key);
        format!("{:?}", found.and_then(|attribute| attribute.value.clone()))
    };
    assert!(attribute("http.route").contains(PATH));
    assert!(attribute("http.response.status_code").contains("200"));
    assert!(attribute("assay.request_id").contains(answer.header("x-request-id")));
    for stage in ["authenticate", "limit", "read_graph", "assess"] {
        let span = named(stage).unwrap_or_else(|| panic!("no {stage}"));
        assert_eq!(span.parent_span_id, root.span_id, "{stage} is a stage of the request");
        assert!(span.start_time_unix_nano >= root.start_time_unix_nano, "{stage}");
        assert!(span.end_time_unix_nano <= root.end_time_unix_nano, "{stage}");
    }
    assert!(collector.services().iter().any(|name| name.contains("\"assay\"")));
}

#[test]
fn a_caller_that_does_not_sample_its_trace_is_not_traced() {
    let collector = Collector::start();
    let (_server, caller) = sample_with(&["--otlp-endpoint", &collector.endpoint()]);
    let silent = format!("00-{TRACE}-{PARENT}-00");
    assert_eq!(caller.post(PATH, &body(BTC), &[("traceparent", &silent)]).status, 200);
    // One that begins here is.
    assert_eq!(caller.check("btc", BTC).status, 200);
    wait_until("the other arrives", || collector.span_count() > 0);
    assert_eq!(collector.spans(TRACE).len(), 0);
}

#[test]
fn a_collector_is_told_the_same_figures_as_whoever_scrapes_them() {
    let collector = Collector::start();
    let (mut server, caller) =
        sample_with(&["--otlp-endpoint", &collector.endpoint(), "--otlp-interval", "200ms"]);
    for _ in 0..7 {
        assert_eq!(caller.check("btc", BTC).status, 200);
    }
    wait_until("figures arrive", || collector.figure("assay_checks") == Some(7.0));
    let scraped = metrics(&server);
    assert!(
        (figure(&scraped, "assay_ready") - collector.figure("assay_ready").unwrap()).abs() < 0.1
    );
    let durations = collector.metric("assay_http_request_duration_seconds").unwrap();
    assert_eq!(durations.unit, "s");
    let Some(Data::Histogram(histogram)) = durations.data else { panic!("no histogram") };
    assert_eq!(histogram.aggregation_temporality, 2, "from the start of the program");
    let point = histogram
        .data_points
        .iter()
        .find(|point| point.attributes.iter().any(|label| format!("{label:?}").contains(PATH)))
        .unwrap();
    assert_eq!((point.count, point.bucket_counts.iter().sum::<u64>()), (7, 7));
    assert!(point.explicit_bounds.contains(&0.1) && point.explicit_bounds.contains(&0.3));
    assert_eq!(point.bucket_counts.len(), point.explicit_bounds.len() + 1);
    // The last figures are sent at the end.
    assert_eq!(caller.check("btc", BTC).status, 200);
    server.signal("TERM");
    assert_eq!(server.wait(), Some(0));
    assert_eq!(collector.figure("assay_checks"), Some(8.0));
}

#[test]
fn a_collector_that_is_away_or_never_answers_disturbs_nothing() {
    // One accepts nothing, and answers nothing.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let closed = {
        let gone = TcpListener::bind("127.0.0.1:0").unwrap();
        gone.local_addr().unwrap()
    };
    for (address, is_told) in [(closed, true), (silent.local_addr().unwrap(), false)] {
        let endpoint = format!("http://{address}");
        let (mut server, caller) =
            sample_with(&["--otlp-endpoint", &endpoint, "--otlp-interval", "100ms"]);
        for _ in 0..100 {
            assert_eq!(caller.check("btc", BTC).status, 200);
        }
        if is_told {
            wait_until("it is told", || server.log().contains("failed to send telemetry"));
            assert_eq!(server.log().matches("failed to send telemetry").count(), 1, "once");
        }
        server.signal("TERM");
        assert_eq!(server.wait(), Some(0), "{}", server.log());
    }
}

/// The log's lines, each one JSON object.
fn lines(server: &Server) -> Vec<Value> {
    let log = server.log();
    // The last one may still be written.
    let whole = log.rsplit_once('\n').map_or("", |(whole, _)| whole);
    whole.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn line_of(server: &Server, request_id: &str) -> Value {
    let find = || {
        let of_request =
            |line: &Value| line["request_id"] == request_id && line["message"] == "request";
        lines(server).into_iter().find(of_request)
    };
    wait_until("the line is written", || find().is_some());
    find().unwrap()
}

#[test]
fn every_line_of_a_request_names_the_request_and_its_trace() {
    let (server, caller) = sample_with(&["--log-format", "json"]);
    let named = [("x-request-id", "one-of-mine"), ("traceparent", &traceparent())];
    assert_eq!(caller.post(PATH, &body(BTC), &named).status, 200);
    let line = line_of(&server, "one-of-mine");
    assert_eq!(line["trace_id"], TRACE);
    assert_eq!((&line["status"], &line["route"]), (&200.into(), &PATH.into()));
    assert_eq!(line["level"], "INFO");
    let answer = caller.post(PATH, "{", &[]);
    let line = line_of(&server, answer.header("x-request-id"));
    assert_eq!(line["code"], "malformed_json");
    assert_eq!(line["trace_id"].as_str().unwrap().len(), 32, "a trace of its own");
    assert_ne!(line["trace_id"], TRACE);
}

#[test]
fn what_goes_wrong_within_a_request_is_logged_with_its_name_at_any_level() {
    let collector = Collector::start();
    let endpoint = collector.endpoint();
    let quiet = ["--log-format", "json", "--log-level", "warn"];
    let told = [&quiet[..], &["--otlp-endpoint", &endpoint]].concat();
    for arguments in [&quiet[..], &told] {
        let world = World::start(arguments);
        let named = [("x-request-id", "one-of-mine"), ("traceparent", &traceparent())];
        let answer = world.caller.post(PATH, &body(BTC), &named);
        assert_eq!(answer.status, 200, "{}", answer.text);
        // One is written by the task that answers, one by the thread that asks the source.
        for message in ["failed to fetch on demand", "asking again later"] {
            let found = || lines(&world.server).into_iter().find(|line| line["message"] == message);
            wait_until("the source's failure is logged", || found().is_some());
            let line = found().unwrap();
            assert_eq!(line["request_id"], "one-of-mine", "{line}");
            assert_eq!(line["trace_id"], TRACE, "{line}");
        }
    }
}

#[test]
fn an_address_is_logged_as_a_hash_that_only_the_keys_holder_can_make() {
    let hash = |arguments: &[&str]| {
        let (server, caller) = sample_with(arguments);
        let answer = caller.check("bitcoin", BTC);
        line_of(&server, answer.header("x-request-id"))["address_hash"].clone()
    };
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("key");
    fs::write(&file, "a key of our own\n").unwrap();
    let json = ["--log-format", "json"];
    let keyed = ["--log-format", "json", "--log-hash-key-file", file.to_str().unwrap()];
    // printf 'btc:1A1z…' | openssl dgst -sha256 -hmac 'a key of our own'
    assert_eq!(hash(&keyed), "09692985cc7a1f97");
    let random = hash(&json);
    assert_eq!(random.as_str().unwrap().len(), 16);
    assert_ne!(random, hash(&json), "another key at each start");
    fs::write(&file, "short").unwrap();
    let refused = assay(directory.path(), ["serve", "--log-hash-key-file", "key"]);
    assert_eq!(refused.code, 1);
    assert!(refused.stderr.contains("at least 16 are needed"), "{}", refused.stderr);
}

/// A server with tenants of its own, and a chain that is asked for on demand at somebody who fails.
struct World {
    server: Server,
    caller: Caller,
    /// A key that is good for nothing any more.
    revoked: String,
    /// Of a second tenant.
    other: String,
    _source: tokio::runtime::Runtime,
}

/// One way to fail after the other.
fn failures(number: usize) -> (axum::http::StatusCode, &'static str) {
    use axum::http::StatusCode;
    match number % 4 {
        0 => (StatusCode::INTERNAL_SERVER_ERROR, "no"),
        1 => (StatusCode::NOT_FOUND, "no"),
        2 => (StatusCode::OK, "{}"),
        _ => (StatusCode::FORBIDDEN, "no"),
    }
}

const TENANTS: [&str; 2] = ["zanzibar-exchange", "quokka-payments"];

impl World {
    fn start(arguments: &[&str]) -> Self {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let asked = Arc::new(AtomicUsize::new(0));
        let failing = axum::Router::new().fallback(move || {
            let number = asked.fetch_add(1, Ordering::Relaxed);
            async move { failures(number) }
        });
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
        let endpoint = listener.local_addr().unwrap();
        runtime.spawn(async move { axum::serve(listener, failing).await });

        let directory = Arc::new(tempfile::tempdir().unwrap());
        let mut manifests = format!(
            "apiVersion: assay.dev/v1alpha1\nkind: ChainSource\nmetadata: {{name: failing}}\n\
             spec: {{chain: btc, mode: on_demand, protocol: esplora, endpoint: \"http://{endpoint}\"}}\n"
        );
        for tenant in TENANTS {
            let manifest = format!(
                "---\napiVersion: assay.dev/v1alpha1\nkind: Tenant\nmetadata: {{name: {tenant}}}\n\
                 spec: {{displayName: Acme, plan: enterprise, policy: default}}\n"
            );
            manifests.push_str(&manifest);
        }
        fs::write(directory.path().join("world.yaml"), manifests).unwrap();
        let run = |arguments: &[&str]| assay(directory.path(), arguments).ok().stdout;
        let _ = run(&["apply", "-f", "world.yaml"]);
        let key = |tenant: &str| run(&["keys", "create", "--tenant", tenant]).trim().to_owned();
        let (good, revoked, other) = (key(TENANTS[0]), key(TENANTS[0]), key(TENANTS[1]));
        let _ = run(&["keys", "revoke", revoked.split('_').nth(2).unwrap()]);
        let server = Server::start(Arc::clone(&directory), arguments);
        let caller = server.caller(&good);
        Self { server, caller, revoked, other, _source: runtime }
    }
}

fn secret(key: &str) -> &str {
    key.split('_').nth(3).unwrap()
}

/// Every kind of request, good and bad; gives all answers.
fn every_kind_of_request(world: &World, unknown: &str, addresses: &[(&str, &str)]) -> Vec<Answer> {
    let caller = &world.caller;
    let mut answers = Vec::new();
    for (chain, address) in addresses {
        answers.push(caller.check(chain, address));
        answers.push(world.server.caller(&world.other).check(chain, address));
    }
    let (good, revoked) = (caller.key.as_str(), world.revoked.as_str());
    let bearer = |key: &str| format!("Bearer {key}");
    let misspelt = format!("{}x", &good[..good.len() - 1]);
    let text = body(addresses[0].1);
    let mut send = |fields: &[(&str, &str)]| {
        answers.push(caller.send("POST", PATH, &text, fields.iter().copied()));
    };
    for key in [good, revoked, unknown, &misspelt] {
        send(&[("x-api-key", key), ("content-type", "application/json")]);
        send(&[("authorization", &bearer(key)), ("content-type", "application/json")]);
        send(&[("authorization", &format!("Basic {key}"))]);
        send(&[("authorization", key)]);
        send(&[("x-api-key", good), ("authorization", &bearer(key))]);
        send(&[("x-api-key", key), ("x-request-id", key)]);
        send(&[("x-api-key", key), ("traceparent", key), ("tracestate", &format!("k={key}"))]);
        send(&[("x-api-key", key), ("cookie", key), ("x-large", &"x".repeat(20_000))]);
    }
    for body in ["{", "[]", "{}", "\u{1}", r#"{"blockchain":"btc","address":"1A1zP1"}"#] {
        answers.push(caller.post(PATH, body, &[]));
    }
    for (_, address) in addresses {
        // On the wrong chain, and with a letter too few.
        let wrong = [("doge", *address), ("btc", &address[..address.len() - 1])];
        answers.extend(wrong.map(|(chain, address)| caller.check(chain, address)));
    }
    let row = |(chain, address): &(&str, &str)| {
        format!("{{\"blockchain\":\"{chain}\",\"address\":\"{address}\"}}\n")
    };
    let rows = addresses.iter().map(row).collect::<Vec<_>>().concat();
    let lines = [("content-type", "application/x-ndjson")];
    answers.push(caller.post("/api/v1/screen", &(rows + "junk\n"), &lines));
    answers.push(caller.post("/v1/screen", "junk", &[]));
    for path in ["/api/v1/usage", "/api/v1/sources", "/api/v1/signals", "/nowhere", "/openapi.json"]
    {
        answers.push(caller.get(path));
        answers.push(caller.get(&format!("{path}?key={good}")));
    }
    answers.push(caller.get(&format!("/api/v1/checks/{good}")));
    // A problem's `instance` repeats the path: this one's is the caller's own doing.
    let _ = caller.get(&format!("/api/v1/checks/{}", addresses[0].1));
    answers.push(caller.send("DELETE", PATH, "", [("x-api-key", good)]));
    answers
}

/// One request by HTTP/2, whose library logs what it does.
fn by_http2(server: &Server, key: &str, address: &str) {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let fields = [("x-api-key", key), ("content-type", "application/json")];
    let status = runtime.block_on(async {
        let stream = tokio::net::TcpStream::connect(server.api).await.unwrap();
        http2(stream, request2("POST", PATH, &fields), &body(address)).await.status
    });
    assert_eq!(status, 200);
}

#[test]
fn no_key_and_no_address_is_told_to_anybody() {
    let collector = Collector::start();
    let endpoint = collector.endpoint();
    let world = World::start(&[
        "--log-level",
        "trace",
        "--log-format",
        "json",
        "--otlp-endpoint",
        &endpoint,
        "--otlp-interval",
        "200ms",
    ]);
    // A right one, made by somebody else.
    let elsewhere = World::start(&[]);
    let unknown = elsewhere.caller.key.clone();
    let addresses = [
        ("btc", BTC),
        ("btc", LISTED),
        ("eth", "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045"),
        ("trx", "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t"),
    ];
    let answers = every_kind_of_request(&world, &unknown, &addresses);
    by_http2(&world.server, &world.caller.key, BTC);
    let statuses: std::collections::BTreeSet<u16> =
        answers.iter().map(|answer| answer.status).collect();
    for expected in [200, 400, 401, 404, 405, 415, 422, 431] {
        assert!(statuses.contains(&expected), "{expected} is not among {statuses:?}");
    }
    let last = world.caller.check("btc", BTC);
    line_of(&world.server, last.header("x-request-id"));
    let checks = figure(&metrics(&world.server), "assay_http_requests_total");
    assert!(checks > 0.0);
    let spans = collector.span_count();
    wait_until("the rest arrives", || collector.span_count() > spans && spans > 0);

    let is_problem = |answer: &&Answer| answer.header("content-type").contains("problem");
    let problems: String = answers.iter().filter(is_problem).map(|answer| &*answer.text).collect();
    let headers: Vec<_> = answers.iter().map(|answer| &answer.headers).collect();
    let metrics = metrics(&world.server);
    let told = [
        ("the log", world.server.log()),
        ("the output", world.server.output()),
        ("problems", problems),
        ("header fields", format!("{headers:?}")),
        ("metrics", metrics.clone()),
        ("telemetry", String::from_utf8_lossy(&collector.bytes()).into_owned()),
    ];
    for (place, text) in &told {
        let text = text.to_lowercase();
        assert!(*place == "the output" || text.len() > 1000, "{place} holds next to nothing");
        for key in [&world.caller.key, &world.revoked, &world.other, &unknown] {
            assert!(!text.contains(&secret(key).to_lowercase()), "a key in {place}");
        }
        for (_, address) in addresses {
            assert!(!text.contains(&address.to_lowercase()), "{address} in {place}");
        }
    }
    for tenant in TENANTS {
        assert!(!metrics.contains(tenant), "{tenant} in metrics");
        assert!(!told[5].1.contains(tenant), "{tenant} in telemetry");
    }
    assert!(!world.server.log().contains("panicked"));
}
