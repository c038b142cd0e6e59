//! Each kind, by its rules: what belongs to it, and what just does not any more.

use assay_engine::{coinjoin::CoinjoinKind, utxo::ScriptOwner};

use super::common::{Candidate, Numbers, coins, legacy, script, segwit, taproot};

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
    // The smallest pool came two years after the others.
    assert_eq!(surge.on(2020, 8, 1).kind(), Some(CoinjoinKind::Generic));
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
    let mut legacy_paid = whirlpool();
    legacy_paid.outputs[0].0 = legacy(100);
    assert_ne!(legacy_paid.kind(), Some(CoinjoinKind::Whirlpool));
    let mut one_party_twice = whirlpool();
    one_party_twice.inputs[0] = one_party_twice.inputs[1].clone();
    assert_eq!(one_party_twice.kind(), None);
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

/// A round of Wasabi 2: inputs of any value, outputs of the protocol's.
fn wasabi_2() -> Candidate {
    let mut numbers = Numbers(11);
    let spent: Vec<u64> = (0..60).map(|_| numbers.within(500_000, 50_000_000)).collect();
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
    let mut with_legacy = wasabi_2();
    with_legacy.outputs[0].0 = script(1);
    assert_eq!(with_legacy.kind(), None);
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

/// Parties with a coin each, and change: the maker is paid `reward`, the last party pays it all.
fn market(parties: usize, reward: u64) -> Candidate {
    let (equal, fee) = (72_261_903, 25_000);
    let mut numbers = Numbers(29);
    let mut spent = Vec::new();
    let mut paid = vec![equal; parties];
    for party in 0..parties {
        let change = numbers.within(1_000_000, 900_000_000);
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
