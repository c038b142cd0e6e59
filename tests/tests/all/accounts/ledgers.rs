//! Ledgers of account chains against exact fractions.

use assay_engine::account::{MoneyEnds, OriginCode, Prices};
use assay_graph::account::{AccountLedgers, AccountTransactions, MemoryAccounts};
use assay_tests::{
    accounts::oracle::{Exact, History, Money},
    is_full,
};
use num_bigint::BigInt;
use num_traits::ToPrimitive;

/// Bits of the largest difference of a share.
const PRECISION: u32 = 20;
/// Balances of fewer base units are not compared: rounding to base units decides what they are made of.
const LEAST_BALANCE: u128 = 1 << 32;

fn compute(history: &History) -> MemoryAccounts {
    let mut transactions = AccountTransactions::new(assay_address::ChainId::ETH);
    for transaction in &history.transactions {
        transactions.push(transaction.clone());
    }
    let ends = history.accounts.iter().copied().zip(history.parties.iter().copied());
    MemoryAccounts::compute(transactions, ends, &Prices::default())
}

/// A share in units of 2^-63 as an exact fraction.
fn exact(share: u64) -> Exact {
    Exact::new(BigInt::from(share), BigInt::from(1) << 63)
}

/// Compares all ledgers of a history; returns the number of compared shares and the largest difference.
fn compare(history: &History) -> (u32, f64) {
    let (accounts, money) = (compute(history), Money::of(history));
    let largest = Exact::new(BigInt::from(1), BigInt::from(1) << PRECISION);
    let (mut compared, mut most) = (0, 0.0_f64);
    for (owner, _, ledger) in accounts.ledgers().all() {
        let account = accounts.transactions().account(owner).unwrap();
        let Some(index) = history.accounts.iter().position(|it| *it == account) else { continue };
        if index < history.parties.len() || ledger.balance < LEAST_BALANCE {
            continue;
        }
        let name = format!("seed {}, account {index}: {ledger:?}", history.seed);
        let balance = Exact::from_integer(ledger.balance.into());
        let difference = balance - money.balance(index);
        let units = BigInt::from(1_000);
        assert!(difference <= units.clone().into() && difference >= (-units).into(), "{name}");
        let mut expected = money.shares(index);
        let known = ledger.shares.known().iter();
        let found: Vec<(OriginCode, _)> = known.map(|share| (share.origin, share)).collect();
        for (origin, share) in &found {
            let (far, near, hops) = match expected.remove(origin) {
                Some(it) => (it.far, it.near, it.hops),
                None => (exact(0), exact(0), 0),
            };
            for (ours, theirs) in [(share.far, far.clone()), (share.near, near)] {
                let difference = exact(ours) - theirs;
                let difference = if difference < exact(0) { -difference } else { difference };
                assert!(difference <= largest, "{name}, {origin:?}: {difference}");
                most = most.max(difference.to_f64().unwrap_or(1.0));
            }
            // What was dropped below 2^-40 had its hops too.
            assert!(far < largest || u32::from(share.hops) >= hops, "{name}: {hops}");
            compared += 1;
        }
        for (origin, share) in expected {
            assert!(share.far <= largest, "{name} lacks {origin:?}: {}", share.far);
        }
    }
    (compared, most)
}

#[test]
fn ledgers_are_within_a_millionth_of_exact_fractions() {
    let histories = if is_full() { 20_000 } else { 2_000 };
    let (mut compared, mut most) = (0, 0.0_f64);
    for seed in 0..histories {
        let (shares, largest) = compare(&History::generate(seed));
        compared += shares;
        most = most.max(largest);
    }
    eprintln!("{histories} histories, {compared} shares, largest difference {most:e}");
    assert!(compared > 5 * u32::try_from(histories).unwrap(), "{compared} shares");
}

/// Books the transactions of a history in batches.
fn in_batches(history: &History, size: usize) -> (AccountTransactions, AccountLedgers) {
    let mut transactions = AccountTransactions::new(assay_address::ChainId::ETH);
    let mut all = history.transactions.iter();
    // The numbers of parties follow from the transactions: the parties appear in the first one.
    let mut first = history.transactions[0].clone();
    let mut nothing = first.transfers[0].clone();
    nothing.amount = ruint::aliases::U256::ZERO;
    nothing.kind = assay_engine::account::TransferKind::Transfer;
    for party in history.accounts.iter().take(history.parties.len()) {
        (nothing.from, nothing.to) = (*party, *party);
        first.transfers.push(nothing.clone());
    }
    all.next();
    transactions.push(first);
    let ends = history.accounts.iter().zip(&history.parties);
    let ends = ends.map(|(account, end)| (transactions.owner_number(*account).unwrap(), *end));
    let mut ledgers = AccountLedgers::new(ends.collect::<MoneyEnds>(), Prices::default());
    let rest: Vec<_> = all.collect();
    for batch in rest.chunks(size) {
        for transaction in batch {
            transactions.push((*transaction).clone());
        }
        ledgers.advance(&transactions);
    }
    ledgers.advance(&transactions);
    (transactions, ledgers)
}

#[test]
fn ledgers_do_not_depend_on_batches() {
    for seed in 0..300 {
        let history = History::generate(seed);
        let (_, whole) = in_batches(&history, usize::MAX);
        for size in [1, 7] {
            let (_, ledgers) = in_batches(&history, size);
            assert_eq!(ledgers.all(), whole.all(), "seed {seed}, batches of {size}");
            assert_eq!(ledgers.payments(), whole.payments(), "seed {seed}, batches of {size}");
        }
    }
}
