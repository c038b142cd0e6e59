//! Checks of reading.

use std::sync::Arc;

use assay_address::ChainId;
use assay_engine::{
    ledger::ReadLimits,
    utxo::{OutPoint, ScriptOwner, Transaction, TransactionKind, TxInput, TxOut, Txid},
};

use super::{
    TestChain, append, expect_equal, expect_equal_clusters, expect_equal_view, graph, options,
    reference, writer,
};
use crate::{ClusterEvidence, Graph, GraphStore};

/// Every answer equals that of [`MemoryGraph`](crate::memory::MemoryGraph).
pub async fn answers_equal_the_reference(store: Arc<dyn GraphStore>) {
    let made = TestChain::generate(0, 0, 30);
    append(&mut *writer(&*store, 0).await, &made.blocks, 7).await;
    expect_equal(&graph(&*store).await, &made).await;
}

/// Clusters of two to many members, their evidence, and confirmations are those of the reference; a
/// rollback of a co-spend splits what it joined.
pub async fn clusters_equal_the_reference(store: Arc<dyn GraphStore>) {
    let chain = TestChain::consolidating(23, 40);
    let mut writer = writer(&*store, 0).await;
    append(&mut *writer, &chain.blocks, 4).await;
    let graph = graph(&*store).await;
    let some: Vec<_> = chain.owners().into_iter().step_by(7).collect();
    expect_equal_clusters(&*graph, &reference(&chain), &some).await;
    let mut sizes = Vec::new();
    for owner in some {
        let cluster = graph.cluster(&owner, u32::MAX).await.unwrap();
        sizes.extend(cluster.iter().map(|cluster| cluster.size));
        let evidence = cluster.into_iter().flat_map(|it| it.members).filter_map(|it| it.evidence);
        for ClusterEvidence { member, with, transaction, .. } in evidence {
            let found = graph.transaction(&transaction.txid, 1000).await.unwrap().unwrap();
            let spends = |owner: &ScriptOwner| {
                found.inputs.largest.iter().any(|leg| leg.output.owner == *owner)
            };
            assert!(spends(&member) && spends(&with), "{transaction:?} is no co-spend");
        }
    }
    assert!(sizes.iter().any(|size| *size > 50), "{sizes:?}");
    changed_clusters_are_named_by_their_roots(&*graph, &chain).await;
    let tip = chain.blocks.last().map_or(0, |block| block.reference.height);
    for depth in [1, 5, 20, 35] {
        writer.roll_back(tip - depth).await.unwrap();
        let left = chain.fork(tip - depth, 0, 0);
        let (right, some) = (reference(&left), left.owners().into_iter().step_by(5));
        expect_equal_clusters(&*graph, &right, &some.collect::<Vec<_>>()).await;
        assert_eq!(graph.fingerprint().await.unwrap(), right.fingerprint().await.unwrap());
    }
}

/// The clusters that blocks change are found by their roots before these blocks.
async fn changed_clusters_are_named_by_their_roots(graph: &dyn Graph, chain: &TestChain) {
    let (tip, owners) = (chain.blocks.last().unwrap().reference.height, chain.owners());
    let after = graph.clusters(&owners).await.unwrap();
    for depth in [1, 7] {
        let before = reference(&chain.fork(tip - depth, 0, 0)).clusters(&owners).await.unwrap();
        let changed = graph.clusters_changed_above(tip - depth, 100_000).await.unwrap().unwrap();
        let mut grown = 0;
        for (before, after) in before.iter().zip(&after) {
            let Some((before, after)) = before.as_ref().zip(after.as_ref()) else { continue };
            if before != after {
                grown += 1;
                assert!(changed.contains(&before.root) && changed.contains(&after.root));
            }
        }
        assert!(grown > 0, "the last {depth} blocks join owners");
    }
}

/// The answers of many small chains in one store equal those of the reference.
pub async fn answers_of_many_small_chains_equal_the_reference(store: Arc<dyn GraphStore>) {
    // With `./tests/run --full` more of them.
    let count = if std::env::var_os("ASSAY_FULL").is_some() { 24 } else { 8 };
    let chains: Vec<ChainId> = ChainId::all().take(count).collect();
    for (id, seed) in chains.iter().zip(100..) {
        let made = TestChain::generate(seed, seed % 3 * 10, 6).with_id(*id);
        let mut writer = store.writer(*id, options(made.start)).await.unwrap();
        append(&mut *writer, &made.blocks, 2).await;
        let graph = store.graph(*id).await.unwrap().unwrap();
        expect_equal(&graph, &made).await;
    }
    assert_eq!(store.chains().await.unwrap(), chains);
}

/// A view shows the state in which it was opened, while blocks come and go.
pub async fn a_view_stays_as_it_is(store: Arc<dyn GraphStore>) {
    let chain = TestChain::generate(22, 0, 30);
    let mut writer = writer(&*store, 0).await;
    assert!(graph(&*store).await.view().await.unwrap().is_none(), "there are no blocks");
    let (first, rest) = chain.blocks.split_at(20);
    append(&mut *writer, first, 7).await;
    let graph = graph(&*store).await;
    let view = Arc::clone(&graph).view().await.unwrap().unwrap();
    let before = chain.fork(19, 0, 0);
    append(&mut *writer, rest, 7).await;
    expect_equal_view(&*view, &reference(&before), &before).await;
    assert_eq!(view.tip().await.unwrap().unwrap().block.height, 19);
    writer.roll_back(10).await.unwrap();
    let after = chain.fork(10, 12, 3);
    append(&mut *writer, &after.blocks[11..], 2).await;
    expect_equal_view(&*view, &reference(&before), &before).await;
    expect_equal(&graph, &after).await;
}

/// Amounts up to 2^63 - 1 base units, and statistics beyond, are exact.
pub async fn the_largest_amounts_are_exact(store: Arc<dyn GraphStore>) {
    let largest = u64::try_from(i64::MAX).unwrap();
    let rich = ScriptOwner::KeyHash([1; 20]);
    let mut chain = TestChain::new(19, 0);
    for number in 0..5 {
        let coinbase = Transaction {
            txid: Txid::from_bytes([number; 32]),
            kind: TransactionKind::Coinbase,
            inputs: Vec::new(),
            outputs: vec![TxOut { owner: rich.clone(), value: largest }],
        };
        chain.add_block(vec![coinbase]);
    }
    let mut writer = writer(&*store, 0).await;
    append(&mut *writer, &chain.blocks, 2).await;
    let graph = graph(&*store).await;
    let view = Arc::clone(&graph).view().await.unwrap().unwrap();
    let number = view.owner_number(&rich).await.unwrap().unwrap();
    let limits = ReadLimits { transfers: 9, entries: 9 };
    let statistics = view.history(number, limits).await.unwrap().statistics;
    assert_eq!(statistics.received, 5 * u128::from(largest));
    expect_equal(&graph, &chain).await;
}

/// A transaction of 3,000 inputs and outputs, a third of them of one owner, is cut at its largest ones.
pub async fn a_large_transaction_is_cut_at_its_largest_entries(store: Arc<dyn GraphStore>) {
    let mut chain = TestChain::new(20, 0);
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
    let spent = coinbase.outputs.iter().zip(0..).map(|(coin, index)| {
        TxInput::new(OutPoint { txid: coinbase.txid, index }, Some(coin.clone()))
    });
    let fan = Transaction {
        txid: Txid::from_bytes([2; 32]),
        kind: TransactionKind::Payment,
        inputs: spent.collect(),
        outputs: side(7),
    };
    chain.add_block(vec![coinbase, fan.clone()]);
    let mut writer = writer(&*store, 0).await;
    append(&mut *writer, &chain.blocks, 1).await;
    let (graph, right) = (graph(&*store).await, reference(&chain));
    for largest in [1, 10, 1999, 3000, 3001] {
        let found = graph.transaction(&fan.txid, largest).await.unwrap();
        assert_eq!(found, right.transaction(&fan.txid, largest).await.unwrap());
        assert_eq!(found.unwrap().inputs.largest.len(), 3000.min(largest as usize));
    }
    expect_equal_view(&*Arc::clone(&graph).view().await.unwrap().unwrap(), &right, &chain).await;
    assert_eq!(graph.fingerprint().await.unwrap(), right.fingerprint().await.unwrap());
}

/// A writer finds recorded outputs, spent or not.
pub async fn outputs_are_found_spent_or_not(store: Arc<dyn GraphStore>) {
    let chain = TestChain::generate(21, 0, 30);
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
        // Of a recorded transaction it tells that it does not have an output.
        let expected = made.map(|made| {
            let mut outputs = made.outputs.largest.into_iter();
            outputs.find(|it| it.outpoint == output).map(|it| it.output)
        });
        assert_eq!(read.get(&output), expected.as_ref(), "{output}");
    }
    // Rows that were looked up are used by the next write.
    let chain = chain.fork(29, 5, 10);
    append(&mut *writer, &chain.blocks[30..], 4).await;
    let right = reference(&chain).fingerprint().await.unwrap();
    assert_eq!(self::graph(&*store).await.fingerprint().await.unwrap(), right);
}
