//! Number of requests that servers send to the database and Redis.

use std::{
    sync::atomic::{AtomicU32, Ordering},
    thread,
    time::{Duration, Instant},
};

use assay_tests::{Connection, Server, plan_with_tenant, platform::Platform};

use crate::support::{ADDRESSES, plan_with_high_limits};

#[test]
fn a_cached_check_waits_for_nothing() {
    // Given a check that was answered, and then no database at all.
    let platform = Platform::start_with_own_database();
    platform.apply(&plan_with_high_limits());
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

/// Sends `requests` requests in `seconds` to three servers, and asserts that they send at most `at_most` commands to
/// Redis for each admitted request.
fn commands_of_requests_at_the_limit(requests: u32, seconds: u32, at_most: f64) {
    const SERVERS: u32 = 3;
    let platform = Platform::start();
    let limit =
        format!("{{name: burst, requests: {requests}, window: {seconds}s, counts: requests}}");
    platform.apply(&plan_with_tenant("full", &limit));
    let key = platform.key();
    let servers = platform.servers(3, &key, &[]);
    let request = Connection::check(&key, "btc", ADDRESSES[0]);
    for (server, _) in &servers {
        assert_eq!(Connection::open(server.api).ask(&request), 200);
    }
    let sent = || servers.iter().map(|(server, _)| commands(server)).sum::<u64>();
    let (before, admitted, refused) = (sent(), AtomicU32::new(0), AtomicU32::new(0));
    let each = requests / SERVERS;
    let begun = Instant::now();
    thread::scope(|scope| {
        for (server, _) in &servers {
            scope.spawn(|| {
                let mut connection = Connection::open(server.api);
                for nth in 0..each {
                    let due = Duration::from_secs(seconds.into()) * nth / each;
                    // The figures are those of requests at this rate.
                    thread::sleep(due.saturating_sub(begun.elapsed()));
                    let status = connection.ask(&request);
                    assert!([200, 429].contains(&status), "{status}");
                    let counted = if status == 200 { &admitted } else { &refused };
                    counted.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    let commands = u32::try_from(sent() - before).unwrap();
    let admitted = f64::from(admitted.into_inner());
    let ratio = f64::from(commands) / admitted;
    eprintln!(
        "a limit of {} a minute, as much asked of 3 servers: {admitted} admitted, {} refused, {:.0} a \
         minute; {commands} commands sent to Redis, {ratio:.4} a request",
        requests * 60 / seconds,
        refused.into_inner(),
        admitted * 60.0 / begun.elapsed().as_secs_f64(),
    );
    assert!(ratio <= at_most, "{ratio}");
}

#[test]
fn at_10_000_requests_a_minute_redis_gets_one_in_ten_at_most() {
    commands_of_requests_at_the_limit(2_000, 12, 0.1);
}

#[test]
#[ignore = "needs more time"]
fn at_100_000_requests_a_minute_redis_gets_one_in_fifty_at_most() {
    commands_of_requests_at_the_limit(20_000, 12, 0.02);
}

/// Number of commands and scripts that a server sent to Redis, by its metrics.
fn commands(server: &Server) -> u64 {
    server.metric("assay_redis_commands_total")
}
