//! The settings of a tenant, for keys that may read them.

use std::fs;

use assay_tests::{Answer, Caller, Server, production, tenant};
use serde_json::{Value, json};

use crate::support::wait_until;

const PATH: &str = "/api/v1/account";

fn key(server: &Server, tenant: &str, name: &str, scopes: &str) -> String {
    let arguments = ["keys", "create", "--tenant", tenant, "--name", name, "--scopes", scopes];
    server.assay(&arguments).ok().stdout.trim().to_owned()
}

/// Applies manifests to the installation.
fn apply(server: &Server, manifests: &str) {
    fs::write(server.directory().path().join("change.yaml"), manifests).unwrap();
    let _ = server.assay(&["apply", "-f", "change.yaml"]).ok();
}

/// A rate limit for the limits of a target: `tenant: acme` or `plan: business`.
fn rate_limit(name: &str, target: &str, limit: &str, requests: u64, until: &str) -> String {
    format!(
        "apiVersion: assay.dev/v1alpha1\nkind: RateLimit\nmetadata: {{name: {name}}}\n\
         spec: {{target: {{{target}}}, limits: [{{name: {limit}, requests: {requests}}}]{until}}}\n---\n"
    )
}

fn account(caller: &Caller) -> Answer {
    caller.get(PATH)
}

fn wait_until_known(server: &Server, key: &str) -> Caller {
    let caller = server.caller(key);
    wait_until("the key is known", || account(&caller).status != 401);
    caller
}

fn limit<'a>(account: &'a Value, name: &str) -> &'a Value {
    account["limits"].as_array().unwrap().iter().find(|limit| limit["name"] == name).unwrap()
}

#[test]
fn the_account_needs_its_own_scope() {
    let (server, _) = production();
    let without =
        wait_until_known(&server, &key(&server, "acme", "back end", "check,screen,usage"));
    assert_eq!(account(&without).problem(), (403, "insufficient_scope".into()));
    let with = wait_until_known(&server, &key(&server, "acme", "console", "admin:read"));
    assert_eq!(account(&with).status, 200);
    assert_eq!(with.get("/v1/account").status, 200, "the alias");
    assert_eq!(with.get("/api/v1/usage").problem(), (403, "insufficient_scope".into()));
}

#[test]
fn limits_name_their_origin() {
    let (server, _) = production();
    apply(&server, &tenant("acme", "enterprise"));
    let caller = wait_until_known(&server, &key(&server, "acme", "console", "admin:read"));
    let before = account(&caller).json();
    let plan = limit(&before, "burst").clone();
    assert_eq!((&plan["source"], &plan["rate_limit"]), (&json!("plan"), &Value::Null));
    assert_eq!(plan["requests"], plan["plan_requests"]);

    // Given a limit for all tenants of the plan, and one for this tenant, which takes precedence.
    let own = plan["plan_requests"].as_u64().unwrap();
    let until = ", until: 2099-01-01T00:00:00Z";
    let both = [
        rate_limit("calm", "plan: enterprise", "burst", own - 1, ""),
        rate_limit("acme-calm", "tenant: acme", "burst", own - 2, until),
    ];
    apply(&server, &both[0]);
    let rate_limit_of = |account: Value| limit(&account, "burst")["rate_limit"].clone();
    wait_until("the plan's", || rate_limit_of(account(&caller).json()) == "calm");
    apply(&server, &both[1]);
    wait_until("the tenant's", || rate_limit_of(account(&caller).json()) == "acme-calm");
    let after = account(&caller);
    let now = after.json();
    let now = limit(&now, "burst");
    assert_eq!(
        (&now["source"], &now["requests"], &now["plan_requests"], &now["until"]),
        (&json!("rate_limit"), &json!(own - 2), &json!(own), &json!("2099-01-01T00:00:00Z"))
    );
    let shown = format!("\"burst\";q={};w={}", own - 2, now["window_seconds"]);
    assert!(after.header("ratelimit-policy").contains(&shown), "what holds is what is shown");
}

#[test]
fn a_tenant_sees_its_own_settings_and_keys_and_no_secret() {
    let (server, _) = production();
    apply(&server, &[tenant("acme", "enterprise"), tenant("globex", "enterprise")].join("---\n"));
    let theirs = key(&server, "globex", "of globex", "check,admin:read");
    let revoked = key(&server, "acme", "old", "check");
    let id = |key: &str| key.split('_').nth(2).unwrap().to_owned();
    let _ = server.assay(&["keys", "revoke", &id(&revoked)]).ok();
    let ours = key(&server, "acme", "console", "check,admin:read");
    let (ours, theirs) = (wait_until_known(&server, &ours), wait_until_known(&server, &theirs));

    let answer = account(&ours);
    let shown = answer.json();
    assert_eq!(shown["tenant"], json!({"name": "acme", "display_name": "Tenant acme"}));
    assert_eq!(shown["plan"]["name"], "enterprise");
    let check = ours.check("btc", "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa").json();
    assert_eq!(shown["policy"]["name"], "default");
    assert_eq!(shown["policy"]["revision"], check["policy_revision"]);

    let keys = shown["keys"].as_array().unwrap();
    let named = |name: &str| keys.iter().find(|key| key["name"] == name).unwrap();
    let console = named("console");
    assert_eq!(console["id"], id(&ours.key).as_str());
    assert_eq!(console["scopes"], json!(["check", "admin:read"]));
    assert_eq!((&console["state"], &console["expires_at"]), (&json!("active"), &Value::Null));
    assert!(console["last_used_at"].is_string(), "this very request used it");
    let old = named("old");
    assert_eq!((&old["state"], &old["last_used_at"]), (&json!("revoked"), &Value::Null));
    assert!(old["revoked_at"].is_string());

    // No secret, no hash, and no data of another tenant, in either direction.
    let foreign = ["globex".to_owned(), "of globex".to_owned(), id(&theirs.key)];
    for key in [&ours.key, &revoked, &theirs.key] {
        let secret = key.split('_').nth(3).unwrap();
        assert!(!answer.text.contains(secret));
    }
    assert!(!answer.text.contains("hash"));
    assert!(foreign.iter().all(|text| !answer.text.contains(text)), "{}", answer.text);
    let answer = account(&theirs);
    assert_eq!(answer.json()["tenant"]["name"], "globex");
    let foreign = ["acme".to_owned(), "console".to_owned(), id(&ours.key), id(&revoked)];
    assert!(foreign.iter().all(|text| !answer.text.contains(text)), "{}", answer.text);
}
