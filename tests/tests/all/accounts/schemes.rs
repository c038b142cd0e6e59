//! Random laundering schemes on account chains.

use assay_tests::{
    accounts::scheme::{Outcome, outcomes},
    is_full,
};

#[test]
fn no_scheme_of_payments_launders() {
    let count = if is_full() { 4_000 } else { 800 };
    let (mut laundered, mut largest, mut allowed): (Vec<Outcome>, u64, u32) = (vec![], 0, 0);
    for outcome in outcomes(0..count) {
        allowed += u32::from(outcome.allowed > 0);
        largest = largest.max(outcome.gain() * 100 / outcome.stolen);
        if outcome.is_laundered() {
            eprintln!("{outcome}");
            laundered.push(outcome);
        }
    }
    eprintln!("{count} schemes, {allowed} with allowed money, at most {largest} % gained");
    assert!(laundered.is_empty(), "{} schemes launder", laundered.len());
    assert!(allowed > 0, "the engine allows nobody");
}
