//! Requests with idempotency keys to several servers, while they are repeated, killed, and without Redis.

use std::{
    collections::{BTreeMap, BTreeSet},
    thread,
};

use assay_test_random::Random;
use assay_tests::{Caller, platform::Platform, wait_at_most};
use serde_json::{Value, json};

use crate::support::{ADDRESSES, PATIENCE, plan_with_high_limits};

const PATH: &str = "/api/v1/check/address";
/// Number of keys, each of which several threads use.
const KEYS: u64 = 40;
const THREADS: u64 = 8;
/// Number of requests of each thread.
const REQUESTS: usize = 60;

/// An answer to a request: its key, its body, and its text if it was answered with 200.
type KeyedAnswer = (u64, usize, Result<String, u16>);

fn body(address: usize) -> String {
    json!({"blockchain": "btc", "address": ADDRESSES[address]}).to_string()
}

/// Sends random requests, of which many have the same key, and some of these another body.
fn ask_at_random(callers: &[Caller], seed: u64) -> Vec<KeyedAnswer> {
    let mut random = Random::new(seed);
    let mut answers = Vec::new();
    for _ in 0..REQUESTS {
        let key = random.below(KEYS);
        // A key's own body, or seldom another one.
        let own = usize::try_from(key).unwrap() % ADDRESSES.len();
        let address = if random.below(8) == 0 { (own + 1) % ADDRESSES.len() } else { own };
        let caller = random.pick(callers);
        let text = format!("key-{key}");
        let quoted = format!("\"{text}\"");
        let sent = if random.below(2) == 0 { &text } else { &quoted };
        let fields = [
            ("x-api-key", caller.key.as_str()),
            ("content-type", "application/json"),
            ("idempotency-key", sent.as_str()),
        ];
        // A server that was killed does not answer.
        let Ok(answer) = caller.try_send("POST", PATH, &body(address), fields) else { continue };
        let outcome = if answer.status == 200 { Ok(answer.text) } else { Err(answer.status) };
        answers.push((key, address, outcome));
    }
    answers
}

/// The answers of each key: all of one text, to one body. Returns the keys that were answered.
fn agree(seen: &[KeyedAnswer]) -> BTreeSet<u64> {
    let mut answers: BTreeMap<u64, (usize, &str)> = BTreeMap::new();
    for (key, address, outcome) in seen {
        match outcome {
            Ok(text) => {
                let (first, known) = answers.entry(*key).or_insert((*address, text));
                assert_eq!((*first, *known), (*address, &**text), "key {key}");
                let answer: Value = serde_json::from_str(text).unwrap();
                assert_eq!(answer["address"], ADDRESSES[*address], "key {key}");
            }
            Err(status) => assert!([409, 422, 503].contains(status), "{status}"),
        }
    }
    answers.into_keys().collect()
}

fn charged(platform: &Platform) -> u64 {
    let sum = platform.postgres.query("SELECT coalesce(sum(count), 0) FROM usage");
    sum.trim().parse().unwrap()
}

#[test]
fn a_key_is_answered_once_by_all_servers_and_charged_once() {
    let platform = Platform::start();
    platform.apply(&plan_with_high_limits());
    let servers = platform.servers(2, &platform.key(), &[]);
    let callers: Vec<Caller> =
        servers.iter().map(|(server, caller)| server.caller(&caller.key)).collect();
    // Given several callers that use the same keys at both servers at once.
    let seen: Vec<KeyedAnswer> = thread::scope(|scope| {
        let threads = (0..THREADS).map(|seed| {
            scope.spawn({
                let callers = &callers;
                move || ask_at_random(callers, seed)
            })
        });
        let threads: Vec<_> = threads.collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    // Then each key has one answer, whose body is that of the request, and is charged once.
    let answered = agree(&seen);
    assert!(answered.len() > 20, "{answered:?}");
    let count = u64::try_from(answered.len()).unwrap();
    let _ = wait_at_most(PATIENCE, "the charges are written", || charged(&platform) >= count);
    let (server, caller) = &servers[0];
    let total = || caller.get("/api/v1/usage").json()["total"].clone();
    assert_eq!(total(), json!(count), "{}", server.log());
    // When each is repeated at a server that was started later, then nothing is charged.
    let later = platform.server(&[]).caller(&caller.key);
    let again: Vec<KeyedAnswer> = ask_at_random(&[later], 99);
    let both: Vec<KeyedAnswer> = seen.into_iter().chain(again).collect();
    assert!(agree(&both).is_superset(&answered));
}

#[test]
fn a_killed_server_and_a_lost_redis_charge_no_key_twice() {
    let mut platform = Platform::start();
    platform.apply(&plan_with_high_limits());
    let mut servers = platform.servers(2, &platform.key(), &[]);
    let callers: Vec<Caller> =
        servers.iter().map(|(server, caller)| server.caller(&caller.key)).collect();
    let (killed, _) = servers.pop().unwrap();
    // Given requests during which a server is killed, and Redis, too.
    let seen: Vec<KeyedAnswer> = thread::scope(|scope| {
        let threads = (0..THREADS).map(|seed| {
            scope.spawn({
                let callers = &callers;
                move || ask_at_random(callers, 100 + seed)
            })
        });
        let threads: Vec<_> = threads.collect();
        killed.signal("KILL");
        platform.redis.kill();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    let answers_of_others = |seen: Vec<KeyedAnswer>| {
        seen.into_iter().filter(|(_, _, it)| !matches!(it, Err(429))).collect()
    };
    let seen: Vec<KeyedAnswer> = answers_of_others(seen);
    let answered = agree(&seen);
    // Then no key was charged twice; what the killed server had not written is lost.
    let server = &servers[0].0;
    let is_charged_once = || {
        let pending = "assay_records_pending{record=\"usage\"}";
        let is_written = || server.metric::<u64>(pending) == 0;
        let _ = wait_at_most(PATIENCE, "the charges are written", is_written);
        let kept = "SELECT count(*) FROM idempotency_keys WHERE answer IS NOT NULL";
        let kept: u64 = platform.postgres.query(kept).trim().parse().unwrap();
        assert!(charged(&platform) <= kept, "{} of {kept}", charged(&platform));
    };
    is_charged_once();
    // When the rest is asked for at the server that is left, then what was answered stays.
    let again: Vec<KeyedAnswer> = answers_of_others(ask_at_random(&callers[..1], 999));
    let both: Vec<KeyedAnswer> = seen.into_iter().chain(again).collect();
    assert!(agree(&both).is_superset(&answered));
    is_charged_once();
}
