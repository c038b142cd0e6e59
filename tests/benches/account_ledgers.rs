//! Cost of following money on an account chain in memory: `cargo bench -p assay-tests --bench account_ledgers`.
//! `ASSAY_TRANSFERS` sets the number of transfers (default 1,000,000).
//!
//! A made-up chain has labelled exchanges with deposit addresses that are swept, pools with routers, hubs that take part
//! in most payments, and thieves. Printed: CPU time of a step for each transfer, without and with the fees of
//! transactions, and the sizes of ledgers.
#![expect(
    clippy::print_stdout,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::cast_precision_loss,
    reason = "a program for people at a terminal"
)]

use std::env;

use assay_address::ChainId;
use assay_engine::{
    account::{AccountAddress, AccountTransaction, MoneyEnd, MoneyEnds, Transfer, TransferKind},
    taxonomy::Category,
    utxo::Txid,
};
use assay_graph::account::{AccountLedgers, AccountTransactions};
use assay_test_random::Random;
use assay_tests::{
    accounts::{DOLLAR, ETH, ETHER, USDC, USDT, chain::Move, move_of},
    cpu_time,
};
use jiff::{SignedDuration, Timestamp};

const EXCHANGES: u64 = 300;
const THIEVES: u64 = 200;
const POOLS: u64 = 2_000;
/// Accounts of people for each transfer, in percent.
const PEOPLE_PERCENT: u64 = 25;
/// Transactions of a block.
const BLOCK: u64 = 150;

fn main() {
    let transfers = env::var("ASSAY_TRANSFERS").ok().and_then(|text| text.parse().ok());
    let transfers = transfers.unwrap_or(1_000_000);
    for has_fees in [false, true] {
        measure(transfers, has_fees);
    }
}

fn measure(wanted: u64, has_fees: bool) {
    let mut shape = Shape { dice: Random::new(7), people: wanted * PEOPLE_PERCENT / 100 };
    let mut transactions = AccountTransactions::new(ChainId::ETH);
    let (mut transfers, mut number) = (0, 0);
    while transfers < wanted {
        let transaction = shape.transaction(number, has_fees);
        transfers += transaction.transfers.len() as u64;
        number += 1;
        transactions.push(transaction);
    }
    let exchanges = (0..EXCHANGES).map(|number| (account(0, number), Category::Exchange));
    let thieves = (0..THIEVES).map(|number| (account(1, number), Category::StolenFunds));
    let ends: MoneyEnds = exchanges
        .chain(thieves)
        .filter_map(|(account, category)| {
            let owner = transactions.owner_number(account)?;
            Some((owner, MoneyEnd { category, listed_on: None }))
        })
        .collect();
    let mut ledgers = AccountLedgers::new(ends);
    let begun = cpu_time();
    ledgers.advance(&transactions);
    let spent = cpu_time().saturating_sub(begun);
    let all = ledgers.all();
    let entries: Vec<usize> = all.iter().map(|(.., it)| it.shares.known().len()).collect();
    println!(
        "{} fees: {transfers} transfers in {number} transactions: {:.2} us of CPU time a transfer; {} ledgers of {:.1} \
         origins, at most {}",
        if has_fees { "with" } else { "without" },
        spent.as_secs_f64() * 1e6 / transfers as f64,
        all.len(),
        entries.iter().sum::<usize>() as f64 / entries.len().max(1) as f64,
        entries.iter().max().expect("ledgers"),
    );
}

/// The account of a kind with a number.
fn account(kind: u8, number: u64) -> AccountAddress {
    let mut bytes = [kind + 1; 20];
    bytes[12..].copy_from_slice(&number.to_be_bytes());
    AccountAddress(bytes)
}

struct Shape {
    dice: Random,
    people: u64,
}

impl Shape {
    /// A person; hubs with small numbers are the likeliest.
    fn person(&mut self) -> AccountAddress {
        let bound = match self.dice.below(10) {
            0 => 50,
            1 | 2 => 5_000.min(self.people),
            _ => self.people,
        };
        account(2, self.dice.below(bound))
    }

    fn transaction(&mut self, number: u64, has_fees: bool) -> AccountTransaction {
        let (from, to) = (self.person(), self.person());
        let exchange = self.dice.below(EXCHANGES);
        let asset = *self.dice.pick(&[ETH, USDT, USDT, USDC]);
        let unit = if asset == ETH { ETHER / 1_000 } else { DOLLAR };
        let amount = unit * u128::from(1 + self.dice.rather_small(100_000));
        let hot = account(0, exchange);
        let deposit = account(4, exchange * 1_000 + self.dice.below(1_000));
        let moves: Vec<Move> = match self.dice.below(100) {
            0..50 => vec![(from, to, asset, amount)],
            50..65 => vec![(hot, to, asset, amount)],
            65..75 => vec![(from, deposit, asset, amount)],
            75..83 => vec![(deposit, hot, asset, amount)],
            83 => vec![(account(1, self.dice.below(THIEVES)), to, asset, amount)],
            84..88 => {
                let payees = (0..10).map(|_| (account(5, 1), self.person(), asset, amount / 10));
                let payees: Vec<Move> = payees.collect();
                [(from, account(5, 1), asset, amount / 10 * 10)].into_iter().chain(payees).collect()
            }
            _ => {
                let (router, pool) = (account(5, 0), account(3, self.dice.below(POOLS)));
                let other = if asset == ETH { USDC } else { ETH };
                let got = if other == ETH { ETHER / 1_000 } else { DOLLAR };
                vec![
                    (from, router, asset, amount),
                    (router, pool, asset, amount),
                    (pool, router, other, got),
                    (router, from, other, got),
                ]
            }
        };
        let sender = moves[0].0;
        let mut transfers: Vec<Transfer> =
            moves.into_iter().map(|it| move_of(TransferKind::Transfer, it)).collect();
        if has_fees {
            let gas = 21_000_000_000_000;
            let builder = account(6, self.dice.below(20));
            transfers.push(move_of(TransferKind::Fee, (sender, builder, ETH, gas)));
            let burned = (sender, AccountAddress::ZERO, ETH, 5 * gas);
            transfers.push(move_of(TransferKind::Fee, burned));
        }
        let mut id = [0x42; 32];
        id[24..].copy_from_slice(&number.to_be_bytes());
        let block = number / BLOCK;
        let seconds = i64::try_from(12 * block).expect("a time");
        AccountTransaction {
            block,
            time: Timestamp::UNIX_EPOCH + SignedDuration::from_secs(1_700_000_000 + seconds),
            id: Txid::from_bytes(id),
            initiator: Some(sender),
            transfers,
            beneficiaries: Vec::new(),
        }
    }
}
