//! Whoever knows the rules does not walk around them, and nobody is blocked for what others did.
//!
//! `cargo bench -p assay-tests --bench evasion` prints the same with all scores.

use std::{
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
    thread,
};

use assay_engine::score::Verdict;
use assay_tests::{
    economy::{Economy, Group, Size, Survey},
    is_full,
    laundering::{self, Violation, tricks, violations},
};

/// Schemes that one thread looks at in one go.
const AT_ONCE: u64 = 50;

/// A trick that still works: fees of a block count as newly mined, whoever paid them.
const KNOWN_GAP: &str = "as a miner's fee";

#[test]
fn no_known_trick_passes_without_a_review() {
    for example in tricks() {
        let verdict = example.assess().verdict;
        if example.title.ends_with(KNOWN_GAP) {
            assert_eq!(verdict, Verdict::Allow, "closed: list it among the others");
        } else {
            assert!(matches!(verdict, Verdict::Review | Verdict::Block), "{}", example.title);
        }
    }
}

#[test]
fn no_known_innocent_is_blocked_and_dust_lifts_nobody() {
    for example in laundering::innocents() {
        let assessment = example.assess();
        assert_ne!(assessment.verdict, Verdict::Block, "{}: {assessment:#?}", example.title);
        if example.title.contains("dust") || example.title.contains("agreeing labels") {
            assert_eq!(assessment.verdict, Verdict::Allow, "{}: {assessment:#?}", example.title);
        }
    }
}

/// All money of a scheme is stolen or listed.
#[test]
fn no_random_scheme_passes_without_a_review() {
    let schemes: u64 = if is_full() { 100_000 } else { 2_000 };
    let (next, passing) = (AtomicU64::new(0), Mutex::new(Vec::<Violation>::new()));
    let look = || {
        loop {
            let first = next.fetch_add(AT_ONCE, Ordering::Relaxed);
            if first >= schemes {
                break;
            }
            let found = violations(first..schemes.min(first + AT_ONCE));
            passing.lock().unwrap().extend(found);
        }
    };
    let workers = thread::available_parallelism().map_or(1, std::num::NonZero::get);
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(look);
        }
    });
    let passing = passing.into_inner().unwrap();
    for Violation { scheme, score } in &passing {
        eprintln!("{score}  {scheme}");
    }
    assert!(passing.is_empty(), "{} of {schemes} schemes pass", passing.len());
}

/// Verdicts on the innocents of a simulated economy, none of whom is blocked.
fn innocents(seed: u64, size: Size) -> Group {
    let innocents = Survey::of(&Economy::simulate(seed, size), seed).innocents;
    eprintln!("economy {seed}: {innocents}");
    assert_eq!(innocents.blocked, 0, "economy {seed}: {innocents}");
    innocents
}

#[test]
fn innocents_of_a_small_economy_are_not_blocked() {
    assert!(innocents(0, Size { people: 300, days: 120 }).count() > 100);
}

#[test]
#[ignore = "needs more time"]
fn innocents_of_three_economies_over_a_year_are_rarely_reviewed() {
    for seed in 0..3 {
        let innocents = innocents(seed, Size::YEAR);
        assert!(innocents.count() >= 1_000, "economy {seed}: {innocents}");
        assert!(innocents.reviewed * 50 <= innocents.count(), "economy {seed}: {innocents}");
    }
}
