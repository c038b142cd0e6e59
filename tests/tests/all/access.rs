//! Access: keys, plans, scopes, suspension.

use std::fs;

use assay_tests::{Caller, Server, production, sample};

use crate::support::wait_until;

const PATH: &str = "/api/v1/check/address";
const BODY: &str = r#"{"blockchain":"btc","address":"1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa"}"#;

fn code(caller: &Caller, headers: &[(&str, &str)]) -> (u16, String) {
    let answer = caller.post(PATH, BODY, headers);
    if answer.status == 200 { (200, String::new()) } else { answer.problem() }
}

#[test]
fn a_request_needs_exactly_one_valid_key() {
    let (_server, business, enterprise) = sample();
    let none = business.post(PATH, BODY, &[("x-api-key", "")]);
    assert_eq!(none.problem(), (401, "missing_key".into()));
    assert_eq!(none.header("www-authenticate"), "Bearer realm=\"assay\"");

    let other = format!("Bearer {}", enterprise.key);
    let different = business.post(PATH, BODY, &[("authorization", &other)]);
    assert_eq!(different.problem(), (401, "invalid_key".into()));
    assert!(different.json()["detail"].as_str().unwrap().contains("different"));

    let basic = "Basic dXNlcjpwYXNz";
    let proxied = [("authorization", basic)];
    assert_eq!(code(&business, &proxied).0, 200, "a proxy's own credentials beside the key");

    let mut mistyped = business.key.clone();
    let last = mistyped.pop().unwrap();
    mistyped.push(if last == 'a' { 'b' } else { 'a' });
    for headers in [
        [("x-api-key", mistyped.as_str()), ("authorization", "")],
        [("x-api-key", "junk"), ("authorization", "")],
        [("x-api-key", ""), ("authorization", basic)],
        [("x-api-key", ""), ("authorization", "Bearer ")],
    ] {
        let answer = business.post(PATH, BODY, &headers);
        assert_eq!(answer.problem(), (401, "invalid_key".into()), "{headers:?}");
        assert!(answer.header("www-authenticate").contains("invalid_token"));
        assert!(answer.header("ratelimit").is_empty(), "strangers learn no limits");
    }
}

fn keys(server: &Server, arguments: &[&str]) -> String {
    let all: Vec<&str> = ["keys"].iter().chain(arguments).copied().collect();
    server.assay(&all).ok().stdout.trim().to_owned()
}

fn id(key: &str) -> &str {
    key.split('_').nth(2).unwrap()
}

#[test]
fn a_revoked_key_is_refused_at_once_like_an_unknown_one() {
    let (server, caller) = production();
    assert_eq!(code(&caller, &[]).0, 200);
    keys(&server, &["revoke", id(&caller.key)]);
    let took = wait_until("the key dies", || code(&caller, &[]).0 == 401);
    eprintln!("a revoked key was dead after {} ms", took.as_millis());
    let revoked = caller.post(PATH, BODY, &[]).json();
    let unknown = caller.post(PATH, BODY, &[("x-api-key", "assay_live_x")]).json();
    for field in ["type", "title", "status", "detail", "code"] {
        assert_eq!(revoked[field], unknown[field]);
    }
}

#[test]
fn a_rotated_key_and_its_successor_are_both_valid_for_the_overlap() {
    let (server, caller) = production();
    let successor = keys(&server, &["rotate", id(&caller.key), "--overlap", "1h"]);
    let new = server.caller(&successor);
    wait_until("the new key is known", || code(&new, &[]).0 == 200);
    assert_eq!(code(&caller, &[]).0, 200);
    let last = keys(&server, &["rotate", id(&successor), "--overlap", "0s"]);
    wait_until("no overlap, no old key", || code(&new, &[]).0 == 401);
    assert_eq!(code(&server.caller(&last), &[]).0, 200);
    let again = server.assay(&["keys", "rotate", id(&successor)]);
    assert_eq!(again.code, 3, "an expired key has no successor: {}", again.stderr);
}

#[test]
fn a_successor_has_the_lifetime_of_its_predecessor() {
    let (server, caller) = production();
    let days = |key: &str| -> Option<i64> {
        let list: serde_json::Value =
            serde_json::from_str(&keys(&server, &["list", "--json"])).unwrap();
        let key = list.as_array().unwrap().iter().find(|row| row["id"] == id(key)).unwrap().clone();
        let time =
            |field: &str| key[field].as_str().map(|at| at.parse::<jiff::Timestamp>().unwrap());
        Some(time("expires_at")?.duration_since(time("created_at")?).as_hours() / 24)
    };
    assert_eq!(days(&keys(&server, &["rotate", id(&caller.key)])), None, "it never expires");
    let short = keys(&server, &["create", "--tenant", "acme", "--expires-in", "90d"]);
    let successor = keys(&server, &["rotate", id(&short)]);
    assert_eq!(days(&successor), Some(90));
    assert_eq!(days(&keys(&server, &["rotate", id(&successor), "--expires-in", "7d"])), Some(7));
}

#[test]
fn a_key_expires_and_is_listed_without_its_secret() {
    let (server, _) = production();
    let short =
        keys(&server, &["create", "--tenant", "acme", "--name", "short", "--expires-in", "2s"]);
    let caller = server.caller(&short);
    wait_until("the key is known", || code(&caller, &[]).0 == 200);
    wait_until("it expires", || code(&caller, &[]).0 == 401);
    let list = keys(&server, &["list", "--json"]);
    let secret = short.split('_').nth(3).unwrap();
    assert!(list.contains(id(&short)) && !list.contains(secret), "{list}");
    assert!(list.contains("\"state\": \"expired\""));
}

#[test]
fn scope_plan_and_suspension_each_have_their_own_answer() {
    let (server, caller) = production();
    let narrow = keys(&server, &["create", "--tenant", "acme", "--scopes", "usage"]);
    let narrow = server.caller(&narrow);
    wait_until("the key is known", || code(&narrow, &[]).0 == 403);
    let refused = narrow.post(PATH, BODY, &[]);
    assert_eq!(refused.problem(), (403, "insufficient_scope".into()));
    let challenge = "Bearer realm=\"assay\", error=\"insufficient_scope\", scope=\"check\"";
    assert_eq!(refused.header("www-authenticate"), challenge);
    assert!(refused.json()["detail"].as_str().unwrap().contains("the scope `check`"));

    let directory = server.directory();
    let apply = |spec: &str| {
        let manifest = format!(
            "apiVersion: assay.dev/v1alpha1\nkind: Tenant\nmetadata: {{name: acme}}\nspec: {spec}\n---\n\
             apiVersion: assay.dev/v1alpha1\nkind: Plan\nmetadata: {{name: free}}\n\
             spec: {{displayName: Free, apiAccess: false, limits: []}}\n"
        );
        fs::write(directory.path().join("change.yaml"), manifest).unwrap();
        let _ = server.assay(&["apply", "-f", "change.yaml"]).ok();
    };
    apply("{displayName: Acme, plan: enterprise, policy: default, suspended: true}");
    wait_until("suspended", || code(&caller, &[]) == (403, "tenant_suspended".into()));
    apply("{displayName: Acme, plan: free, policy: default}");
    wait_until("no access", || code(&caller, &[]) == (403, "plan_without_api_access".into()));
    apply("{displayName: Acme, plan: enterprise, policy: default}");
    wait_until("back again", || code(&caller, &[]).0 == 200);
}

#[test]
fn a_key_appears_in_no_log_file_error_or_database() {
    let (server, caller) = production();
    assert_eq!(code(&caller, &[]).0, 200);
    let query = format!("/api/v1/sources?key={}", caller.key);
    let answer = caller.get(&query);
    assert_eq!(answer.status, 200);
    let secret = caller.key.split('_').nth(3).unwrap();
    assert!(!server.log().contains(secret), "in the log");
    assert!(!caller.post(PATH, "{", &[]).text.contains(secret), "in an error");
    for entry in fs::read_dir(server.directory().path()).unwrap() {
        let bytes = fs::read(entry.unwrap().path()).unwrap();
        let found = bytes.windows(secret.len()).any(|window| window == secret.as_bytes());
        assert!(!found, "in the data directory");
    }
}

/// Revokes a key and rotates another one after a backup.
fn keys_after_a_backup(server: &Server) -> (String, String) {
    let revoked = keys(server, &["create", "--tenant", "acme", "--name", "revoked"]);
    let rotated = keys(server, &["create", "--tenant", "acme", "--name", "rotated"]);
    (revoked, rotated)
}

fn states(server: &Server) -> std::collections::BTreeMap<String, String> {
    let list: serde_json::Value = serde_json::from_str(&keys(server, &["list", "--json"])).unwrap();
    let text = |row: &serde_json::Value, field: &str| row[field].as_str().unwrap().to_owned();
    list.as_array().unwrap().iter().map(|row| (text(row, "id"), text(row, "state"))).collect()
}

#[test]
fn an_old_backup_does_not_revive_a_revoked_key() {
    let (mut server, caller) = production();
    let (revoked, rotated) = keys_after_a_backup(&server);
    let _ = server.assay(&["backup", "copy.sqlite"]).ok();
    assert_eq!(server.assay(&["backup", "copy.sqlite"]).code, 2, "nothing is overwritten");
    let _ = server.assay(&["keys", "revoke", id(&revoked)]).ok();
    let _ = keys(&server, &["rotate", id(&rotated), "--overlap", "0s"]);
    let busy = server.assay(&["restore", "copy.sqlite"]);
    assert_eq!(busy.code, 1, "not while a server uses it: {}", busy.stderr);
    server.signal("TERM");
    server.wait();

    std::fs::write(server.directory().path().join("junk"), "junk").unwrap();
    assert_eq!(server.assay(&["restore", "junk"]).code, 3);
    let restored = server.assay(&["restore", "copy.sqlite"]).ok();
    assert!(restored.stdout.contains("2 keys revoked by the list"), "{}", restored.stdout);
    let state_of = |key: &str| states(&server)[id(key)].clone();
    assert_eq!((state_of(&revoked), state_of(&rotated)), ("revoked".into(), "revoked".into()));
    assert_eq!(state_of(&caller.key), "active");

    // After an old database was restored in any way, a server does not accept its revoked keys for
    // long.
    let directory = server.directory();
    let place = |name: &str| directory.path().join(name);
    std::fs::copy(place("copy.sqlite"), place("assay.sqlite")).unwrap();
    for rest in ["assay.sqlite-wal", "assay.sqlite-shm"] {
        let _ = std::fs::remove_file(place(rest));
    }
    let again = Server::start(server.directory(), &[]);
    assert_eq!(code(&again.caller(&revoked), &[]).0, 401);
    assert_eq!(code(&again.caller(&caller.key), &[]).0, 200);
    drop(again);

    // Without the list any key may be dead.
    std::fs::remove_file(place("revoked-keys.jsonl")).unwrap();
    let restored = server.assay(&["restore", "copy.sqlite"]).ok();
    assert!(restored.stdout.contains("revoked as a precaution"), "{}", restored.stdout);
    assert!(states(&server).values().all(|state| state == "revoked"));
    let trusted = server.assay(&["restore", "copy.sqlite", "--trust-keys"]).ok();
    assert!(trusted.stdout.contains("the keys are trusted"), "{}", trusted.stdout);
    assert!(states(&server).values().all(|state| state == "active"));
}
