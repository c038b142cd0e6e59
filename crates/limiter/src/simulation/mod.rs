//! Deterministic simulation of replicas, token stores and a network: under any fault, no window of any
//! limit admits more than it allows.
//!
//! A seed determines a run. `ASSAY_LIMITER_SEEDS` sets the number of seeds; the first seed that fails is printed and
//! can be run alone with `ASSAY_LIMITER_SEED`.
#![expect(clippy::print_stdout, reason = "prints the figures of a run")]

mod observer;
mod replica;
mod scenario;
mod slots;
mod world;

use std::{
    env,
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
    thread,
};

use assay_test_random::Random;
use scenario::Scenario;
use world::World;

/// Number of seeds of a normal run.
const SEEDS: u64 = 10_000;

/// A deliberate defect, to prove that the simulation detects it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// Token stores also grant the tokens that slots may spend.
    AllowanceNotWithheld,
    /// The allowance of a slot is used from its claim on.
    SlotUsedAtOnce,
    /// A lease's expiry is counted from the arrival of the response.
    ExpiryFromArrival,
    /// A view of the slots never expires.
    StaleViewsCount,
    /// A duplicated message is processed twice.
    DuplicatesProcessed,
    /// A token store that lost its memory grants at once.
    NoRecovery,
    /// A copy of another server's memory is accepted as the server's own.
    ForeignMemoryAccepted,
}

fn run(seed: u64, flaw: Option<Flaw>) -> World {
    let mut random = Random::new(seed);
    let mut scenario = Scenario::hostile(&mut random);
    scenario.settings.flaw = flaw;
    let mut world = World::new(scenario, random.next());
    world.run();
    world
}

#[derive(Default)]
struct Totals {
    admitted: AtomicU64,
    fallbacks: AtomicU64,
    unavailable: AtomicU64,
    returned: AtomicU64,
}

#[test]
fn no_window_exceeds_its_limit_under_any_fault() {
    let number = |name: &str| env::var(name).ok().map(|text| text.parse::<u64>().unwrap());
    if let Some(seed) = number("ASSAY_LIMITER_SEED") {
        let world = run(seed, None);
        println!("{:#?}\n{:?}", world.scenario, world.observer.violation);
        assert_eq!(world.observer.violation, None);
        return;
    }
    let seeds = number("ASSAY_LIMITER_SEEDS").unwrap_or(SEEDS);
    let (next, totals) = (AtomicU64::new(0), Totals::default());
    let failed: Mutex<Option<(u64, String)>> = Mutex::new(None);
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= seeds || failed.lock().unwrap().is_some() {
                        break;
                    }
                    let observer = run(seed, None).observer;
                    totals.admitted.fetch_add(observer.admitted, Ordering::Relaxed);
                    totals.fallbacks.fetch_add(observer.fallbacks, Ordering::Relaxed);
                    totals.unavailable.fetch_add(observer.unavailable, Ordering::Relaxed);
                    totals.returned.fetch_add(observer.returned, Ordering::Relaxed);
                    if let Some(violation) = observer.violation {
                        failed.lock().unwrap().get_or_insert((seed, violation));
                    }
                }
            });
        }
    });
    if let Some((seed, violation)) = failed.into_inner().unwrap() {
        panic!("ASSAY_LIMITER_SEED={seed}: {violation}");
    }
    let [admitted, fallbacks, unavailable, returned] =
        [totals.admitted, totals.fallbacks, totals.unavailable, totals.returned]
            .map(AtomicU64::into_inner);
    println!(
        "{seeds} seeds: {admitted} admitted, {fallbacks} tokens of fallbacks, {unavailable} unavailable, \
         {returned} tokens returned"
    );
    // The scenarios cover every outcome.
    assert!(admitted > 50 * seeds && fallbacks > 0 && unavailable > 0 && returned > 0);
}

#[test]
fn the_simulation_detects_deliberate_defects() {
    for flaw in [
        Flaw::AllowanceNotWithheld,
        Flaw::SlotUsedAtOnce,
        Flaw::ExpiryFromArrival,
        Flaw::StaleViewsCount,
        Flaw::DuplicatesProcessed,
        Flaw::NoRecovery,
        Flaw::ForeignMemoryAccepted,
    ] {
        let noticed = (0..SEEDS).find(|seed| run(*seed, Some(flaw)).observer.violation.is_some());
        println!("{flaw:?}: seed {noticed:?}");
        assert!(noticed.is_some(), "{flaw:?}");
    }
}

#[test]
fn without_faults_an_overloaded_limit_is_used_to_97_percent() {
    for (replicas, skew, share, least) in [
        (1, 0, 10, 970),
        (3, 0, 10, 970),
        (10, 0, 10, 970),
        (3, 900, 10, 900),
        (10, 900, 10, 900),
        (3, 0, 0, 970),
        (3, 0, 50, 970),
    ] {
        let mut world = World::new(Scenario::overloaded(replicas, skew, share), 7);
        world.run();
        assert_eq!(world.observer.violation, None);
        let used = world.used();
        println!("{replicas} replicas, skew {skew}, share {share}: {used} of 1000 used");
        assert!(used >= least && used <= 1000, "{replicas} {skew} {share}: {used}");
    }
}

#[test]
fn near_the_limit_few_requests_need_a_command() {
    for (a_minute, most) in [(10_000, 100), (100_000, 20)] {
        let mut world = World::new(Scenario::at_the_limit(3, a_minute), 11);
        world.run();
        let observer = &world.observer;
        assert_eq!(observer.violation, None);
        let per_mille = observer.commands * 1000 / observer.admitted;
        println!("{a_minute} a minute: {per_mille} commands for 1000 admitted requests");
        assert!(per_mille <= most, "{a_minute}: {per_mille}");
        assert!(observer.admitted > a_minute, "two minutes at the limit");
    }
}
