//! Random laundering schemes over contracts.

use assay_tests::{
    accounts::contracts::scheme::{ContractOutcome, outcomes},
    is_full,
};

/// The least part of the stolen money that must be in ledgers in the end; rounding takes a little.
const LEAST_PART: f64 = 0.9999;

#[test]
fn no_scheme_over_contracts_launders_and_no_stolen_money_is_lost() {
    let count = if is_full() { 20_000 } else { 4_000 };
    let (mut failed, mut largest, mut allowed, mut least) = (0_u32, 0, 0_u32, f64::MAX);
    for ContractOutcome { outcome, severe_part, .. } in outcomes(0..count) {
        allowed += u32::from(outcome.allowed > 0);
        largest = largest.max(outcome.gain() * 100 / outcome.stolen);
        least = least.min(severe_part);
        if outcome.is_laundered() || severe_part < LEAST_PART {
            failed += 1;
            eprintln!("{severe_part:.4} of the stolen is left; {outcome}");
        }
    }
    eprintln!(
        "{count} schemes, {allowed} with allowed money, at most {largest} % gained, \
         at least {least:.6} of the stolen in ledgers"
    );
    assert_eq!(failed, 0, "schemes that launder, or that lose stolen money");
    assert!(allowed > 0, "the engine allows nobody");
}
