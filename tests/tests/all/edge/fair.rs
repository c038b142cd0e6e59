//! Tenants that try to use all capacity of a server do not affect others.

use std::{fs, io::Write, net::TcpStream, sync::Arc};

use assay_tests::{Caller, Server, assay};

use super::{
    BODY, PATH, caller_of,
    slow::{bulk, post, requests_in_flight},
    start,
};
use crate::{
    support::wait_until,
    wire::{connect, read_until},
};

/// A check whose body is never sent.
fn unfinished(server: &Server, key: &str) -> TcpStream {
    let mut stream = connect(server.api);
    let begun = post(PATH, key, "application/json", "content-length: 80\r\n");
    stream.write_all(begun.as_bytes()).unwrap();
    stream
}

fn check(caller: &Caller) -> u16 {
    caller.post(PATH, BODY, &[]).status
}

#[test]
fn unfinished_bodies_of_one_tenant_take_no_place_of_another() {
    // Given a tenant that begins more checks than there are places, and finishes none.
    let (server, greedy) = start(&["--max-requests", "64", "--body-timeout", "50s"]);
    let other = caller_of(&server, "sample-business");
    let held: Vec<TcpStream> = (0..80).map(|_| unfinished(&server, &greedy.key)).collect();
    wait_until("its share is taken", || requests_in_flight(&server) >= 48);
    // Then each check of another tenant is answered, and those of the tenant are refused as its own.
    let answers: Vec<u16> = (0..20).map(|_| check(&other)).collect();
    assert_eq!(answers, [200; 20]);
    let refused = greedy.post(PATH, BODY, &[]);
    assert_eq!(refused.problem(), (429, "too_many_in_flight".into()));
    assert_eq!(refused.header("retry-after"), "1");
    drop(held);
    wait_until("they are over", || check(&greedy) == 200);
}

#[test]
fn slow_streams_of_one_tenant_take_no_place_of_anothers() {
    let (server, greedy) = start(&["--max-requests", "16", "--stall-timeout", "50s"]);
    let other = caller_of(&server, "sample-business");
    let mut held = Vec::new();
    loop {
        let (stream, answer) = bulk(&server, &greedy.key);
        if answer.starts_with("HTTP/1.1 429") {
            assert!(answer.contains("\"too_many_in_flight\""), "{answer}");
            break;
        }
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        held.push(stream);
    }
    assert!(held.len() >= 8, "alone it has most of the places: {}", held.len());
    let (_stream, answer) = bulk(&server, &other.key);
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert_eq!((check(&other), check(&greedy)), (200, 200));
}

#[test]
fn a_plan_bounds_the_requests_and_streams_of_each_of_its_tenants() {
    // Given two tenants on a plan with few places for each, of a server with many.
    let directory = Arc::new(tempfile::tempdir().unwrap());
    let tenants = ["one", "two"].map(|name| assay_tests::tenant(name, "narrow"));
    let plan = "apiVersion: assay.dev/v1alpha1\nkind: Plan\nmetadata: {name: narrow}\nspec:\n  \
                displayName: Narrow\n  apiAccess: true\n  maxInFlight: 3\n  maxStreams: 1\n  \
                limits: [{name: burst, requests: 1000, window: 1s, counts: requests}]\n---\n";
    let manifests = format!("{plan}{}\n---\n{}", tenants[0], tenants[1]);
    fs::write(directory.path().join("plan.yaml"), manifests).unwrap();
    let run = |arguments: &[&str]| assay(directory.path(), arguments).ok().stdout;
    let _ = run(&["apply", "-f", "plan.yaml"]);
    let scopes = "check,screen,admin:read";
    let create = |tenant| run(&["keys", "create", "--tenant", tenant, "--scopes", scopes]);
    let keys = ["one", "two"].map(create);
    let server = Server::start(Arc::clone(&directory), &["--body-timeout", "50s"]);
    let account = server.caller(keys[0].trim()).get("/api/v1/account").json();
    assert_eq!(
        (&account["plan"]["max_in_flight"], &account["plan"]["max_streams"]),
        (&3.into(), &1.into())
    );
    let mut held = Vec::new();
    for key in keys.iter().map(|key| key.trim()) {
        // When each has a stream and two checks in flight, then there is no place for more.
        let (stream, answer) = bulk(&server, key);
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        held.push(stream);
        let (_, answer) = bulk(&server, key);
        assert!(answer.contains("\"too_many_in_flight\""), "{answer}");
        let before = requests_in_flight(&server);
        held.extend([unfinished(&server, key), unfinished(&server, key)]);
        wait_until("they are in flight", || requests_in_flight(&server) == before + 2);
        let mut third = unfinished(&server, key);
        assert!(read_until(&mut third, "\r\n\r\n").starts_with("HTTP/1.1 429"));
    }
}
