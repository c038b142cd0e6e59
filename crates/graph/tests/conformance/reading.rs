//! Checks of reading.

use std::sync::Arc;

use assay_address::ChainId;
use assay_engine::{
    ledger::ReadLimits,
    utxo::{OutPoint, ScriptOwner, Transaction, TransactionKind, TxInput, TxOut, Txid},
};

use assay_graph::{ClusterEvidence, Graph, RecordedOutput};

use super::{
    TestChain, append, embedded, expect_equal, expect_equal_clusters, expect_equal_view, graph,
    options, reference, writer,
};

/// Every answer of the embedded graph equals that of [`MemoryGraph`](assay_graph::memory::MemoryGraph).
#[tokio::test]
async fn answers_equal_the_reference() {
    let (store, _directory) = embedded();
    let made = TestChain::generate(0, 0, 30);
    append(&mut writer(&store, 0), &made.blocks, 7);
    expect_equal(&graph(&store), &made).await;
}

/// Clusters of two to many members, their evidence, and confirmations are those of the reference; a rollback of a
/// co-spend splits the joined cluster.
#[tokio::test]
async fn clusters_equal_the_reference() {
    let (store, _directory) = embedded();
    let chain = TestChain::consolidating(23, 40);
    let mut writer = writer(&store, 0);
    append(&mut writer, &chain.blocks, 4);
    let graph = graph(&store);
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
        writer.roll_back(tip - depth).unwrap();
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
#[tokio::test]
async fn answers_of_many_small_chains_equal_the_reference() {
    let (store, _directory) = embedded();
    // `./tests/run --full` checks more chains.
    let count = if std::env::var_os("ASSAY_FULL").is_some() { 24 } else { 8 };
    let chains: Vec<ChainId> = ChainId::all().take(count).collect();
    for (id, seed) in chains.iter().zip(100..) {
        let made = TestChain::generate(seed, seed % 3 * 10, 6).with_id(*id);
        let mut writer = store.writer(*id, options(made.start)).unwrap();
        append(&mut writer, &made.blocks, 2);
        let graph = store.graph(*id).unwrap().unwrap();
        expect_equal(&graph, &made).await;
    }
    assert_eq!(store.chains(), chains);
}

/// A view shows the state in which it was opened, while blocks come and go.
#[tokio::test]
async fn a_view_stays_as_it_is() {
    let (store, _directory) = embedded();
    let chain = TestChain::generate(22, 0, 30);
    let mut writer = writer(&store, 0);
    assert!(graph(&store).view().await.unwrap().is_none(), "there are no blocks");
    let (first, rest) = chain.blocks.split_at(20);
    append(&mut writer, first, 7);
    let graph = graph(&store);
    let view = Arc::clone(&graph).view().await.unwrap().unwrap();
    let before = chain.fork(19, 0, 0);
    append(&mut writer, rest, 7);
    expect_equal_view(&*view, &reference(&before), &before).await;
    assert_eq!(view.tip().await.unwrap().unwrap().block.height, 19);
    writer.roll_back(10).unwrap();
    let after = chain.fork(10, 12, 3);
    append(&mut writer, &after.blocks[11..], 2);
    expect_equal_view(&*view, &reference(&before), &before).await;
    expect_equal(&graph, &after).await;
}

/// Amounts up to 2^63 - 1 base units, and statistics beyond, are exact.
#[tokio::test]
async fn the_largest_amounts_are_exact() {
    let (store, _directory) = embedded();
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
    let mut writer = writer(&store, 0);
    append(&mut writer, &chain.blocks, 2);
    let graph = graph(&store);
    let view = Arc::clone(&graph).view().await.unwrap().unwrap();
    let number = view.owner_number(&rich).await.unwrap().unwrap();
    let limits = ReadLimits { transfers: 9, entries: 9 };
    let statistics = view.history(number, limits).await.unwrap().statistics;
    assert_eq!(statistics.received, 5 * u128::from(largest));
    expect_equal(&graph, &chain).await;
}

/// A transaction of 3,000 inputs and outputs, a third of them of one owner, is cut to its largest inputs and outputs.
#[tokio::test]
async fn a_large_transaction_is_cut_at_its_largest_entries() {
    let (store, _directory) = embedded();
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
    let mut writer = writer(&store, 0);
    append(&mut writer, &chain.blocks, 1);
    let (graph, right) = (graph(&store), reference(&chain));
    for largest in [1, 10, 1999, 3000, 3001] {
        let found = graph.transaction(&fan.txid, largest).await.unwrap();
        assert_eq!(found, right.transaction(&fan.txid, largest).await.unwrap());
        assert_eq!(found.unwrap().inputs.largest.len(), 3000.min(largest as usize));
    }
    expect_equal_view(&*Arc::clone(&graph).view().await.unwrap().unwrap(), &right, &chain).await;
    assert_eq!(graph.fingerprint().await.unwrap(), right.fingerprint().await.unwrap());
}

/// A writer finds recorded outputs, spent or not.
#[tokio::test]
async fn outputs_are_found_spent_or_not() {
    let (store, _directory) = embedded();
    let chain = TestChain::generate(21, 0, 30);
    let mut writer = writer(&store, 0);
    append(&mut writer, &chain.blocks, 7);
    let outpoints = chain.outpoints();
    let remembered = writer.outputs(&outpoints).unwrap();
    drop(writer);
    let mut writer = self::writer(&store, 0);
    let read = writer.outputs(&outpoints).unwrap();
    let graph = reference(&chain);
    for output in outpoints {
        let made = graph.transaction(&output.txid, 1000).await.unwrap();
        // A recorded transaction lacks the output.
        let expected = made.map_or(RecordedOutput::Unknown, |made| {
            let mut outputs = made.outputs.largest.into_iter();
            let found = outputs.find(|it| it.outpoint == output);
            found.map_or(RecordedOutput::Missing, |it| RecordedOutput::Found(it.output))
        });
        assert_eq!(remembered.get(&output), expected, "{output}");
        assert_eq!(read.get(&output), expected, "a new writer remembers nothing: {output}");
    }
    // The next write uses the looked up rows.
    let chain = chain.fork(29, 5, 10);
    append(&mut writer, &chain.blocks[30..], 4);
    let right = reference(&chain).fingerprint().await.unwrap();
    assert_eq!(self::graph(&store).fingerprint().await.unwrap(), right);
}
