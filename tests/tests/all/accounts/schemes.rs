//! Random laundering schemes on account chains.

use assay_tests::{
    accounts::scheme::{Moves, Outcome, outcomes},
    is_full,
};

/// Asserts that no scheme launders, and that the schemes are no trivial ones.
fn assert_nothing_is_laundered(moves: Moves) {
    let count = if is_full() { 4_000 } else { 800 };
    let (mut laundered, mut largest, mut allowed): (Vec<Outcome>, u64, u32) = (vec![], 0, 0);
    for outcome in outcomes(0..count, moves) {
        allowed += u32::from(outcome.allowed > 0);
        largest = largest.max(outcome.gain() * 100 / outcome.stolen);
        if outcome.is_laundered() {
            eprintln!("{outcome}");
            laundered.push(outcome);
        }
    }
    eprintln!(
        "{moves:?}: {count} schemes, {allowed} with allowed money, at most {largest} % gained"
    );
    assert!(laundered.is_empty(), "{} schemes launder", laundered.len());
    assert!(allowed > 0, "the engine allows nobody");
}

#[test]
fn no_scheme_of_payments_launders() {
    assert_nothing_is_laundered(Moves::Payments);
}

#[test]
fn no_scheme_of_swaps_is_allowed_with_a_complete_answer() {
    assert_nothing_is_laundered(Moves::Swaps);
}

/// Parts of less than a thousand dollars beside rings, which one of the first 4,000 schemes found.
#[test]
fn small_parts_beside_rings_are_not_allowed_3428() {
    for outcome in outcomes(3_428..3_429, Moves::Swaps) {
        assert!(!outcome.is_laundered(), "{outcome}");
    }
}
