//! Tests of Wasabi 1 and 2 at the limits of their rules.

use assay_engine::utxo::{
    ScriptOwner,
    coinjoin::{CoinjoinKind, RecognitionTest},
};
use assay_test_random::Random;

use super::common::{Candidate, coins, script, segwit, taproot, witness_script};

/// A round of Wasabi 2: inputs of any value, outputs of the protocol's denominations.
fn wasabi_2() -> Candidate {
    let mut random = Random::new(11);
    let spent: Vec<u64> = (0..60).map(|_| random.within(500_000, 50_000_000)).collect();
    let mut paid = Vec::new();
    for (value, count) in [
        (134_217_728, 2),
        (43_046_721, 3),
        (28_697_814, 4),
        (20_000_000, 4),
        (8_388_608, 6),
        (4_782_969, 7),
        (1_062_882, 8),
        (500_000, 5),
        (65_536, 5),
        (5_000, 3),
    ] {
        paid.extend(vec![value; count]);
    }
    paid.extend([387_276, 62_667_834, 13_519_395_680]);
    let mut outputs = coins(segwit, 1_000, &paid);
    for (place, output) in outputs.iter_mut().enumerate().filter(|(place, _)| place % 3 == 0) {
        output.0 = taproot(2_000 + place as u64);
    }
    Candidate::new(coins(segwit, 1, &spent), outputs).on(2023, 3, 1)
}

#[test]
fn wasabi_2_is_known_by_its_values() {
    assert_eq!(wasabi_2().kind(), Some(CoinjoinKind::Wasabi2));
    assert_eq!(wasabi_2().with_unknown_inputs().kind(), Some(CoinjoinKind::Wasabi2));
    assert_eq!(wasabi_2().on(2022, 1, 1).kind(), None, "before it existed");
    let mut on_litecoin = wasabi_2();
    on_litecoin.chain = "ltc".parse().unwrap();
    assert_eq!(on_litecoin.kind(), None);
    // A coordinator may allow payments to any form.
    let mut paying = wasabi_2();
    paying.outputs[0].0 = script(1);
    assert_eq!(paying.kind(), Some(CoinjoinKind::Wasabi2));
}

/// A round of few parties: two or three coins each, outputs of the protocol's denominations, and change.
fn small_wasabi_2(inputs: usize) -> Candidate {
    let mut random = Random::new(17);
    let spent: Vec<u64> = (0..inputs).map(|_| random.within(400_000, 30_000_000)).collect();
    let mut paid =
        vec![14_348_907, 14_348_907, 8_388_608, 8_388_608, 5_000_000, 5_000_000, 5_000_000];
    paid.extend([1_594_323, 1_594_323, 1_062_882, 200_000, 200_000, 65_536, 65_536, 20_000, 5_000]);
    paid.extend([38_114_201, 6_007_313, 911_402, 77_518, 9_340]);
    Candidate::new(coins(segwit, 1, &spent), coins(taproot, 100, &paid)).on(2024, 9, 1)
}

#[test]
fn wasabi_2_has_small_rounds() {
    for inputs in [13, 14, 20] {
        let round = small_wasabi_2(inputs);
        assert_eq!(round.kind(), Some(CoinjoinKind::Wasabi2), "{inputs} inputs");
        assert_eq!(round.clone().with_unknown_inputs().kind(), Some(CoinjoinKind::Wasabi2));
        assert!(round.is_possible());
        // Of one party, or of an earlier time, it is none.
        let mut alone = round.clone();
        for (place, input) in alone.inputs.iter_mut().enumerate() {
            input.as_mut().unwrap().0 = segwit(place as u64 % 3);
        }
        assert_eq!(alone.kind(), None);
        assert_eq!(round.on(2022, 5, 31).kind(), None);
    }
    assert_eq!(small_wasabi_2(6).kind(), None);
}

#[test]
fn wasabi_2_needs_values_that_people_do_not_pay() {
    let mut payroll = small_wasabi_2(14);
    for (place, output) in payroll.outputs.iter_mut().enumerate() {
        output.1 = [1_000_000, 2_000_000, 5_000_000, 500_000, 200_000][place % 5];
    }
    assert_eq!(payroll.kind(), None);
}

#[test]
fn an_early_wasabi_round_pays_the_coordinator() {
    let spent = [12_345_678, 30_000_001, 10_100_000, 15_000_000, 11_000_000];
    let mut paid = vec![10_000_000; 4];
    paid.extend([2_000_000, 19_900_000, 4_900_000]);
    let mut round = Candidate::new(coins(segwit, 1, &spent), coins(segwit, 100, &paid));
    round = round.on(2018, 9, 1);
    assert_eq!(round.kind(), None);
    let coordinator = hex::decode("869f5c7a4cd7776ae0c0fcd9c3315abb239a9f0d").unwrap();
    round.outputs.push((ScriptOwner::Witness(0, coordinator), 60_000));
    assert_eq!(round.kind(), Some(CoinjoinKind::Wasabi1));
}

/// A round of Wasabi 1.1: each party gets a base output, the richer ones also higher levels, and
/// change; each pays the coordinator.
fn wasabi_1(parties: u64, levels: &[u32]) -> Candidate {
    let (base, fee) = (10_985_000, 15_000);
    // With about one seed in three, single coins of the last test account for the outputs by chance.
    let mut random = Random::new(1);
    let (mut spent, mut paid) = (Vec::new(), Vec::new());
    for party in 0..parties {
        let change = random.within(200_000, 9_000_000);
        let level = levels.get(usize::try_from(party).unwrap() / 2);
        // The levels' base is a little smaller than the modal value.
        let more = level.map_or(0, |level| (base - 900) << level);
        paid.extend([base, change]);
        paid.extend((more > 0).then_some(more));
        spent.push(base + change + more + fee);
    }
    Candidate::new(coins(segwit, 1, &spent), coins(segwit, 1_000, &paid)).on(2020, 6, 1)
}

#[test]
fn wasabi_1_is_told_by_its_base_and_its_levels() {
    for (round, levels) in
        [(wasabi_1(30, &[]), false), (wasabi_1(30, &[1, 2, 3]), true), (wasabi_1(10, &[1]), true)]
    {
        let found = round.recognition().unwrap();
        assert_eq!(round.kind(), Some(CoinjoinKind::Wasabi1));
        assert!(found.has_passed(RecognitionTest::ProtocolDenomination));
        assert_eq!(found.has_passed(RecognitionTest::DenominationLevels), levels, "{found:?}");
        assert_eq!(round.clone().with_unknown_inputs().kind(), Some(CoinjoinKind::Wasabi1));
        assert_eq!(round.clone().on(2023, 5, 31).kind(), Some(CoinjoinKind::Wasabi1));
        assert_ne!(round.clone().on(2023, 6, 1).kind(), Some(CoinjoinKind::Wasabi1));
        assert_ne!(round.on(2018, 6, 30).kind(), Some(CoinjoinKind::Wasabi1));
    }
    assert_ne!(wasabi_1(9, &[]).kind(), Some(CoinjoinKind::Wasabi1), "too few equal outputs");
}

#[test]
fn wasabi_1_with_other_forms_needs_its_sums() {
    let mut round = wasabi_1(30, &[1, 2]);
    round.outputs[0].0 = witness_script(7);
    assert_eq!(round.kind(), Some(CoinjoinKind::Wasabi1));
    assert_eq!(round.with_unknown_inputs().kind(), None);
}

#[test]
fn wasabi_1_has_parties_of_several_coins() {
    let mut round = wasabi_1(30, &[1, 2]);
    // Of nine parties in ten, no single coin pays for the outputs.
    for place in (0..30).filter(|place| place % 10 != 0) {
        let (owner, value) = round.inputs[place].clone().unwrap();
        let first = value * (20 + place as u64) / 100;
        round.inputs[place] = Some((owner, first));
        round.inputs.push(Some((segwit(500 + place as u64), value - first)));
    }
    assert_eq!(round.kind(), Some(CoinjoinKind::Wasabi1));
    let found = round.recognition().unwrap();
    assert!(!found.has_passed(RecognitionTest::InputsAccountForOutputs), "{found:?}");
}
