//! Telemetry of the program: metrics, traces and log lines, and the data that these must not contain.

mod outgoing;
mod secrets;
mod world;

use std::{fs, net::TcpListener, sync::Arc};

use assay_tests::{Caller, Collector, Server, assay};
use opentelemetry_proto::tonic::{metrics::v1::metric::Data, trace::v1::Span};
use serde_json::Value;

use crate::support::wait_until;
use world::{TENANTS, World};

const PATH: &str = "/api/v1/check/address";
const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const PARENT: &str = "b7ad6b7169203331";
const BTC: &str = "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa";
const LISTED: &str = "bc1qvazt7n0vgxag90qknvxeevn7aaqfawjxqv9svn";

/// A server of the demo data set with further arguments, and a caller on Enterprise.
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

/// The number in the first line with a prefix.
fn figure(metrics: &str, beginning: &str) -> f64 {
    let line = metrics.lines().find(|line| line.starts_with(beginning));
    let line = line.unwrap_or_else(|| panic!("{beginning} is not in {metrics}"));
    line.rsplit_once(' ').unwrap().1.parse().unwrap()
}

#[test]
fn metrics_cover_requests_limits_data_and_dependencies() {
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
        "assay_dependency_reachable{dependency=\"database\"}".into(),
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
    for age in ["assay_key_data_age_seconds", "assay_intel_age_seconds"] {
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
fn commands_that_run_by_themselves_are_traced_to_their_end() {
    let collector = Collector::start();
    let folder = tempfile::tempdir().unwrap();
    let settings = format!("otlp-endpoint = \"{}\"\n", collector.endpoint());
    fs::write(folder.path().join("assay.toml"), settings).unwrap();
    let list = "list,entity_id,entity,asset_code,address\nown,1,Somebody,XBT,";
    fs::write(folder.path().join("own.csv"), format!("{list}{BTC}\n")).unwrap();
    let run = |words: &[&str]| drop(assay(folder.path(), words).ok());
    let names = || -> Vec<String> {
        let mut names: Vec<String> =
            collector.all_spans().into_iter().map(|span| span.name).collect();
        names.dedup();
        names
    };
    // A program does not wait for long for its last words to be taken, as on a busy machine.
    let traced = |name: &str, words: &[&str]| {
        wait_until("its trace arrives", || {
            run(words);
            names().last().is_some_and(|last| last == name)
        });
    };
    traced("migrate", &["migrate"]);
    traced("import", &["ingest", "sanctions", "own.csv", "--format", "csv", "--source", "own"]);
    run(&["check", "btc", BTC]);
    traced("purge", &["purge"]);
    let names = names();
    assert_eq!(names, ["migrate", "import", "purge"], "a person's own commands are not");
}

#[test]
fn a_caller_that_does_not_sample_its_trace_is_not_traced() {
    let collector = Collector::start();
    let (_server, caller) = sample_with(&["--otlp-endpoint", &collector.endpoint()]);
    let silent = format!("00-{TRACE}-{PARENT}-00");
    assert_eq!(caller.post(PATH, &body(BTC), &[("traceparent", &silent)]).status, 200);
    // One that begins here is.
    assert_eq!(caller.check("btc", BTC).status, 200);
    wait_until("the other arrives", || !collector.all_spans().is_empty());
    assert_eq!(collector.spans(TRACE).len(), 0);
}

#[test]
fn a_collector_receives_the_figures_that_are_scraped() {
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
fn errors_within_a_request_are_logged_with_its_id_at_any_level() {
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
