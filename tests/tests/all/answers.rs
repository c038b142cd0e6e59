//! Given the demo data set, then checks of its addresses have these complete answers.

use std::io::Write;

use assay_tests::{Answer, sample};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::support::without_volatile_fields;

#[test]
fn the_demo_data_set_has_the_recorded_answers() {
    let (server, business, _) = sample();
    let examples =
        server.greeting().lines().skip_while(|line| !line.starts_with("Other addresses"));
    let mut lines = Vec::new();
    for line in examples.skip(1) {
        let mut words = line.split_whitespace();
        let mut word = || words.next().unwrap();
        let (chain, address, verdict) = (word(), word(), word());
        let what = words.collect::<Vec<_>>().join("_").replace(',', "");
        let answer = business.check(chain, address);
        assert_eq!(answer.status, 200, "{}", answer.text);
        assert_eq!(answer.json()["verdict"], verdict, "the server says what to expect");
        let json = answer.json();
        lines.push(format!("{what}: {}", summary(&json)));
        if what == "on_the_sample_sanctions_list" {
            insta::assert_json_snapshot!(format!("sample_{what}"), without_volatile_fields(json));
        }
    }
    assert_eq!(lines.len(), 20);
    // The digest stands for the rest of an answer.
    insta::assert_snapshot!("sample", lines.join("\n"));
}

/// An answer in one line: verdict, score, reasons, contributions, patterns with those that do not count in brackets,
/// warnings, and the digest.
fn summary(answer: &Value) -> String {
    let rows = |field: &str, summary: fn(&Value) -> String| {
        answer[field].as_array().unwrap().iter().map(summary).collect::<Vec<_>>().join(", ")
    };
    let component = |it: &Value| {
        let names = ["entity", "category", "pattern", "rule"].map(|name| it[name].as_str());
        format!(
            "{} {} {}",
            word(it, "kind"),
            names.into_iter().flatten().next().unwrap(),
            it["contribution"]
        )
    };
    let pattern = |it: &Value| {
        let summary = format!("{} {}", word(it, "pattern"), word(it, "role"));
        if it["scored"] == true { summary } else { format!("({summary})") }
    };
    let code = |it: &Value| word(it, "code");
    format!(
        "{} {}; {}; {}; {}; {}; {}",
        word(answer, "verdict"),
        answer["risk_score"],
        rows("reasons", code),
        rows("scoring_components", component),
        rows("transaction_patterns", pattern),
        rows("warnings", code),
        word(answer, "assessment_digest"),
    )
}

fn word(value: &Value, field: &str) -> String {
    value[field].as_str().unwrap().to_owned()
}

#[test]
fn the_printed_curl_line_works_when_pasted() {
    let (server, ..) = sample();
    let line = server.greeting().lines().find(|line| line.starts_with("curl ")).unwrap();
    let output = std::process::Command::new("sh").args(["-c", line]).output().unwrap();
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (answer["risk_score"].clone(), answer["verdict"].clone()),
        (json!(100), json!("block"))
    );
    assert_eq!(answer["environment"], "sample");
}

#[test]
fn both_paths_and_both_headers_give_the_same_answer() {
    let (_server, business, _) = sample();
    let body = r#"{"blockchain":"Bitcoin","address":"BC1QVAZT7N0VGXAG90QKNVXEEVN7AAQFAWJXQV9SVN"}"#;
    let bearer = format!("Bearer {}", business.key);
    let answers = [
        business.post("/api/v1/check/address", body, &[]),
        business.post("/v1/check/address", body, &[]),
        business.post("/v1/check/address", body, &[("x-api-key", ""), ("authorization", &bearer)]),
        business.post("/v1/check/address", body, &[("authorization", &bearer)]),
        business.post(
            "/v1/check/address",
            body,
            &[("content-type", "application/json; charset=utf-8")],
        ),
    ];
    let digests: Vec<Value> = answers
        .iter()
        .map(|answer| {
            assert_eq!(answer.status, 200, "{}", answer.text);
            answer.json()["assessment_digest"].clone()
        })
        .collect();
    assert!(digests.windows(2).all(|pair| pair[0] == pair[1]));
    let answer = answers[0].json();
    assert_eq!(answer["blockchain"], "btc", "the canonical identifier");
    assert_eq!(answer["address"], "bc1qvazt7n0vgxag90qknvxeevn7aaqfawjxqv9svn");
    assert_eq!(answer["address_submitted"], "BC1QVAZT7N0VGXAG90QKNVXEEVN7AAQFAWJXQV9SVN");
}

#[test]
fn reference_and_direction_are_echoed_and_change_nothing() {
    let (_server, business, _) = sample();
    let check = |extra: Value| {
        let mut body =
            json!({"blockchain": "eth", "address": "0x094b38af1c2b20ce653843e787754cdab7846aa7"});
        body.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        business.post("/api/v1/check/address", &body.to_string(), &[])
    };
    let plain = check(json!({})).json();
    let reference = "ü".repeat(128);
    let full = check(json!({"reference": reference, "direction": "withdrawal"})).json();
    assert_eq!((&full["reference"], &full["direction"]), (&json!(reference), &json!("withdrawal")));
    assert_eq!(full["assessment_digest"], plain["assessment_digest"]);
    let long = check(json!({"reference": "x".repeat(129)}));
    assert_eq!(long.problem(), (400, "invalid_request".into()));
    assert_eq!(long.json()["errors"][0]["field"], "reference");
    let sideways = check(json!({"direction": "sideways"}));
    assert_eq!(sideways.json()["errors"][0]["field"], "direction");
}

/// The digest, computed as `docs/api.md` describes.
fn recompute_digest(mut answer: Value) -> String {
    let fields = answer.as_object_mut().unwrap();
    for field in [
        "check_id",
        "reference",
        "direction",
        "address_submitted",
        "assessed_at",
        "assessment_digest",
        "cached",
        "processing_time_ms",
    ] {
        fields.remove(field);
    }
    for source in answer["sources"].as_array_mut().unwrap() {
        source.as_object_mut().unwrap().remove("fetched_at");
    }
    let canonical = serde_json_canonicalizer::to_vec(&answer).unwrap();
    format!("sha256:{}", hex::encode(Sha256::digest(canonical)))
}

#[test]
fn the_digest_can_be_recomputed_from_the_answer() {
    let (_server, business, _) = sample();
    let answer = business.check("btc", "bc1qvazt7n0vgxag90qknvxeevn7aaqfawjxqv9svn");
    let expected = answer.json()["assessment_digest"].as_str().unwrap().to_owned();
    assert_eq!(recompute_digest(answer.json()), expected);

    // The command that the documentation gives, with the answer on its standard input.
    let docs =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/api.md")).unwrap();
    let filter = docs.lines().find(|line| line.starts_with("jq -cjS")).expect("the command");
    let Ok(mut shell) = std::process::Command::new("sh")
        .args(["-c", filter])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
    else {
        panic!("sh does not run")
    };
    shell.stdin.take().unwrap().write_all(answer.text.as_bytes()).unwrap();
    let output = String::from_utf8(shell.wait_with_output().unwrap().stdout).unwrap();
    let digest = output.split_whitespace().next().unwrap_or_default();
    assert_eq!(format!("sha256:{digest}"), expected, "jq and sha256sum must be installed");
}

#[test]
fn an_answer_is_repeated_until_the_caller_requests_a_new_one() {
    let (_server, business, enterprise) = sample();
    let body = r#"{"blockchain":"trx","address":"TXrjBHsbQP61u9EexEPA98mqfdFX9U828W"}"#;
    let check = |headers: &[(&str, &str)]| business.post("/api/v1/check/address", body, headers);
    let status =
        |answer: &Answer| answer.header("cache-status").split("; ttl").next().unwrap().to_owned();
    let first = check(&[]);
    assert_eq!(status(&first), "assay; fwd=miss; stored");
    assert_eq!(first.json()["cached"], false);
    let second = check(&[]);
    assert_eq!(status(&second), "assay; hit");
    assert_eq!(second.json()["cached"], true);
    assert_eq!(second.json()["assessed_at"], first.json()["assessed_at"]);
    assert!(second.header("age").parse::<u32>().is_ok());
    assert_ne!(second.json()["check_id"], first.json()["check_id"]);
    let fresh = check(&[("cache-control", "no-cache")]);
    assert_eq!(status(&fresh), "assay; fwd=request; stored");
    assert_eq!(fresh.json()["cached"], false);
    let accepting = check(&[("cache-control", "max-age=60")]);
    assert_eq!(status(&accepting), "assay; hit");
    let other = enterprise.post("/api/v1/check/address", body, &[]);
    assert_eq!(status(&other), "assay; fwd=miss; stored", "one tenant learns nothing of another");
}

#[test]
fn sources_and_signals_list_the_basis_of_answers() {
    let (_server, business, _) = sample();
    let sources = business.get("/api/v1/sources");
    assert_eq!(sources.status, 200);
    let ids: Vec<_> =
        sources.json()["sources"].as_array().unwrap().iter().map(|s| s["id"].clone()).collect();
    let lists = ["sample-labels", "sample-notices", "sample-sanctions"];
    assert_eq!(
        ids,
        [&lists[..], &["sample-prices", "chain-btc", "chain-eth", "chain-trx"]].concat()
    );
    let mandatory = &sources.json()["sources"][2];
    assert_eq!((&mandatory["mandatory"], &mandatory["stale"]), (&json!(true), &json!(false)));
    assert_eq!(business.get("/v1/sources").status, 200);

    let signals = business.get("/api/v1/signals").json();
    let categories = signals["categories"].as_array().unwrap();
    let mixer = categories.iter().find(|category| category["id"] == "mixer").unwrap();
    assert_eq!((&mixer["severity"], &mixer["is_service"]), (&json!(75), &json!(true)));
    assert!(categories.len() > 50);
    assert!(signals["patterns"].as_array().unwrap().iter().any(|p| p["id"] == "peel_chain"));
    assert!(signals["heuristics"].as_array().unwrap().iter().any(|h| h["id"] == "same_key"));
}

#[test]
fn health_and_metrics_have_their_own_port() {
    let (server, business, _) = sample();
    let admin = assay_tests::Caller::new(server.admin, "");
    for caller in [&business, &admin] {
        assert_eq!(caller.send("GET", "/healthz", "", []).json()["status"], "ok");
    }
    assert_eq!(admin.send("GET", "/readyz", "", []).json()["status"], "ok");
    assert_eq!(business.get("/readyz").problem(), (404, "not_found".into()));
    assert_eq!(business.get("/metrics").problem(), (404, "not_found".into()));
    let _ = business.check("btc", "bc1qvazt7n0vgxag90qknvxeevn7aaqfawjxqv9svn");
    let metrics = admin.send("GET", "/metrics", "", []);
    let line = "assay_checks_total{verdict=\"block\",cache=\"miss\"} 1";
    assert!(metrics.text.contains(line), "{}", metrics.text);
    assert!(metrics.text.trim_end().ends_with("# EOF"));
    for secret in [business.key.as_str(), "bc1qvazt", "sample-business"] {
        assert!(!metrics.text.contains(secret), "{secret} in metrics");
        assert!(!server.log().contains(secret), "{secret} in the log");
    }
    let document = business.send("GET", "/openapi.json", "", []).json();
    assert_eq!(document["openapi"], "3.1.0");
}

#[test]
fn every_documented_operation_is_there() {
    // The plan with the larger burst: there are many operations.
    let (_server, _, enterprise) = sample();
    let document = enterprise.send("GET", "/openapi.json", "", []).json();
    let checked = enterprise.check("btc", "bc1qvazt7n0vgxag90qknvxeevn7aaqfawjxqv9svn").json();
    for (path, operations) in document["paths"].as_object().unwrap() {
        let path = path.replace("{check_id}", checked["check_id"].as_str().unwrap());
        for (method, operation) in operations.as_object().unwrap() {
            let content = operation.pointer("/requestBody/content").and_then(Value::as_object);
            let body = content.and_then(|content| content.iter().next());
            let (media_type, body) = match body {
                Some((media_type, body)) => (media_type.as_str(), body["example"].to_string()),
                None => ("", String::new()),
            };
            // Query parameters that are required, by their examples.
            let parameters = operation["parameters"].as_array().into_iter().flatten();
            let query: Vec<String> = parameters
                .filter(|one| one["in"] == "query" && one["required"] == true)
                .map(|one| {
                    format!(
                        "{}={}",
                        one["name"].as_str().unwrap(),
                        one["example"].as_str().unwrap()
                    )
                })
                .collect();
            let path =
                if query.is_empty() { path.clone() } else { format!("{path}?{}", query.join("&")) };
            let headers = [("x-api-key", enterprise.key.as_str()), ("content-type", media_type)];
            let answer = enterprise.send(&method.to_uppercase(), &path, &body, headers);
            assert_eq!(answer.status, 200, "{method} {path}: {}", answer.text);
        }
    }
}

#[test]
fn a_wrong_query_of_entities_names_the_parameter() {
    let (_server, business, _) = sample();
    for (query, field) in [("", "name"), ("?name=", "name"), ("?name=a&limit=x", "limit")] {
        let answer = business.get(&format!("/api/v1/entities{query}"));
        assert_eq!(answer.status, 400, "{}", answer.text);
        assert_eq!(answer.json()["errors"][0]["field"], field, "{}", answer.text);
    }
}
