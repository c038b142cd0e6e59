//! Transactions that somebody fills with as many transfers as a block has room for: they are booked like others, at a cost that
//! grows with their number, and hide nothing.

use super::*;

type Transfer = (u64, u64, AssetNumber, u128);

/// The first of the accounts of a crafted transaction.
const MANY: u64 = 1_000;

fn junk(number: u64) -> AssetNumber {
    AssetNumber(1_000 + u32::try_from(number).unwrap())
}

/// Given a thief's 100 ether at a public contract, when a relayer draws them for a friend in a transaction with further
/// transfers, then the friend has stolen money.
fn assert_drawn_is_stolen(beside: &[Transfer]) {
    let mut economy = with_pool();
    economy.book(EXCHANGE, &[(EXCHANGE, LENDING, eth(), 1_000 * ETHER)], &[]);
    let deposit = [(PERSON, LENDING, eth(), 100 * ETHER), (NOBODY, PERSON, TOKEN, 100)];
    economy.book(PERSON, &deposit, &[]);
    let drawn = [(PERSON, NOBODY, TOKEN, 100), (LENDING, 5, eth(), 100 * ETHER)];
    economy.book(RELAYER, &[&drawn, beside].concat(), &[]);
    assert!(economy.stolen(5, eth()) > 0.99, "{}", economy.stolen(5, eth()));
}

/// An account that has nothing to do with the money.
const RELAYER: u64 = 900;

#[test]
fn many_circles_of_a_junk_token_are_booked() {
    let circles = (0..4_000)
        .map(|number| MANY + 3 * number)
        .flat_map(|first| [(first, first + 1), (first + 1, first + 2), (first + 2, first)]);
    let circles: Vec<Transfer> = circles.map(|(from, to)| (from, to, junk(0), 7)).collect();
    assert_drawn_is_stolen(&circles);
}

#[test]
fn a_junk_token_that_passes_many_accounts_is_booked() {
    let chain: Vec<Transfer> =
        (MANY..MANY + 12_000).map(|account| (account, account + 1, junk(0), 7)).collect();
    assert_drawn_is_stolen(&chain);
}

#[test]
fn many_payers_of_one_of_many_accounts_that_pass_money_on_are_booked() {
    let passed = MANY + 6_000;
    let payers = (MANY..passed).map(|payer| (payer, passed, usdc(), 1));
    let chain = (passed..passed + 6_000).map(|account| (account, account + 1, usdc(), 6_000));
    assert_drawn_is_stolen(&payers.chain(chain).collect::<Vec<Transfer>>());
}

#[test]
fn many_swaps_are_booked() {
    let swaps = (MANY..MANY + 5_000)
        .flat_map(|trader| [(trader, POOL, eth(), 1_000_000_000), (POOL, trader, usdc(), 3)]);
    assert_drawn_is_stolen(&swaps.collect::<Vec<Transfer>>());
}

#[test]
fn many_junk_tokens_for_payers_of_many_contracts_are_booked() {
    let paid = (0..30).map(|number| (RELAYER, [POOL, 8][number % 2], eth(), 1));
    let payers = (MANY..MANY + 100).map(|payer| (payer, POOL, eth(), 1_000));
    let tokens = (0..6_000).map(|number| (NOBODY, RELAYER, junk(number), 1));
    let others = (0..6_000).map(|number| (NOBODY, 20_000 + number, junk(number), 1));
    let all = paid.chain(payers).chain(tokens).chain(others);
    assert_drawn_is_stolen(&all.collect::<Vec<Transfer>>());
}

#[test]
fn many_payouts_beside_junk_tokens_for_many_strangers_are_booked() {
    let payouts = (MANY..MANY + 3_000).map(|payee| (POOL, payee, eth(), 1));
    let minted = (20_000..30_000).map(|stranger| (NOBODY, stranger, junk(0), 1));
    assert_drawn_is_stolen(&payouts.chain(minted).collect::<Vec<Transfer>>());
}
