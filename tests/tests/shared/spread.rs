//! How soon all servers know what one command changed, and what it costs them that nothing changed.

use std::{env, thread, time::Instant};

use assay_tests::{Caller, Server, Times, platform::Platform, wait_until};

use crate::support::{ADDRESSES, roomy};

/// Trials of a run; `ASSAY_TRIALS` asks for more.
fn trials() -> usize {
    env::var("ASSAY_TRIALS").ok().and_then(|text| text.parse().ok()).unwrap_or(20)
}

#[test]
fn a_revocation_reaches_every_server() {
    let platform = Platform::start();
    platform.apply(&roomy());
    let servers = platform.servers(3, &platform.key(), &[]);
    let took: Vec<_> = (0..trials())
        .map(|_| {
            let key = platform.key();
            let callers: Vec<Caller> =
                servers.iter().map(|(server, _)| server.caller(&key)).collect();
            let all =
                |status| callers.iter().all(|caller| caller.get("/api/v1/usage").status == status);
            wait_until("the new key is known", || all(200));
            let id = key.split('_').nth(2).unwrap();
            let _ = platform.assay(&["keys", "revoke", id]).ok();
            // From the command's end, a moment after the commit.
            wait_until("it is dead everywhere", || all(401))
        })
        .collect();
    eprintln!(
        "from a revocation to the last of 3 servers, {} times: {}",
        took.len(),
        Times::of(took)
    );
}

#[test]
fn a_new_listing_shows_on_every_server_though_the_answer_was_cached() {
    let platform = Platform::start();
    platform.apply(&roomy());
    let servers = platform.servers(3, &platform.key(), &[]);
    let verdicts = || -> Vec<String> {
        let answers = servers.iter().map(|(_, caller)| caller.check("btc", ADDRESSES[0]).json());
        answers.map(|answer| answer["verdict"].as_str().unwrap().to_owned()).collect()
    };
    let mut took = Vec::new();
    for round in 0..trials().div_ceil(5) {
        // The address becomes a listed party's, by its label, and nobody's again.
        for category in ["sanctions", "exchange"] {
            let before = verdicts();
            assert_eq!(verdicts(), before, "repeated");
            let labels = format!(
                "blockchain,address,category,entity,tier,confidence\n\
                 btc,{},{category},Party {round},investigation,100\n",
                ADDRESSES[0]
            );
            platform.write("labels.csv", &labels);
            let ingest =
                ["ingest", "labels", "labels.csv", "--format", "csv", "--source", "made-up"];
            let _ = platform.assay(&ingest).ok();
            took.push(wait_until("it shows everywhere", || {
                verdicts().iter().all(|verdict| (verdict == "block") == (category == "sanctions"))
            }));
        }
    }
    eprintln!("from an import to the last of 3 servers, {} times: {}", took.len(), Times::of(took));
}

#[test]
fn a_cached_check_waits_for_nothing() {
    // Given a check that was answered, and then no database at all.
    let platform = Platform::start();
    platform.apply(&roomy());
    let servers = platform.servers(1, &platform.key(), &[]);
    let (server, caller) = &servers[0];
    assert_eq!(caller.check("btc", ADDRESSES[0]).json()["cached"], false);
    platform.postgres.stop();
    let (before, draws_before) = (commands(server), platform.redis.calls("evalsha"));
    let checks = 10_000_u32;
    let took = thread::scope(|scope| {
        let begun = Instant::now();
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..checks / 4 {
                    let answer = caller.check("btc", ADDRESSES[0]);
                    assert_eq!(answer.json()["cached"], true, "{}", answer.text);
                }
            });
        }
        begun
    })
    .elapsed();
    let draws = platform.redis.calls("evalsha") - draws_before;
    assert_eq!(commands(server) - before, draws, "beside leases nothing was asked of Redis");
    let draws = f64::from(u32::try_from(draws).unwrap());
    let draws_a_check = draws / f64::from(checks);
    eprintln!(
        "{checks} cached checks without a database: 0 commands for answers; beside them {draws} draws of \
         leases, {:.1} a second, {draws_a_check:.4} a check",
        draws / took.as_secs_f64(),
    );
    // Many checks share a lease.
    assert!(draws_a_check < 0.1, "{draws} draws");
}

/// Commands and scripts that a server says it sent to Redis.
fn commands(server: &Server) -> u64 {
    server.metric("assay_redis_commands_total")
}
