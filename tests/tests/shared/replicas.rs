//! Communication between servers, and their behavior when it fails.

use std::thread;

use assay_tests::{Caller, Server, platform::Platform, tenant, wait_at_most};
use serde_json::Value;

use crate::support::{
    ADDRESSES, PATIENCE, checked, health, plan_with_high_limits, require_labels_only,
};

/// Number of rounds of concurrent requests to many servers.
const ROUNDS: usize = 40;

fn check(caller: &Caller) -> Value {
    caller.check("btc", ADDRESSES[0]).json()
}

/// Waits for a recovery or a failure.
fn until(what: &str, holds: impl FnMut() -> bool) {
    let _ = wait_at_most(PATIENCE, what, holds);
}

#[test]
fn servers_repeat_the_assessment_of_another() {
    let platform = Platform::start();
    let servers = platform.servers(3, &platform.key(), &[]);
    let first = check(&servers[0].1);
    assert_eq!(first["cached"], false);
    for (_, caller) in &servers[1..] {
        let again = check(caller);
        assert_eq!(
            (&again["cached"], &again["assessed_at"]),
            (&true.into(), &first["assessed_at"])
        );
        assert_eq!(again["assessment_digest"], first["assessment_digest"]);
    }
    // Another tenant does not see it.
    platform.apply(&tenant("other", "enterprise"));
    let key = platform.assay(&["keys", "create", "--tenant", "other"]).ok().stdout;
    let (server, caller) = &servers[1];
    let other = server.caller(key.trim());
    until("the new key is known", || other.check("btc", ADDRESSES[1]).status == 200);
    let answer = other.check("btc", ADDRESSES[0]);
    assert_eq!(answer.json()["cached"], false);
    assert_eq!(answer.header("age"), "0");
    assert!(caller.check("btc", ADDRESSES[0]).header("cache-status").contains("hit"));
}

#[test]
fn concurrent_requests_to_many_servers_are_assessed_once() {
    let platform = Platform::start();
    platform.apply(&plan_with_high_limits());
    let servers = platform.servers(3, &platform.key(), &[]);
    let mut in_time = 0;
    for round in 0..ROUNDS {
        let address = format!("0x{round:040x}");
        let before = unanswered(&servers);
        let answers: Vec<Value> = thread::scope(|scope| {
            let callers = servers.iter().flat_map(|(_, caller)| [caller; 8]);
            let asked: Vec<_> =
                callers.map(|caller| scope.spawn(|| checked(caller, "eth", &address))).collect();
            asked.into_iter().map(|answer| answer.join().unwrap()).collect()
        });
        let made = answers.iter().filter(|answer| answer["cached"] == false).count();
        // Servers without a timely answer from Redis assess the address themselves, one each at
        // most.
        let late = unanswered(&servers) > before;
        let most = if late { servers.len() } else { 1 };
        assert!((1..=most).contains(&made), "round {round}: {made} of {} answers", answers.len());
        in_time += usize::from(!late);
    }
    assert!(in_time > 0, "Redis was late in every round");
}

/// Number of commands that Redis did not answer in time.
fn unanswered(servers: &[(Server, Caller)]) -> u64 {
    let counts =
        servers.iter().map(|(server, _)| server.metric::<u64>("assay_redis_timeouts_total"));
    counts.sum()
}

#[test]
fn a_revoked_key_is_refused_everywhere_with_and_without_redis() {
    let mut platform = Platform::start();
    let servers = platform.servers(3, &platform.key(), &[]);
    for redis_is_there in [true, false] {
        let key = platform.key();
        let id = key.split('_').nth(2).unwrap();
        let callers: Vec<Caller> = servers.iter().map(|(server, _)| server.caller(&key)).collect();
        until("the new key is known", || {
            callers.iter().all(|caller| caller.check("btc", ADDRESSES[1]).status == 200)
        });
        if !redis_is_there {
            platform.redis.kill();
        }
        let _ = platform.assay(&["keys", "revoke", id]).ok();
        until("it is dead", || {
            callers.iter().all(|caller| caller.check("btc", ADDRESSES[1]).status == 401)
        });
        for caller in &callers {
            assert_eq!(caller.check("btc", ADDRESSES[1]).problem(), (401, "invalid_key".into()));
        }
    }
}

#[test]
fn a_server_that_cannot_confirm_keys_refuses_all_callers_until_it_can() {
    let platform = Platform::start_with_own_database();
    platform.apply(&plan_with_high_limits());
    let servers = platform.servers(1, &platform.key(), &["--max-key-data-age", "2s"]);
    let (server, caller) = &servers[0];
    assert_eq!(check(caller)["verdict"], "indeterminate", "no list was imported");
    platform.postgres.stop();
    until("nobody is let in", || caller.check("btc", ADDRESSES[0]).status == 503);
    let answer = caller.check("btc", ADDRESSES[0]);
    assert_eq!(answer.problem(), (503, "key_data_stale".into()));
    assert!(!answer.header("retry-after").is_empty());
    assert_eq!(health(server).0, 503);
    platform.postgres.start_again();
    until("it heals", || caller.check("btc", ADDRESSES[0]).status == 200);
    assert_eq!(health(server).0, 200);
}

#[test]
fn lists_that_cannot_be_confirmed_allow_nothing_and_block_on() {
    let platform = Platform::start_with_own_database();
    platform.apply(&plan_with_high_limits());
    require_labels_only(&platform);
    let servers = platform.servers(1, &platform.key(), &["--max-intel-age", "2s"]);
    let (server, caller) = &servers[0];
    assert_eq!(check(caller)["verdict"], "allow");
    platform.postgres.stop();
    until("nothing is allowed", || check(caller)["verdict"] == "indeterminate");
    let answer = check(caller);
    assert_eq!(answer["complete"], false);
    assert_eq!(answer["reasons"][0]["code"], "intel_stale");
    until("it is told", || {
        let (status, health) = health(server);
        assert_eq!((status, &health["status"]), (200, &"degraded".into()));
        let degraded = health["degraded"].to_string();
        degraded.contains("intel_stale") && degraded.contains("database_unreachable")
    });
    platform.postgres.start_again();
    until("it heals", || check(caller)["verdict"] == "allow");
}

#[test]
fn without_redis_every_answer_is_the_same() {
    let mut platform = Platform::start();
    platform.apply(&plan_with_high_limits());
    let servers = platform.servers(2, &platform.key(), &[]);
    let digest = check(&servers[0].1)["assessment_digest"].clone();
    platform.redis.kill();
    for (server, caller) in &servers {
        // Until a server's share of the limits may be spent, it says that it cannot count them.
        until("the share of the limits is there", || {
            let answer = caller.check("btc", ADDRESSES[0]);
            if answer.status == 200 {
                assert_eq!(answer.json()["assessment_digest"], digest);
                return caller.check("btc", ADDRESSES[2]).status == 200;
            }
            assert_eq!(answer.problem(), (429, "reduced_capacity".into()));
            false
        });
        until("it is told", || {
            health(server).1["degraded"].to_string().contains("redis_unreachable")
        });
        assert_eq!(health(server).0, 200, "degraded is not unready");
    }
    platform.redis.start_again();
    for (server, caller) in &servers {
        until("it heals", || {
            let _ = caller.post(
                "/api/v1/check/address",
                &format!("{{\"blockchain\":\"btc\",\"address\":\"{}\"}}", ADDRESSES[2]),
                &[("cache-control", "no-cache")],
            );
            !health(server).1["degraded"].to_string().contains("redis_unreachable")
        });
    }
}
