//! What a graph must do in every backend. What is right is what [`MemoryGraph`] says.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test stops at the first surprise"
)]

#[expect(dead_code, reason = "shared with the other contract")]
mod backends;
mod made_chain;

use std::sync::Arc;

use assay_engine::chain::ChainId;
use assay_store::{
    Store, StoreError,
    graph::{FlowSource, Graph, GraphBlock, GraphWriter, WriterOptions, memory::MemoryGraph},
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

async fn writer(store: &dyn Store, start: u64) -> Box<dyn GraphWriter> {
    store.graph_writer(CHAIN, options(start)).await.unwrap()
}

async fn graph(store: &dyn Store) -> Arc<dyn Graph> {
    store.graph(CHAIN).await.unwrap().unwrap()
}

/// The chain in memory.
fn reference(chain: &Chain) -> MemoryGraph {
    MemoryGraph::new(CHAIN, chain.start, false, chain.blocks.clone(), at(0))
}

async fn append(writer: &mut dyn GraphWriter, blocks: &[GraphBlock], at_once: usize) {
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
        for holder in chain.holders() {
            let history = graph.history(&holder, largest).await.unwrap();
            assert_eq!(history, right.history(&holder, largest).await.unwrap(), "{holder:?}");
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
    let tip = chain.blocks.last().map_or(0, |block| block.block.height);
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
            chain.blocks.iter().filter(|block| (from..=to).contains(&block.block.height));
        assert_eq!(blocks, expected.cloned().collect::<Vec<_>>());
    }
}

async fn answers_are_those_of_the_chain(store: Arc<dyn Store>) {
    for (seed, chain) in ["btc", "ltc", "doge"].into_iter().enumerate() {
        let made = Chain::of(seed as u64, 10 * seed as u64, 30);
        let chain: ChainId = chain.parse().unwrap();
        let mut writer = store.graph_writer(chain, options(made.start)).await.unwrap();
        append(&mut *writer, &made.blocks, 7).await;
        let graph = store.graph(chain).await.unwrap().unwrap();
        let right = MemoryGraph::new(chain, made.start, false, made.blocks.clone(), at(0));
        assert_eq!(graph.fingerprint().await.unwrap(), right.fingerprint().await.unwrap());
        if chain == CHAIN {
            expect_equal(&*graph, &made).await;
        }
    }
    let chains = ["btc", "ltc", "doge"].map(|chain| chain.parse().unwrap());
    assert_eq!(store.graph_chains().await.unwrap(), chains);
}

async fn what_follows_is_the_same_in_batches_of_any_size(store: Arc<dyn Store>) {
    let chain = Chain::of(11, 0, 40);
    let right = reference(&chain).fingerprint().await.unwrap();
    for (name, at_once) in [("btc", 1), ("ltc", 3), ("doge", 40)] {
        let id = name.parse().unwrap();
        let mut writer = store.graph_writer(id, options(0)).await.unwrap();
        append(&mut *writer, &chain.blocks, at_once).await;
        let blocks = chain.blocks.clone();
        let right = MemoryGraph::new(id, 0, false, blocks, at(0)).fingerprint().await.unwrap();
        let graph = store.graph(id).await.unwrap().unwrap();
        assert_eq!(graph.fingerprint().await.unwrap(), right);
    }
    assert_eq!(graph(&*store).await.fingerprint().await.unwrap(), right);
}

async fn a_backfill_ends_as_what_was_indexed_all_along(store: Arc<dyn Store>) {
    let chain = Chain::of(12, 0, 30);
    let backfill = WriterOptions { backfill: true, ..options(0) };
    let mut writer = store.graph_writer(CHAIN, backfill).await.unwrap();
    let (first, rest) = chain.blocks.split_at(10);
    writer.append(first, 25, at(0)).await.unwrap();
    // Interrupted, and taken up again.
    drop(writer);
    let mut writer = store.graph_writer(CHAIN, backfill).await.unwrap();
    writer.append(rest, 25, at(0)).await.unwrap();
    writer.build_indexes().await.unwrap();
    expect_equal(&*graph(&*store).await, &chain).await;
    let error = writer.roll_back(23).await.unwrap_err();
    assert!(matches!(error, StoreError::TooDeep { height: 24, .. }), "{error}");
    writer.roll_back(24).await.unwrap();
    let chain = chain.fork(24, 99, 0);
    expect_equal(&*graph(&*store).await, &chain).await;
}

async fn a_reorganisation_leaves_no_trace(store: Arc<dyn Store>) {
    let mut chain = Chain::of(13, 5, 130);
    let mut writer = writer(&*store, 5).await;
    append(&mut *writer, &chain.blocks, 17).await;
    for (depth, seed) in [(1, 1), (2, 2), (12, 3), (40, 4), (100, 5), (0, 6), (100, 7)] {
        let tip = chain.blocks.last().unwrap().block.height;
        chain = chain.fork(tip - depth, seed, 0);
        writer.roll_back(tip - depth).await.unwrap();
        let graph = graph(&*store).await;
        assert_eq!(writer.tip(), graph.tip().await.unwrap());
        let right = reference(&chain).fingerprint().await.unwrap();
        assert_eq!(graph.fingerprint().await.unwrap(), right, "{depth} blocks back");
        chain = chain.fork(tip - depth, seed, 104);
        let begun = chain.blocks.iter().position(|block| block.block.height > tip - depth);
        append(&mut *writer, &chain.blocks[begun.unwrap()..], 9).await;
        let right = reference(&chain).fingerprint().await.unwrap();
        assert_eq!(graph.fingerprint().await.unwrap(), right, "{depth} blocks back, and on");
    }
    let tip = chain.blocks.last().unwrap().block.height;
    let error = writer.roll_back(tip - 101).await.unwrap_err();
    assert!(
        matches!(error, StoreError::TooDeep { height, chain: CHAIN } if height == tip - 100),
        "{error}"
    );
    let right = reference(&chain).fingerprint().await.unwrap();
    assert_eq!(graph(&*store).await.fingerprint().await.unwrap(), right);
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
            what_follows_is_the_same_in_batches_of_any_size,
            a_backfill_ends_as_what_was_indexed_all_along,
            a_reorganisation_leaves_no_trace,
        })+
    };
}

contract!(sqlite, postgres);
