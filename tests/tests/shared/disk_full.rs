//! A full disk: checks continue, records wait in memory, and the log reports the failure.

use std::sync::Arc;

use assay_tests::{
    Caller, Server, SmallDisk, StartOptions, assay, platform::Platform, redis::Redis, tenant,
    wait_at_most, wait_until,
};

use crate::support::{ADDRESSES, PATIENCE, health, plan_with_high_limits};

/// Number of answers that wait to be written.
fn unwritten(server: &Server, record: &str) -> u64 {
    server.metric(&format!("assay_records_pending{{record=\"{record}\"}}"))
}

/// Checks a new address; returns the answer's digest and identifier.
fn check(caller: &Caller) -> (String, String) {
    let body = format!("{{\"blockchain\":\"btc\",\"address\":\"{}\"}}", ADDRESSES[0]);
    let fresh = [("cache-control", "no-cache")];
    let mut answer = caller.post("/api/v1/check/address", &body, &fresh);
    wait_at_most(PATIENCE, "limits that can be counted", || {
        let counted = answer.status == 200;
        if !counted {
            assert_eq!(answer.problem(), (429, "reduced_capacity".into()));
            answer = caller.post("/api/v1/check/address", &body, &fresh);
        }
        counted
    });
    let answer = answer.json();
    let field = |name: &str| answer[name].as_str().unwrap().to_owned();
    (field("assessment_digest"), field("check_id"))
}

fn charged(caller: &Caller) -> u64 {
    caller.get("/api/v1/usage").json()["total"].as_u64().unwrap()
}

/// Fills the disk until the server cannot write its answers, checks the server's reports, and frees
/// the space. Returns the number of checks.
fn fill_and_clear(disk: &SmallDisk, server: &Server, caller: &Caller) -> u64 {
    let (digest, first) = check(caller);
    wait_at_most(PATIENCE, "it is written", || unwritten(server, "answers") == 0);
    let mut checks = 1;
    // Given no room,
    disk.fill();
    // A charge needs so little room that it may still find some.
    let told = "failed to write answers; they stay in memory";
    let again = "answers are written again";
    let mut last = String::new();
    wait_at_most(PATIENCE, "there is no room", || {
        let (same, id) = check(caller);
        // then every check has the same answer,
        assert_eq!(same, digest);
        checks += 1;
        last = id;
        server.log().contains(told)
    });
    for _ in 0..20 {
        assert_eq!(check(caller).0, digest);
        checks += 1;
    }
    // waiting records can be looked up and are counted,
    assert!(unwritten(server, "answers") + unwritten(server, "usage") > 0);
    for id in [&first, &last] {
        assert_eq!(caller.get(&format!("/api/v1/checks/{id}")).status, 200);
    }
    wait_at_most(PATIENCE, "all is counted", || charged(caller) == checks);
    // and the log reports it once for each time that room was found in between.
    let log = server.log();
    let (failed, written) = (log.matches(told).count(), log.matches(again).count());
    assert!(failed <= written + 1, "{failed} failures after {written} recoveries: {log}");

    // Given room again, all of it is written.
    disk.clear();
    wait_at_most(PATIENCE, "all is written", || {
        unwritten(server, "answers") + unwritten(server, "usage") == 0
    });
    wait_until("the recovery is logged", || server.log().contains(again));
    assert_eq!(server.metric::<u64>("assay_records_dropped_total"), 0);
    assert_eq!(check(caller).0, digest);
    checks += 1;
    wait_at_most(PATIENCE, "all is counted", || charged(caller) == checks);
    checks
}

#[test]
#[ignore = "needs root"]
fn a_full_disk_of_an_embedded_database_delays_records_and_fails_commands() {
    let disk = SmallDisk::mount(24);
    let directory = Arc::new(tempfile::tempdir_in(disk.path()).unwrap());
    let run = |arguments: &[&str]| assay(directory.path(), arguments);
    std::fs::write(directory.path().join("roomy.yaml"), plan_with_high_limits()).unwrap();
    let _ = run(&["apply", "-f", "roomy.yaml"]).ok();
    let key = run(&["keys", "create", "--tenant", "acme"]).ok().stdout;
    let mut server = Server::start(Arc::clone(&directory), &[]);
    let caller = server.caller(key.trim());
    let checks = fill_and_clear(&disk, &server, &caller);

    // A command without space reports it, and changes nothing.
    disk.fill();
    wait_at_most(PATIENCE, "a command that fails", || {
        let made = run(&["keys", "create", "--tenant", "acme"]);
        assert!(made.code == 0 || made.stderr.contains("full"), "{}", made.stderr);
        made.code != 0
    });
    disk.clear();
    // A file system may give the space back a moment later.
    wait_at_most(PATIENCE, "a command that works again", || {
        run(&["keys", "create", "--tenant", "acme"]).code == 0
    });
    // Records that waited are written before the server may be restarted, as the runbook says.
    wait_at_most(PATIENCE, "all is written", || {
        unwritten(&server, "answers") + unwritten(&server, "usage") == 0
    });
    server.signal("TERM");
    assert_eq!(server.wait(), Some(0), "{}", server.log());
    let server = Server::start(Arc::clone(&directory), &[]);
    assert_eq!(charged(&server.caller(key.trim())), checks, "nothing is lost");
}

/// The degradations that a server reports.
fn degraded(server: &Server) -> serde_json::Value {
    health(server).1["degraded"].take()
}

#[test]
#[ignore = "needs root"]
fn a_full_disk_of_three_mebibytes_is_reported_and_everything_is_written_once_there_is_room() {
    let disk = SmallDisk::mount(3);
    let directory = Arc::new(tempfile::tempdir_in(disk.path()).unwrap());
    let run = |arguments: &[&str]| assay(directory.path(), arguments);
    std::fs::write(directory.path().join("roomy.yaml"), plan_with_high_limits()).unwrap();
    let _ = run(&["apply", "-f", "roomy.yaml"]).ok();
    let key = run(&["keys", "create", "--tenant", "acme"]).ok().stdout;
    let server = Server::start(Arc::clone(&directory), &[]);
    let caller = server.caller(key.trim());
    let reachable = "assay_dependency_reachable{dependency=\"database\"}";
    let mut checks = 0;
    for _ in 0..3 {
        // Given no room,
        disk.fill();
        // when records cannot be written,
        wait_at_most(PATIENCE, "a record that waits", || {
            let _ = check(&caller);
            checks += 1;
            server.metric::<u64>(reachable) == 0
        });
        // then the server says so,
        assert_eq!(degraded(&server), serde_json::json!(["database_unwritable"]));
        for _ in 0..5 {
            let _ = check(&caller);
            checks += 1;
        }
        assert!(unwritten(&server, "answers") + unwritten(&server, "usage") > 0);
        // until, with room again, everything is written by itself.
        disk.clear();
        wait_at_most(PATIENCE, "all is written", || {
            unwritten(&server, "answers") + unwritten(&server, "usage") == 0
                && server.metric::<u64>(reachable) == 1
        });
        assert_eq!(degraded(&server), serde_json::json!([]));
        assert_eq!(charged(&caller), checks);
    }
    assert!(!server.log().contains("transaction depth"), "{}", server.log());
}

#[test]
#[ignore = "needs root"]
fn a_full_disk_of_a_shared_database_delays_records_only() {
    let disk = SmallDisk::mount(160);
    let postgres = StartOptions { folder: Some(disk.path()), ..StartOptions::default() }.start();
    let platform = Platform::with_servers(postgres, Redis::start());
    platform.apply(&plan_with_high_limits());
    let servers = platform.servers(2, &platform.key(), &[]);
    let (server, caller) = &servers[0];
    let checks = fill_and_clear(&disk, server, caller);
    // The other one charges the same tenant.
    let (_, other) = &servers[1];
    let _ = check(other);
    wait_at_most(PATIENCE, "both count", || charged(caller) == checks + 1);
    platform.apply(&tenant("later", "roomy"));
}
