//! Tests of pools, markets and other rounds at the limits of their rules.

use assay_engine::utxo::coinjoin::CoinjoinKind;
use assay_test_random::Random;

use super::common::{Candidate, coins, legacy, script, segwit, taproot, witness_script};

/// The round 323df21f of 2019-05-05, owners replaced.
fn whirlpool() -> Candidate {
    let spent = [5_010_000, 5_000_000, 5_010_000, 5_000_000, 5_010_000];
    Candidate::new(coins(segwit, 1, &spent), coins(segwit, 100, &[5_000_000; 5])).on(2019, 5, 5)
}

#[test]
fn whirlpool_is_five_to_eight_coins_of_a_pool() {
    assert_eq!(whirlpool().kind(), Some(CoinjoinKind::Whirlpool));
    assert_eq!(whirlpool().with_unknown_inputs().kind(), Some(CoinjoinKind::Whirlpool));
    let surge = Candidate::new(
        coins(segwit, 1, &[100_000, 100_000, 100_000, 100_000, 100_000, 100_302, 100_302, 100_302]),
        coins(segwit, 100, &[100_000; 8]),
    );
    assert_eq!(surge.clone().on(2023, 8, 1).kind(), Some(CoinjoinKind::Whirlpool));
    // More than five parties came with the surge cycles of May 2023.
    assert_eq!(surge.clone().on(2023, 4, 1).kind(), Some(CoinjoinKind::Generic));
    // The smallest pool came two years after the others.
    let mut five = surge;
    five.inputs.truncate(5);
    five.outputs.truncate(5);
    assert_eq!(five.clone().on(2021, 8, 1).kind(), Some(CoinjoinKind::Whirlpool));
    assert_eq!(five.on(2020, 8, 1).kind(), Some(CoinjoinKind::Generic));
}

#[test]
fn whirlpool_has_its_time() {
    for (year, month, day, kind) in [
        (2018, 12, 1, CoinjoinKind::Generic),
        (2024, 4, 24, CoinjoinKind::Whirlpool),
        (2024, 5, 1, CoinjoinKind::Generic),
    ] {
        assert_eq!(whirlpool().on(year, month, day).kind(), Some(kind), "{year}-{month}-{day}");
    }
    // The round 5f0080e3 of 2026-08, in a pool of Ashigaru's.
    let spent = [2_500_000, 2_500_000, 2_500_605, 2_500_605, 2_500_000];
    let ashigaru = Candidate::new(coins(segwit, 1, &spent), coins(segwit, 100, &[2_500_000; 5]));
    assert_eq!(ashigaru.clone().on(2026, 8, 25).kind(), Some(CoinjoinKind::Whirlpool));
    assert_eq!(ashigaru.on(2022, 8, 25).kind(), Some(CoinjoinKind::Generic));
}

#[test]
fn whirlpool_takes_no_other_coins() {
    let mut rich = whirlpool();
    rich.inputs[0] = Some((segwit(1), 9_000_000));
    assert_eq!(rich.kind(), None);
    let mut poor = whirlpool();
    poor.inputs[0] = Some((segwit(1), 4_999_999));
    assert_eq!(poor.kind(), None);
    let mut one_party_twice = whirlpool();
    one_party_twice.inputs[0] = one_party_twice.inputs[1].clone();
    assert_eq!(one_party_twice.kind(), None);
}

#[test]
fn whirlpool_is_told_by_amounts_and_not_by_script_forms() {
    for form in [witness_script, taproot, script, legacy] {
        let mut round = whirlpool();
        for (number, output) in (500..).zip(&mut round.outputs).take(3) {
            output.0 = form(number);
        }
        assert_eq!(round.kind(), Some(CoinjoinKind::Whirlpool));
        assert_eq!(round.clone().with_unknown_inputs().kind(), Some(CoinjoinKind::Whirlpool));
        let (other, usual) = (round.recognition().unwrap(), whirlpool().recognition().unwrap());
        assert!(other.confidence < usual.confidence, "{other:?}");
    }
}

#[test]
fn every_pool_has_rounds() {
    for (value, year, month, day) in [
        (100_000, 2021, 3, 6),
        (1_000_000, 2019, 5, 24),
        (5_000_000, 2019, 4, 18),
        (50_000_000, 2019, 8, 3),
        (2_500_000, 2025, 6, 1),
        (25_000_000, 2025, 6, 7),
    ] {
        let spent = [value, value + 302, value, value + 302, value];
        let round = Candidate::new(coins(segwit, 1, &spent), coins(segwit, 100, &[value; 5]));
        assert_eq!(round.on(year, month, day).kind(), Some(CoinjoinKind::Whirlpool), "{value}");
    }
}

#[test]
fn a_pool_of_any_value_is_generic_from_five_parties_on() {
    let pool = |parties: usize| {
        let spent: Vec<u64> = (0..parties as u64).map(|party| 777_000 + party).collect();
        let paid = vec![776_000; parties];
        Candidate::new(coins(taproot, 1, &spent), coins(taproot, 100, &paid)).kind()
    };
    assert_eq!(
        [pool(4), pool(5), pool(20)],
        [None, Some(CoinjoinKind::Generic), Some(CoinjoinKind::Generic)]
    );
}

#[test]
fn privatesend_is_one_denomination_on_dash() {
    let mut round =
        Candidate::new(coins(legacy, 1, &[10_000_100; 12]), coins(legacy, 100, &[10_000_100; 12]));
    assert_ne!(round.kind(), Some(CoinjoinKind::PrivateSend), "on Bitcoin");
    round.chain = "dash".parse().unwrap();
    assert_eq!(round.kind(), Some(CoinjoinKind::PrivateSend));
    assert_eq!(round.clone().with_unknown_inputs().kind(), Some(CoinjoinKind::PrivateSend));
    // Made ready for mixing: one owner splits a coin.
    let mut ready = round.clone();
    ready.inputs = vec![Some((legacy(1), 130_000_000))];
    assert_eq!(ready.kind(), None);
    // A transaction that spends mixed coins: two owners at most.
    let mut spending = round.clone();
    for (place, input) in spending.inputs.iter_mut().enumerate() {
        *input = Some((legacy(place as u64 % 2), 10_000_100));
    }
    assert_eq!(spending.kind(), None);
    for output in &mut round.outputs {
        output.1 = 10_000_000;
    }
    assert_ne!(round.kind(), Some(CoinjoinKind::PrivateSend), "another value");
}

/// Parties with a coin each, and change: the maker is paid `reward`, the last party pays the whole reward.
fn market(parties: usize, reward: u64) -> Candidate {
    let (equal, fee) = (72_261_903, 25_000);
    let mut random = Random::new(29);
    let mut spent = Vec::new();
    let mut paid = vec![equal; parties];
    for party in 0..parties {
        let change = random.within(1_000_000, 900_000_000);
        paid.push(change);
        spent.push(if party + 1 == parties {
            equal + change + fee + reward * (parties as u64 - 1)
        } else {
            equal + change - reward
        });
    }
    Candidate::new(coins(segwit, 1, &spent), coins(segwit, 100, &paid))
}

#[test]
fn joinmarket_makers_earn_fees() {
    for parties in [3, 4, 5, 8, 10] {
        assert_eq!(market(parties, 4_567).kind(), Some(CoinjoinKind::JoinMarket), "{parties}");
    }
    // Of two parties, the offer has to be recognisable: 0.000025.
    assert_eq!(market(2, 1_807).kind(), Some(CoinjoinKind::JoinMarket));
    assert_eq!(market(2, 1_844).kind(), None);
    assert_eq!(market(8, 4_567).with_unknown_inputs().kind(), Some(CoinjoinKind::JoinMarket));
    assert_eq!(market(5, 4_567).with_unknown_inputs().kind(), None);
}

#[test]
fn a_joinmarket_taker_may_have_many_inputs() {
    for parties in [3, 4, 5] {
        let mut round = market(parties, 4_567);
        let (owner, value) = round.inputs.pop().unwrap().unwrap();
        let parts = [value / 2, value / 3, value / 9, value - value / 2 - value / 3 - value / 9];
        round.inputs.push(Some((owner, parts[0])));
        round.inputs.extend(coins(segwit, 50, &parts[1..]).into_iter().map(Some));
        assert_eq!(round.kind(), Some(CoinjoinKind::JoinMarket), "{parties}");
    }
}

#[test]
fn joinmarket_is_one_form_but_for_a_payment() {
    let mut paying = market(5, 4_567);
    paying.outputs[0].0 = script(9);
    assert_eq!(paying.kind(), Some(CoinjoinKind::JoinMarket));
    paying.outputs[1].0 = legacy(9);
    assert_ne!(paying.kind(), Some(CoinjoinKind::JoinMarket));
}

#[test]
fn a_round_before_or_beside_joinmarket_is_generic() {
    let shuffle = |chain: &str| {
        let spent = [15_000_000, 11_111_111, 27_000_000];
        let mut paid = vec![10_000_000; 3];
        paid.extend(spent.map(|value| value - 10_000_270));
        let mut round = Candidate::new(coins(legacy, 1, &spent), coins(legacy, 100, &paid));
        round.chain = chain.parse().unwrap();
        round.kind()
    };
    assert_eq!(shuffle("bch"), Some(CoinjoinKind::Generic), "CashShuffle: nobody earns");
    assert_eq!(shuffle("btc"), Some(CoinjoinKind::Generic));
    assert_eq!(market(4, 4_567).on(2013, 12, 1).kind(), Some(CoinjoinKind::Generic));
}
