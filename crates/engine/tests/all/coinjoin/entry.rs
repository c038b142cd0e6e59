//! Whirlpool's entry transaction (Tx0): one party splits its coins for later rounds.

use assay_engine::utxo::coinjoin::{RecognitionTest, RecognizedKind};

use super::common::{Candidate, coins, data, legacy, script, segwit, taproot};

/// A pool: denomination, full fee, and a day of its era.
type Pool = (u64, u64, (i16, i8, i8));

const POOLS: [Pool; 8] = [
    (100_000, 5_000, (2021, 6, 1)),
    (1_000_000, 50_000, (2019, 9, 1)),
    (5_000_000, 250_000, (2019, 6, 1)),
    (5_000_000, 175_000, (2023, 6, 1)),
    (50_000_000, 2_500_000, (2019, 9, 1)),
    (50_000_000, 1_750_000, (2023, 6, 1)),
    (2_500_000, 125_000, (2025, 7, 1)),
    (25_000_000, 1_250_000, (2025, 7, 1)),
];

/// An entry of `premixes` outputs, with the given other outputs, from `inputs` coins of different owners.
fn entry(value: u64, premixes: usize, others: &[u64], inputs: u64) -> Candidate {
    let mut paid = vec![value; premixes];
    paid.extend(others);
    let sum: u64 = paid.iter().sum::<u64>() + 3_000 * inputs;
    let spent: Vec<u64> = (0..inputs).map(|place| sum / inputs + place).collect();
    let mut outputs = coins(segwit, 1_000, &paid);
    outputs.push(data(1));
    Candidate::new(coins(segwit, 1, &spent), outputs)
}

#[test]
fn an_entry_to_each_pool_is_found() {
    for (value, fee, (year, month, day)) in POOLS {
        for premixes in [1, 2, 3, 19, 70] {
            for inputs in [1, 3, 7] {
                for others in [vec![fee], vec![fee, 4_321_098], vec![fee, fee / 2]] {
                    let entry =
                        entry(value + 10_302, premixes, &others, inputs).on(year, month, day);
                    assert!(entry.is_entry(), "{value} {premixes} {inputs} {others:?}");
                    assert!(entry.clone().with_unknown_inputs().is_entry());
                    assert_eq!(entry.kind(), None, "it is no joint transaction");
                    assert!(!entry.is_possible(), "its inputs belong together");
                }
            }
        }
    }
}

#[test]
fn the_kind_of_an_entry_is_no_kind_of_joint_transaction() {
    let found =
        entry(5_010_000, 19, &[175_000, 4_321_000], 2).on(2021, 8, 1).recognition().unwrap();
    assert_eq!(found.kind, RecognizedKind::Entry);
    assert_eq!(found.kind.as_str(), "coinjoin_entry");
    assert!(!found.kind.is_joint());
    assert_eq!(found.kind.joint(), None);
    assert_eq!(found.passed, RecognitionTest::expected_of(RecognizedKind::Entry));
    assert_eq!(found.confidence.percent(), 80);
}

#[test]
fn an_entry_may_be_cheaper_or_free() {
    let at_half_price = entry(5_010_000, 5, &[87_500, 990_000], 1);
    assert!(at_half_price.is_entry());
    let free = entry(5_010_000, 5, &[990_000], 1);
    let found = free.recognition().unwrap();
    assert!(free.is_entry() && !found.has_passed(RecognitionTest::CoordinatorPaid));
    assert!(found.confidence < at_half_price.recognition().unwrap().confidence);
    assert!(entry(5_010_000, 5, &[], 1).is_entry(), "without change, too");
    assert!(!entry(5_010_000, 5, &[250_001, 990_000], 1).is_entry(), "above 5 %");
    // One output near a denomination is common.
    assert!(entry(5_010_000, 1, &[175_000, 990_000], 1).is_entry());
    assert!(entry(5_010_000, 1, &[148_750, 990_000], 1).is_entry(), "85 % of the fee");
    assert!(!entry(5_010_000, 1, &[148_751, 990_000], 1).is_entry());
    assert!(!entry(5_010_000, 1, &[35_000, 990_000], 1).is_entry(), "20 % of the fee");
    assert!(!entry(5_010_000, 1, &[990_000], 1).is_entry());
}

#[test]
fn an_entry_has_premixes_of_one_value_and_one_pool() {
    let others = [175_000, 990_000];
    assert!(entry(5_000_100, 5, &others, 1).is_entry());
    assert!(entry(5_110_000, 5, &others, 1).is_entry());
    assert!(!entry(5_000_099, 5, &others, 1).is_entry(), "it has to pay the miner");
    assert!(!entry(5_110_001, 5, &others, 1).is_entry());
    assert!(!entry(5_010_000, 71, &others, 1).is_entry());
    assert!(!entry(7_010_000, 5, &others, 1).is_entry(), "no pool");
    assert!(!entry(2_510_000, 5, &[100_000, 990_000], 1).is_entry(), "a pool of 2025");
    let mut unequal = entry(5_010_000, 5, &others, 1);
    unequal.outputs[0].1 += 1;
    assert!(!unequal.is_entry());
}

#[test]
fn an_entry_with_two_changes_may_be_of_two_parties() {
    let others = [175_000, 990_000, 880_000];
    let decoy = entry(5_010_000, 5, &others, 3);
    assert!(decoy.is_entry() && decoy.is_possible());
    let alone = entry(5_010_000, 5, &others, 1);
    assert!(alone.is_entry() && !alone.is_possible(), "one input");
    assert!(!entry(5_010_000, 1, &others, 3).is_entry(), "one premix output");
    assert!(!entry(5_010_000, 5, &[260_000, 990_000, 880_000], 3).is_entry(), "no fee");
    assert!(!entry(5_010_000, 5, &[175_000, 990_000, 880_000, 1], 3).is_entry(), "three changes");
}

#[test]
fn an_entry_has_its_time_and_chain() {
    let others = [175_000, 990_000];
    for (year, month, day, is_entry) in [
        (2019, 4, 9, false),
        (2019, 4, 16, true),
        (2024, 4, 24, true),
        (2024, 5, 1, false),
        (2014, 1, 1, false),
    ] {
        let entry = entry(5_010_000, 5, &others, 1).on(year, month, day);
        assert_eq!(entry.is_entry(), is_entry, "{year}-{month}-{day}");
    }
    let mut elsewhere = entry(5_010_000, 5, &others, 1);
    elsewhere.chain = "ltc".parse().unwrap();
    assert!(!elsewhere.is_entry());
}

#[test]
fn an_entry_has_one_output_of_data() {
    let mut without = entry(5_010_000, 5, &[175_000, 990_000], 1);
    without.outputs.pop();
    assert!(!without.is_entry());
    let mut twice = entry(5_010_000, 5, &[175_000, 990_000], 1);
    twice.outputs.push(data(2));
    assert!(!twice.is_entry());
    let mut repeated = entry(5_010_000, 5, &[175_000, 990_000], 1);
    repeated.outputs[1].0 = repeated.outputs[0].0.clone();
    assert!(!repeated.is_entry(), "premixes go to different owners");
}

#[test]
fn an_entry_is_told_by_amounts_and_not_by_script_forms() {
    for form in [legacy, script, taproot] {
        let mut entry = entry(1_010_000, 9, &[50_000, 300_000], 2);
        let usual = entry.recognition().unwrap();
        for (number, input) in (50..).zip(&mut entry.inputs) {
            input.as_mut().unwrap().0 = form(number);
        }
        assert_eq!(entry.recognition().unwrap(), usual, "wallets enter with any coins");
        entry.outputs[0].0 = form(99);
        assert!(entry.is_entry());
        assert!(entry.recognition().unwrap().confidence < usual.confidence);
    }
}

#[test]
fn messages_and_token_payouts_are_no_entry() {
    // A token transfer: dust, change, data; and a message with an even payment.
    for paid in
        [vec![546, 5_010_000], vec![5_010_000], vec![5_010_000, 175_001], vec![546, 546, 546]]
    {
        let mut outputs = coins(segwit, 100, &paid);
        outputs.push(data(1));
        assert!(!Candidate::new(coins(segwit, 1, &[900_000_000]), outputs).is_entry(), "{paid:?}");
    }
    // A batch of payouts with data.
    let paid = [5_010_000, 5_020_000, 7_000_000, 175_000, 120_000_000];
    let mut outputs = coins(segwit, 100, &paid);
    outputs.push(data(1));
    assert!(!Candidate::new(coins(segwit, 1, &[900_000_000]), outputs).is_entry());
}
