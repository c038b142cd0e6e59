use proptest::{collection::vec, prelude::*, sample::select};

use super::*;
use crate::account::scored_assets;

const START: &str = "2026-01-05T00:00:00Z";

fn asset(chain: ChainId, ticker: &str) -> &'static ScoredAsset {
    scored_assets(chain).find(|asset| asset.ticker == ticker).unwrap()
}

/// A payment of so many millionths of a whole unit, some minutes after the start.
fn payment(chain: ChainId, ticker: &str, millionths: u64, minutes: i64) -> BridgePayment {
    let asset = asset(chain, ticker);
    let amount = u128::from(millionths) * 10_u128.pow(u32::from(asset.decimals) - 6);
    let time = START.parse::<Timestamp>().unwrap() + SignedDuration::from_mins(minutes);
    BridgePayment { chain, asset, amount, time }
}

fn on_eth(millionths: u64, minutes: i64) -> BridgePayment {
    payment(ChainId::ETH, "USDT", millionths, minutes)
}

fn on_bsc(millionths: u64, minutes: i64) -> BridgePayment {
    payment(ChainId::BSC, "USDT", millionths, minutes)
}

const DAY: i64 = 24 * 60;

#[test]
fn a_payout_belongs_to_a_deposit_of_its_amount_and_time() {
    let deposit = on_eth(1_000_000_000, 0);
    for (payout, expected) in [
        (on_bsc(1_000_000_000, 0), true),
        (on_bsc(990_000_000, DAY), true),
        (on_bsc(989_999_999, 10), false),
        (on_bsc(1_000_000_001, 10), false),
        (on_bsc(1_000_000_000, DAY + 1), false),
        (on_bsc(1_000_000_000, -1), false),
        (on_eth(1_000_000_000, 10), false),
        (payment(ChainId::BSC, "USDC", 1_000_000_000, 10), false),
        (payment(ChainId::TRX, "USDT", 999_000_000, 10), true),
    ] {
        assert_eq!(payout.may_pay_out(&deposit), expected, "{payout:?}");
    }
    // Bridges pay ether out wrapped as well, but the table of assets does not say that both are one coin.
    let ether = payment(ChainId::ETH, "ETH", 5_000_000, 0);
    assert!(!payment(ChainId::BSC, "WETH", 5_000_000, 5).may_pay_out(&ether));
}

#[test]
fn amounts_near_the_limit_of_128_bits_are_compared() {
    let largest = |payment: BridgePayment| BridgePayment { amount: u128::MAX, ..payment };
    assert!(!largest(on_eth(1, 5)).may_pay_out(&largest(on_bsc(1, 0))));
    assert!(
        largest(on_bsc(1, 5)).may_pay_out(&BridgePayment {
            amount: u128::MAX / 10_u128.pow(12) + 1,
            ..on_eth(1, 0)
        })
    );
}

#[test]
fn a_pair_is_joined_only_if_no_other_is_possible() {
    let deposit = on_eth(1_000_000_000, 0);
    let payout = on_bsc(999_000_000, 10);
    assert_eq!(unique_pairs(&[payout], &[deposit]), [(0, 0)]);
    // Two deposits, before and after.
    let other = on_eth(1_001_000_000, 5);
    assert!(unique_pairs(&[payout], &[deposit, other]).is_empty());
    // Two payouts, also on different chains.
    let elsewhere = payment(ChainId::TRX, "USDT", 998_000_000, 900);
    assert!(unique_pairs(&[payout, elsewhere], &[deposit]).is_empty());
    // Another amount and a later time are no rivals.
    let small = on_eth(500_000_000, 1);
    let later = on_eth(1_000_000_000, 11);
    assert_eq!(unique_pairs(&[payout], &[small, deposit, later]), [(0, 1)]);
}

fn movement() -> impl Strategy<Value = BridgePayment> {
    let chains = select(vec![ChainId::ETH, ChainId::BSC, ChainId::TRX]);
    let tickers = select(vec!["USDT", "USDC"]);
    (chains, tickers, 95_u64..=105, 0..3 * DAY).prop_map(|(chain, ticker, units, minutes)| {
        payment(chain, ticker, units * 10_000_000, minutes)
    })
}

proptest! {
    #[test]
    fn joined_pairs_are_possible_and_unique_both_ways(
        payouts in vec(movement(), 0..12),
        deposits in vec(movement(), 0..12),
    ) {
        let pairs = unique_pairs(&payouts, &deposits);
        let possible = |payout: usize, deposit: usize| payouts[payout].may_pay_out(&deposits[deposit]);
        let all = (0..payouts.len()).flat_map(|payout| (0..deposits.len()).map(move |it| (payout, it)));
        let expected: Vec<(usize, usize)> = all
            .filter(|(payout, deposit)| {
                let deposits_of = (0..deposits.len()).filter(|it| possible(*payout, *it)).count();
                let payouts_of = (0..payouts.len()).filter(|it| possible(*it, *deposit)).count();
                possible(*payout, *deposit) && deposits_of == 1 && payouts_of == 1
            })
            .collect();
        prop_assert_eq!(pairs, expected);
    }

    #[test]
    fn the_order_of_payments_changes_no_pair(
        (payouts, shuffled) in vec(movement(), 0..12)
            .prop_flat_map(|all| (Just(all.clone()), Just(all).prop_shuffle())),
        (deposits, mixed) in vec(movement(), 0..12)
            .prop_flat_map(|all| (Just(all.clone()), Just(all).prop_shuffle())),
    ) {
        let of = |payouts: &[BridgePayment], deposits: &[BridgePayment]| {
            let pairs = unique_pairs(payouts, deposits).into_iter();
            let mut pairs: Vec<_> =
                pairs.map(|(payout, deposit)| format!("{:?} {:?}", payouts[payout], deposits[deposit])).collect();
            pairs.sort();
            pairs
        };
        prop_assert_eq!(of(&payouts, &deposits), of(&shuffled, &mixed));
    }

    #[test]
    fn one_more_payment_never_makes_a_joined_payout_change_its_deposit(
        payouts in vec(movement(), 1..8),
        deposits in vec(movement(), 1..8),
        more in movement(),
    ) {
        let before = unique_pairs(&payouts, &deposits);
        let mut others = deposits.clone();
        others.push(more);
        for (payout, deposit) in unique_pairs(&payouts, &others) {
            // Either the pair was known, or it is the new deposit's.
            prop_assert!(deposit == deposits.len() || before.contains(&(payout, deposit)));
        }
    }
}
