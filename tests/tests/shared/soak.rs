//! Endurance test: far more requests than a limit allows, killed servers, and a restarting Redis. `just soak` runs it
//! for ten minutes.

use std::{
    collections::VecDeque,
    env,
    sync::{
        Mutex, RwLock,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use assay_tests::{Caller, Server, holds_within, platform::Platform, repeat, tenant};

use crate::support::{ADDRESSES, charged};

/// Default duration in seconds; `ASSAY_SOAK_SECONDS` overrides it.
const SECONDS: u64 = 120;
/// Requests per second that the limit allows.
const LIMIT: u64 = 20;
const CALLERS: u64 = 20;
const PAUSE: Duration = Duration::from_millis(100);
/// Time before a kill whose charges may be unwritten.
const UNWRITTEN: Duration = Duration::from_secs(1);
/// Tolerated growth of a server's memory, in bytes.
const SLACK_BYTES: u64 = 48 << 20;

/// Servers that are killed and replaced, except for the first one.
struct Fleet {
    servers: RwLock<Vec<(Server, Caller, Caller)>>,
    /// Times of the last answers of each server.
    answered: Vec<Mutex<VecDeque<Instant>>>,
}

#[derive(Debug, Default)]
struct AnswerCounts {
    admitted: AtomicU64,
    refused: AtomicU64,
    /// Requests that a killed server did not answer but may have charged.
    cut: AtomicU64,
    quiet_served: AtomicU64,
    quiet_waited: AtomicU64,
}

impl Fleet {
    fn start(platform: &Platform, keys: &[String; 2]) -> Self {
        let start = |_| started(platform, keys);
        let servers: Vec<_> = (0..3).map(start).collect();
        let answered = servers.iter().map(|_| Mutex::default()).collect();
        Self { servers: RwLock::new(servers), answered }
    }

    /// Sends a check to one of the servers; returns its status, or `None` if there was no answer.
    fn check(&self, index: usize, is_quiet: bool) -> Option<u16> {
        let servers = self.servers.read().unwrap();
        let (_, loud, quiet) = &servers[index % servers.len()];
        let caller = if is_quiet { quiet.clone() } else { loud.clone() };
        let index = index % servers.len();
        drop(servers);
        let status = caller.try_check("btc", ADDRESSES[0]).ok()?.status;
        if status == 200 {
            let mut answered = self.answered[index].lock().unwrap();
            answered.push_back(Instant::now());
            while answered.front().is_some_and(|at| at.elapsed() > UNWRITTEN * 2) {
                answered.pop_front();
            }
        }
        Some(status)
    }

    /// Kills a server and starts another one in its place. Returns the number of answers whose charges may be
    /// unwritten.
    fn replace(&self, index: usize, platform: &Platform, keys: &[String; 2]) -> u64 {
        let mut servers = self.servers.write().unwrap();
        let killed = Instant::now();
        servers[index].0.signal("KILL");
        let _ = servers[index].0.wait();
        let answered = self.answered[index].lock().unwrap();
        let unwritten =
            answered.iter().filter(|at| killed.saturating_duration_since(**at) < UNWRITTEN);
        let unwritten = unwritten.count() as u64;
        drop(answered);
        servers[index] = started(platform, keys);
        unwritten
    }
}

fn started(platform: &Platform, keys: &[String; 2]) -> (Server, Caller, Caller) {
    let server = platform.server(&[]);
    let [loud, quiet] = keys.each_ref().map(|key| server.caller(key));
    (server, loud, quiet)
}

fn manifests() -> String {
    let plan = |name: &str, limit: &str| {
        format!(
            "apiVersion: assay.dev/v1alpha1\nkind: Plan\nmetadata: {{name: {name}}}\nspec:\n  displayName: \
             Plan {name}\n  apiAccess: true\n  limits:\n  - {limit}\n---\n"
        )
    };
    let loud = format!("{{name: burst, requests: {LIMIT}, window: 1s, counts: checks}}");
    // A sixteenth of a tenth, the allowance of one server, is enough for a quiet tenant.
    let quiet = "{name: burst, requests: 8000, window: 10s, counts: checks}";
    let tenants = format!("{}\n---\n{}", tenant("acme", "loud"), tenant("quiet", "quiet"));
    [plan("loud", &loud), plan("quiet", quiet), tenants].concat()
}

#[test]
#[ignore = "needs more time"]
fn charges_equal_what_was_admitted_through_overload_kills_and_a_restart_of_redis() {
    let seconds = env::var("ASSAY_SOAK_SECONDS").map_or(SECONDS, |text| text.parse().unwrap());
    let length = Duration::from_secs(seconds);
    let mut platform = Platform::start();
    platform.apply(&manifests());
    let keys = ["acme", "quiet"].map(|tenant| {
        platform.assay(&["keys", "create", "--tenant", tenant]).ok().stdout.trim().to_owned()
    });
    let fleet = Fleet::start(&platform, &keys);
    let (counted, over) = (AnswerCounts::default(), AtomicBool::new(false));
    let (mut unwritten, mut kills, mut peaks) = (0, 0, Vec::new());
    let begun = Instant::now();
    thread::scope(|scope| {
        for number in 0..CALLERS {
            let (fleet, counted, over) = (&fleet, &counted, &over);
            scope.spawn(move || {
                let mut turn = usize::try_from(number).unwrap();
                repeat(
                    PAUSE,
                    || over.load(Ordering::Relaxed),
                    || {
                        let outcome = match fleet.check(turn, false) {
                            Some(200) => &counted.admitted,
                            Some(_) => &counted.refused,
                            None => &counted.cut,
                        };
                        outcome.fetch_add(1, Ordering::Relaxed);
                        turn += 1;
                    },
                );
            });
        }
        let (fleet_of_quiet, counted_quiet, over_quiet) = (&fleet, &counted, &over);
        scope.spawn(move || {
            let mut turn = 0;
            repeat(
                Duration::from_secs(1),
                || over_quiet.load(Ordering::Relaxed),
                || {
                    // It asks the next server where one is gone, or has no allowance yet.
                    let is_served =
                        holds_within(Duration::from_millis(250), Duration::from_secs(3), || {
                            turn += 1;
                            fleet_of_quiet.check(turn, true) == Some(200)
                        });
                    let outcome = if is_served {
                        &counted_quiet.quiet_served
                    } else {
                        &counted_quiet.quiet_waited
                    };
                    outcome.fetch_add(1, Ordering::Relaxed);
                },
            );
        });
        // One kill a minute, or ten in a shorter run, and one restart of Redis in the middle.
        let rounds = 10.max(seconds / 60);
        for round in 0..rounds {
            // The length of the test is given.
            thread::sleep(length / u32::try_from(rounds).unwrap());
            if round == rounds / 2 {
                platform.redis.kill();
                platform.redis.start_again();
            }
            let index = 1 + usize::try_from(round % 2).unwrap();
            unwritten += fleet.replace(index, &platform, &keys);
            kills += 1;
            peaks.push(fleet.servers.read().unwrap()[0].0.peak_resident_bytes());
        }
        over.store(true, Ordering::Relaxed);
    });
    let elapsed = begun.elapsed();
    for (server, ..) in fleet.servers.write().unwrap().iter_mut() {
        server.signal("TERM");
        assert_eq!(server.wait(), Some(0));
    }
    let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    let (admitted, cut) = (count(&counted.admitted), count(&counted.cut));
    let quiet = count(&counted.quiet_served);
    let written = charged(&platform);
    eprintln!(
        "{} s, {kills} kills: {admitted} admitted and {} refused of the loud tenant, {quiet} of the quiet one; \
         {written} charges, {unwritten} may be unwritten, {cut} requests cut off; peak memory {peaks:?}",
        elapsed.as_secs(),
        count(&counted.refused),
    );
    assert!(admitted <= LIMIT * (elapsed.as_secs() + 2), "more than the limit: {admitted}");
    assert!(count(&counted.refused) > admitted, "no overload");
    assert!(written + unwritten >= admitted + quiet, "charges are lost");
    assert!(written <= admitted + quiet + cut, "charges without an answer");
    assert_eq!(count(&counted.quiet_waited), 0, "the quiet tenant was kept waiting");
    let (first, last) = (peaks[2], *peaks.last().unwrap());
    assert!(last <= first + SLACK_BYTES, "memory grows: {peaks:?}");
}
