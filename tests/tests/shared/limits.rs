//! Servers together admit what a limit allows, and no request more, whatever happens to Redis.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

use assay_tests::{Caller, Server, on_plan, platform::Platform};

pub(crate) const LIMIT: u64 = 1_000;
const WINDOW: Duration = Duration::from_secs(6);
const ADDRESS: &str = "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa";
pub(crate) const BURST: &str = "{name: burst, requests: 1000, window: 6s, counts: requests}";
const DAY: &str = "{name: burst, requests: 1000, window: 1d, counts: checks}";

/// The time by the clock that Redis has too.
#[expect(clippy::disallowed_methods, reason = "windows are those of the servers' own clock")]
fn since_1970() -> Duration {
    let now = jiff::Timestamp::now();
    Duration::from_micros(u64::try_from(now.as_microsecond()).unwrap())
}

/// Sleeps until a window is this old.
fn sleep_until(into_window: Duration) {
    let now = since_1970().as_micros() % WINDOW.as_micros();
    let wanted = into_window.as_micros();
    let wait = if now <= wanted { wanted - now } else { WINDOW.as_micros() + wanted - now };
    thread::sleep(Duration::from_micros(u64::try_from(wait).unwrap()));
}

/// What was answered to those who asked as often as they could.
#[derive(Debug, Default)]
pub(crate) struct Counted {
    pub(crate) admitted: AtomicU64,
    pub(crate) refused: AtomicU64,
    pub(crate) unavailable: AtomicU64,
    pub(crate) other: AtomicU64,
}

/// Asks for most of one window, whose beginning is waited for: `shares` says how many ask each server.
/// Meanwhile `happening` happens.
pub(crate) fn crowd(
    servers: &[(Server, Caller)],
    shares: &[usize],
    happening: impl FnOnce(),
) -> Counted {
    sleep_until(Duration::from_millis(50));
    let (counted, over) = (Arc::new(Counted::default()), Arc::new(AtomicBool::new(false)));
    let end = since_1970() + WINDOW.saturating_sub(Duration::from_millis(600));
    thread::scope(|scope| {
        for ((_, caller), share) in servers.iter().zip(shares) {
            for _ in 0..*share {
                let (counted, over, caller) =
                    (Arc::clone(&counted), Arc::clone(&over), caller.clone());
                scope.spawn(move || {
                    while !over.load(Ordering::Relaxed) && since_1970() < end {
                        let status = caller.try_check("btc", ADDRESS).map(|answer| answer.status);
                        let outcome = match status {
                            Ok(200) => &counted.admitted,
                            Ok(429) => &counted.refused,
                            Ok(503) => &counted.unavailable,
                            _ => &counted.other,
                        };
                        outcome.fetch_add(1, Ordering::Relaxed);
                        thread::sleep(Duration::from_millis(2));
                    }
                });
            }
        }
        happening();
        // What is asked for ends within the window in any case.
        let left = end.saturating_sub(since_1970());
        thread::sleep(left);
        over.store(true, Ordering::Relaxed);
    });
    Arc::into_inner(counted).unwrap()
}

pub(crate) fn count(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}

pub(crate) fn ready(servers: &[(Server, Caller)]) {
    for (_, caller) in servers {
        let status = caller.check("btc", ADDRESS).status;
        assert!(status == 200 || status == 429, "{status}");
    }
}

#[test]
fn one_three_or_ten_servers_admit_the_limit() {
    let platform = Platform::start();
    platform.apply(&on_plan("tight", BURST));
    let key = platform.key();
    let mut servers = Vec::new();
    for (replicas, shares) in [(1, vec![6]), (3, vec![3; 3]), (3, vec![9, 1, 1]), (10, vec![1; 10])]
    {
        while servers.len() < replicas {
            servers.extend(platform.servers(1, &key, &[]));
        }
        ready(&servers);
        // By then every server may spend its seat's share.
        thread::sleep(Duration::from_secs(20));
        let least = if shares.iter().max() == shares.iter().min() { 97 } else { 90 };
        // A machine that is busy with something else may have no time for a window's last requests.
        let is_used = (0..3).any(|_| {
            let counted = crowd(&servers, &shares, || {});
            let (admitted, refused) = (count(&counted.admitted), count(&counted.refused));
            eprintln!(
                "{replicas} servers, asked by {shares:?}: {admitted} of {LIMIT} admitted, {refused} \
                 refused"
            );
            assert!(admitted <= LIMIT, "{replicas} servers admitted {admitted}");
            assert_eq!(count(&counted.other), 0, "{counted:?}");
            admitted * 100 >= LIMIT * least
        });
        assert!(is_used, "{replicas} servers never admitted {least} in a hundred");
    }
}

#[test]
fn whatever_happens_to_redis_or_a_server_the_limit_is_never_exceeded() {
    let mut platform = Platform::start();
    platform.apply(&on_plan("tight", BURST));
    let key = platform.key();
    let mut servers = platform.servers(3, &key, &[]);
    ready(&servers);
    let see = |what: &str, counted: &Counted| {
        let admitted = count(&counted.admitted);
        eprintln!(
            "{what}: {admitted} of {LIMIT} admitted, {} refused, {} unavailable",
            count(&counted.refused),
            count(&counted.unavailable)
        );
        assert!(admitted <= LIMIT, "{what}: {admitted}");
    };
    let counted = crowd(&servers, &[3; 3], || {
        thread::sleep(Duration::from_millis(200));
        let _ = platform.redis.cli(&["flushall"]);
    });
    see("Redis forgets everything", &counted);
    let counted = crowd(&servers, &[3; 3], || {
        thread::sleep(Duration::from_millis(200));
        platform.redis.pause();
        thread::sleep(Duration::from_secs(2));
        platform.redis.go_on();
    });
    see("Redis pauses for two seconds", &counted);
    let counted = crowd(&servers, &[3; 3], || {
        thread::sleep(Duration::from_millis(200));
        platform.redis.kill();
        thread::sleep(Duration::from_millis(500));
        platform.redis.again();
    });
    see("Redis is killed and comes back empty", &counted);
    let counted = crowd(&servers, &[3; 3], || {
        thread::sleep(Duration::from_millis(300));
        servers[2].0.signal("KILL");
    });
    see("a server is killed", &counted);
    let _ = servers.pop();
    platform.redis.kill();
    let counted = crowd(&servers, &[3; 2], || {});
    see("Redis is away", &counted);
    assert_eq!(count(&counted.other), 0, "{counted:?}");
    platform.redis.again();
    // The window after the one in which it noticed is a usual one.
    let _ = crowd(&servers, &[1; 2], || {});
    let counted = crowd(&servers, &[3; 2], || {});
    see("Redis is back", &counted);
    assert!(count(&counted.admitted) > 0);
}

#[test]
fn a_quota_of_a_day_outlives_redis() {
    let platform = Platform::start();
    platform.apply(&on_plan("tight", DAY));
    let servers = platform.servers(3, &platform.key(), &[]);
    let mut admitted = 0;
    for round in 0..500 {
        for (_, caller) in &servers {
            admitted += u64::from(caller.check("btc", ADDRESS).status == 200);
        }
        if round == 150 {
            let _ = platform.redis.cli(&["flushall"]);
        }
    }
    assert!(admitted <= LIMIT, "{admitted}");
    assert!(admitted * 100 >= LIMIT * 90, "{admitted}");
    let (_, caller) = &servers[0];
    let answer = caller.check("btc", ADDRESS);
    assert_eq!(answer.problem(), (429, "quota_exceeded".into()));
}
