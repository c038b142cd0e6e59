//! Scores of launderers and of innocent people: `cargo bench -p assay-tests --bench evasion`. With
//! `ASSAY_FULL` set, 100,000 random schemes instead of 2,000, and 20,000 for the properties.
//!
//! Printed are the known tricks and the known innocents, each with its score and verdict; the share of random schemes
//! that pass without a review, which must be 0; the same of schemes over contracts of an account chain; and verdicts and scores in simulated economies.
#![expect(clippy::print_stdout, reason = "a program for people at a terminal")]

use assay_engine::{assessment::Assessment, taxonomy::Category};
use assay_tests::{
    accounts::contracts::scheme::{ContractOutcome, outcomes},
    cpu_time,
    economy::{Economy, EconomySize, Survey},
    is_full,
    laundering::{
        Example, beyond_a_trace, innocents,
        properties::{lowered_by_labels, weakened_by_compositions},
        tricks, violations,
    },
};

/// Largest number of passing schemes that are printed.
const SHOWN: usize = 5;
/// Economies that are simulated.
const ECONOMIES: u64 = 3;
/// Small economies that are simulated, and their size.
const SMALL_ECONOMIES: u64 = 5;
const SMALL: EconomySize = EconomySize { people: 400, days: 359 };

fn main() {
    through_contracts();
    beyond();
    table("Tricks", &tricks());
    table("Innocents", &innocents());
    let schemes = if is_full() { 100_000 } else { 2_000 };
    let passing = violations(0..schemes);
    println!("Random schemes: {} of {schemes} pass without a review", passing.len());
    for violation in passing.iter().take(SHOWN) {
        println!("  {:>5}  {}", violation.score, violation.scheme);
    }
    assert!(passing.is_empty(), "a scheme passes");
    let schemes = if is_full() { 20_000 } else { 2_000 };
    for (what, found) in [
        ("lowered by community labels", lowered_by_labels(0..schemes)),
        ("weakened by compositions", weakened_by_compositions(0..schemes)),
    ] {
        println!("Random schemes {what}: {} of {schemes}", found.len());
        found.iter().take(SHOWN).for_each(|scheme| println!("  {scheme}"));
    }
    for seed in 0..SMALL_ECONOMIES {
        group(&format!("Innocents of small economy {seed}"), &Economy::simulate(seed, SMALL), seed);
    }
    group("A year without any thief", &Economy::simulate_honest(0, EconomySize::YEAR), 0);
    for seed in 0..ECONOMIES {
        let economy = Economy::simulate(seed, EconomySize::YEAR);
        let Survey { innocents, thieves, accounts } = Survey::assess(&economy, seed);
        println!("Economy {seed}");
        println!("  innocents: {innocents}");
        println!("  thieves: {thieves}");
        println!("  criminals' accounts at exchanges: {accounts}");
    }
}

/// Prints the outcomes of random schemes over contracts of an account chain: 100,000 with `ASSAY_FULL` set, else 2,000.
fn through_contracts() {
    let schemes = if is_full() { 100_000 } else { 2_000 };
    let (mut laundered, mut allowed, mut least) = (0_u64, 0_u64, f64::MAX);
    for ContractOutcome { outcome, severe_part, .. } in outcomes(0..schemes) {
        allowed += u64::from(outcome.allowed > 0);
        least = least.min(severe_part);
        if outcome.is_laundered() {
            laundered += 1;
            println!("  {outcome}");
        }
    }
    println!(
        "Random schemes over contracts: {laundered} of {schemes} launder, {allowed} with allowed money; at least {least:.6} \
         of the stolen money is in ledgers"
    );
}

/// Prints the verdicts on innocents, and the reasons of those who are reviewed.
fn group(title: &str, economy: &Economy, seed: u64) {
    let Survey { innocents, .. } = Survey::assess(economy, seed);
    println!("{title}: {innocents}; indeterminate: {}", innocents.indeterminate);
    println!("  reasons of the reviewed: {:?}", innocents.reasons);
}

/// Prints verdicts on payees of schemes longer or wider than a trace, with true if a path leads to the thief, and the
/// time of a check.
fn beyond() {
    println!("Beyond a trace");
    for example in beyond_a_trace() {
        let (_, spent) = (example.assess(), cpu_time());
        let Assessment { risk_score, verdict, exposure, .. } = example.assess();
        let spent = cpu_time().saturating_sub(spent).as_secs_f64() * 1e3;
        let stolen = exposure.iter().find(|line| line.category == Some(Category::StolenFunds));
        let steps = stolen.and_then(|line| line.paths.first()).map_or(0, |path| path.steps.len());
        let verdict = verdict.as_str();
        println!(
            "  {risk_score:>5}  {verdict:<13}  {}; a path of {steps} steps; {spent:.1} ms of CPU time",
            example.title
        );
    }
}

fn table(title: &str, examples: &[Example]) {
    println!("{title}: verdict before the rules that were made for it; score and verdict");
    for example in examples {
        let Assessment { risk_score, verdict, .. } = example.assess();
        let before = example.before.unwrap_or("-");
        println!("  {before:<6}  {risk_score:>5}  {:<13}  {}", verdict.as_str(), example.title);
    }
}
