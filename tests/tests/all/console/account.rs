//! Keys, usage, policy and sources of a tenant, and who may change them.

use assay_tests::{production, sample};

use super::{Person, form_token, path_of};
use crate::support::wait_until;

const TENANT: &str = "sample-business";

/// The secret on the page of a new key.
fn secret(page: &str) -> &str {
    let (_, rest) = page.split_once("<pre class=\"secret\" tabindex=\"0\">").unwrap();
    rest.split('<').next().unwrap()
}

#[test]
fn a_key_is_created_shown_once_and_revoked() {
    let (server, business, _) = sample();
    let person = Person::sign_in(&server, TENANT);
    let token = form_token(&person.get("/console/keys").text).to_owned();
    let form = format!("form_token={token}&name=%3Cb%3Etill&check=on&usage=on&lifetime=30d");
    let made = person.post("/console/keys", &form, &[]);
    assert_eq!(made.status, 200, "{}", made.text);
    assert_eq!(made.header("cache-control"), "no-store");
    let key = secret(&made.text).to_owned();
    let id = key.split('_').nth(2).unwrap();

    // The key works as the form says,
    let caller = server.caller(&key);
    wait_until("the key is known", || caller.get("/api/v1/usage").status == 200);
    let account = business.get("/api/v1/account").json();
    let listed = account["keys"].as_array().unwrap().iter().find(|it| it["id"] == id).unwrap();
    assert_eq!(listed["name"], "<b>till");
    assert_eq!(listed["scopes"], serde_json::json!(["check", "usage"]));
    assert_eq!(listed["environment"], "sample");
    assert!(listed["expires_at"].is_string());
    // is listed without its secret,
    let page = person.get("/console/keys").text;
    assert!(page.contains(id) && page.contains("&lt;b&gt;till") && !page.contains(&key), "{page}");
    // and is refused once it is revoked.
    let path = format!("/console/keys/{id}/revoke");
    let revoked = person.post(&path, &format!("form_token={token}"), &[]);
    assert_eq!(revoked.status, 303, "{}", revoked.text);
    wait_until("the key is refused", || caller.get("/api/v1/usage").status == 401);
}

#[test]
fn a_key_is_not_made_or_revoked_for_others() {
    let (server, business, _) = sample();
    let (person, other) =
        (Person::sign_in(&server, TENANT), Person::sign_in(&server, "sample-enterprise"));
    let token = form_token(&person.get("/console/keys").text).to_owned();
    let foreign = form_token(&other.get("/console/keys").text).to_owned();
    let before = business.get("/api/v1/account").json()["keys"].clone();
    // Neither a form of another session, nor one of another site, nor a stranger creates a key;
    for (form, site) in [
        (format!("form_token={foreign}&check=on"), "same-origin"),
        ("check=on".to_owned(), "same-origin"),
        (format!("form_token={token}&check=on"), "cross-site"),
    ] {
        let refused = person.post("/console/keys", &form, &[("sec-fetch-site", site)]);
        assert_eq!(refused.status, 403, "{form}");
    }
    let form = format!("form_token={token}&check=on");
    assert_eq!(Person::stranger(&server).post("/console/keys", &form, &[]).status, 401);
    // a form with a wrong field makes none,
    for wrong in ["", "&check=on&lifetime=soon", &format!("&check=on&name={}", "x".repeat(101))] {
        let refused = person.post("/console/keys", &format!("form_token={token}{wrong}"), &[]);
        assert_eq!(refused.status, 400, "{wrong}: {}", refused.text);
    }
    // nor does another tenant revoke one.
    let id = business.key.split('_').nth(2).unwrap();
    let path = format!("/console/keys/{id}/revoke");
    assert_eq!(other.post(&path, &format!("form_token={foreign}"), &[]).status, 404);
    assert_eq!(person.post(&path, &format!("form_token={foreign}"), &[]).status, 403);
    assert_eq!(business.get("/api/v1/account").json()["keys"][0]["id"], before[0]["id"]);
    assert_eq!(business.get("/api/v1/account").json()["keys"][0]["state"], "active");
    assert!(!other.get("/console/keys").text.contains(id), "a tenant sees its own keys alone");
}

#[test]
fn usage_is_counted_by_day_and_verdict() {
    let (server, ..) = sample();
    let person = Person::sign_in(&server, TENANT);
    assert!(person.get("/console/usage").text.contains("No check in these days."));
    let path = path_of("half stolen money, half bought at an exchange");
    assert_eq!(person.get(&path).status, 200);
    let page = person.get("/console/usage").text;
    assert!(page.contains("1 check in the last 30 days"), "{page}");
    assert!(page.contains("1 check (1 review)"), "{page}");
    let other = Person::sign_in(&server, "sample-enterprise").get("/console/usage").text;
    assert!(other.contains("0 checks in the last 30 days"), "{other}");
}

#[test]
fn the_policy_is_told_in_words_with_its_revision() {
    let (server, business, _) = sample();
    let page = Person::sign_in(&server, TENANT).get("/console/policy").text;
    let account = business.get("/api/v1/account").json();
    assert!(page.contains(account["policy"]["revision"].as_str().unwrap()), "{page}");
    let signals = business.get("/api/v1/signals").json();
    for rule in signals["rules"].as_array().unwrap() {
        let id = rule["id"].as_str().unwrap().replace('_', " ");
        assert!(page.contains(&format!("<b>{id}</b>")), "{id}: {page}");
    }
    for category in signals["categories"].as_array().unwrap() {
        let id = category["id"].as_str().unwrap().replace('_', " ");
        assert!(page.contains(&id), "{id}");
    }
}

#[test]
fn sources_that_come_with_assay_are_listed_and_the_demo_fetches_none() {
    let (server, ..) = sample();
    let person = Person::sign_in(&server, TENANT);
    let page = person.get("/console/sources").text;
    assert!(page.contains("The demo data set is fixed") && !page.contains("/enable\""), "{page}");
    let form = format!("form_token={}", form_token(&page));
    let refused = person.post("/console/sources/uk/enable", &form, &[]);
    assert_eq!(refused.status, 400, "{}", refused.text);
    assert!(refused.text.contains("fetches no sources"));
}

#[test]
fn a_server_that_fetches_nothing_shows_the_manifest_of_a_source() {
    let (server, _) = production();
    let person = Person::sign_in(&server, "acme");
    let page = person.get("/console/sources").text;
    assert!(page.contains("&quot;kind&quot;: &quot;IntelSource&quot;"), "{page}");
    let form = format!("form_token={}", form_token(&page));
    assert_eq!(person.post("/console/sources/uk/enable", &form, &[]).status, 400);
    assert_eq!(person.post("/console/sources/uk/enable", "", &[]).status, 403);
    let stored = server.assay(&["get", "intelsource"]).ok().stdout;
    assert!(!stored.contains("uk "), "{stored}");
}
