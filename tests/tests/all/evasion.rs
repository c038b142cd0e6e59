//! Known evasions of the rules fail, and nobody is blocked for the deeds of others.
//!
//! `cargo bench -p assay-tests --bench evasion` prints all scores.

use assay_engine::{assessment::Exposure, score::Verdict, taxonomy::Category};
use assay_tests::{
    economy::{AssessedGroup, Economy, EconomySize, Survey},
    is_full,
    laundering::{self, Violation, beyond, tricks, tricks::COIN, violations},
    world::World,
};

#[test]
fn no_known_trick_passes_without_a_review() {
    for example in tricks() {
        let verdict = example.assess().verdict;
        assert!(matches!(verdict, Verdict::Review | Verdict::Block), "{}", example.title);
    }
}

/// The benchmark tests larger schemes.
#[test]
fn no_scheme_beyond_a_trace_passes_without_a_review() {
    let schemes = [
        beyond::lanes(9 * COIN, 20, 30),
        beyond::stepped(10 * COIN, 700),
        beyond::spread(9 * COIN, 2_000, 2_000),
        beyond::spread(90 * COIN, 20_000, 1_000),
        beyond::below_larger_inputs(40 * COIN, 2_000, 5_100),
    ];
    for example in schemes {
        let assessment = example.assess();
        assert_eq!(assessment.verdict, Verdict::Review, "{}: {assessment:#?}", example.title);
        // A path leads to the thief.
        let is_stolen = |line: &&Exposure| line.category == Some(Category::StolenFunds);
        let stolen = assessment.exposure.iter().find(is_stolen).unwrap();
        assert!(!stolen.paths.is_empty(), "{}", example.title);
    }
}

#[test]
fn no_known_innocent_is_blocked_and_neither_dust_nor_one_report_lifts_anybody() {
    for example in laundering::innocents() {
        let assessment = example.assess();
        assert_ne!(assessment.verdict, Verdict::Block, "{}: {assessment:#?}", example.title);
        let harmless = ["dust", "agreeing labels", "one anonymous report", "anybody can spend"];
        if harmless.iter().any(|words| example.title.contains(words)) {
            assert_eq!(assessment.verdict, Verdict::Allow, "{}: {assessment:#?}", example.title);
        }
    }
}

/// All money of a scheme is stolen or listed. The benchmark tests 100,000 schemes in a full run.
#[test]
fn no_random_scheme_passes_without_a_review() {
    let passing = violations(0..if is_full() { 2_000 } else { 500 });
    for Violation { scheme, score } in &passing {
        eprintln!("{score}  {scheme}");
    }
    assert!(passing.is_empty(), "{} schemes pass", passing.len());
}

/// Asserts that no innocent member of a simulated economy is blocked, and returns the verdicts.
fn innocents(seed: u64, size: EconomySize) -> AssessedGroup {
    let innocents = Survey::assess(&Economy::simulate(seed, size), seed).innocents;
    eprintln!("economy {seed}: {innocents}; {:?}", innocents.reasons);
    assert_eq!(innocents.indeterminate, 0, "economy {seed}: {innocents}");
    assert_eq!(innocents.blocked, 0, "economy {seed}: {innocents}");
    innocents
}

#[test]
fn innocents_of_a_small_economy_are_not_blocked() {
    assert!(innocents(0, EconomySize { people: 300, days: 120 }).count() > 100);
}

#[test]
fn nobody_is_accused_in_an_economy_without_crime() {
    let economy = Economy::simulate_honest(0, EconomySize { people: 200, days: 120 });
    let innocents = Survey::assess(&economy, 0).innocents;
    let accused = (innocents.reviewed, innocents.blocked, innocents.indeterminate);
    assert_eq!(accused, (0, 0, 0), "{innocents}: {:?}", innocents.reasons);
    assert!(innocents.count() > 100);
}

#[test]
fn innocents_of_several_economies_are_rarely_reviewed() {
    let size = EconomySize { people: 400, days: 359 };
    let economies = if is_full() { 5_u8 } else { 1 };
    let all: Vec<AssessedGroup> =
        (0..economies).map(|seed| innocents(u64::from(seed), size)).collect();
    let reviewed: usize = all.iter().map(|group| group.reviewed).sum();
    let count: usize = all.iter().map(AssessedGroup::count).sum();
    assert!(
        count > 300 * usize::from(economies) && reviewed * 200 <= 3 * count,
        "{reviewed} of {count}"
    );
}

#[test]
#[ignore = "needs more time"]
fn innocents_of_three_economies_over_a_year_are_rarely_reviewed() {
    for seed in 0..3 {
        let innocents = innocents(seed, EconomySize::YEAR);
        assert!(innocents.count() >= 1_000, "economy {seed}: {innocents}");
        assert!(innocents.reviewed * 100 <= innocents.count(), "economy {seed}: {innocents}");
    }
}

/// Asserts that short traces with compositions accuse nobody whom an unlimited trace does not accuse.
fn as_without_end(seed: u64, size: EconomySize) {
    let without_end = Economy::simulate(seed, size);
    let composed = Economy::simulate_in(seed, size, World::recorded);
    let mut further = 0;
    for owner in composed.innocents(seed) {
        let (expected, found) = (without_end.world.assess(owner), composed.world.assess(owner));
        further += usize::from(found.exposure.iter().any(|line| line.hops.is_none()));
        assert_ne!(found.verdict, Verdict::Block, "economy {seed}: {found:#?}");
        let is_new = found.verdict == Verdict::Review && expected.verdict != Verdict::Review;
        assert!(!is_new, "economy {seed}: {expected:#?} {found:#?}");
    }
    let count = composed.innocents(seed).len();
    eprintln!("economy {seed}: {further} of {count} innocents by compositions");
}

#[test]
fn compositions_accuse_no_innocent_of_a_small_economy() {
    as_without_end(0, EconomySize { people: 300, days: 120 });
}

#[test]
#[ignore = "needs more time"]
fn compositions_accuse_no_innocent_of_three_economies_over_a_year() {
    for seed in 0..3 {
        as_without_end(seed, EconomySize::YEAR);
    }
}
