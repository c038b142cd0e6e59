//! Telemetry contains no keys and no addresses, and metrics contain no names of tenants.

use assay_tests::{Answer, Collector, Server};

use super::{
    BTC, LISTED, PATH, TENANTS, TRACE, World, body, figure, line_of, metrics, traceparent,
};
use crate::{
    support::wait_until,
    wire::{http2, request2},
};

fn secret(key: &str) -> &str {
    key.split('_').nth(3).unwrap()
}

/// Sends every kind of request, valid and invalid; returns all answers.
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

/// Sends a request by HTTP/2, whose library writes log lines.
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
fn no_key_and_no_address_leaves_the_process() {
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
    // A valid key of another installation.
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
    let last = world.caller.post(PATH, &body(BTC), &[("traceparent", &traceparent())]);
    line_of(&world.server, last.header("x-request-id"));
    let checks = figure(&metrics(&world.server), "assay_http_requests_total");
    assert!(checks > 0.0);
    // Spans that were sent before it arrive before it.
    let root = format!("POST {PATH}");
    wait_until("the last trace arrives", || {
        collector.spans(TRACE).iter().any(|span| span.name == root)
    });

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
