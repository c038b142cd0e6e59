//! Properties of verdicts over random schemes and every trick: nothing that anybody can add lowers a score, and
//! compositions weaken no verdict.

use std::ops::Range;

use assay_address::ChainId;
use assay_tests::{
    is_full,
    laundering::{
        properties::{lowered_by_labels, weakened_by, weakened_by_compositions},
        weakening,
    },
};

/// Random schemes. The benchmark `evasion` tests 20,000.
fn schemes() -> Range<u64> {
    0..if is_full() { 2_000 } else { 500 }
}

#[test]
fn a_community_label_never_lowers_a_score() {
    let lowered = lowered_by_labels(schemes());
    assert!(lowered.is_empty(), "{lowered:#?}");
}

#[test]
fn compositions_weaken_no_verdict() {
    let weakened = weakened_by_compositions(schemes());
    assert!(weakened.is_empty(), "{weakened:#?}");
}

#[test]
fn compositions_weaken_no_verdict_on_a_scheme_that_weakens_a_trace() {
    for scheme in weakening::within_a_trace(ChainId::BTC) {
        let weakened = weakened_by(scheme.scene, 300);
        assert_eq!(weakened, None, "{}", scheme.title);
    }
}
