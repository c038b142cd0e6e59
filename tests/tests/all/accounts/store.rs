//! Graphs of account chains in a store against those in memory.

use std::path::Path;

use assay_address::ChainId;
use assay_engine::{
    account::{AccountAddress, AccountTransaction, AccountView, MoneyEnd},
    ledger::{BlockRef, OwnerNumber, TransactionNumber},
    taxonomy::Category,
};
use assay_graph::{
    EmbeddedGraphs, GraphError,
    account::{
        AccountBlock, AccountEnds, AccountGraphView, AccountGraphWriter, AccountTransactions,
        MemoryAccounts, RebuildStep,
    },
};
use assay_test_chains::account_chain::LongAccountChain;
use assay_test_random::Random;
use assay_tests::{
    accounts::{
        conformance::{assert_equal_accounts, assert_equal_transactions, assert_equal_views},
        oracle::History,
    },
    is_full,
};
use jiff::Timestamp;
use tempfile::TempDir;

fn blocks(transactions: &[AccountTransaction]) -> Vec<AccountBlock> {
    let of_block = |one: &AccountTransaction, next: &AccountTransaction| one.block == next.block;
    let blocks = transactions.chunk_by(of_block).map(|transactions| {
        let (height, time) = (transactions[0].block, transactions[0].time);
        let reference = BlockRef { height, hash: [0; 32], parent: [0; 32], time };
        AccountBlock { reference, transactions: transactions.to_vec() }
    });
    blocks.collect()
}

fn ends(history: &History) -> AccountEnds {
    history.accounts.iter().copied().zip(history.parties.iter().copied()).collect()
}

fn open(graphs: &EmbeddedGraphs, ends: &AccountEnds) -> AccountGraphWriter {
    graphs.account_writer(ChainId::ETH, false, ends).unwrap()
}

/// The graph in memory.
fn reference(
    transactions: &[AccountTransaction],
    ends: impl IntoIterator<Item = (AccountAddress, MoneyEnd)>,
) -> MemoryAccounts {
    let mut all = AccountTransactions::new(ChainId::ETH);
    for transaction in transactions {
        all.push(transaction.clone());
    }
    MemoryAccounts::compute(all, ends)
}

/// Asserts that a store and a graph in memory answer alike.
fn assert_equal(name: &str, folder: &Path, memory: &MemoryAccounts) {
    let graphs = EmbeddedGraphs::new(folder);
    let store = graphs.account_snapshot(ChainId::ETH).unwrap().unwrap();
    let owners = memory.transactions().owners() as u64;
    let transactions = memory.transactions().transactions().len() as u64;
    assert_equal_views(name, memory, &store, (owners, transactions));
    assert_eq!(*memory.transactions().counts(), store.counts(), "{name}");
    store.check().unwrap();
}

/// Appends blocks in batches of random sizes, some of which can be rolled back.
fn append(writer: &mut AccountGraphWriter, dice: &mut Random, mut blocks: &[AccountBlock]) {
    while !blocks.is_empty() {
        let (batch, rest) = blocks.split_at(1 + dice.index(blocks.len()));
        let heights = batch[0].reference.height..=batch[batch.len() - 1].reference.height + 1;
        let from = match dice.below(3) {
            0 => 0,
            1 => *heights.end(),
            _ => heights.start() + dice.below(heights.end() - heights.start() + 1),
        };
        writer.append(batch, from, Timestamp::UNIX_EPOCH).unwrap();
        blocks = rest;
    }
}

#[test]
fn a_store_answers_as_memory_does() {
    for seed in 0..if is_full() { 2_000 } else { 60 } {
        let history = History::generate(seed);
        let ends = ends(&history);
        let folder = TempDir::new().unwrap();
        let mut dice = Random::new(seed);
        let mut writer = open(&EmbeddedGraphs::new(folder.path()), &ends);
        append(&mut writer, &mut dice, &blocks(&history.transactions));
        drop(writer);
        let memory = reference(&history.transactions, ends.iter());
        assert_equal(&format!("seed {seed}"), folder.path(), &memory);
    }
}

#[test]
fn what_is_rolled_back_leaves_nothing() {
    for seed in 0..if is_full() { 2_000 } else { 60 } {
        let (history, other) = (History::generate(seed), History::generate(seed + 1_000_000));
        let ends = ends(&history);
        let folder = TempDir::new().unwrap();
        let mut dice = Random::new(seed);
        let graphs = EmbeddedGraphs::new(folder.path());
        let mut writer = open(&graphs, &ends);
        let all = blocks(&history.transactions);
        let mut done = 0;
        while done < all.len() {
            let kept = done + 1 + dice.index(all.len() - done);
            writer.append(&all[done..kept], 0, Timestamp::UNIX_EPOCH).unwrap();
            done = kept;
            // A branch that is replaced.
            let mut branch = blocks(&other.transactions);
            branch.retain(|block| block.reference.height > all[done - 1].reference.height);
            append_reversible(&mut writer, &mut dice, &branch);
            if dice.one_in(3) {
                drop(writer);
                writer = open(&graphs, &AccountEnds::default());
            }
            let back = done - dice.index(done.min(5));
            writer.roll_back(all[back - 1].reference.height).unwrap();
            done = back;
            if dice.one_in(3) {
                break;
            }
        }
        drop(writer);
        let memory = reference(&history.transactions[..done], ends.iter());
        assert_equal(&format!("seed {seed}"), folder.path(), &memory);
    }
}

#[test]
fn a_chain_of_many_runs_answers_as_memory_does() {
    const OF_BLOCK: usize = 30;
    let count = if is_full() { 40_000 } else { 6_000 };
    let mut transactions: Vec<_> = LongAccountChain::new(5, 3_000, true).take(count).collect();
    for (number, transaction) in transactions.iter_mut().enumerate() {
        transaction.block = u64::try_from(number / OF_BLOCK).unwrap();
    }
    let of_block = |one: &AccountTransaction, next: &AccountTransaction| one.block == next.block;
    for same in transactions.chunk_by_mut(of_block) {
        let time = same[0].time;
        for transaction in same {
            transaction.time = time;
        }
    }
    let folder = TempDir::new().unwrap();
    let graphs = EmbeddedGraphs::new(folder.path());
    let ends: AccountEnds = LongAccountChain::ends().collect();
    let mut writer = open(&graphs, &ends);
    let all = blocks(&transactions);
    // The newest third can be rolled back, as far as 100 blocks reach.
    let reorganizable_from = all[all.len() * 2 / 3].reference.height;
    for (number, block) in all.iter().enumerate() {
        let block = std::slice::from_ref(block);
        writer.append(block, reorganizable_from, Timestamp::UNIX_EPOCH).unwrap();
        if number % 50 == 49 {
            drop(writer);
            writer = open(&graphs, &ends);
        }
    }
    let memory = reference(&transactions, ends.iter());
    let store = graphs.account_snapshot(ChainId::ETH).unwrap().unwrap();
    let owners = memory.transactions().owners() as u64;
    let numbers = transactions.len() as u64;
    let views: (&dyn AccountView, &dyn AccountView) = (&memory, &store);
    for owner in (0..owners).filter(|owner| owner % 23 == 0 || *owner < 60) {
        assert_equal_accounts("many runs", views, OwnerNumber(owner), numbers);
    }
    for number in (0..numbers).step_by(37) {
        assert_equal_transactions("many runs", views, TransactionNumber(number));
    }
    store.check().unwrap();
}

fn append_reversible(
    writer: &mut AccountGraphWriter,
    dice: &mut Random,
    mut blocks: &[AccountBlock],
) {
    while !blocks.is_empty() {
        let (batch, rest) = blocks.split_at(1 + dice.index(blocks.len()));
        writer.append(batch, 0, Timestamp::UNIX_EPOCH).unwrap();
        blocks = rest;
    }
}

/// The ends after a change of lists and labels: one is gone, one is another, and one is new.
fn changed(history: &History, dice: &mut Random) -> AccountEnds {
    let mut ends: Vec<(AccountAddress, MoneyEnd)> = ends(history).iter().collect();
    let gone = ends.remove(dice.index(ends.len()));
    let other = dice.index(ends.len());
    ends[other].1.category = Category::Ransomware;
    let account = history.accounts[history.parties.len() + dice.index(2)];
    ends.push((account, MoneyEnd { category: Category::Exchange, ..gone.1 }));
    ends.into_iter().collect()
}

#[test]
fn ledgers_for_other_ends_equal_those_that_are_computed_anew() {
    for seed in 0..if is_full() { 1_000 } else { 40 } {
        let history = History::generate(seed);
        let folder = TempDir::new().unwrap();
        let graphs = EmbeddedGraphs::new(folder.path());
        let mut dice = Random::new(seed);
        let all = blocks(&history.transactions);
        let (first, rest) = all.split_at(1 + dice.index(all.len()));
        let mut writer = open(&graphs, &ends(&history));
        append(&mut writer, &mut dice, first);
        drop(writer);
        let changed = changed(&history, &mut dice);
        let name = format!("seed {seed}");
        let revision = || {
            let snapshot = graphs.account_snapshot(ChainId::ETH).unwrap().unwrap();
            snapshot.ends_revision().to_owned()
        };
        // Ledgers that were begun for yet other ends count for nothing.
        if dice.one_in(3) {
            let begun = graphs.rebuild_ledgers(ChainId::ETH, &AccountEnds::default());
            begun.unwrap().unwrap().advance().unwrap();
        }
        let mut rebuild = graphs.rebuild_ledgers(ChainId::ETH, &changed).unwrap().unwrap();
        assert!(matches!(rebuild.advance().unwrap(), RebuildStep::Booked(_)));
        assert_eq!(revision(), ends(&history).revision(), "{name}: the old ones until the end");
        // Blocks that come meanwhile count too.
        let mut writer = open(&graphs, &AccountEnds::default());
        append(&mut writer, &mut dice, rest);
        assert!(rest.is_empty() || matches!(rebuild.advance().unwrap(), RebuildStep::Booked(_)));
        // A writer of blocks and an interruption only delay it.
        assert!(matches!(rebuild.advance(), Err(GraphError::Busy(_))), "{name}");
        drop(writer);
        if dice.one_in(2) {
            drop(rebuild);
            rebuild = graphs.rebuild_ledgers(ChainId::ETH, &changed).unwrap().unwrap();
        }
        while rebuild.advance().unwrap() != RebuildStep::Finished {}
        assert_eq!(revision(), changed.revision(), "{name}");
        let memory = reference(&history.transactions, changed.iter());
        assert_equal(&name, folder.path(), &memory);
        // The next writer goes on with the new ledgers.
        drop(rebuild);
        assert_eq!(open(&graphs, &AccountEnds::default()).ends(), &changed, "{name}");
    }
}
