//! A server whose wall clock jumps by an hour: limits stay exact, keys expire by each server's clock, and answers keep
//! their age.

use assay_tests::{Caller, Server, WallClock, plan_with_tenant, platform::Platform, wait_at_most};
use serde_json::Value;

use crate::{
    limits::{BURST, LIMIT, callers, count, crowd, ready},
    support::{ADDRESSES, PATIENCE, checked, health, plan_with_high_limits},
};

const HOUR: i64 = 3600;

fn jumping_server(platform: &Platform, clock: &WallClock, key: &str) -> (Server, Caller) {
    let server = platform.server_in(&clock.environment());
    let caller = server.caller(key);
    (server, caller)
}

fn check(caller: &Caller) -> Value {
    checked(caller, "btc", ADDRESSES[0])
}

/// Minutes between the times of two answers.
fn minutes_later(later: &Value, than: &Value) -> i64 {
    let time = |answer: &Value| {
        let text = answer["assessed_at"].as_str().unwrap();
        text.parse::<jiff::Timestamp>().unwrap().as_second()
    };
    (time(later) - time(than)) / 60
}

/// Clock jump of one of three servers: description, and its lead in seconds before and within a window.
type ClockJump = (&'static str, i64, i64);

fn a_limit_is_never_exceeded(jumps: &[ClockJump]) {
    let clock = WallClock::new();
    let platform = Platform::start();
    platform.apply(&plan_with_tenant("tight", BURST));
    let key = platform.key();
    let mut servers = platform.servers(2, &key, &[]);
    servers.push(jumping_server(&platform, &clock, &key));
    ready(&servers);
    let mut admitted_in_all = 0;
    for (what, before, within) in jumps {
        clock.set_ahead(*before);
        let counted = crowd(&callers(&servers), &[3; 3], |counted| {
            counted.wait_for_more();
            clock.set_ahead(*within);
        });
        let admitted = count(&counted.admitted);
        eprintln!("one of three clocks {what}: {admitted} of {LIMIT} admitted");
        assert!(admitted <= LIMIT, "{what}: {admitted}");
        assert_eq!(count(&counted.other) + count(&counted.unavailable), 0, "{what}: {counted:?}");
        admitted_in_all += admitted;
    }
    assert!(admitted_in_all > 0);
}

#[test]
#[ignore = "needs faketime"]
fn a_limit_is_never_exceeded_though_a_clock_jumps_an_hour() {
    a_limit_is_never_exceeded(&[("an hour ahead", 0, HOUR), ("two hours back", HOUR, -HOUR)]);
}

#[test]
#[ignore = "needs faketime, more time"]
fn a_limit_is_never_exceeded_however_a_clock_jumps() {
    a_limit_is_never_exceeded(&[
        ("back again", HOUR, 0),
        ("an hour behind", 0, -HOUR),
        ("behind all the time", -HOUR, -HOUR),
        ("two hours forward", -HOUR, HOUR),
    ]);
}

#[test]
#[ignore = "needs faketime"]
fn a_key_expires_by_the_clock_of_the_server_that_is_asked() {
    let clock = WallClock::new();
    let platform = Platform::start();
    platform.apply(&plan_with_high_limits());
    let create = ["keys", "create", "--tenant", "acme", "--expires-in", "30m"];
    let key = platform.assay(&create).ok().stdout.trim().to_owned();
    let steady = platform.server(&[]);
    let (_server, jumping) = jumping_server(&platform, &clock, &key);
    let steady = steady.caller(&key);
    let is_good =
        || [&steady, &jumping].map(|caller| caller.check("btc", ADDRESSES[0]).status != 401);
    assert_eq!(is_good(), [true, true]);
    clock.set_ahead(HOUR);
    assert_eq!(is_good(), [true, false]);
    clock.set_ahead(-HOUR);
    assert_eq!(is_good(), [true, true]);
}

#[test]
#[ignore = "needs faketime"]
fn usage_is_booked_on_the_day_of_the_database() {
    // Given a server that is two days ahead.
    let clock = WallClock::new();
    let platform = Platform::start();
    platform.apply(&plan_with_high_limits());
    let key = platform.key();
    clock.set_ahead(48 * HOUR);
    let (mut server, caller) = jumping_server(&platform, &clock, &key);
    let _ = check(&caller);
    // Then it shows the charge for today, and writes it so.
    let today = "to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD')";
    let usage = caller.get("/api/v1/usage").json();
    assert_eq!(usage["usage"][0]["day"], platform.postgres.query(&format!("SELECT {today}")));
    server.signal("TERM");
    assert_eq!(server.wait(), Some(0));
    let booked = format!("SELECT count(*) FROM usage WHERE day = {today}");
    let elsewhere = format!("SELECT count(*) FROM usage WHERE day <> {today}");
    assert_eq!([booked, elsewhere].map(|query| platform.postgres.query(&query)), ["1", "0"]);
}

#[test]
#[ignore = "needs faketime"]
fn an_answer_is_not_repeated_longer_because_a_clock_was_set_back() {
    let clock = WallClock::new();
    let platform = Platform::start();
    platform.apply(&plan_with_high_limits());
    let key = platform.key();
    clock.set_ahead(HOUR);
    let (server, caller) = jumping_server(&platform, &clock, &key);
    let ahead = check(&caller);
    assert_eq!(check(&caller)["cached"], true);
    // Given the right time again: the age of that answer is unknown.
    clock.set_ahead(0);
    let right = check(&caller);
    assert_eq!(right["cached"], false);
    assert!(minutes_later(&ahead, &right) > 50, "{right}");
    assert_eq!(right["assessment_digest"], ahead["assessment_digest"]);
    // Given a step forward, it is an hour old.
    clock.set_ahead(HOUR);
    let forward = check(&caller);
    assert_eq!(forward["cached"], false);
    assert!(minutes_later(&forward, &right) >= 60, "{forward}");
    // Ages and reachability do not depend on that clock.
    let age = server.metric::<f64>("assay_key_data_age_seconds");
    assert!(age < 60.0, "{age}");
    wait_at_most(PATIENCE, "a server that is well", || {
        health(&server).1["degraded"].as_array().is_none_or(Vec::is_empty)
    });
}
