//! The tests of a recognition, and the confidence that follows from them.

use std::collections::BTreeSet;

use assay_engine::utxo::coinjoin::{CoinjoinKind, RecognitionTest as Test, RecognizedKind};

use super::common::{Candidate, coins, segwit, taproot, witness_script};

fn kinds() -> Vec<RecognizedKind> {
    let joint = CoinjoinKind::ALL.map(RecognizedKind::Joint);
    joint.into_iter().chain([RecognizedKind::Entry]).collect()
}

#[test]
fn identifiers_and_sentences_are_unique() {
    let names: BTreeSet<_> = Test::ALL.into_iter().map(Test::as_str).collect();
    let sentences: BTreeSet<_> = Test::ALL.into_iter().map(Test::sentence).collect();
    assert_eq!((names.len(), sentences.len()), (Test::ALL.len(), Test::ALL.len()));
    assert!(sentences.iter().all(|sentence| sentence.ends_with('.')));
    let kinds: BTreeSet<_> = kinds().into_iter().map(RecognizedKind::as_str).collect();
    assert_eq!(
        kinds.into_iter().collect::<Vec<_>>(),
        [
            "coinjoin_entry",
            "generic",
            "joinmarket",
            "privatesend",
            "wasabi_1",
            "wasabi_2",
            "whirlpool"
        ]
    );
}

#[test]
fn a_kind_expects_its_tests_in_order() {
    for kind in kinds() {
        let expected = Test::expected_of(kind);
        assert!(!expected.is_empty() && expected.is_sorted(), "{kind:?}");
    }
}

#[test]
fn the_confidence_follows_from_the_tests() {
    let spent = [5_010_000, 5_000_000, 5_010_000, 5_000_000, 5_010_000];
    let round = Candidate::new(coins(segwit, 1, &spent), coins(segwit, 100, &[5_000_000; 5]));
    let found = round.recognition().unwrap();
    let whirlpool = RecognizedKind::Joint(CoinjoinKind::Whirlpool);
    assert_eq!((found.kind, &found.passed[..]), (whirlpool, Test::expected_of(whirlpool)));
    assert_eq!(found.confidence, CoinjoinKind::Whirlpool.confidence());
    assert_eq!(found.confidence.percent(), 80);

    let mut unknown = round.clone().with_unknown_inputs();
    let found = unknown.recognition().unwrap();
    assert!(!found.has_passed(Test::InputsAccountForOutputs));
    assert_eq!(found.confidence.percent(), 65, "15 less for one test");
    unknown.outputs[0].0 = witness_script(1);
    assert_eq!(unknown.recognition().unwrap().confidence.percent(), 50, "30 less for two");
}

#[test]
fn a_generic_round_passes_no_test_of_a_protocol() {
    let spent = [777_100; 6];
    let round = Candidate::new(coins(taproot, 1, &spent), coins(taproot, 100, &[776_000; 6]));
    let found = round.recognition().unwrap();
    assert_eq!(found.kind, RecognizedKind::Joint(CoinjoinKind::Generic));
    assert_eq!(
        found.passed,
        [Test::EqualOutputs, Test::DistinctOwners, Test::InputsAccountForOutputs]
    );
    assert_eq!(found.confidence.percent(), 50);
}
