//! Tests of the wider rule for clusters: true for all real rounds with any inputs hidden, false for ordinary payments.

use assay_engine::utxo::ScriptOwner;
use assay_test_random::Random;

use super::{
    common::{self, Candidate, coins, legacy, script, segwit, taproot},
    data, lookalikes, real,
};

/// The round with other script forms of the same owners.
fn with_other_forms(mut round: Candidate) -> Candidate {
    let other = |owner: &ScriptOwner| {
        let bytes = owner.to_bytes();
        let number = bytes
            .iter()
            .fold(7_u64, |sum, byte| sum.wrapping_mul(0x0000_0100_0000_01b3) ^ u64::from(*byte));
        [legacy, script, taproot, segwit][usize::try_from(number % 4).unwrap()](number)
    };
    for (owner, _) in round.outputs.iter_mut().chain(round.inputs.iter_mut().flatten()) {
        *owner = other(owner);
    }
    round
}

/// The round with half of its inputs unknown, in several ways.
fn with_half_the_inputs(round: &Candidate) -> Vec<Candidate> {
    let mut by_value: Vec<usize> = (0..round.inputs.len()).collect();
    by_value.sort_by_key(|index| round.inputs[*index].as_ref().map(|(_, value)| *value));
    let half = by_value.len() / 2;
    let ways = [
        by_value[..half].to_vec(),
        by_value[half..].to_vec(),
        (0..half).collect(),
        (0..by_value.len()).step_by(2).collect(),
    ];
    let hidden = ways.into_iter().map(|hidden| {
        let mut round = round.clone();
        for index in hidden {
            round.inputs[index] = None;
        }
        round
    });
    hidden.collect()
}

#[test]
#[ignore = "needs test data"]
fn every_real_round_is_possible() {
    let (rounds, _) = real::known_rounds();
    for round in rounds {
        assert!(round.is_possible());
        assert!(round.clone().on(2010, 1, 1).is_possible(), "before any protocol");
        let hidden = with_other_forms(round.clone()).on(2010, 1, 1);
        assert!(hidden.is_possible(), "in other scripts");
        for half in with_half_the_inputs(&hidden) {
            assert!(half.is_possible(), "half of the inputs unknown");
        }
        assert!(hidden.with_unknown_inputs().is_possible());
    }
}

#[test]
#[ignore = "needs test data"]
fn little_in_three_blocks_is_possible() {
    let transactions = data::blocks();
    let several = transactions.iter().filter(|one| one.inputs.len() > 1).count();
    let possible = transactions.iter().filter(|one| one.is_possible()).count();
    assert_eq!((possible, several), (4, 291));
}

#[test]
#[ignore = "needs test data"]
fn look_alikes_of_joinmarket_are_possible() {
    let (_, others) = real::known_rounds();
    let possible = others.iter().filter(|one| one.is_possible()).count();
    assert_eq!((possible, others.len()), (213, 507));
}

#[test]
fn payments_with_change_are_not() {
    let mut random = Random::new(5);
    for _ in 0..5_000 {
        let inputs = usize::try_from(random.within(1, 12)).unwrap();
        let spent: Vec<u64> = (0..inputs).map(|_| random.within(100_000, 90_000_000)).collect();
        let sum = spent.iter().sum::<u64>() - 2_000;
        let paid = random.within(1_000, sum - 1_000);
        for outputs in [vec![sum], vec![paid, sum - paid]] {
            if outputs.first() == outputs.get(1) {
                continue;
            }
            let payment = Candidate::new(coins(segwit, 1, &spent), coins(taproot, 100, &outputs));
            assert!(!payment.is_possible());
            assert!(!payment.with_unknown_inputs().is_possible());
        }
    }
}

#[test]
fn most_batches_of_one_party_are_not() {
    let mut random = Random::new(6);
    let (mut possible, batches) = (0, 5_000);
    for _ in 0..batches {
        let recipients = usize::try_from(random.within(3, 120)).unwrap();
        let equal = usize::try_from(random.within(0, recipients as u64 / 2)).unwrap();
        let amount = random.within(1, 50) * 1_000_000;
        let paid = lookalikes::payouts(&mut random, equal, amount, recipients - equal);
        // Most batches spend one or a few large coins, some collect many.
        let inputs = 1 << random.within(0, 5);
        let spent = lookalikes::funds(&mut random, inputs, paid.iter().sum());
        let batch = Candidate::new(coins(segwit, 1, &spent), coins(segwit, 1_000, &paid));
        possible += usize::from(batch.is_possible());
    }
    assert_eq!(possible, 284);
}

#[test]
fn a_batch_needs_owners_who_can_pay() {
    let payroll = |spent: &[u64]| {
        Candidate::new(coins(segwit, 1, spent), coins(legacy, 100, &[20_000_000; 10])).is_possible()
    };
    assert!(!payroll(&[300_000_000]), "one coin pays for all");
    assert!(!payroll(&[300_000_000; 9]), "nine owners for ten");
    assert!(payroll(&[21_000_000; 10]));
    assert!(payroll(&[11_000_000; 20]), "two coins each");
    assert!(!payroll(&[[191_000_000].as_slice(), &[1_000_000; 12]].concat()), "small change");
}

#[test]
fn dust_and_data_say_nothing() {
    let tokens = Candidate::new(
        coins(taproot, 1, &[546, 546, 900_000]),
        coins(taproot, 100, &[546, 546, 880_000]),
    );
    assert!(!tokens.is_possible());
    let mut round = Candidate::new(
        coins(segwit, 1, &[10_400_000, 13_000_000, 25_000_000]),
        coins(segwit, 100, &[10_000_000, 10_000_000, 10_000_000, 395_000, 2_995_000, 14_995_000]),
    );
    assert!(round.is_possible());
    round.outputs.push(common::data(1));
    assert!(round.is_possible(), "a message does not exclude several parties");
    for output in &mut round.outputs {
        output.0 = segwit(100);
    }
    assert!(!round.is_possible(), "all to one owner");
}

#[test]
fn several_denominations_of_no_known_protocol_are_possible() {
    let values = [7_000_000, 3_100_000, 1_200_000, 456_000, 89_000];
    let mut paid: Vec<u64> = values.into_iter().flat_map(|value| [value; 4]).collect();
    paid.extend((0..14).map(|place| 1_000_003 * (place + 1)));
    let round = |inputs: usize| {
        let spent = vec![15_000_000; inputs];
        Candidate::new(coins(segwit, 1, &spent), coins(segwit, 100, &paid)).on(2012, 1, 1)
    };
    assert_eq!(round(13).kind(), None);
    assert!(round(13).is_possible());
    assert!(!round(8).is_possible(), "too few owners for so many outputs");
}

#[test]
fn a_fusion_on_bitcoin_cash_is_possible() {
    let mut random = Random::new(9);
    let mut values =
        |count| -> Vec<u64> { (0..count).map(|_| random.within(20_000, 90_000_000)).collect() };
    let (spent, paid) = (values(60), values(45));
    let mut fusion = Candidate::new(coins(legacy, 1, &spent), coins(legacy, 100, &paid));
    fusion.outputs.push(common::data(3));
    assert!(!fusion.is_possible(), "on Bitcoin, a batch with a message");
    fusion.chain = "bch".parse().unwrap();
    assert!(fusion.is_possible());
    fusion.inputs.truncate(9);
    assert!(!fusion.is_possible());
}
