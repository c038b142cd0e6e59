//! Checks of writing.

use assay_engine::utxo::{
    Block, OutPoint, ResolvedBlock, ScriptOwner, Transaction, TransactionKind, TxInput, TxOut, Txid,
};

use assay_graph::{Graph, GraphError, WriterOptions};

use super::{
    CHAIN, TestChain, append, at, embedded, expect_equal, graph, options, record, reference, writer,
};

/// The rows do not depend on the number of blocks in a batch.
#[tokio::test]
async fn batches_of_any_size_write_the_same_rows() {
    let (store, _directory) = embedded();
    for (name, at_once) in [("btc", 1), ("ltc", 3), ("doge", 40)] {
        let chain = TestChain::generate(11, 0, 40).with_id(name.parse().unwrap());
        let mut writer = store.writer(chain.id, options(0)).unwrap();
        append(&mut writer, &chain.blocks, at_once);
        let graph = store.graph(chain.id).unwrap().unwrap();
        let right = reference(&chain).fingerprint().await.unwrap();
        assert_eq!(graph.fingerprint().await.unwrap(), right);
    }
}

/// An append may have more rows of every table than one statement takes.
#[tokio::test]
async fn many_rows_fit_one_append() {
    const MANY: u32 = 9000;
    let (store, _directory) = embedded();
    let owner = |number: u32| {
        let [a, b, c, d] = number.to_be_bytes();
        ScriptOwner::Witness(0, vec![a, b, c, d])
    };
    let coin = |number: u32, value: u64| TxOut { owner: owner(number), value };
    let mut chain = TestChain::new(22, 0);
    let coinbase = Transaction {
        txid: Txid::from_bytes([1; 32]),
        kind: TransactionKind::Coinbase,
        inputs: Vec::new(),
        outputs: (0..MANY).map(|number| coin(number, u64::from(number) * 1_234_567)).collect(),
    };
    let passed_on = (0..MANY).zip(&coinbase.outputs).map(|(number, coin)| {
        let [a, b, c, d] = number.to_be_bytes();
        let output = OutPoint { txid: coinbase.txid, index: number };
        let known = TxInput::new(output, Some(coin.clone()));
        let elsewhere = OutPoint { txid: Txid::from_bytes([9; 32]), index: number };
        let unknown = TxInput::new(elsewhere, None);
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
    chain.add_block(vec![coinbase]);
    chain.add_block(passed_on);
    let mut writer = writer(&store, 0);
    append(&mut writer, &chain.blocks, 1);
    let graph = graph(&store);
    let right = reference(&chain).fingerprint().await.unwrap();
    assert_eq!(graph.fingerprint().await.unwrap(), right);
    let mut blocks = Vec::new();
    graph.each_block(0, 1, &mut |block| blocks.push(block)).await.unwrap();
    assert_eq!(blocks, chain.blocks);
    let touched = graph.owners_in_blocks_above(0, 10_000).await.unwrap();
    assert_eq!(touched, (0..MANY).map(owner).collect::<Vec<_>>());

    writer.roll_back(0).unwrap();
    let right = reference(&chain.fork(0, 0, 0)).fingerprint().await.unwrap();
    assert_eq!(graph.fingerprint().await.unwrap(), right);
}

/// A backfill, interrupted and continued, ends with the same rows as an ingest with indexes.
#[tokio::test]
async fn a_backfill_equals_an_indexed_ingest() {
    let (store, _directory) = embedded();
    let chain = TestChain::generate(12, 0, 30);
    let backfill = WriterOptions { backfill: true, ..options(0) };
    let mut writer = store.writer(CHAIN, backfill).unwrap();
    let (first, rest) = chain.blocks.split_at(10);
    record(&mut writer, first, 25, at(0)).unwrap();
    // The backfill is interrupted and resumed.
    drop(writer);
    let mut writer = store.writer(CHAIN, backfill).unwrap();
    record(&mut writer, rest, 25, at(0)).unwrap();
    writer.build_indexes().unwrap();
    expect_equal(&graph(&store), &chain).await;
    let error = writer.roll_back(23).unwrap_err();
    assert!(matches!(error, GraphError::TooDeep { height: 24, .. }), "{error}");
    writer.roll_back(24).unwrap();
    let chain = chain.fork(24, 99, 0);
    expect_equal(&graph(&store), &chain).await;
}

/// After a rollback and other blocks, the rows are those of the other blocks alone.
#[tokio::test]
async fn a_reorganisation_leaves_no_trace() {
    let (store, _directory) = embedded();
    let mut chain = TestChain::generate(13, 5, 130);
    let mut writer = writer(&store, 5);
    append(&mut writer, &chain.blocks, 17);
    for (depth, seed) in [(1, 1), (2, 2), (12, 3), (40, 4), (100, 5), (0, 6), (100, 7)] {
        let tip = chain.blocks.last().unwrap().reference.height;
        chain = chain.fork(tip - depth, seed, 0);
        writer.roll_back(tip - depth).unwrap();
        let graph = graph(&store);
        assert_eq!(writer.tip(), graph.tip().await.unwrap());
        let right = reference(&chain).fingerprint().await.unwrap();
        assert_eq!(graph.fingerprint().await.unwrap(), right, "{depth} blocks back");
        chain = chain.fork(tip - depth, seed, 104);
        let begun = chain.blocks.iter().position(|block| block.reference.height > tip - depth);
        append(&mut writer, &chain.blocks[begun.unwrap()..], 9);
        let right = reference(&chain).fingerprint().await.unwrap();
        assert_eq!(graph.fingerprint().await.unwrap(), right, "{depth} blocks back, and on");
    }
    let tip = chain.blocks.last().unwrap().reference.height;
    let error = writer.roll_back(tip - 101).unwrap_err();
    assert!(
        matches!(error, GraphError::TooDeep { height, chain: CHAIN } if height == tip - 100),
        "{error}"
    );
    let right = reference(&chain).fingerprint().await.unwrap();
    assert_eq!(graph(&store).fingerprint().await.unwrap(), right);
}

/// Blocks that do not follow the tip or one another are refused.
#[tokio::test]
async fn blocks_that_do_not_follow_change_nothing() {
    let (store, _directory) = embedded();
    let chain = TestChain::generate(14, 7, 12);
    let other = chain.fork(10, 77, 3);
    let mut writer = writer(&store, 7);
    assert_eq!(writer.tip(), None);
    assert_eq!(graph(&store).tip().await.unwrap(), None);
    let refused = |blocks: &[ResolvedBlock], error: GraphError| {
        let GraphError::Gap { height, .. } = error else { panic!("{error}") };
        assert!(blocks.iter().any(|block| block.reference.height == height));
    };
    let late = &chain.blocks[1..];
    refused(late, record(&mut writer, late, 0, at(0)).unwrap_err());
    assert_eq!(writer.tip(), None, "the first block is missing");

    append(&mut writer, &chain.blocks, 5);
    for blocks in [&chain.blocks[11..], &other.blocks[5..], &other.blocks[4..]] {
        refused(blocks, record(&mut writer, blocks, 0, at(0)).unwrap_err());
    }
    let mut torn = chain.fork(18, 78, 3).blocks.split_off(12);
    torn.remove(1);
    refused(&torn, record(&mut writer, &torn, 0, at(0)).unwrap_err());
    expect_equal(&graph(&store), &chain).await;
    record(&mut writer, &[], 0, at(9)).unwrap();
    assert_eq!(writer.tip(), reference(&chain).tip().await.unwrap());
}

/// An input that spends an output for the second time is refused with an error that names the transaction and output.
#[tokio::test]
async fn a_double_spend_is_refused() {
    let (store, _directory) = embedded();
    let mut chain = TestChain::generate(18, 0, 20);
    let good = chain.blocks.len();
    // A recorded transaction whose output is spent, and one that spends it.
    let made = |txid| chain.txids().iter().filter(|made| **made == txid).count();
    let payments = chain.blocks.iter().flat_map(|block| &block.transactions);
    let mut inputs = payments.flat_map(|payment| &payment.inputs);
    let spent =
        inputs.find(|input| made(input.outpoint.txid) == 1 && input.outpoint.index < u32::MAX);
    let spent = spent.unwrap().clone();
    let value = spent.spent.as_ref().unwrap().value;
    chain.add_block(vec![Transaction {
        txid: Txid::from_bytes([9; 32]),
        kind: TransactionKind::Payment,
        outputs: vec![TxOut { owner: ScriptOwner::KeyHash([1; 20]), value }],
        inputs: vec![spent.clone()],
    }]);

    let mut writer = writer(&store, 0);
    append(&mut writer, &chain.blocks[..good], 7);
    let before = graph(&store).fingerprint().await.unwrap();
    let error = record(&mut writer, &chain.blocks[good..], 0, at(0)).unwrap_err();
    let GraphError::SpentBefore { chain: CHAIN, txid, height, output } = error else {
        panic!("{error}")
    };
    assert_eq!((txid, height), (Txid::from_bytes([9; 32]), good as u64));
    assert_eq!(output, spent.outpoint);
    assert_eq!(graph(&store).fingerprint().await.unwrap(), before);
    chain.blocks.pop();
    chain.add_random_block();
    append(&mut writer, &chain.blocks[good..], 1);

    // A backfill detects the double spend when it builds the indexes.
    let other = "ltc".parse().unwrap();
    let options = WriterOptions { backfill: true, ..options(0) };
    let mut writer = store.writer(other, options).unwrap();
    append(&mut writer, &chain.blocks, 7);
    chain.add_block(vec![Transaction {
        txid: Txid::from_bytes([9; 32]),
        kind: TransactionKind::Payment,
        outputs: vec![],
        inputs: vec![spent],
    }]);
    if let Err(error) = record(&mut writer, &chain.blocks[good + 1..], 0, at(0)) {
        let is_known = matches!(error, GraphError::SpentBefore { chain, .. } if chain == other);
        assert!(is_known, "{error}");
    } else {
        let error = writer.build_indexes().unwrap_err();
        assert!(matches!(error, GraphError::SpentTwice(chain) if chain == other), "{error}");
    }
}

/// A second writer of a chain is refused as long as the first one exists.
#[tokio::test]
async fn only_one_writer_exists_at_a_time() {
    let (store, _directory) = embedded();
    let chain = TestChain::generate(15, 0, 6);
    let mut first = writer(&store, 0);
    append(&mut first, &chain.blocks[..3], 3);
    let busy = store.writer(CHAIN, options(0)).unwrap_err();
    assert!(matches!(busy, GraphError::Busy(CHAIN)), "{busy}");
    let other = store.writer("ltc".parse().unwrap(), options(0));
    assert!(other.is_ok(), "another chain is another matter");
    append(&mut first, &chain.blocks[3..5], 2);
    drop(first);
    let mut second = writer(&store, 0);
    assert_eq!(second.tip().unwrap().block, chain.blocks[4].reference);
    append(&mut second, &chain.blocks[5..], 1);
    expect_equal(&graph(&store), &chain).await;
}

/// A graph with blocks keeps its start and whether it holds demo data.
#[tokio::test]
async fn a_graph_keeps_its_start_and_options() {
    let (store, _directory) = embedded();
    assert!(store.graph(CHAIN).unwrap().is_none());
    assert_eq!(store.chains(), []);
    // A graph without blocks may begin at any height.
    drop(writer(&store, 3));
    let sample = WriterOptions { sample: true, ..options(5) };
    let mut writer = store.writer(CHAIN, sample).unwrap();
    let chain = TestChain::generate(16, 5, 3);
    append(&mut writer, &chain.blocks, 3);
    let tip = writer.tip().unwrap();
    assert_eq!((tip.start, tip.block, tip.sample), (5, chain.blocks[2].reference, true));
    writer.roll_back(5).unwrap();
    drop(writer);
    let error = store.writer(CHAIN, options(6)).unwrap_err();
    assert!(matches!(error, GraphError::OtherStart { start: 5, wanted: 6, .. }), "{error}");
    // The demo flag was set when the graph was created.
    let mut writer = store.writer(CHAIN, options(5)).unwrap();
    assert!(writer.tip().unwrap().sample);
    // A graph without blocks accepts new options.
    writer.roll_back(0).unwrap();
    assert_eq!(writer.tip(), None);
    let empty = reference(&TestChain::new(0, 5));
    assert_eq!(graph(&store).tip().await.unwrap(), None);
    drop(writer);
    drop(self::writer(&store, 5));
    let graph = graph(&store);
    assert_eq!(graph.fingerprint().await.unwrap(), empty.fingerprint().await.unwrap());
}

/// The time of verification never decreases.
#[tokio::test]
async fn verification_times_only_increase() {
    let (store, _directory) = embedded();
    let chain = TestChain::generate(17, 0, 3);
    let mut writer = writer(&store, 0);
    writer.verified(at(1)).unwrap();
    assert_eq!(writer.tip(), None, "there is nothing to confirm");
    record(&mut writer, &chain.blocks[..2], 0, at(10)).unwrap();
    for (confirmed, expected) in [(5, 10), (20, 20), (15, 20)] {
        writer.verified(at(confirmed)).unwrap();
        let tip = graph(&store).tip().await.unwrap();
        assert_eq!(tip.unwrap().verified_at, at(expected));
        assert_eq!(tip, writer.tip());
    }
    record(&mut writer, &chain.blocks[2..], 0, at(12)).unwrap();
    assert_eq!(writer.tip().unwrap().verified_at, at(20));
    assert_eq!(graph(&store).tip().await.unwrap(), writer.tip());
}

/// An append that fails leaves the graph as it was.
#[tokio::test]
async fn a_failed_append_writes_nothing() {
    let (store, _directory) = embedded();
    let chain = TestChain::generate(18, 0, 8);
    let mut writer = writer(&store, 0);
    append(&mut writer, &chain.blocks[..6], 6);
    let mut broken: Vec<Block> =
        chain.blocks[6..].iter().map(|block| block.clone().into_block()).collect();
    broken[1].transactions[0].outputs[0].value = u64::MAX;
    let txid = broken[1].transactions[0].txid;
    let broken: Vec<_> = broken.into_iter().map(ResolvedBlock::assume).collect();
    let error = record(&mut writer, &broken, 0, at(0)).unwrap_err();
    assert!(matches!(error, GraphError::Amount { txid: which, .. } if which == txid), "{error}");
    expect_equal(&graph(&store), &chain.fork(5, 0, 0)).await;
    append(&mut writer, &chain.blocks[6..], 2);
    expect_equal(&graph(&store), &chain).await;
}
