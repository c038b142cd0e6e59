//! Properties of any transaction.

use assay_address::ChainId;
use assay_engine::utxo::ScriptOwner;
use proptest::{prelude::*, sample::select};

use super::common::{Candidate, OwnedAmount, legacy, segwit, taproot, time};

/// Values that rules test, and any others.
fn value() -> impl Strategy<Value = u64> {
    prop_oneof![
        4 => select(vec![10_000_000, 10_985_000, 5_000_000, 5_010_000, 100_001, 43_046_721, 8_388_608]),
        2 => 0..100_000_000_u64,
        1 => Just(u64::MAX),
        1 => any::<u64>(),
    ]
}

fn owner() -> impl Strategy<Value = ScriptOwner> {
    (0..400_u64, 0..8_u8).prop_map(|(number, form)| match form {
        0 => taproot(number),
        1 => legacy(number),
        2 => ScriptOwner::Script([u8::try_from(number % 256).unwrap(); 32]),
        3 => ScriptOwner::Witness(0, vec![0; usize::try_from(number % 41).unwrap()]),
        _ => segwit(number),
    })
}

fn coin() -> impl Strategy<Value = OwnedAmount> {
    (owner(), value())
}

prop_compose! {
    fn transaction()(
        chain in select(vec!["btc", "dash", "bch", "ltc"]),
        year in 2009..2030_i16,
        inputs in prop::collection::vec(prop::option::weighted(0.9, coin()), 0..40),
        outputs in prop::collection::vec(coin(), 0..40),
    ) -> Candidate {
        let chain: ChainId = chain.parse().unwrap();
        Candidate { chain, time: time(year, 7, 1), inputs, outputs }
    }
}

prop_compose! {
    /// Parties with an equal output and change each, so that most rules are reached.
    fn round()(
        parties in prop::collection::vec((0..90_000_000_u64, 0..50_000_u64, any::<bool>()), 2..16),
        equal in select(vec![10_985_000, 5_000_000, 72_261_903]),
        market in any::<bool>(),
        year in 2012..2026_i16,
    ) -> Candidate {
        let (mut inputs, mut outputs) = (Vec::new(), Vec::new());
        for (party, (change, fee, split)) in (0_u64..).zip(parties) {
            let paid = if market { equal + change - fee } else { equal + change + fee };
            if split {
                inputs.push((segwit(party * 10), paid / 3));
                inputs.push((segwit(party * 10 + 1), paid - paid / 3));
            } else {
                inputs.push((segwit(party * 10), paid));
            }
            outputs.push((segwit(party * 10 + 2), equal));
            if change > 1_000 {
                outputs.push((segwit(party * 10 + 3), change));
            }
        }
        Candidate::new(inputs, outputs).on(year, 7, 1)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn no_transaction_causes_a_panic(transaction in transaction()) {
        let _ = (transaction.recognition(), transaction.is_possible(), transaction.payjoin());
    }

    #[test]
    fn the_order_makes_no_difference(
        (one, other) in prop_oneof![transaction(), round()].prop_flat_map(|one| {
            let inputs = Just(one.inputs.clone()).prop_shuffle();
            let outputs = Just(one.outputs.clone()).prop_shuffle();
            (Just(one), inputs, outputs).prop_map(|(one, inputs, outputs)| {
                let (chain, time) = (one.chain, one.time);
                (one, Candidate { chain, time, inputs, outputs })
            })
        }),
    ) {
        prop_assert_eq!(one.recognition(), other.recognition());
        prop_assert_eq!(one.is_possible(), other.is_possible());
        prop_assert_eq!(one.payjoin(), other.payjoin());
    }

    #[test]
    fn a_recognition_is_explained(transaction in prop_oneof![transaction(), round()]) {
        if let Some(found) = transaction.recognition() {
            prop_assert_eq!(transaction.kind(), found.kind.joint());
            prop_assert!(transaction.is_possible() || !found.kind.is_joint());
            prop_assert!(found.passed.is_sorted() && !found.passed.is_empty());
            prop_assert!((10..=95).contains(&found.confidence.percent()));
        }
    }

    #[test]
    fn hiding_inputs_makes_nothing_impossible(mut round in round(), hidden in any::<u32>()) {
        let was = round.is_possible();
        for (place, input) in round.inputs.iter_mut().enumerate() {
            if hidden >> (place % 32) & 1 == 1 {
                *input = None;
            }
        }
        prop_assert!(!was || round.is_possible());
    }

    #[test]
    fn payments_to_data_or_repeated_recipients_are_no_round(mut round in round(), data in any::<bool>()) {
        let last = round.outputs.last().unwrap().clone();
        round.outputs.push(if data { (ScriptOwner::Script([9; 32]), 0) } else { last });
        prop_assert_eq!(round.kind(), None);
    }

    #[test]
    fn one_owner_makes_no_round(mut round in round()) {
        for input in round.inputs.iter_mut().flatten() {
            input.0 = segwit(5);
        }
        prop_assert_eq!(round.kind(), None);
    }
}
