//! Nothing that a thief adds weakens a verdict: neither labels, nor steps, nor entries, nor small parts.

use assay_address::ChainId;
use assay_engine::score::Verdict;
use assay_tests::laundering::{Example, weakening};

fn assert_is_reviewed(example: &Example) {
    let assessment = example.assess();
    let is_reviewed = matches!(assessment.verdict, Verdict::Review | Verdict::Block);
    assert!(is_reviewed, "{}: {assessment:#?}", example.title);
}

fn chains() -> [ChainId; 2] {
    [ChainId::BTC, "ltc".parse().unwrap()]
}

#[test]
fn no_scheme_that_weakens_a_trace_passes_without_a_review() {
    for scheme in chains().into_iter().flat_map(weakening::within_a_trace) {
        assert_is_reviewed(&scheme.traced());
    }
}

#[test]
fn no_scheme_that_weakens_a_trace_passes_with_compositions() {
    for scheme in chains().into_iter().flat_map(weakening::within_a_trace) {
        assert_is_reviewed(&scheme.composed());
    }
}

#[test]
fn no_scheme_below_the_limits_of_a_trace_passes_without_a_review() {
    for scheme in chains().into_iter().flat_map(weakening::beyond_a_trace) {
        assert_is_reviewed(&scheme.composed());
    }
}
