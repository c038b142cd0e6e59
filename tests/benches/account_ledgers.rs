//! Cost of following money on an account chain in memory: `cargo bench -p assay-tests --bench account_ledgers`.
//! `ASSAY_TRANSFERS` sets the number of transfers (default 1,000,000).
//!
//! A made-up chain has labelled exchanges with deposit addresses that are swept, pools with routers, hubs that take part
//! in most payments, and thieves. Printed: CPU time of a step for each transfer, without and with the fees of
//! transactions, and the sizes of ledgers.
#![expect(
    clippy::print_stdout,
    clippy::expect_used,
    clippy::cast_precision_loss,
    reason = "a program for people at a terminal"
)]

use std::env;

use assay_address::ChainId;
use assay_engine::account::{MoneyEnds, Prices};
use assay_graph::account::{AccountLedgers, AccountTransactions};
use assay_test_chains::account_chain::LongAccountChain;
use assay_tests::cpu_time;

fn main() {
    let transfers = env::var("ASSAY_TRANSFERS").ok().and_then(|text| text.parse().ok());
    let transfers = transfers.unwrap_or(1_000_000);
    for has_fees in [false, true] {
        measure(transfers, has_fees);
    }
}

fn measure(wanted: u64, has_fees: bool) {
    let mut chain = LongAccountChain::new(7, wanted, has_fees);
    let mut transactions = AccountTransactions::new(ChainId::ETH);
    let (mut transfers, mut number) = (0, 0);
    while transfers < wanted {
        let transaction = chain.next().expect("an endless chain");
        transfers += transaction.transfers.len() as u64;
        number += 1;
        transactions.push(transaction);
    }
    let ends: MoneyEnds = LongAccountChain::ends()
        .filter_map(|(account, end)| Some((transactions.owner_number(account)?, end)))
        .collect();
    let mut ledgers = AccountLedgers::new(ends, Prices::default());
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
