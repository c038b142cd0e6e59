//! Signing in and out, and who may not.

use std::sync::Arc;

use assay_tests::{Server, sample};

use super::{Person, form_token, newest_link};
use crate::support::wait_until;

const TENANT: &str = "sample-business";

#[test]
fn a_link_is_good_once_and_the_next_one_is_printed() {
    let (server, ..) = sample();
    let link = newest_link(&server, TENANT);
    let person = Person::sign_in(&server, TENANT);
    assert_eq!(person.get("/console").status, 200);

    let again = Person::stranger(&server).get(&link);
    assert_eq!(again.status, 403);
    assert!(!again.headers.contains_key("set-cookie"));
    wait_until("the next link is printed", || newest_link(&server, TENANT) != link);
    let other = Person::sign_in(&server, TENANT);
    assert_ne!(other.cookie, person.cookie);
    for token in ["", "?token=", "?token=x", "?token=%00"] {
        let answer = Person::stranger(&server).get(&format!("/console/sign-in{token}"));
        assert_eq!(answer.status, 403, "{token}");
    }
}

#[test]
fn a_browser_that_fetches_ahead_does_not_use_a_link_up() {
    let (server, ..) = sample();
    let link = newest_link(&server, TENANT);
    let ahead = [("sec-purpose", "prefetch;prerender")];
    let answer = Person::stranger(&server).get_with(&link, &ahead);
    assert_eq!(answer.status, 403);
    assert_eq!(Person::sign_in(&server, TENANT).get("/console").status, 200);
}

#[test]
fn nothing_is_shown_without_a_session() {
    let (server, business, _) = sample();
    let check = "/console/check/btc/1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa";
    let pages = [
        "",
        "/search?q=x",
        "/checks",
        "/checks/x",
        "/checks/x/flows.svg",
        "/checks/x/flows.png",
        "/sources",
        "/transfer",
        "/chains",
        "/keys",
        "/usage",
        "/policy",
    ];
    for path in
        pages.map(|page| format!("/console{page}")).iter().map(String::as_str).chain([check])
    {
        for cookie in
            ["", "assay-console=", "assay-console=0123", "assay-console=a; assay-console=b"]
        {
            let answer = Person::with_cookie(&server, cookie).get(path);
            assert_eq!(answer.status, 401, "{path} {cookie}");
            assert!(answer.text.contains("Open the link"), "{}", answer.text);
            assert!(!answer.text.contains("Sample tenant"));
        }
    }
    let checks = business.get("/api/v1/checks").json();
    assert!(checks["checks"].as_array().unwrap().is_empty(), "nothing was checked: {checks}");
}

#[test]
fn a_person_signs_out_by_the_form_of_the_session_alone() {
    let (server, ..) = sample();
    let (person, other) = (Person::sign_in(&server, TENANT), Person::sign_in(&server, TENANT));
    let token = form_token(&person.get("/console").text).to_owned();
    let foreign = form_token(&other.get("/console").text).to_owned();
    assert_ne!(token, foreign);
    for wrong in [String::new(), "form_token=".into(), format!("form_token={foreign}")] {
        assert_eq!(person.post("/console/sign-out", &wrong, &[]).status, 403, "{wrong}");
    }
    let form = format!("form_token={token}");
    let from_elsewhere =
        person.post("/console/sign-out", &form, &[("sec-fetch-site", "cross-site")]);
    assert_eq!(from_elsewhere.status, 403);
    assert_eq!(person.get("/console").status, 200, "still signed in");

    let done = person.post("/console/sign-out", &form, &[("sec-fetch-site", "same-origin")]);
    assert_eq!(done.status, 200);
    assert!(done.header("set-cookie").contains("Max-Age=0"));
    assert_eq!(person.get("/console").status, 401, "the cookie is of no use any longer");
    assert_eq!(other.get("/console").status, 200, "the other session goes on");
    assert_eq!(other.get("/console/sign-out").status, 405);
}

#[test]
fn signing_out_everywhere_ends_the_sessions_of_one_tenant() {
    let (server, ..) = sample();
    let (person, second) = (Person::sign_in(&server, TENANT), Person::sign_in(&server, TENANT));
    let other = Person::sign_in(&server, "sample-enterprise");
    let page = person.get("/console/keys").text;
    assert!(page.contains("2 sessions of this tenant"), "{page}");
    let form = format!("form_token={}&everywhere=on", form_token(&page));
    assert_eq!(second.post("/console/sign-out", &form, &[]).status, 403, "the form of the other");
    assert_eq!(person.post("/console/sign-out", &form, &[]).status, 200);
    for over in [&person, &second] {
        assert_eq!(over.get("/console").status, 401);
    }
    assert_eq!(other.get("/console").status, 200, "another tenant goes on");
}

#[test]
fn a_session_that_somebody_else_chose_is_not_taken_over() {
    let (server, ..) = sample();
    let planted = format!("assay-console={}", "12".repeat(32));
    let victim = Person::with_cookie(&server, &planted);
    let answer = victim.get(&newest_link(&server, TENANT));
    assert_eq!(answer.status, 200);
    assert!(!answer.header("set-cookie").contains(&planted));
    assert_eq!(victim.get("/console").status, 401);

    // Signing in again ends the session of before.
    let person = Person::sign_in(&server, TENANT);
    wait_until("a link signs in", || person.get(&newest_link(&server, TENANT)).status == 200);
    assert_eq!(person.get("/console").status, 401);
}

#[test]
fn a_session_ends_with_the_key_that_it_acts_as() {
    let (server, business, _) = sample();
    let person = Person::sign_in(&server, TENANT);
    assert_eq!(person.get("/console").status, 200);
    let id = business.key.split('_').nth(2).unwrap().to_owned();
    let _ = server.assay(&["keys", "revoke", "--sample", &id]).ok();
    wait_until("the session is over", || person.get("/console").status != 200);
    assert!([401, 403].contains(&person.get("/console").status));
}

#[test]
fn a_session_outlives_a_restart() {
    let (server, ..) = sample();
    let person = Person::sign_in(&server, TENANT);
    let directory = server.directory();
    drop(server);
    let again = Server::start(directory, &["--sample"]);
    let person = Person::with_cookie(&again, &person.cookie);
    assert_eq!(person.get("/console").status, 200);
    let form = format!("form_token={}", form_token(&person.get("/console").text));
    assert_eq!(person.post("/console/sign-out", &form, &[]).status, 200);
    assert_eq!(person.get("/console").status, 401);
}

#[test]
fn a_server_that_others_reach_has_no_console() {
    let directory = Arc::new(tempfile::tempdir().unwrap());
    let off = Server::start(directory, &["--sample", "--console", "off"]);
    assert!(!off.greeting().contains("Console of"));
    assert_eq!(Person::stranger(&off).get("/console").status, 404);
}
