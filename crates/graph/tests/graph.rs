//! What a graph must do in every backend. What is right is what [`MemoryGraph`] says.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test stops at the first surprise"
)]

mod backends;
mod graph_backends;
mod made_chain;

use std::sync::Arc;

use assay_engine::{
    chain::ChainId,
    trace::Reading,
    utxo::{
        Block, OutPoint, ResolvedBlock, ScriptOwner, Transaction, TransactionKind, TxInput, TxOut,
        Txid,
    },
};
use assay_graph::{
    FlowSource, Graph, GraphError, GraphStore, GraphWriter, WriterOptions, memory::MemoryGraph,
};
use jiff::Timestamp;

use made_chain::Chain;

const CHAIN: ChainId = ChainId::BTC;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + second).unwrap()
}

fn options(start: u64) -> WriterOptions {
    WriterOptions { start, sample: false, backfill: false }
}

async fn writer(store: &dyn GraphStore, start: u64) -> Box<dyn GraphWriter> {
    store.writer(CHAIN, options(start)).await.unwrap()
}

async fn graph(store: &dyn GraphStore) -> Arc<dyn Graph> {
    store.graph(CHAIN).await.unwrap().unwrap()
}

/// The chain in memory.
fn reference(chain: &Chain) -> MemoryGraph {
    MemoryGraph::new(chain.id, chain.start, false, chain.blocks.clone(), at(0))
}

async fn append(writer: &mut dyn GraphWriter, blocks: &[ResolvedBlock], at_once: usize) {
    for blocks in blocks.chunks(at_once) {
        writer.append(blocks, 0, at(0)).await.unwrap();
    }
}

/// Expects the same answers to every question.
async fn expect_equal(graph: &dyn Graph, chain: &Chain) {
    let right = reference(chain);
    assert_eq!(graph.tip().await.unwrap(), right.tip().await.unwrap());
    assert_eq!(graph.fingerprint().await.unwrap(), right.fingerprint().await.unwrap());
    let (txids, outpoints) = (chain.txids(), chain.outpoints());
    for largest in [0, 1, 2, 1000] {
        for owner in chain.owners() {
            // Few legs for all transactions together, some, and as many as are there.
            for legs in [1, 5, 1_000_000] {
                let reading = Reading { transfers: largest, legs };
                let history = graph.history(&owner, reading).await.unwrap();
                assert_eq!(history, right.history(&owner, reading).await.unwrap(), "{owner:?}");
            }
        }
        assert_eq!(
            graph.origins(&txids, largest).await.unwrap(),
            right.origins(&txids, largest).await.unwrap()
        );
        assert_eq!(
            graph.destinations(&outpoints, largest).await.unwrap(),
            right.destinations(&outpoints, largest).await.unwrap()
        );
        for txid in &txids {
            assert_eq!(
                graph.transaction(txid, largest).await.unwrap(),
                right.transaction(txid, largest).await.unwrap()
            );
        }
    }
    let tip = chain.blocks.last().map_or(0, |block| block.reference.height);
    for height in chain.start.saturating_sub(1)..=tip {
        for most in [1, 3, 1000] {
            assert_eq!(
                graph.touched_above(height, most).await.unwrap(),
                right.touched_above(height, most).await.unwrap()
            );
        }
    }
    for (from, to) in [(0, u64::MAX), (chain.start + 1, tip - 1), (tip, tip), (5, 4)] {
        assert_eq!(graph.blocks(from, to).await.unwrap(), right.blocks(from, to).await.unwrap());
        let mut blocks = Vec::new();
        graph.each_block(from, to, &mut |block| blocks.push(block)).await.unwrap();
        let expected =
            chain.blocks.iter().filter(|block| (from..=to).contains(&block.reference.height));
        assert_eq!(blocks, expected.cloned().collect::<Vec<_>>());
    }
}

async fn answers_are_those_of_the_chain(store: Arc<dyn GraphStore>) {
    let made = Chain::of(0, 0, 30);
    append(&mut *writer(&*store, 0).await, &made.blocks, 7).await;
    expect_equal(&*graph(&*store).await, &made).await;
}

async fn so_are_those_of_many_small_chains(store: Arc<dyn GraphStore>) {
    // With `./tests/run --full` more of them.
    let count = if std::env::var_os("ASSAY_FULL").is_some() { 24 } else { 8 };
    let chains: Vec<ChainId> = ChainId::all().take(count).collect();
    for (id, seed) in chains.iter().zip(100..) {
        let made = Chain::of(seed, seed % 3 * 10, 6).called(*id);
        let mut writer = store.writer(*id, options(made.start)).await.unwrap();
        append(&mut *writer, &made.blocks, 2).await;
        let graph = store.graph(*id).await.unwrap().unwrap();
        expect_equal(&*graph, &made).await;
    }
    assert_eq!(store.chains().await.unwrap(), chains);
}

async fn what_follows_is_the_same_in_batches_of_any_size(store: Arc<dyn GraphStore>) {
    for (name, at_once) in [("btc", 1), ("ltc", 3), ("doge", 40)] {
        let chain = Chain::of(11, 0, 40).called(name.parse().unwrap());
        let mut writer = store.writer(chain.id, options(0)).await.unwrap();
        append(&mut *writer, &chain.blocks, at_once).await;
        let graph = store.graph(chain.id).await.unwrap().unwrap();
        let right = reference(&chain).fingerprint().await.unwrap();
        assert_eq!(graph.fingerprint().await.unwrap(), right);
    }
}

/// More rows of every table than one statement takes.
async fn many_rows_are_written_at_once(store: Arc<dyn GraphStore>) {
    const MANY: u32 = 9000;
    let owner = |number: u32| {
        let [a, b, c, d] = number.to_be_bytes();
        ScriptOwner::Witness(0, vec![a, b, c, d])
    };
    let coin = |number: u32, value: u64| TxOut { owner: owner(number), value };
    let mut chain = Chain::new(22, 0);
    let coinbase = Transaction {
        txid: Txid::from_bytes([1; 32]),
        kind: TransactionKind::Coinbase,
        inputs: Vec::new(),
        outputs: (0..MANY).map(|number| coin(number, u64::from(number) * 1_234_567)).collect(),
    };
    let passed_on = (0..MANY).zip(&coinbase.outputs).map(|(number, coin)| {
        let [a, b, c, d] = number.to_be_bytes();
        let output = OutPoint { txid: coinbase.txid, index: number };
        let known = TxInput { outpoint: output, spent: Some(coin.clone()) };
        let elsewhere = OutPoint { txid: Txid::from_bytes([9; 32]), index: number };
        let unknown = TxInput { outpoint: elsewhere, spent: None };
        let inputs = if number % 7 == 0 { vec![unknown, known] } else { vec![known] };
        let mut bytes = [2; 32];
        (bytes[0], bytes[1], bytes[2], bytes[3]) = (a, b, c, d);
        Transaction {
            txid: Txid::from_bytes(bytes),
            kind: TransactionKind::Payment,
            inputs,
            outputs: vec![TxOut { owner: owner((number + 1) % MANY), ..coin.clone() }],
        }
    });
    let passed_on = passed_on.collect();
    chain.add(vec![coinbase]);
    chain.add(passed_on);
    let mut writer = writer(&*store, 0).await;
    append(&mut *writer, &chain.blocks, 1).await;
    let graph = graph(&*store).await;
    let right = reference(&chain).fingerprint().await.unwrap();
    assert_eq!(graph.fingerprint().await.unwrap(), right);
    let mut blocks = Vec::new();
    graph.each_block(0, 1, &mut |block| blocks.push(block)).await.unwrap();
    assert_eq!(blocks, chain.blocks);
    let touched = graph.touched_above(0, 10_000).await.unwrap();
    assert_eq!(touched, (0..MANY).map(owner).collect::<Vec<_>>());

    writer.roll_back(0).await.unwrap();
    let right = reference(&chain.fork(0, 0, 0)).fingerprint().await.unwrap();
    assert_eq!(graph.fingerprint().await.unwrap(), right);
}

async fn a_backfill_ends_as_what_was_indexed_all_along(store: Arc<dyn GraphStore>) {
    let chain = Chain::of(12, 0, 30);
    let backfill = WriterOptions { backfill: true, ..options(0) };
    let mut writer = store.writer(CHAIN, backfill).await.unwrap();
    let (first, rest) = chain.blocks.split_at(10);
    writer.append(first, 25, at(0)).await.unwrap();
    // Interrupted, and taken up again.
    drop(writer);
    let mut writer = store.writer(CHAIN, backfill).await.unwrap();
    writer.append(rest, 25, at(0)).await.unwrap();
    writer.build_indexes().await.unwrap();
    expect_equal(&*graph(&*store).await, &chain).await;
    let error = writer.roll_back(23).await.unwrap_err();
    assert!(matches!(error, GraphError::TooDeep { height: 24, .. }), "{error}");
    writer.roll_back(24).await.unwrap();
    let chain = chain.fork(24, 99, 0);
    expect_equal(&*graph(&*store).await, &chain).await;
}

async fn a_reorganisation_leaves_no_trace(store: Arc<dyn GraphStore>) {
    let mut chain = Chain::of(13, 5, 130);
    let mut writer = writer(&*store, 5).await;
    append(&mut *writer, &chain.blocks, 17).await;
    for (depth, seed) in [(1, 1), (2, 2), (12, 3), (40, 4), (100, 5), (0, 6), (100, 7)] {
        let tip = chain.blocks.last().unwrap().reference.height;
        chain = chain.fork(tip - depth, seed, 0);
        writer.roll_back(tip - depth).await.unwrap();
        let graph = graph(&*store).await;
        assert_eq!(writer.tip(), graph.tip().await.unwrap());
        let right = reference(&chain).fingerprint().await.unwrap();
        assert_eq!(graph.fingerprint().await.unwrap(), right, "{depth} blocks back");
        chain = chain.fork(tip - depth, seed, 104);
        let begun = chain.blocks.iter().position(|block| block.reference.height > tip - depth);
        append(&mut *writer, &chain.blocks[begun.unwrap()..], 9).await;
        let right = reference(&chain).fingerprint().await.unwrap();
        assert_eq!(graph.fingerprint().await.unwrap(), right, "{depth} blocks back, and on");
    }
    let tip = chain.blocks.last().unwrap().reference.height;
    let error = writer.roll_back(tip - 101).await.unwrap_err();
    assert!(
        matches!(error, GraphError::TooDeep { height, chain: CHAIN } if height == tip - 100),
        "{error}"
    );
    let right = reference(&chain).fingerprint().await.unwrap();
    assert_eq!(graph(&*store).await.fingerprint().await.unwrap(), right);
}

async fn blocks_that_do_not_follow_change_nothing(store: Arc<dyn GraphStore>) {
    let chain = Chain::of(14, 7, 12);
    let other = chain.fork(10, 77, 3);
    let mut writer = writer(&*store, 7).await;
    assert_eq!(writer.tip(), None);
    assert_eq!(graph(&*store).await.tip().await.unwrap(), None);
    let refused = |blocks: &[ResolvedBlock], error: GraphError| {
        let GraphError::Gap { height, .. } = error else { panic!("{error}") };
        assert!(blocks.iter().any(|block| block.reference.height == height));
    };
    let late = &chain.blocks[1..];
    refused(late, writer.append(late, 0, at(0)).await.unwrap_err());
    assert_eq!(writer.tip(), None, "the first block is missing");

    append(&mut *writer, &chain.blocks, 5).await;
    for blocks in [&chain.blocks[11..], &other.blocks[5..], &other.blocks[4..]] {
        refused(blocks, writer.append(blocks, 0, at(0)).await.unwrap_err());
    }
    let mut torn = chain.fork(18, 78, 3).blocks.split_off(12);
    torn.remove(1);
    refused(&torn, writer.append(&torn, 0, at(0)).await.unwrap_err());
    expect_equal(&*graph(&*store).await, &chain).await;
    writer.append(&[], 0, at(9)).await.unwrap();
    assert_eq!(writer.tip(), reference(&chain).tip().await.unwrap());
}

async fn nothing_is_spent_twice(store: Arc<dyn GraphStore>) {
    let mut chain = Chain::of(18, 0, 20);
    let good = chain.blocks.len();
    // Something recorded that is spent, and somebody who spends it as well.
    let made = |txid| chain.txids().iter().filter(|made| **made == txid).count();
    let payments = chain.blocks.iter().flat_map(|block| &block.transactions);
    let mut inputs = payments.flat_map(|payment| &payment.inputs);
    let spent =
        inputs.find(|input| made(input.outpoint.txid) == 1 && input.outpoint.index < u32::MAX);
    let spent = spent.unwrap().clone();
    let value = spent.spent.as_ref().unwrap().value;
    chain.add(vec![Transaction {
        txid: Txid::from_bytes([9; 32]),
        kind: TransactionKind::Payment,
        outputs: vec![TxOut { owner: ScriptOwner::KeyHash([1; 20]), value }],
        inputs: vec![spent.clone()],
    }]);

    let mut writer = writer(&*store, 0).await;
    append(&mut *writer, &chain.blocks[..good], 7).await;
    let before = graph(&*store).await.fingerprint().await.unwrap();
    let error = writer.append(&chain.blocks[good..], 0, at(0)).await.unwrap_err();
    let GraphError::SpentBefore { chain: CHAIN, txid, height, output } = error else {
        panic!("{error}")
    };
    assert_eq!((txid, height), (Txid::from_bytes([9; 32]), good as u64));
    assert_eq!(output, spent.outpoint);
    assert_eq!(graph(&*store).await.fingerprint().await.unwrap(), before);
    chain.blocks.pop();
    chain.grow();
    append(&mut *writer, &chain.blocks[good..], 1).await;

    // A backfill meets it late.
    let other = "ltc".parse().unwrap();
    let options = WriterOptions { backfill: true, ..options(0) };
    let mut writer = store.writer(other, options).await.unwrap();
    append(&mut *writer, &chain.blocks, 7).await;
    chain.add(vec![Transaction {
        txid: Txid::from_bytes([9; 32]),
        kind: TransactionKind::Payment,
        outputs: vec![],
        inputs: vec![spent],
    }]);
    append(&mut *writer, &chain.blocks[good + 1..], 1).await;
    let error = writer.build_indexes().await.unwrap_err();
    assert!(matches!(error, GraphError::SpentTwice(chain) if chain == other), "{error}");
}

async fn only_one_writes_at_a_time(store: Arc<dyn GraphStore>) {
    let chain = Chain::of(15, 0, 6);
    let mut first = writer(&*store, 0).await;
    append(&mut *first, &chain.blocks[..3], 3).await;
    let busy = store.writer(CHAIN, options(0)).await.unwrap_err();
    assert!(matches!(busy, GraphError::Busy(CHAIN)), "{busy}");
    let other = store.writer("ltc".parse().unwrap(), options(0)).await;
    assert!(other.is_ok(), "another chain is another matter");
    append(&mut *first, &chain.blocks[3..5], 2).await;
    drop(first);
    let mut second = writer(&*store, 0).await;
    assert_eq!(second.tip().unwrap().block, chain.blocks[4].reference);
    append(&mut *second, &chain.blocks[5..], 1).await;
    expect_equal(&*graph(&*store).await, &chain).await;
}

async fn a_graph_begins_where_it_began(store: Arc<dyn GraphStore>) {
    assert!(store.graph(CHAIN).await.unwrap().is_none());
    assert_eq!(store.chains().await.unwrap(), []);
    // One without blocks may still begin anywhere.
    drop(writer(&*store, 3).await);
    let sample = WriterOptions { sample: true, ..options(5) };
    let mut writer = store.writer(CHAIN, sample).await.unwrap();
    let chain = Chain::of(16, 5, 3);
    append(&mut *writer, &chain.blocks, 3).await;
    let tip = writer.tip().unwrap();
    assert_eq!((tip.start, tip.block, tip.sample), (5, chain.blocks[2].reference, true));
    writer.roll_back(5).await.unwrap();
    drop(writer);
    let error = store.writer(CHAIN, options(6)).await.unwrap_err();
    assert!(matches!(error, GraphError::OtherStart { start: 5, wanted: 6, .. }), "{error}");
    // What it is was said when it was made.
    let mut writer = store.writer(CHAIN, options(5)).await.unwrap();
    assert!(writer.tip().unwrap().sample);
    // Without blocks it is as new.
    writer.roll_back(0).await.unwrap();
    assert_eq!(writer.tip(), None);
    let empty = reference(&Chain::new(0, 5));
    assert_eq!(graph(&*store).await.tip().await.unwrap(), None);
    drop(writer);
    drop(self::writer(&*store, 5).await);
    let graph = graph(&*store).await;
    assert_eq!(graph.fingerprint().await.unwrap(), empty.fingerprint().await.unwrap());
}

async fn a_confirmed_tip_moves_time_forward_only(store: Arc<dyn GraphStore>) {
    let chain = Chain::of(17, 0, 3);
    let mut writer = writer(&*store, 0).await;
    writer.verified(at(1)).await.unwrap();
    assert_eq!(writer.tip(), None, "there is nothing to confirm");
    writer.append(&chain.blocks[..2], 0, at(10)).await.unwrap();
    for (confirmed, expected) in [(5, 10), (20, 20), (15, 20)] {
        writer.verified(at(confirmed)).await.unwrap();
        let tip = graph(&*store).await.tip().await.unwrap();
        assert_eq!(tip.unwrap().verified_at, at(expected));
        assert_eq!(tip, writer.tip());
    }
    writer.append(&chain.blocks[2..], 0, at(12)).await.unwrap();
    assert_eq!(writer.tip().unwrap().verified_at, at(20));
    assert_eq!(graph(&*store).await.tip().await.unwrap(), writer.tip());
}

async fn what_cannot_be_written_leaves_nothing(store: Arc<dyn GraphStore>) {
    let chain = Chain::of(18, 0, 8);
    let mut writer = writer(&*store, 0).await;
    append(&mut *writer, &chain.blocks[..6], 6).await;
    let mut broken: Vec<Block> =
        chain.blocks[6..].iter().map(|block| block.clone().into_block()).collect();
    broken[1].transactions[0].outputs[0].value = u64::MAX;
    let txid = broken[1].transactions[0].txid;
    let broken: Vec<_> = broken.into_iter().map(ResolvedBlock::assume).collect();
    let error = writer.append(&broken, 0, at(0)).await.unwrap_err();
    assert!(matches!(error, GraphError::Amount { txid: which, .. } if which == txid), "{error}");
    expect_equal(&*graph(&*store).await, &chain.fork(5, 0, 0)).await;
    append(&mut *writer, &chain.blocks[6..], 2).await;
    expect_equal(&*graph(&*store).await, &chain).await;
}

async fn the_largest_amounts_are_exact(store: Arc<dyn GraphStore>) {
    let largest = u64::try_from(i64::MAX).unwrap();
    let rich = ScriptOwner::KeyHash([1; 20]);
    let mut chain = Chain::new(19, 0);
    for number in 0..5 {
        let coinbase = Transaction {
            txid: Txid::from_bytes([number; 32]),
            kind: TransactionKind::Coinbase,
            inputs: Vec::new(),
            outputs: vec![TxOut { owner: rich.clone(), value: largest }],
        };
        chain.add(vec![coinbase]);
    }
    let mut writer = writer(&*store, 0).await;
    append(&mut *writer, &chain.blocks, 2).await;
    let graph = graph(&*store).await;
    let statistics =
        graph.history(&rich, Reading { transfers: 9, legs: 9 }).await.unwrap().unwrap().statistics;
    assert_eq!(statistics.received, 5 * u128::from(largest));
    expect_equal(&*graph, &chain).await;
}

/// A transaction of 3000 inputs and as many outputs, and somebody to whom a third of them belong.
async fn a_fan_is_cut_at_its_largest_legs(store: Arc<dyn GraphStore>) {
    let mut chain = Chain::new(20, 0);
    let owner = |number: u16| {
        let [high, low] = (number % 1000).to_be_bytes();
        let mut hash = [0; 20];
        (hash[0], hash[1]) = if number.is_multiple_of(3) { (255, 255) } else { (high, low) };
        ScriptOwner::KeyHash(hash)
    };
    let side = |seed: u16| {
        let coin = move |number: u16| TxOut {
            owner: owner(number + seed),
            value: u64::from(number % 500) * 1000,
        };
        (0..3000).map(coin).collect::<Vec<_>>()
    };
    let coinbase = Transaction {
        txid: Txid::from_bytes([1; 32]),
        kind: TransactionKind::Coinbase,
        inputs: Vec::new(),
        outputs: side(0),
    };
    let spent = coinbase.outputs.iter().zip(0..).map(|(coin, index)| TxInput {
        outpoint: OutPoint { txid: coinbase.txid, index },
        spent: Some(coin.clone()),
    });
    let fan = Transaction {
        txid: Txid::from_bytes([2; 32]),
        kind: TransactionKind::Payment,
        inputs: spent.collect(),
        outputs: side(7),
    };
    chain.add(vec![coinbase, fan.clone()]);
    let mut writer = writer(&*store, 0).await;
    append(&mut *writer, &chain.blocks, 1).await;
    let (graph, right) = (graph(&*store).await, reference(&chain));
    let hub = owner(0);
    for largest in [1, 10, 1999, 3000, 3001] {
        let found = graph.transaction(&fan.txid, largest).await.unwrap();
        assert_eq!(found, right.transaction(&fan.txid, largest).await.unwrap());
        assert_eq!(found.unwrap().inputs.largest.len(), 3000.min(largest as usize));
        let reading = Reading { transfers: largest, legs: 100_000 };
        let history = graph.history(&hub, reading).await.unwrap();
        assert_eq!(history, right.history(&hub, reading).await.unwrap());
        assert_eq!(history.unwrap().incoming[0].outputs.len(), 1000);
        let spent: Vec<_> = fan.inputs.iter().step_by(300).map(|input| input.outpoint).collect();
        let destinations = graph.destinations(&spent, largest).await.unwrap();
        assert_eq!(destinations, right.destinations(&spent, largest).await.unwrap());
        assert_eq!(destinations.iter().flatten().count(), 10, "one for each that was asked for");
    }
    assert_eq!(graph.fingerprint().await.unwrap(), right.fingerprint().await.unwrap());
}

async fn coins_are_found_spent_or_not(store: Arc<dyn GraphStore>) {
    let chain = Chain::of(21, 0, 30);
    let mut writer = writer(&*store, 0).await;
    append(&mut *writer, &chain.blocks, 7).await;
    let outpoints = chain.outpoints();
    let remembered = writer.outputs(&outpoints).await.unwrap();
    drop(writer);
    let mut writer = self::writer(&*store, 0).await;
    let read = writer.outputs(&outpoints).await.unwrap();
    assert_eq!(remembered, read, "a new writer remembers nothing");
    let graph = reference(&chain);
    for output in outpoints {
        let made = graph.transaction(&output.txid, 1000).await.unwrap();
        let legs = made.map(|made| made.outputs.largest).unwrap_or_default();
        let leg = legs.into_iter().find(|leg| leg.outpoint == output);
        let coin = leg.map(|leg| TxOut { owner: leg.output.owner, value: leg.output.value });
        assert_eq!(read.get(&output), coin.as_ref(), "{output}");
    }
    // What was looked up serves what is written next.
    let chain = chain.fork(29, 5, 10);
    append(&mut *writer, &chain.blocks[30..], 4).await;
    let right = reference(&chain).fingerprint().await.unwrap();
    assert_eq!(self::graph(&*store).await.fingerprint().await.unwrap(), right);
}

macro_rules! contract {
    ($backend:ident: $($test:ident),+ $(,)?) => {
        mod $backend {
            $(
                #[tokio::test]
                async fn $test() {
                    let backend = super::backends::$backend().await;
                    super::$test(std::sync::Arc::clone(&backend.store)).await;
                }
            )+
        }
    };
    ($($backend:ident),+) => {
        $(contract! { $backend:
            answers_are_those_of_the_chain,
            so_are_those_of_many_small_chains,
            many_rows_are_written_at_once,
            what_follows_is_the_same_in_batches_of_any_size,
            a_backfill_ends_as_what_was_indexed_all_along,
            a_reorganisation_leaves_no_trace,
            blocks_that_do_not_follow_change_nothing,
            nothing_is_spent_twice,
            only_one_writes_at_a_time,
            a_graph_begins_where_it_began,
            a_confirmed_tip_moves_time_forward_only,
            what_cannot_be_written_leaves_nothing,
            the_largest_amounts_are_exact,
            a_fan_is_cut_at_its_largest_legs,
            coins_are_found_spent_or_not,
        })+
    };
}

contract!(sqlite, postgres);
