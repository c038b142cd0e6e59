//! `Idempotency-Key`: a repeated request gets the same answer and is not charged again.

use std::fs;

use assay_tests::{Answer, Caller, Server, production, tenant};
use serde_json::{Value, json};

use crate::support::wait_until;

const ADDRESS: &str = "/api/v1/check/address";
const TRANSFER: &str = "/api/v1/check/transfer";
const BODY: &str = r#"{"blockchain":"btc","address":"1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa"}"#;
const OTHER: &str = r#"{"blockchain":"btc","address":"12cbQLTFMXRnSzktFkuoG3eHoMeFtpTu3S"}"#;
const BAD: &str = r#"{"blockchain":"btc","address":"nonsense"}"#;

fn keyed(caller: &Caller, path: &str, body: &str, key: &str) -> Answer {
    caller.post(path, body, &[("idempotency-key", key)])
}

fn total(caller: &Caller) -> Value {
    caller.get("/api/v1/usage").json()["total"].clone()
}

#[test]
fn a_repeated_request_gets_the_same_answer_and_is_charged_once() {
    let (mut server, caller) = production();
    // Given an answered request with a key.
    let first = keyed(&caller, ADDRESS, BODY, "order-1");
    assert_eq!(first.status, 200, "{}", first.text);
    assert_eq!(first.header("idempotent-replayed"), "");
    // When it is repeated, with the key in quotes, or by the other path, then it gets the same answer.
    for (path, key) in
        [(ADDRESS, "order-1"), (ADDRESS, "\"order-1\""), ("/v1/check/address", "order-1")]
    {
        let again = keyed(&caller, path, BODY, key);
        assert_eq!((again.status, &again.text), (200, &first.text), "{path} {key}");
        assert_eq!(again.header("idempotent-replayed"), "true");
        assert_eq!(again.header("content-type"), "application/json");
    }
    // Another body is refused; another key, another path and no key are other requests.
    let other = keyed(&caller, ADDRESS, OTHER, "order-1");
    assert_eq!(other.problem(), (422, "idempotency_key_reused".into()));
    assert_ne!(keyed(&caller, ADDRESS, BODY, "order-2").text, first.text);
    assert_ne!(caller.post(ADDRESS, BODY, &[]).text, first.text);
    let withdrawal = json!({
        "blockchain": "btc", "direction": "withdrawal", "asset": "native", "amount": "1",
        "to": "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa",
    });
    let paid = keyed(&caller, TRANSFER, &withdrawal.to_string(), "order-1");
    assert_eq!(paid.status, 200, "{}", paid.text);
    assert_eq!(keyed(&caller, TRANSFER, &withdrawal.to_string(), "order-1").text, paid.text);
    // Then each is charged once, and a restart forgets nothing.
    assert_eq!(total(&caller), json!(4));
    server.signal("TERM");
    assert_eq!(server.wait(), Some(0), "{}", server.log());
    let server = Server::start(server.directory(), &[]);
    let caller = server.caller(&caller.key);
    assert_eq!(keyed(&caller, ADDRESS, BODY, "order-1").text, first.text);
    assert_eq!(total(&caller), json!(4));
    let path = format!("/api/v1/checks/{}", first.json()["check_id"].as_str().unwrap());
    assert_eq!(caller.get(&path).text, first.text);
}

#[test]
fn a_request_that_was_refused_leaves_its_key_free() {
    let (_server, caller) = production();
    for _ in 0..2 {
        assert_eq!(
            keyed(&caller, ADDRESS, BAD, "order-1").problem(),
            (422, "invalid_address".into())
        );
    }
    assert_eq!(keyed(&caller, ADDRESS, "{", "order-1").problem(), (400, "malformed_json".into()));
    let large = format!("{{\"blockchain\":\"btc\",\"address\":\"{}\"}}", "1".repeat(9_000));
    assert_eq!(
        keyed(&caller, ADDRESS, &large, "order-1").problem(),
        (413, "body_too_large".into())
    );
    assert_eq!(keyed(&caller, ADDRESS, BODY, "order-1").status, 200);
    assert_eq!(total(&caller), json!(1));
}

#[test]
fn a_field_that_is_no_key_and_a_bulk_request_with_a_key_are_refused() {
    let (_server, caller) = production();
    for key in ["\"a", "a b", "\"\"", &"k".repeat(256)] {
        let refused = keyed(&caller, ADDRESS, BODY, key);
        assert_eq!(refused.problem(), (400, "invalid_request".into()), "{key}");
        assert_eq!(refused.json()["errors"][0]["field"], "Idempotency-Key");
    }
    let fields = [("content-type", "application/x-ndjson"), ("idempotency-key", "order-1")];
    let refused = caller.post("/api/v1/screen", BODY, &fields);
    assert_eq!(refused.problem(), (400, "invalid_request".into()));
    // Other operations are free, and repeat nothing.
    assert_eq!(caller.get("/api/v1/sources").status, 200);
}

#[test]
fn a_key_is_its_tenants_own() {
    let (server, caller) = production();
    fs::write(server.directory().path().join("other.yaml"), tenant("other", "enterprise")).unwrap();
    let _ = server.assay(&["apply", "-f", "other.yaml"]).ok();
    let key = server.assay(&["keys", "create", "--tenant", "other"]).ok().stdout;
    let other = server.caller(key.trim());
    wait_until("the key is known", || other.get("/api/v1/sources").status == 200);
    let first = keyed(&caller, ADDRESS, BODY, "order-1");
    let theirs = keyed(&other, ADDRESS, OTHER, "order-1");
    assert_eq!((first.status, theirs.status), (200, 200));
    assert_ne!(first.json()["address"], theirs.json()["address"]);
}

#[test]
fn a_repetition_is_answered_although_the_quota_is_used_up() {
    let (server, caller) = production();
    let plan = "apiVersion: assay.dev/v1alpha1\nkind: Plan\nmetadata: {name: tight}\n\
                spec:\n  displayName: Tight\n  apiAccess: true\n  limits:\n  \
                - {name: quota, requests: 2, window: 1d, counts: checks}\n---\n";
    let manifest = format!("{plan}{}", tenant("acme", "tight"));
    fs::write(server.directory().path().join("tight.yaml"), manifest).unwrap();
    let _ = server.assay(&["apply", "-f", "tight.yaml"]).ok();
    let policy = || caller.get("/api/v1/sources").header("ratelimit-policy").to_owned();
    wait_until("the plan holds", || policy() == "\"quota\";q=2;w=86400");
    // Given a quota that is used up by requests with keys.
    let remaining = |answer: &Answer| answer.header("ratelimit").to_owned();
    let first = keyed(&caller, ADDRESS, BODY, "order-1");
    assert!(remaining(&first).contains(";r=1;"), "{}", remaining(&first));
    assert_eq!(keyed(&caller, ADDRESS, BAD, "order-2").status, 422);
    let again = keyed(&caller, ADDRESS, BODY, "order-1");
    assert!(remaining(&again).contains(";r=1;"), "{}", remaining(&again));
    assert_eq!(keyed(&caller, ADDRESS, OTHER, "order-2").status, 200);
    // When a new request comes, then it is refused, and its key stays free; a repetition is answered.
    assert_eq!(keyed(&caller, ADDRESS, BODY, "order-3").problem(), (429, "quota_exceeded".into()));
    assert_eq!(keyed(&caller, ADDRESS, OTHER, "order-3").problem(), (429, "quota_exceeded".into()));
    assert_eq!(keyed(&caller, ADDRESS, BODY, "order-1").text, first.text);
    assert_eq!(total(&caller), json!(2));
}

#[test]
fn nothing_of_a_tenant_is_left_after_all_of_it_was_deleted() {
    // Given a tenant with a kept answer and a receiver...
    let (server, caller) = production();
    let first = keyed(&caller, ADDRESS, BODY, "order-1");
    assert_eq!(first.status, 200, "{}", first.text);
    // ...when all of its records are deleted, then the same key is a new request.
    let _ = server.assay(&["purge", "--tenant", "acme", "--all"]).ok();
    let again = keyed(&caller, ADDRESS, BODY, "order-1");
    assert_eq!((again.status, again.header("idempotent-replayed")), (200, ""), "{}", again.text);
    assert_ne!(again.text, first.text);
}
