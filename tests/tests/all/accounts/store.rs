//! Graphs of account chains in a store against those in memory.

use std::{collections::BTreeMap, fs, path::Path, sync::Arc, thread, time::Duration};

use assay_address::ChainId;
use assay_engine::{
    account::{
        AccountAddress, AccountTransaction, AccountView, Asset, AssetId, ContractFact,
        ContractFactKind, GROUP_PAYMENTS, MoneyEnd, Prices, Transfer, TransferKind, TransferPlace,
        scored_assets,
    },
    ledger::{BlockRef, OwnerNumber, TransactionNumber},
    taxonomy::Category,
    utxo::Txid,
};
use assay_graph::{
    EmbeddedGraphs, GraphError,
    account::{
        AccountBlock, AccountEnds, AccountGraphView, AccountGraphWriter, AccountSnapshot,
        AccountTransactions, LedgerRebuild, MemoryAccounts, RebuildStep,
    },
};
use assay_test_chains::account_chain::{Group, LongAccountChain, account};
use assay_test_random::Random;
use assay_tests::{
    accounts::{
        USDC,
        conformance::{
            assert_equal_accounts, assert_equal_histories, assert_equal_transactions,
            assert_equal_views,
        },
        oracle::History,
    },
    is_full,
};
use jiff::{Span, Timestamp, civil::date};
use ruint::aliases::U256;
use tempfile::TempDir;

pub(super) fn blocks(transactions: &[AccountTransaction]) -> Vec<AccountBlock> {
    let of_block = |one: &AccountTransaction, next: &AccountTransaction| one.block == next.block;
    let blocks = transactions.chunk_by(of_block).map(|transactions| {
        let (height, time) = (transactions[0].block, transactions[0].time);
        let reference = BlockRef { height, hash: [0; 32], parent: [0; 32], time };
        AccountBlock::new(reference, transactions.to_vec())
    });
    blocks.collect()
}

fn ends(history: &History) -> AccountEnds {
    let ends: AccountEnds =
        history.accounts.iter().copied().zip(history.parties.iter().copied()).collect();
    ends.with_prices(Arc::new(prices()))
}

/// Prices of ether on the days of histories, which differ from day to day.
fn prices() -> Prices {
    let first = date(2024, 12, 31);
    let price = |number: i64| {
        let day = first.checked_add(Span::new().days(number)).unwrap();
        (AssetId::native(ChainId::ETH), day, format!("{}", 2_000 + number).parse().unwrap())
    };
    Prices::new((0..800).map(price))
}

/// No ends, with the prices of histories.
fn no_ends() -> AccountEnds {
    AccountEnds::default().with_prices(Arc::new(prices()))
}

/// A history; of every second seed one in which some accounts have code, and money is exchanged for dollars and tokens.
fn history_of(seed: u64) -> History {
    let mut history = History::generate(seed);
    if seed % 2 == 1 {
        let mut dice = Random::new(seed + 7);
        let History { accounts, parties, transactions, .. } = &mut history;
        for transaction in transactions {
            with_contracts(transaction, &accounts[parties.len()..], &mut dice);
        }
    }
    history
}

/// Adds facts about contracts to a transaction, and transfers of dollars and tokens.
fn with_contracts(
    transaction: &mut AccountTransaction,
    accounts: &[AccountAddress],
    dice: &mut Random,
) {
    let token = |number: u8| Asset::Token(AccountAddress([0x70 + number; 20]));
    if dice.one_in(4) {
        let contract = *dice.pick(accounts);
        transaction.contract_facts.push(ContractFact::code(contract));
        if dice.one_in(2) {
            let kind = *dice.pick(&[ContractFactKind::Beneficiary, ContractFactKind::Holder]);
            let account = *dice.pick(accounts);
            transaction.contract_facts.push(ContractFact { contract, kind, account });
        }
    }
    let Some(last) = transaction.transfers.last().cloned() else { return };
    let assets = [USDC, token(1), token(2), Asset::Native];
    for next in (last.place.index + 1..).take(dice.index(3)) {
        let (from, to) = match dice.below(4) {
            0 => (last.to, last.from),
            1 => (AccountAddress::ZERO, last.from),
            2 => (last.from, *dice.pick(accounts)),
            _ => (*dice.pick(accounts), *dice.pick(accounts)),
        };
        let asset = *dice.pick(&assets);
        if asset == Asset::Native && from == AccountAddress::ZERO {
            continue;
        }
        let amount = match asset {
            Asset::Native => U256::from(1_000_000_000_000_000_000_u128),
            _ => U256::from(2_000_000_000_u64 + dice.below(100_000_000)),
        };
        let place = TransferPlace { index: next, published: None };
        let kind = TransferKind::Transfer;
        transaction.transfers.push(Transfer { kind, asset, from, to, amount, place });
    }
}

pub(super) fn open(graphs: &EmbeddedGraphs, ends: &AccountEnds) -> AccountGraphWriter {
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
    MemoryAccounts::compute(all, ends, &prices())
}

/// The fingerprint of a graph that is written in one batch.
pub(super) fn fingerprint_at_once(
    transactions: &[AccountTransaction],
    ends: &AccountEnds,
) -> [u8; 32] {
    let folder = TempDir::new().unwrap();
    let graphs = EmbeddedGraphs::new(folder.path());
    let mut writer = open(&graphs, ends);
    writer.append(&blocks(transactions), u64::MAX, Timestamp::UNIX_EPOCH).unwrap();
    graphs.account_snapshot(ChainId::ETH).unwrap().unwrap().fingerprint().unwrap()
}

/// Asserts that a store and a graph in memory answer alike, and that nothing else is left in the store.
fn assert_equal(name: &str, folder: &Path, memory: &MemoryAccounts) {
    let graphs = EmbeddedGraphs::new(folder);
    let store = graphs.account_snapshot(ChainId::ETH).unwrap().unwrap();
    let owners = memory.transactions().owners() as u64;
    let transactions = memory.transactions().transactions().len() as u64;
    assert_equal_views(name, memory, &store, (owners, transactions));
    assert_eq!(*memory.transactions().counts(), store.counts(), "{name}");
    store.check().unwrap();
    let ends = open(&graphs, &no_ends()).ends().clone();
    let ends = ends.with_prices(Arc::new(prices()));
    let at_once = fingerprint_at_once(memory.transactions().transactions(), &ends);
    assert_eq!(hex::encode(store.fingerprint().unwrap()), hex::encode(at_once), "{name}");
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
        let history = history_of(seed);
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
        let (history, other) = (history_of(seed), history_of(seed + 1_000_000));
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
                writer = open(&graphs, &no_ends());
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
    ends.into_iter().collect::<AccountEnds>().with_prices(Arc::new(prices()))
}

#[test]
fn ledgers_for_other_ends_equal_those_that_are_computed_anew() {
    for seed in 0..if is_full() { 1_000 } else { 40 } {
        let history = history_of(seed);
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
            let begun = graphs.recompute_ledgers(ChainId::ETH, &no_ends());
            begun.unwrap().unwrap().advance().unwrap();
        }
        let mut rebuild = graphs.recompute_ledgers(ChainId::ETH, &changed).unwrap().unwrap();
        assert!(matches!(rebuild.advance().unwrap(), RebuildStep::Booked(_)));
        assert_eq!(revision(), ends(&history).revision(), "{name}: the old ones until the end");
        // Blocks that come meanwhile count too.
        let mut writer = open(&graphs, &no_ends());
        append(&mut writer, &mut dice, rest);
        assert!(rest.is_empty() || matches!(rebuild.advance().unwrap(), RebuildStep::Booked(_)));
        // A writer of blocks and an interruption only delay it.
        assert!(matches!(rebuild.advance(), Err(GraphError::Busy(_))), "{name}");
        drop(writer);
        if dice.one_in(2) {
            drop(rebuild);
            rebuild = graphs.recompute_ledgers(ChainId::ETH, &changed).unwrap().unwrap();
        }
        while rebuild.advance().unwrap() != RebuildStep::Finished {}
        assert_eq!(revision(), changed.revision(), "{name}");
        drop(rebuild);
        let memory = reference(&history.transactions, changed.iter());
        assert_equal(&name, folder.path(), &memory);
        // The next writer goes on with the new ledgers.
        let next = open(&graphs, &no_ends());
        assert_eq!(next.ends().revision(), changed.revision(), "{name}");
    }
}

#[test]
fn a_copy_is_of_one_state_while_blocks_are_recorded_and_ledgers_computed_anew() {
    const PART: usize = 16 << 10;
    let (history, folder) = (History::generate(4), TempDir::new().unwrap());
    let (graphs, part) = (EmbeddedGraphs::new(folder.path()), PART as u64);
    let all = blocks(&history.transactions);
    let (first, rest) = all.split_at(all.len() / 2);
    let mut writer = open(&graphs, &ends(&history));
    assert!(graphs.copy(ChainId::ETH).unwrap().is_none());
    writer.append(first, 0, Timestamp::UNIX_EPOCH).unwrap();
    let fingerprint = |graphs: &EmbeddedGraphs| {
        graphs.account_snapshot(ChainId::ETH).unwrap().unwrap().fingerprint().unwrap()
    };
    let (copy, expected) = (graphs.copy(ChainId::ETH).unwrap().unwrap(), fingerprint(&graphs));
    // Given a copy that is interrupted while blocks are recorded and ledgers are computed for other ends,
    let elsewhere = TempDir::new().unwrap();
    let others = EmbeddedGraphs::new(elsewhere.path());
    let mut filling = others.begin_copy(ChainId::ETH, "a state", part).unwrap().unwrap();
    for _ in 0..2 {
        filling.add(&copy.read(filling.received(), PART).unwrap()).unwrap();
    }
    writer.append(rest, 0, Timestamp::UNIX_EPOCH).unwrap();
    drop((writer, filling));
    let mut anew = graphs.rebuild_ledgers(ChainId::ETH, &no_ends()).unwrap().unwrap();
    while anew.advance().unwrap() != RebuildStep::Finished {}
    assert_ne!(fingerprint(&graphs), expected);
    // when it goes on, then it is the state that was held,
    let mut filling = others.begin_copy(ChainId::ETH, "a state", part).unwrap().unwrap();
    assert_eq!(filling.received(), part, "the last part may not have been on the disk");
    while filling.received() < copy.length() {
        filling.add(&copy.read(filling.received(), PART).unwrap()).unwrap();
    }
    assert!(!others.exists(ChainId::ETH));
    let tip = others.finish_copy(filling, expected).unwrap();
    assert_eq!((tip, copy.fingerprint().unwrap()), (copy.tip(), expected));
    assert_eq!(fingerprint(&others), expected);
    // and with the further blocks it is the whole graph.
    open(&others, &no_ends()).append(rest, 0, Timestamp::UNIX_EPOCH).unwrap();
    assert_eq!(fingerprint(&others), fingerprint_at_once(&history.transactions, &ends(&history)));
    // Bytes of another state leave no graph.
    let third = TempDir::new().unwrap();
    let third = EmbeddedGraphs::new(third.path());
    let mut filling = third.begin_copy(ChainId::ETH, "another state", part).unwrap().unwrap();
    while filling.received() < copy.length() {
        filling.add(&copy.read(filling.received(), PART).unwrap()).unwrap();
    }
    let refused = third.finish_copy(filling, [7; 32]).unwrap_err().to_string();
    assert!(refused.contains("another fingerprint"), "{refused}");
    assert!(!third.exists(ChainId::ETH) && third.partial_copy_origin(ChainId::ETH).is_none());
}

#[test]
fn blocks_are_identified_by_all_that_is_recorded_up_to_them() {
    let transaction = |height: u64, amount: u64| AccountTransaction {
        block: height,
        time: Timestamp::from_second(i64::try_from(height).unwrap()).unwrap(),
        id: AccountTransaction::id_of_block(height),
        initiator: None,
        transfers: vec![Transfer {
            kind: TransferKind::Transfer,
            asset: Asset::Native,
            from: AccountAddress([1; 20]),
            to: AccountAddress([2; 20]),
            amount: U256::from(amount),
            place: TransferPlace::default(),
        }],
        contract_facts: Vec::new(),
        freezes: Vec::new(),
        delegations: Vec::new(),
        messages: Vec::new(),
    };
    let graph = |transactions: &[AccountTransaction]| {
        let folder = TempDir::new().unwrap();
        let graphs = EmbeddedGraphs::new(folder.path());
        let mut writer = open(&graphs, &no_ends());
        writer.append(&blocks(transactions), u64::MAX, Timestamp::UNIX_EPOCH).unwrap();
        graphs.account_snapshot(ChainId::ETH).unwrap().unwrap()
    };
    // Given a chain with a gap, a shorter one, and one with another amount in the second block,
    let whole = graph(&[transaction(5, 1), transaction(8, 2), transaction(9, 3)]);
    let shorter = graph(&[transaction(5, 1), transaction(8, 2)]);
    let other = graph(&[transaction(5, 1), transaction(8, 7), transaction(9, 3)]);
    let at = |graph: &AccountSnapshot, height| graph.block_reference(height).unwrap();
    // then every height from the first block to the newest one has a block that follows the one below,
    for graph in [&whole, &shorter, &other] {
        let tip = graph.graph_tip().unwrap();
        assert_eq!((tip.start, Some(tip.block)), (5, at(graph, tip.block.height)));
        for height in 5..tip.block.height {
            let (below, above) = (at(graph, height).unwrap(), at(graph, height + 1).unwrap());
            assert_eq!((above.height, above.parent), (height + 1, below.hash));
        }
        assert_eq!((at(graph, 4), at(graph, tip.block.height + 1)), (None, None));
        assert_eq!(at(graph, 5).unwrap().parent, [0; 32]);
    }
    // the shorter one is on the branch of the whole one, and the other one leaves it at its own second block.
    assert_eq!(at(&shorter, 8), at(&whole, 8));
    let differs = |height| at(&other, height).unwrap().hash != at(&whole, height).unwrap().hash;
    assert_eq!((5..=9).map(differs).collect::<Vec<_>>(), [false, false, false, true, true]);
}

#[test]
fn a_backup_is_the_graph_of_its_moment() {
    let (history, folder) = (History::generate(3), TempDir::new().unwrap());
    let graphs = EmbeddedGraphs::new(folder.path());
    let all = blocks(&history.transactions);
    let (first, rest) = all.split_at(all.len() / 2);
    let mut writer = open(&graphs, &ends(&history));
    assert_eq!(graphs.back_up_accounts(ChainId::ETH, &folder.path().join("none")).unwrap(), None);
    writer.append(first, 0, Timestamp::UNIX_EPOCH).unwrap();
    let before = graphs.account_snapshot(ChainId::ETH).unwrap().unwrap();
    let file = folder.path().join("backup");
    let told = graphs.back_up_accounts(ChainId::ETH, &file).unwrap();
    assert_eq!(told.as_ref(), Some(before.recorded()));
    writer.append(rest, 0, Timestamp::UNIX_EPOCH).unwrap();
    // A graph is never restored over another one,
    let error = graphs.restore_accounts(ChainId::ETH, &file);
    assert!(matches!(error, Err(GraphError::Exists { .. })));
    // and a file that is no backup leaves nothing behind.
    let elsewhere = TempDir::new().unwrap();
    let restored = EmbeddedGraphs::new(elsewhere.path());
    let wrong = folder.path().join("wrong");
    fs::write(&wrong, "no backup").unwrap();
    restored.restore_accounts(ChainId::ETH, &wrong).unwrap_err();
    assert!(restored.account_chains().is_empty());
    assert_eq!(restored.restore_accounts(ChainId::ETH, &file).unwrap(), told.unwrap());
    let after = restored.account_snapshot(ChainId::ETH).unwrap().unwrap();
    assert_eq!(after.fingerprint().unwrap(), before.fingerprint().unwrap());
    // A writer goes on where the backup ended.
    let mut writer = open(&restored, &no_ends());
    writer.append(rest, 0, Timestamp::UNIX_EPOCH).unwrap();
    let memory = reference(&history.transactions, ends(&history).iter());
    drop(writer);
    assert_equal("restored", elsewhere.path(), &memory);
}

/// Blocks of some transactions each, at the given heights.
fn blocks_at(heights: &[u64]) -> Vec<AccountBlock> {
    let mut chain = LongAccountChain::new(11, 100, true);
    let blocks = heights.iter().map(|height| {
        let seconds = 1_700_000_000 + 12 * i64::try_from(*height).unwrap();
        let time = Timestamp::from_second(seconds).unwrap();
        let of_block = |mut transaction: AccountTransaction| {
            transaction.block = *height;
            transaction.time = time;
            // As of a call by the chain itself.
            if height.is_multiple_of(20) {
                transaction.initiator = Some(AccountAddress::ZERO);
            }
            transaction
        };
        let transactions: Vec<_> = chain.by_ref().take(30).map(of_block).collect();
        let reference = BlockRef { height: *height, hash: [0; 32], parent: [0; 32], time };
        AccountBlock::new(reference, transactions)
    });
    blocks.collect()
}

#[test]
fn blocks_with_gaps_can_be_rolled_back_and_settled_in_any_order() {
    let folder = TempDir::new().unwrap();
    let graphs = EmbeddedGraphs::new(folder.path());
    let ends: AccountEnds = LongAccountChain::ends().collect();
    let mut writer = open(&graphs, &ends);
    let mut append = |blocks: &[AccountBlock], from| {
        writer.append(blocks, from, Timestamp::UNIX_EPOCH).unwrap();
    };
    let first = blocks_at(&[50]);
    append(&first, 51);
    append(&blocks_at(&[150, 200]), 0);
    writer.roll_back(100).unwrap();
    // A batch of a block that is settled and one that is not, below those that were rolled back.
    let rest = blocks_at(&[60, 70, 80, 90, 91]);
    let mut append = |blocks: &[AccountBlock], from| {
        writer.append(blocks, from, Timestamp::UNIX_EPOCH).unwrap();
    };
    append(&rest[..2], 65);
    append(&rest[2..3], 81);
    append(&rest[3..], 0);
    drop(writer);
    let all: Vec<AccountTransaction> =
        first.into_iter().chain(rest).flat_map(|block| block.transactions).collect();
    assert_equal("gaps", folder.path(), &reference(&all, ends.iter()));
}

#[test]
fn ledgers_are_computed_anew_by_one_program_at_a_time() {
    let (history, folder) = (History::generate(8), TempDir::new().unwrap());
    let graphs = EmbeddedGraphs::new(folder.path());
    let mut writer = open(&graphs, &ends(&history));
    writer.append(&blocks(&history.transactions), 0, Timestamp::UNIX_EPOCH).unwrap();
    drop(writer);
    let others = no_ends();
    let mut first = graphs.recompute_ledgers(ChainId::ETH, &others).unwrap().unwrap();
    let second =
        EmbeddedGraphs::new(folder.path()).recompute_ledgers(ChainId::ETH, &ends(&history));
    assert!(matches!(second, Err(GraphError::Busy(_))));
    while first.advance().unwrap() != RebuildStep::Finished {}
    drop(first);
    // What an interrupted program left in the folder of the next ledgers does no harm.
    let current: u64 = fs::read_to_string(folder.path().join("chains/eth.accounts/current"))
        .unwrap()
        .trim()
        .parse()
        .unwrap();
    let next = folder.path().join(format!("chains/eth.accounts/{}", current + 1));
    fs::create_dir(&next).unwrap();
    fs::write(next.join("data.mdb"), "half a file").unwrap();
    let mut again = graphs.recompute_ledgers(ChainId::ETH, &ends(&history)).unwrap().unwrap();
    while again.advance().unwrap() != RebuildStep::Finished {}
    drop(again);
    let memory = reference(&history.transactions, ends(&history).iter());
    assert_equal("again", folder.path(), &memory);
    // A folder without the graph that it names is no chain without transfers.
    graphs.close();
    fs::remove_dir_all(folder.path().join(format!("chains/eth.accounts/{}", current + 1))).unwrap();
    assert!(EmbeddedGraphs::new(folder.path()).account_snapshot(ChainId::ETH).is_err());
}

/// A chain of which one account has most payments, in two assets: bursts, ends, fees, and transactions that pay it and are
/// paid by it.
fn chain_with_a_hub(seed: u64, count: u64) -> (Vec<AccountTransaction>, AccountEnds) {
    let mut dice = Random::new(seed);
    let hub = account(Group::Contract, 0);
    let others: Vec<AccountAddress> =
        (0..40).map(|number| account(Group::Person, number)).collect();
    let ends = [(0, Category::Exchange), (1, Category::StolenFunds), (2, Category::Gambling)];
    let ends = ends.map(|(at, category)| (others[at], MoneyEnd { category, listed_on: None }));
    let assets: Vec<Asset> =
        scored_assets(ChainId::ETH).take(2).map(|scored| scored.id.asset).collect();
    let transactions = (0..count).map(|number| {
        let block = number / 20;
        let mut transfers = Vec::new();
        for log in 0..=u32::try_from(dice.below(4)).unwrap() {
            let other = others[dice.index(others.len())];
            let pair = match dice.below(10) {
                0 => (other, others[dice.index(others.len())]),
                1..6 => (other, hub),
                _ => (hub, other),
            };
            transfers.push(Transfer {
                from: pair.0,
                to: pair.1,
                asset: assets[usize::from(dice.one_in(6))],
                amount: U256::from(1 + dice.below(1_000_000)),
                kind: TransferKind::Transfer,
                place: TransferPlace { index: log, published: None },
            });
        }
        let seconds = 1_700_000_000 + 900 * i64::try_from(block).unwrap();
        AccountTransaction {
            id: Txid::from_bytes(U256::from(number + 1).to_be_bytes()),
            block,
            time: Timestamp::from_second(seconds).unwrap(),
            initiator: Some(others[dice.index(others.len())]),
            transfers,
            contract_facts: Vec::new(),
            freezes: Vec::new(),
            delegations: Vec::new(),
            messages: Vec::new(),
        }
    });
    let transactions = transactions.collect();
    (transactions, ends.into_iter().collect())
}

#[test]
fn a_hub_is_read_as_its_newest_payments_and_sums_of_older_ones() {
    let (transactions, ends) = chain_with_a_hub(1, if is_full() { 40_000 } else { 6_000 });
    let folder = TempDir::new().unwrap();
    let graphs = EmbeddedGraphs::new(folder.path());
    let mut dice = Random::new(2);
    let all = blocks(&transactions);
    let (first, last) = all.split_at(all.len() - 1);
    for batch in first.chunks(37) {
        let mut writer = open(&graphs, &ends);
        append(&mut writer, &mut dice, batch);
    }
    open(&graphs, &ends).append(last, u64::MAX, Timestamp::UNIX_EPOCH).unwrap();
    let memory = reference(&transactions, ends.iter());
    let store = graphs.account_snapshot(ChainId::ETH).unwrap().unwrap();
    let hub = memory.owner(account(Group::Contract, 0)).unwrap();
    let count = memory.payment_count(hub);
    let summed = store.history(hub, 2_000);
    assert!(summed.summed() > 2_000 && summed.payments.len() <= 2_000, "{}", summed.summed());
    assert_eq!(summed.summed() + summed.payments.len() as u64, count);
    assert!(store.history(hub, 0).summed() > GROUP_PAYMENTS);
    let budgets = [0, 1, 600, 1_100, 2_000, 4_000, usize::try_from(count).unwrap()];
    assert_equal_histories("hub", (&memory, &store), hub, &budgets);
    store.check().unwrap();
}

/// Ends after a random change: of a party, an account that had none, or both.
fn changed_at_random(
    accounts: &[AccountAddress],
    ends: &AccountEnds,
    dice: &mut Random,
) -> AccountEnds {
    let mut ends: BTreeMap<AccountAddress, MoneyEnd> = ends.iter().collect();
    let categories = [
        Category::Exchange,
        Category::StolenFunds,
        Category::Sanctions,
        Category::Gambling,
        Category::Mixer,
    ];
    for _ in 0..=dice.below(2) {
        let account = accounts[dice.index(accounts.len())];
        if dice.one_in(2) && ends.remove(&account).is_some() {
            continue;
        }
        let listed_on = dice.one_in(3).then(|| {
            date(2023, 1, 1)
                .saturating_add(Span::new().days(i64::try_from(dice.below(400)).unwrap()))
        });
        let category = categories[dice.index(categories.len())];
        ends.insert(account, MoneyEnd { category, listed_on });
    }
    ends.into_iter().collect()
}

/// Begins an update; `None` if the ledgers are for these ends. Programs that other tests start may hold a copy of the lock for
/// a moment.
fn begin_update(graphs: &EmbeddedGraphs, ends: &AccountEnds) -> Option<LedgerRebuild> {
    loop {
        match graphs.rebuild_ledgers(ChainId::ETH, ends) {
            Err(GraphError::Busy(_)) => thread::sleep(Duration::from_millis(5)),
            begun => return begun.unwrap(),
        }
    }
}

/// Runs an update to its end, with interruptions, blocks that come meanwhile, some of which can be rolled back, and another
/// computing.
fn update(
    folder: &Path,
    dice: &mut Random,
    ends: &AccountEnds,
    (mut rest, is_reversible): (&[AccountBlock], bool),
) {
    let record = |writer: &mut AccountGraphWriter, dice: &mut Random, blocks: &[AccountBlock]| {
        if is_reversible {
            append(writer, dice, blocks);
        } else {
            writer.append(blocks, u64::MAX, Timestamp::UNIX_EPOCH).unwrap();
        }
    };
    let graphs = &EmbeddedGraphs::new(folder);
    // All ledgers are computed anew in a second folder.
    let is_anew = || {
        let chain = fs::read_dir(folder.join("chains/eth.accounts")).unwrap();
        chain.filter(|entry| entry.as_ref().unwrap().path().is_dir()).count() > 1
    };
    let mut rebuild = begin_update(graphs, ends).unwrap();
    loop {
        match rebuild.advance() {
            Ok(RebuildStep::Finished) => break,
            Ok(RebuildStep::Booked(_)) | Err(GraphError::Busy(_)) => {}
            Err(error) => panic!("{error}"),
        }
        if dice.one_in(3) {
            let (batch, others) = rest.split_at(dice.index(rest.len() + 1));
            let mut writer = open(graphs, &no_ends());
            record(&mut writer, dice, batch);
            rest = others;
            // Only computing all ledgers anew goes on beside a writer.
            match rebuild.advance() {
                Err(GraphError::Busy(_)) => {}
                step => assert!(is_anew() && matches!(step, Ok(RebuildStep::Booked(_)))),
            }
        }
        if dice.one_in(3) {
            drop(rebuild);
            if dice.one_in(4) {
                // An update for yet other ends is begun, and given up.
                if let Some(mut begun) = begin_update(graphs, &no_ends()) {
                    let _ = begun.advance();
                }
            }
            rebuild = begin_update(graphs, ends).unwrap();
        }
    }
    drop(rebuild);
    record(&mut open(graphs, &no_ends()), dice, rest);
}

#[test]
fn updated_ledgers_equal_those_that_are_computed_anew() {
    for seed in 0..if is_full() { 2_000 } else { 100 } {
        let history = History::generate(seed);
        let folder = TempDir::new().unwrap();
        let graphs = EmbeddedGraphs::new(folder.path());
        let mut dice = Random::new(seed);
        let all = blocks(&history.transactions);
        let (first, mut rest) = all.split_at(1 + dice.index(all.len()));
        let mut present = ends(&history);
        append(&mut open(&graphs, &present), &mut dice, first);
        for change in 0..=dice.below(2) {
            let changed = changed_at_random(&history.accounts, &present, &mut dice);
            if changed.revision() == present.revision() {
                continue;
            }
            let (meanwhile, later) = rest.split_at(dice.index(rest.len() + 1));
            update(folder.path(), &mut dice, &changed, (meanwhile, true));
            (present, rest) = (changed, later);
            let done = all.len() - rest.len();
            let of_done: Vec<AccountTransaction> =
                all[..done].iter().flat_map(|block| block.transactions.clone()).collect();
            let name = format!("seed {seed}, change {change}");
            assert_equal(&name, folder.path(), &reference(&of_done, present.iter()));
        }
    }
}

#[test]
fn an_update_writes_the_sums_of_a_hub_anew() {
    let (transactions, mut present) = chain_with_a_hub(3, if is_full() { 40_000 } else { 6_000 });
    let folder = TempDir::new().unwrap();
    let graphs = EmbeddedGraphs::new(folder.path());
    let mut dice = Random::new(4);
    let all = blocks(&transactions);
    let count = if is_full() { 40 } else { 8 };
    let (first, mut rest) = all.split_at(all.len() / 3);
    for batch in first.chunks(61) {
        open(&graphs, &present).append(batch, u64::MAX, Timestamp::UNIX_EPOCH).unwrap();
    }
    let hub = account(Group::Contract, 0);
    let mut accounts: Vec<AccountAddress> =
        (0..40).map(|number| account(Group::Person, number)).collect();
    for change in 0..count {
        let mut changed = changed_at_random(&accounts, &present, &mut dice);
        if change == 3 {
            // The hub itself becomes an end, and passes money on again.
            accounts.push(hub);
            let end = MoneyEnd { category: Category::Exchange, listed_on: None };
            changed = present.iter().chain([(hub, end)]).collect();
        } else if change == 5 {
            changed = present.iter().filter(|(account, _)| *account != hub).collect();
        }
        if changed.revision() != present.revision() {
            let (meanwhile, later) = rest.split_at(rest.len().min(all.len() / count));
            update(folder.path(), &mut dice, &changed, (meanwhile, false));
            (present, rest) = (changed, later);
        }
        let name = format!("change {change}");
        let done: Vec<AccountTransaction> = all[..all.len() - rest.len()]
            .iter()
            .flat_map(|block| block.transactions.clone())
            .collect();
        let at_once = fingerprint_at_once(&done, &present);
        let memory = reference(&done, present.iter());
        let store = graphs.account_snapshot(ChainId::ETH).unwrap().unwrap();
        let number = memory.owner(hub).unwrap();
        assert_equal_histories(&name, (&memory, &store), number, &[0, 1_500]);
        assert_eq!(hex::encode(store.fingerprint().unwrap()), hex::encode(at_once), "{name}");
    }
}

/// A transaction with one payment of a scored asset, in a block of its own.
fn payment(number: u64, from: AccountAddress, to: AccountAddress) -> AccountTransaction {
    let asset = scored_assets(ChainId::ETH).next().unwrap().id.asset;
    let transfer = Transfer {
        from,
        to,
        asset,
        amount: U256::from(1_000 + number),
        kind: TransferKind::Transfer,
        place: TransferPlace { index: 0, published: None },
    };
    let seconds = 1_700_000_000 + 12 * i64::try_from(number).unwrap();
    AccountTransaction {
        id: Txid::from_bytes(U256::from(number + 1).to_be_bytes()),
        block: number,
        time: Timestamp::from_second(seconds).unwrap(),
        initiator: Some(from),
        transfers: vec![transfer],
        contract_facts: Vec::new(),
        freezes: Vec::new(),
        delegations: Vec::new(),
        messages: Vec::new(),
    }
}

fn thieves(accounts: &[AccountAddress]) -> impl Iterator<Item = (AccountAddress, MoneyEnd)> {
    let end = MoneyEnd { category: Category::StolenFunds, listed_on: None };
    accounts.iter().map(move |account| (*account, end))
}

#[test]
fn an_update_sums_the_pages_of_an_end_anew_from_the_first_that_changed() {
    // Given an exchange that one account paid early, and that paid another one late,
    let [early, late, other] = [0, 1, 2].map(|number| account(Group::Person, number));
    let exchange = account(Group::Exchange, 0);
    let transactions: Vec<AccountTransaction> = (0..3_000)
        .map(|number| match number {
            10 => payment(number, early, exchange),
            2_000 => payment(number, exchange, late),
            _ => payment(number, other, exchange),
        })
        .collect();
    let end = MoneyEnd { category: Category::Exchange, listed_on: None };
    let present: AccountEnds = [(exchange, end)].into_iter().collect();
    let folder = TempDir::new().unwrap();
    let graphs = EmbeddedGraphs::new(folder.path());
    open(&graphs, &present)
        .append(&blocks(&transactions), u64::MAX, Timestamp::UNIX_EPOCH)
        .unwrap();
    // when both become thieves,
    let changed: AccountEnds = present.iter().chain(thieves(&[early, late])).collect();
    update(folder.path(), &mut Random::new(1), &changed, (&[], false));
    // then all sums of the exchange tell them apart.
    let memory = reference(&transactions, changed.iter());
    let store = graphs.account_snapshot(ChainId::ETH).unwrap().unwrap();
    let owner = memory.owner(exchange).unwrap();
    assert_equal_histories("exchange", (&memory, &store), owner, &[0, 600]);
}

#[test]
fn an_update_books_a_recent_block_of_many_ledgers_once() {
    // Given a thief's money, which several accounts share among more accounts than one thread looks up, in a block that can be
    // rolled back,
    let thief = account(Group::Person, 0);
    let payee = |number: u64| account(Group::Person, 1 + number % 8);
    let mut transactions: Vec<AccountTransaction> =
        (0..8).map(|number| payment(number, thief, payee(number))).collect();
    let mut shared = payment(8, thief, thief);
    shared.transfers = (0..1_200)
        .map(|number| Transfer {
            from: payee(number),
            to: account(Group::Person, 100 + number),
            amount: U256::ONE,
            place: TransferPlace { index: u32::try_from(number).unwrap(), published: None },
            ..shared.transfers[0].clone()
        })
        .collect();
    transactions.push(shared);
    let folder = TempDir::new().unwrap();
    let graphs = EmbeddedGraphs::new(folder.path());
    let mut writer = open(&graphs, &no_ends());
    writer.append(&blocks(&transactions), 8, Timestamp::UNIX_EPOCH).unwrap();
    drop(writer);
    // when the thief is labelled, then its ledgers are those that are computed anew.
    let changed: AccountEnds = thieves(&[thief]).collect();
    update(folder.path(), &mut Random::new(1), &changed, (&[], false));
    assert_equal("shared", folder.path(), &reference(&transactions, changed.iter()));
}

#[test]
fn an_update_that_rests_for_long_is_given_up_and_leaves_nothing() {
    // Given an update of which a slice is written,
    let [thief, payee, other] = [0, 1, 2].map(|number| account(Group::Person, number));
    let transactions: Vec<AccountTransaction> = (0..3_300)
        .map(|number| match number {
            0..50 => payment(number, thief, payee),
            _ => payment(number, other, payee),
        })
        .collect();
    let folder = TempDir::new().unwrap();
    let graphs = EmbeddedGraphs::new(folder.path());
    let present = no_ends();
    let all = blocks(&transactions);
    let (first, rest) = all.split_at(100);
    open(&graphs, &present).append(first, u64::MAX, Timestamp::UNIX_EPOCH).unwrap();
    let changed: AccountEnds = thieves(&[thief]).collect();
    assert_eq!(
        begin_update(&graphs, &changed).unwrap().advance().unwrap(),
        RebuildStep::Booked(50)
    );
    // when so many blocks follow that the numbers of their runs pass those of the update's,
    let mut writer = open(&graphs, &present);
    for block in rest {
        writer.append(std::slice::from_ref(block), u64::MAX, Timestamp::UNIX_EPOCH).unwrap();
    }
    drop(writer);
    // then nothing of it is in the graph, and another update changes all that it should.
    let fingerprint = || {
        let store = graphs.account_snapshot(ChainId::ETH).unwrap().unwrap();
        hex::encode(store.fingerprint().unwrap())
    };
    assert_eq!(fingerprint(), hex::encode(fingerprint_at_once(&transactions, &present)));
    update(folder.path(), &mut Random::new(1), &changed, (&[], false));
    assert_eq!(fingerprint(), hex::encode(fingerprint_at_once(&transactions, &changed)));
}
