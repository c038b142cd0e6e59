//! Scores of launderers and of innocent people: `cargo bench -p assay-tests --bench evasion`. With
//! `ASSAY_FULL` set, 100,000 random schemes instead of 2,000.
//!
//! Printed are the known tricks and the known innocents, each with its score and verdict; the share of random
//! schemes that pass without a review, and none may; and verdicts and scores in simulated economies.
#![expect(clippy::print_stdout, reason = "a program for people at a terminal")]

use assay_engine::assessment::Assessment;
use assay_tests::{
    economy::{Economy, Size, Survey},
    is_full,
    laundering::{Example, innocents, tricks, violations},
};

/// Schemes that are printed of those that pass.
const SHOWN: usize = 5;
/// Economies that are simulated.
const ECONOMIES: u64 = 3;

fn main() {
    table("Tricks", &tricks());
    table("Innocents", &innocents());
    let schemes = if is_full() { 100_000 } else { 2_000 };
    let passing = violations(0..schemes);
    println!("Random schemes: {} of {schemes} pass without a review", passing.len());
    for violation in passing.iter().take(SHOWN) {
        println!("  {:>5}  {}", violation.score, violation.scheme);
    }
    assert!(passing.is_empty(), "a scheme passes");
    for seed in 0..ECONOMIES {
        let economy = Economy::simulate(seed, Size::YEAR);
        let Survey { innocents, thieves, accounts } = Survey::of(&economy, seed);
        println!("Economy {seed}");
        println!("  innocents: {innocents}");
        println!("  thieves: {thieves}");
        println!("  criminals' accounts at exchanges: {accounts}");
    }
}

fn table(title: &str, examples: &[Example]) {
    println!("{title}");
    for example in examples {
        let Assessment { risk_score, verdict, .. } = example.assess();
        println!("  {risk_score:>5}  {:<13}  {}", verdict.as_str(), example.title);
    }
}
