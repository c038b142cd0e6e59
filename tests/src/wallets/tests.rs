//! Tests that clusters agree with the wallets of a chain, and do not depend on how the chain was ingested.
#![expect(clippy::print_stderr, reason = "figures are shown")]

use std::{collections::VecDeque, ops::ControlFlow};

use assay_address::ChainId;
use assay_engine::utxo::ResolvedBlock;
use assay_graph::{
    EmbeddedGraphs, Graph, GraphWriter, Membership, WriterOptions, memory::MemoryGraph,
};
use assay_test_random::Random;
use futures_util::FutureExt;
use jiff::Timestamp;

use super::{Agreement, ChainSize, KnownChain, LinkAgreement};
use crate::{append, is_full};

/// The least precision of clusters, in millionths.
const PRECISION: u64 = 990_000;

/// The most blocks that a random reorganisation replaces.
const DEEPEST: usize = 12;

fn in_memory(blocks: &[ResolvedBlock]) -> MemoryGraph {
    MemoryGraph::new(ChainId::BTC, 0, false, blocks.to_vec(), Timestamp::UNIX_EPOCH)
}

/// Agreement of the graph's clusters with the wallets.
fn agreement(known: &KnownChain) -> Agreement {
    let graph = in_memory(known.blocks());
    let mut addresses = Vec::new();
    for (owners, wallet) in known.addresses().zip(0..) {
        let clusters = graph.clusters(owners).now_or_never().unwrap().unwrap();
        let clusters = clusters.into_iter().map(|cluster| (cluster.unwrap().id, wallet));
        addresses.extend(clusters);
    }
    Agreement::measure::<_, usize>(&addresses)
}

/// Prints and returns the agreements of clusters, of co-spend without exclusions, and of co-spends of single wallets.
fn agreements(seed: u64, extent: ChainSize) -> [Agreement; 3] {
    let known = KnownChain::generate(seed, extent);
    let found = agreement(&known);
    let plain = known.co_spend_agreement(|_| true);
    let single = known.co_spend_agreement(|transaction| known.is_of_one_wallet(transaction));
    eprintln!(
        "chain {seed}: {} wallets, {} joint transactions of several, {} PayJoins",
        extent.wallets, known.joint, known.payjoins
    );
    eprintln!("  clusters:                          {found}");
    eprintln!("  co-spend without exclusions:       {plain}");
    eprintln!("  co-spends of single wallets alone: {single}");
    assert!(known.joint > 0);
    [found, plain, single]
}

/// Co-spend without exclusions joins nearly all wallets, so that clusters have a lower recall, but a higher precision
/// and F-measure. Clusters contain at least half of the pairs that co-spends of single wallets show; suspected
/// `PayJoin`s cause most of the others.
#[test]
fn clusters_are_the_wallets_that_made_the_chain() {
    let (seeds, wallets, blocks) = if is_full() { (10, 400, 3_000) } else { (2, 100, 600) };
    for seed in 0..seeds {
        let extent = ChainSize { wallets, blocks, payments_for_a_payjoin: 1_000 };
        let [found, plain, single] = agreements(seed, extent);
        assert!(found.precision() >= PRECISION, "{found}");
        assert!(found.f_measure() > plain.f_measure(), "{found}; without exclusions {plain}");
        assert!(found.recall() <= plain.recall() && single.recall() <= plain.recall());
        assert!(found.recall() * 2 >= single.recall(), "{found}; single wallets {single}");
    }
    // Many PayJoins cost precision: nothing on the chain shows some of them.
    let extent = ChainSize { wallets, blocks, payments_for_a_payjoin: 100 };
    let [found, plain, _] = agreements(seeds, extent);
    assert!(found.precision() > plain.precision(), "{found}; without exclusions {plain}");
}

/// Links and clusters together contain more pairs than co-spend without exclusions, and nearly all of them are correct.
#[test]
fn links_and_clusters_find_more_than_co_spend_without_exclusions() {
    let (seeds, wallets, blocks) = if is_full() { (5, 400, 3_000) } else { (1, 100, 600) };
    for seed in 10..10 + seeds {
        let extent = ChainSize { wallets, blocks, payments_for_a_payjoin: 1_000 };
        let known = KnownChain::generate(seed, extent);
        let plain = known.co_spend_agreement(|_| true);
        let LinkAgreement { links, pairs } =
            LinkAgreement::measure(&known, &in_memory(known.blocks()));
        eprintln!("chain {seed}: links and clusters: {pairs}");
        eprintln!("  co-spend without exclusions: {plain}");
        for (kind, (right, wrong)) in links {
            eprintln!("  links by {}: {right} right, {wrong} wrong", kind.as_str());
            assert!(right >= 99 * wrong, "{right} right, {wrong} wrong");
        }
        assert!(pairs.precision() >= PRECISION, "{pairs}");
        assert!(pairs.recall() > plain.recall(), "{pairs}; without exclusions {plain}");
    }
}

/// The cluster data of a graph: a fingerprint of its rows, including links, and the members.
async fn state(graph: &dyn Graph) -> ([u8; 32], Vec<Membership>) {
    let mut members = Vec::new();
    let mut each = |member| {
        members.push(member);
        ControlFlow::Continue(())
    };
    graph.each_member(&mut each).await.unwrap();
    (graph.fingerprint().await.unwrap(), members)
}

fn record(writer: &mut GraphWriter, known: &KnownChain, tip: Option<u64>) {
    let new = known.blocks().iter().filter(|block| Some(block.reference.height) > tip);
    let new: Vec<ResolvedBlock> = new.cloned().collect();
    append(writer, &new, 0, Timestamp::UNIX_EPOCH).unwrap();
}

/// Ingests a chain with many reorganizations, and compares the graph repeatedly with one that ingested only the
/// remaining blocks.
async fn reorganised(store: &EmbeddedGraphs, reorganisations: u64) {
    const COMPARISONS: u64 = 5;
    let options = WriterOptions { start: 0, sample: false, backfill: false };
    let mut writer = store.writer(ChainId::BTC, options).unwrap();
    let extent = ChainSize { wallets: 30, blocks: 0, payments_for_a_payjoin: 100 };
    let mut dice = Random::new(reorganisations);
    let mut known = KnownChain::new(9, extent);
    // The chain as it was after each of the last blocks.
    let mut earlier = VecDeque::new();
    let grow = |known: &mut KnownChain, earlier: &mut VecDeque<KnownChain>| {
        earlier.push_back(known.clone());
        if earlier.len() > DEEPEST {
            earlier.pop_front();
        }
        known.add_block();
    };
    for _ in 0..DEEPEST {
        grow(&mut known, &mut earlier);
    }
    record(&mut writer, &known, None);
    let graph = store.graph(ChainId::BTC).unwrap().unwrap();
    for number in 0..reorganisations {
        let depth = 1 + usize::try_from(dice.rather_small(earlier.len() as u64)).unwrap();
        earlier.truncate(earlier.len() + 1 - depth);
        known = earlier.pop_back().unwrap();
        known.reseed(1_000 + number);
        let tip = known.blocks().last().unwrap().reference.height;
        writer.roll_back(tip).unwrap();
        for _ in 0..=depth {
            grow(&mut known, &mut earlier);
        }
        record(&mut writer, &known, Some(tip));
        if (number + 1) % reorganisations.div_ceil(COMPARISONS) == 0
            || number + 1 == reorganisations
        {
            let expected = state(&in_memory(known.blocks())).await;
            assert!(state(&*graph).await == expected, "after {number} reorganisations and one");
            assert!(!expected.1.is_empty(), "there are clusters");
        }
    }
}

#[tokio::test]
async fn clusters_survive_reorganisations() {
    let directory = tempfile::tempdir().unwrap();
    let count = if is_full() { 1_000 } else { 25 };
    reorganised(&EmbeddedGraphs::new(directory.path()), count).await;
}
