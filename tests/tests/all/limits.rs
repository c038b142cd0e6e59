//! Limits of a tenant's requests, and the header fields that describe them.

use std::{fs, sync::Arc, thread};

use assay_tests::{Answer, Caller, Server, production, tenant};

use crate::support::wait_until;

const PATH: &str = "/api/v1/check/address";
const GOOD: &str = r#"{"blockchain":"btc","address":"1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa"}"#;
const BAD: &str = r#"{"blockchain":"btc","address":"nonsense"}"#;

/// A tenant on a plan with these limits.
fn with_limits(limits: &str) -> (Server, Caller) {
    let (server, caller) = production();
    let manifest = format!(
        "apiVersion: assay.dev/v1alpha1\nkind: Plan\nmetadata: {{name: tight}}\n\
         spec:\n  displayName: Tight\n  apiAccess: true\n  limits:\n{limits}\n---\n{}",
        tenant("acme", "tight")
    );
    fs::write(server.directory().path().join("tight.yaml"), manifest).unwrap();
    let _ = server.assay(&["apply", "-f", "tight.yaml"]).ok();
    let policy = || caller.get("/api/v1/sources").header("ratelimit-policy").to_owned();
    wait_until("the plan holds", || !policy().contains("minute"));
    (server, caller)
}

fn remaining(answer: &Answer, name: &str) -> u64 {
    let fields = answer.header("ratelimit");
    let item = fields.split(", ").find(|item| item.starts_with(&format!("\"{name}\""))).unwrap();
    item.split(";r=").nth(1).unwrap().split(';').next().unwrap().parse().unwrap()
}

#[test]
fn an_exhausted_limit_is_refused_with_the_time_to_wait() {
    let limits = "  - {name: day, requests: 6, window: 1d, counts: requests}";
    let (_server, caller) = with_limits(limits);
    // Finding out whether the plan holds took some requests already.
    let mut answers = Vec::new();
    while answers.last().is_none_or(|answer: &Answer| answer.status == 200) {
        answers.push(caller.post(PATH, GOOD, &[]));
        assert!(answers.len() <= 7, "never over");
    }
    let refused = answers.last().unwrap();
    assert_eq!(refused.problem(), (429, "quota_exceeded".into()));
    assert_eq!(refused.header("ratelimit-policy"), "\"day\";q=6;w=86400");
    assert_eq!(remaining(refused, "day"), 0);
    let wait: u64 = refused.header("retry-after").parse().unwrap();
    // Up to a fifth more at random, so that refused callers do not come back all at once.
    assert!((1..=86_400 * 6 / 5).contains(&wait), "{wait}");
    let problem = refused.json();
    assert_eq!(problem["type"], "https://iana.org/assignments/http-problem-types#quota-exceeded");
    assert_eq!(problem["violated-policies"], serde_json::json!(["day"]));
}

#[test]
fn a_quota_counts_answered_checks_only() {
    let limits = "  - {name: burst, requests: 1000, window: 1d, counts: requests}\n  \
                  - {name: quota, requests: 3, window: 1d, counts: checks}";
    let (_server, caller) = with_limits(limits);
    assert_eq!(remaining(&caller.post(PATH, BAD, &[]), "quota"), 3, "a refused address is free");
    assert_eq!(remaining(&caller.get("/api/v1/signals"), "quota"), 3, "so is the catalogue");
    let before = remaining(&caller.post(PATH, "{", &[]), "burst");
    for left in [2, 1, 0] {
        let answer = caller.post(PATH, GOOD, &[]);
        assert_eq!((answer.status, remaining(&answer, "quota")), (200, left));
    }
    let refused = caller.post(PATH, GOOD, &[]);
    assert_eq!(refused.problem(), (429, "quota_exceeded".into()));
    assert_eq!(remaining(&refused, "burst"), before - 4, "every request counts against the burst");
    assert_eq!(caller.get("/api/v1/sources").status, 200, "what is no check goes on");
}

#[test]
fn a_restart_gives_no_window_of_an_hour_or_longer_again() {
    // Given a plan of four checks a day and of an hour, some of them used
    let limits = "  - {name: burst, requests: 1000, window: 1h, counts: requests}\n  \
                  - {name: quota, requests: 4, window: 1d, counts: checks}";
    let (mut server, mut caller) = with_limits(limits);
    for left in [3, 2] {
        assert_eq!(remaining(&caller.post(PATH, GOOD, &[]), "quota"), left);
    }
    let mut burst = remaining(&caller.post(PATH, BAD, &[]), "burst");
    for left in [1, 0] {
        // When the server is stopped and started
        server.signal("TERM");
        assert_eq!(server.wait(), Some(0), "{}", server.log());
        server = Server::start(server.directory(), &[]);
        caller = server.caller(&caller.key);
        // Then it goes on where it was.
        let answer = caller.post(PATH, GOOD, &[]);
        assert_eq!((answer.status, remaining(&answer, "quota")), (200, left));
        let before = std::mem::replace(&mut burst, remaining(&answer, "burst"));
        assert!(burst < before, "{burst} after {before}");
    }
    assert_eq!(caller.post(PATH, GOOD, &[]).problem(), (429, "quota_exceeded".into()));
    // Nor does a kill, once the charge writer has written.
    let pending = "assay_records_pending{record=\"usage\"}";
    wait_until("the charges are written", || server.metric::<u64>(pending) == 0);
    server.signal("TERM");
    let _ = server.wait();
    server = Server::start(server.directory(), &[]);
    server.signal("KILL");
    let _ = server.wait();
    server = Server::start(server.directory(), &[]);
    let refused = server.caller(&caller.key).post(PATH, GOOD, &[]);
    assert_eq!(refused.problem(), (429, "quota_exceeded".into()));
}

#[test]
fn many_at_once_get_exactly_the_limit() {
    let limits = "  - {name: quota, requests: 100, window: 1d, counts: checks}";
    let (server, caller) = with_limits(limits);
    let server = Arc::new(server);
    let threads: Vec<_> = (0..8)
        .map(|_| {
            let caller = server.caller(&caller.key);
            thread::spawn(move || {
                (0..40).filter(|_| caller.post(PATH, GOOD, &[]).status == 200).count()
            })
        })
        .collect();
    let answered: usize = threads.into_iter().map(|thread| thread.join().unwrap()).sum();
    assert_eq!(answered, 100);
}

#[test]
fn a_rate_limit_raises_the_number_for_one_tenant() {
    let limits = "  - {name: quota, requests: 3, window: 1d, counts: checks, ceiling: 5}";
    let (server, caller) = with_limits(limits);
    let raise = |requests: u32| {
        let manifest = format!(
            "apiVersion: assay.dev/v1alpha1\nkind: RateLimit\nmetadata: {{name: more}}\n\
             spec: {{target: {{tenant: acme}}, limits: [{{name: quota, requests: {requests}}}]}}\n"
        );
        fs::write(server.directory().path().join("more.yaml"), manifest).unwrap();
        server.assay(&["apply", "-f", "more.yaml"])
    };
    let too_much = raise(6);
    assert_eq!(too_much.code, 3);
    assert!(
        too_much.stderr.contains("6 is above the ceiling of plan `tight` (5)"),
        "{}",
        too_much.stderr
    );
    assert_eq!(raise(5).ok().stdout, "RateLimit more created\n");
    let policy = || caller.get("/api/v1/sources").header("ratelimit-policy").to_owned();
    wait_until("the number holds", || policy() == "\"quota\";q=5;w=86400");
    assert_eq!(raise(5).ok().stdout, "RateLimit more unchanged\n");
    assert_eq!(raise(4).ok().stdout, "RateLimit more configured\n");
}
