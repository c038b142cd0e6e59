//! Conformance tests of chain graphs, whose answers must equal those of [`MemoryGraph`].

mod reading;
mod writing;

use std::{collections::BTreeSet, ops::ControlFlow, sync::Arc};

use assay_address::ChainId;
use assay_engine::{
    evidence::Direction,
    ledger::{ENTRIES_PER_TRANSACTION, OwnHistory, ReadLimits, TransactionNumber},
    reading::{
        ChainView, LookupResult, ReadRequest, TransactionRead, ViewError, Waypoint,
        entries_of_each, read_own,
    },
    utxo::{OutPoint, ResolvedBlock, ScriptOwner, Txid},
};
use jiff::Timestamp;
use tempfile::TempDir;

pub use assay_test_chains::TestChain;

use assay_graph::{
    EmbeddedGraphs, Graph, GraphError, GraphView, GraphWriter, Membership, WriterOptions,
    memory::MemoryGraph,
};

/// The chain of most checks.
pub const CHAIN: ChainId = ChainId::BTC;

/// A time some seconds after a fixed time.
#[must_use]
pub fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + second).unwrap()
}

/// Options of a writer from height `start` on.
#[must_use]
pub const fn options(start: u64) -> WriterOptions {
    WriterOptions { start, sample: false, backfill: false }
}

/// Embedded graphs in a folder of their own.
fn embedded() -> (EmbeddedGraphs, TempDir) {
    let directory = tempfile::tempdir().unwrap();
    (EmbeddedGraphs::new(directory.path()), directory)
}

/// A writer of [`CHAIN`] from height `start` on.
pub fn writer(store: &EmbeddedGraphs, start: u64) -> GraphWriter {
    store.writer(CHAIN, options(start)).unwrap()
}

/// The graph of [`CHAIN`].
pub fn graph(store: &EmbeddedGraphs) -> Arc<dyn Graph> {
    store.graph(CHAIN).unwrap().unwrap()
}

/// The reference: a chain in memory.
#[must_use]
pub fn reference(chain: &TestChain) -> MemoryGraph {
    MemoryGraph::new(chain.id, chain.start, false, chain.blocks.clone(), at(0))
}

/// Appends blocks, `at_once` in each transaction.
pub fn append(writer: &mut GraphWriter, blocks: &[ResolvedBlock], at_once: usize) {
    for blocks in blocks.chunks(at_once) {
        record(writer, blocks, 0, at(0)).unwrap();
    }
}

/// Appends blocks in one transaction.
pub fn record(
    writer: &mut GraphWriter,
    blocks: &[ResolvedBlock],
    reorganizable_from: u64,
    at: Timestamp,
) -> Result<(), GraphError> {
    let transactions = blocks.iter().flat_map(|block| &block.transactions);
    let inputs = transactions.flat_map(|transaction| &transaction.inputs);
    let spent: Vec<OutPoint> = inputs.map(|input| input.outpoint).collect();
    let recorded = writer.outputs(&spent)?;
    writer.append(blocks, &recorded, reorganizable_from, at)
}

/// Checks that a graph answers every question as the reference does.
pub async fn expect_equal(graph: &Arc<dyn Graph>, chain: &TestChain) {
    let right = reference(chain);
    assert_eq!(graph.tip().await.unwrap(), right.tip().await.unwrap());
    assert_eq!(graph.fingerprint().await.unwrap(), right.fingerprint().await.unwrap());
    for largest in [0, 1, 2, 1000] {
        for txid in &chain.txids() {
            assert_eq!(
                graph.transaction(txid, largest).await.unwrap(),
                right.transaction(txid, largest).await.unwrap()
            );
        }
    }
    if let Some(view) = Arc::clone(graph).view().await.unwrap() {
        expect_equal_view(&*view, &right, chain).await;
    }
    let graph = &**graph;
    expect_equal_clusters(graph, &right, &chain.owners()).await;
    let tip = chain.blocks.last().map_or(0, |block| block.reference.height);
    for height in chain.start.saturating_sub(1)..=tip {
        for most in [1, 3, 1000] {
            assert_eq!(
                graph.owners_in_blocks_above(height, most).await.unwrap(),
                right.owners_in_blocks_above(height, most).await.unwrap()
            );
        }
    }
    for (from, to) in [(0, u64::MAX), (chain.start + 1, tip - 1), (tip, tip), (5, 4)] {
        assert_eq!(graph.blocks(from, to).await.unwrap(), right.blocks(from, to).await.unwrap());
        assert_eq!(graph.work(from, to).await.unwrap(), right.work(from, to).await.unwrap());
        let mut blocks = Vec::new();
        graph.each_block(from, to, &mut |block| blocks.push(block)).await.unwrap();
        let expected =
            chain.blocks.iter().filter(|block| (from..=to).contains(&block.reference.height));
        assert_eq!(blocks, expected.cloned().collect::<Vec<_>>());
    }
}

/// Checks that a view reads by numbers what the reference reads.
async fn expect_equal_view(view: &dyn GraphView, right: &MemoryGraph, chain: &TestChain) {
    let others: Vec<ScriptOwner> = chain.owners().into_iter().step_by(7).collect();
    // Of many owners, the entries of some are compared.
    let compared = if chain.owners().len() > 200 { 10 } else { 1 };
    for (nth, owner) in chain.owners().into_iter().enumerate() {
        let number = view.owner_number(&owner).await.unwrap();
        assert_eq!(number, right.owner_number(&owner).await.unwrap(), "{owner:?}");
        let Some(number) = number else { continue };
        for transfers in [1, 2, 1000] {
            // Few entries of all transactions together, some, and all.
            for entries in [1, 5, 1_000_000] {
                let limits = ReadLimits { transfers, entries };
                let mut history = view.history(number, limits).await.unwrap();
                let mut expected = right.history(number, limits).await.unwrap();
                assert_eq!(history, expected, "{owner:?}");
                let unspent = view.unspent_history(number, limits).await.unwrap();
                let expected_unspent = right.unspent_history(number, limits).await.unwrap();
                assert_eq!(unspent, expected_unspent, "{owner:?}");
                if nth % compared > 0 {
                    continue;
                }
                expect_equal_own(view, right, &history, limits, &[]);
                // Dealings with some others are added to the history.
                view.add_dealings(number, limits, &others, &mut history).await.unwrap();
                right.add_dealings(number, limits, &others, &mut expected).await.unwrap();
                assert_eq!(history, expected, "{owner:?}");
                expect_equal_own(view, right, &history, limits, &others);
            }
        }
    }
    let unknown = ScriptOwner::Script([0xee; 32]);
    assert_eq!(view.owner_number(&unknown).await.unwrap(), None);
    assert_eq!(view.transaction_number(&Txid::from_bytes([0xee; 32])).await.unwrap(), None);
    let (mut transactions, mut outputs) = (Vec::new(), Vec::new());
    for txid in chain.txids() {
        let number = view.transaction_number(&txid).await.unwrap();
        assert_eq!(number, right.transaction_number(&txid).await.unwrap());
        let Some(number) = number else { continue };
        transactions.push(number);
        for output in view.outputs_of(number).await.unwrap() {
            let Some(Waypoint::Output(output)) = output.leads_to else { panic!("{output:?}") };
            outputs.push(output);
        }
    }
    view.fetch(&ReadRequest { transactions: transactions.clone(), outputs }).await.unwrap();
    for number in transactions {
        let waypoint = Waypoint::Transaction(number);
        let found = view.read(|view| view.look_up(waypoint)).unwrap();
        assert_eq!(found, right.look_up(waypoint).unwrap());
        for most in [1, 2, ENTRIES_PER_TRANSACTION] {
            expect_equal_read(view, right, (number, Direction::Source), most);
            expect_equal_read(view, right, (number, Direction::Destination), most);
        }
        let txid = view.read(|view| view.txid(number)).unwrap();
        assert_eq!(txid, right.txid(number).unwrap());
    }
}

/// Checks that the transactions of a history are read as the reference reads them, with the entries of some other
/// owners.
fn expect_equal_own(
    view: &dyn GraphView,
    right: &MemoryGraph,
    history: &OwnHistory,
    limits: ReadLimits,
    others: &[ScriptOwner],
) {
    let others: BTreeSet<&ScriptOwner> = others.iter().collect();
    for (own, direction) in
        [(&history.incoming, Direction::Source), (&history.outgoing, Direction::Destination)]
    {
        let most = view.read(|view| entries_of_each(view, own, direction, limits)).unwrap();
        assert_eq!(most, entries_of_each(right, own, direction, limits).unwrap());
        let is_whole = view.read(|view| history.is_whole(view, limits)).unwrap();
        assert_eq!(is_whole, history.is_whole(right, limits).unwrap());
        for (own, most) in own.iter().zip(most) {
            expect_equal_read(view, right, (own.number, direction), most);
            let entries = |view: &dyn ChainView| {
                let mut is_other = |owner| Ok(others.contains(&view.owner(owner)?));
                let mut read = TransactionRead::default();
                read_own(view, (own.number, direction), most, &mut is_other, &mut read)?;
                let entries = read.entries.iter().map(|it| (it.index, it.value, it.owner));
                Ok::<_, ViewError>(entries.collect::<Vec<_>>())
            };
            assert_eq!(view.read(entries).unwrap(), entries(right).unwrap());
        }
    }
}

/// Checks that a transaction is read as the reference reads it. Each graph numbers outputs in its own way.
fn expect_equal_read(
    view: &dyn GraphView,
    right: &MemoryGraph,
    (number, direction): (TransactionNumber, Direction),
    most: u32,
) {
    let read = |view: &dyn ChainView| {
        let mut read = TransactionRead::default();
        view.read(number, direction, most, &mut read)?;
        let entries = read.entries.iter().map(|entry| {
            let found = match entry.leads_to {
                Some(output @ Waypoint::Output(_)) => Some(Ok(view.look_up(output)?)),
                other => other.map(Err),
            };
            let (owner, cluster) = (view.owner(entry.owner)?, view.cluster_of(entry.owner)?);
            Ok((entry.index, entry.value, entry.owner, owner, cluster, found))
        });
        let entries = entries.collect::<Result<Vec<_>, ViewError>>()?;
        let TransactionRead {
            number,
            position,
            height,
            time,
            kind,
            inputs,
            outputs,
            fee_payers,
            ..
        } = read;
        Ok(((number, position, height, time, kind, inputs, outputs), fee_payers, entries))
    };
    let (found, expected) = (view.read(read).unwrap(), read(right).unwrap());
    assert_eq!(found.0, expected.0);
    assert_eq!(found.1, expected.1, "fees of {number:?}");
    for (found, expected) in found.2.iter().zip(&expected.2) {
        assert_eq!((&found.0, &found.1, &found.2), (&expected.0, &expected.1, &expected.2));
        assert_eq!((&found.3, &found.4), (&expected.3, &expected.4), "owners of {number:?}");
        // The spender of an output is known once it was fetched.
        if !matches!(found.5, Some(Ok(LookupResult::Unread))) {
            assert_eq!(found.5, expected.5, "what follows in {number:?}");
        }
    }
    assert_eq!(found.2.len(), expected.2.len());
}

/// Checks that a graph knows the same clusters as the reference.
async fn expect_equal_clusters(graph: &dyn Graph, right: &MemoryGraph, owners: &[ScriptOwner]) {
    assert_eq!(graph.clusters(owners).await.unwrap(), right.clusters(owners).await.unwrap());
    for owner in owners.iter().step_by(5) {
        for most in [0, 3, 1000] {
            let found = graph.cluster(owner, most).await.unwrap();
            assert_eq!(found, right.cluster(owner, most).await.unwrap(), "{owner:?}");
        }
    }
    for owner in owners.iter().step_by(9) {
        for most in [0, 2, 1000] {
            let found = graph.connections(owner, owners, most).await.unwrap();
            let expected = right.connections(owner, owners, most).await.unwrap();
            assert_eq!(found, expected, "{owner:?}");
        }
    }
    let tip = right.tip().await.unwrap().map_or(0, |tip| tip.block.height);
    for height in tip.saturating_sub(5)..=tip {
        for most in [0, 3, 100_000] {
            let found = graph.clusters_changed_above(height, most).await.unwrap();
            let expected = right.clusters_changed_above(height, most).await.unwrap();
            assert_eq!(found, expected, "above {height}");
        }
    }
    let (mut members, mut expected) = (Vec::new(), Vec::new());
    let all = |into: &mut Vec<Membership>, member| {
        into.push(member);
        ControlFlow::Continue(())
    };
    graph.each_member(&mut |member| all(&mut members, member)).await.unwrap();
    right.each_member(&mut |member| all(&mut expected, member)).await.unwrap();
    assert_eq!(members, expected);
    let mut first = None;
    let mut stop = |member| {
        assert!(first.replace(member).is_none(), "it broke off");
        ControlFlow::Break(())
    };
    graph.each_member(&mut stop).await.unwrap();
    assert_eq!(first.as_ref(), expected.first());
}
