//! Checks of addresses that pass no router are answered as all other requests are.

use assay_tests::{Answer, production};
use serde_json::Value;

/// An answer without what differs between two requests: identifiers, times, and what is left of limits.
fn comparable(answer: &Answer) -> (u16, Vec<(String, String)>, Value) {
    let varying = ["age", "cache-status", "content-length", "date", "ratelimit", "x-request-id"];
    let headers = answer.headers.iter().map(|(name, value)| {
        let value = if varying.contains(&&**name) { "" } else { value };
        (name.clone(), value.to_owned())
    });
    let mut body = serde_json::from_str(&answer.text).unwrap_or(Value::Null);
    if let Some(fields) = body.as_object_mut() {
        for name in
            ["check_id", "assessed_at", "cached", "processing_time_ms", "request_id", "instance"]
        {
            fields.remove(name);
        }
    }
    (answer.status, headers.collect(), body)
}

#[test]
fn checks_that_pass_no_router_are_answered_as_those_that_do() {
    let (server, caller) = production();
    // Requests with an idempotency key pass the router.
    let mut number = 0;
    let mut both = |path: &str, body: &str, fields: &[(&str, &str)]| {
        number += 1;
        let key = format!("request-{number}");
        let by_router = [fields, &[("idempotency-key", &*key)]].concat();
        let (direct, routed) =
            (caller.post(path, body, fields), caller.post(path, body, &by_router));
        assert_eq!(comparable(&direct), comparable(&routed), "{path} {body} {fields:?}");
        direct.status
    };
    let address = r#"{"blockchain":"btc","address":"1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa"}"#;
    let long = format!("{{\"blockchain\":\"btc\",\"address\":\"{}\"}}", "a".repeat(200_000));
    for path in ["/api/v1/check/address", "/v1/check/address", "/v1/check/address?a=1"] {
        for (body, fields, status) in [
            (address, &[][..], 200),
            (address, &[("accept-encoding", "gzip")], 200),
            (address, &[("cache-control", "no-cache")], 200),
            (address, &[("x-api-key", "")], 401),
            (address, &[("x-api-key", "nonsense")], 401),
            (address, &[("content-type", "text/plain")], 415),
            (address, &[("content-encoding", "br")], 415),
            ("", &[], 400),
            ("{", &[], 400),
            (r#"{"blockchain":"btc"}"#, &[], 400),
            (r#"{"blockchain":"btc","address":"nonsense"}"#, &[], 422),
            (r#"{"blockchain":"nochain","address":"a"}"#, &[], 422),
            (&*long, &[], 413),
        ] {
            assert_eq!(both(path, body, fields), status, "{body:.80} {fields:?}");
        }
    }
    drop(server);
}
