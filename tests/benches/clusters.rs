//! Cost of clusters: `cargo bench -p assay-tests --bench clusters`. With `ASSAY_FULL` set, the clusters have
//! 500,000 addresses each instead of 50,000.
//!
//! Two clusters grow, a thousand addresses in each block; then one block joins them. Measured: the block that joins the
//! clusters, compared with earlier blocks; the rollback of that block; and lookups of clusters, also of an unclustered
//! address.
#![expect(clippy::print_stdout, clippy::expect_used, reason = "a program for people at a terminal")]

use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};

use assay_address::ChainId;
use assay_engine::{
    ledger::{BlockRef, ReadLimits},
    utxo::{
        Block, OutPoint, ResolvedBlock, ScriptOwner, Transaction, TransactionKind, TxInput, TxOut,
        Txid,
    },
};
use assay_graph::{EmbeddedGraphs, GraphWriter, WriterOptions};
use assay_tests::{Figures, is_full};
use jiff::Timestamp;

const CHAIN: ChainId = ChainId::BTC;
/// Number of new addresses in each block.
const ADDRESSES: u32 = 1_000;
/// Number of members of a cluster that a lookup reads.
const READ: u32 = 1_000;
/// Value of each output in satoshi.
const VALUE: u64 = 50_000;

fn main() {
    let blocks = if is_full() { 500 } else { 50 };
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let folder = tempfile::tempdir().expect("a directory");
    runtime.block_on(measure(&EmbeddedGraphs::new(folder.path()), blocks));
}

async fn measure(store: &EmbeddedGraphs, blocks: u32) {
    let options = WriterOptions { start: 0, sample: false, backfill: false };
    let mut writer = store.writer(CHAIN, options).expect("a writer");
    let mut chain = Chain::default();
    let mut growing_block = Vec::new();
    for side in [0, 1] {
        for number in 0..blocks {
            growing_block.push(append(&mut writer, &chain.growing_block(side, number)));
        }
    }
    let before = chain.clone();
    let joining_block = append(&mut writer, &chain.joining_block());
    let begun = Instant::now();
    writer.roll_back(u64::from(before.height) - 1).expect("a rollback");
    let rolled_back = begun.elapsed();
    let again = append(&mut writer, &before.clone().joining_block());

    append(&mut writer, &chain.stranger_block());
    let graph = store.graph(CHAIN).expect("a graph").expect("a graph");
    // What the first blocks pay is collected before there is anything to collect it with.
    let joined = blocks - 1;
    let member = |nth| address(nth % 2, 1 + nth % joined, nth);
    let members: Vec<ScriptOwner> = (0..READ).map(member).collect();
    let first = members.first().expect("a member");
    let cluster = graph.clusters(std::slice::from_ref(first)).await.expect("clusters");
    let size = cluster.into_iter().flatten().next().map_or(0, |cluster| cluster.size);
    assert_eq!(size, 2 * u64::from(joined) * u64::from(ADDRESSES) + 2, "all are joined");
    let mut one_by_one = Vec::new();
    for member in members.iter().take(200) {
        let begun = Instant::now();
        let _found = graph.clusters(std::slice::from_ref(member)).await.expect("a cluster");
        one_by_one.push(begun.elapsed());
    }
    let begun = Instant::now();
    let _found = graph.clusters(&members).await.expect("clusters");
    let together = begun.elapsed();
    let begun = Instant::now();
    let read = graph.cluster(first, READ).await.expect("a cluster").expect("a cluster");
    let listed = begun.elapsed();
    assert_eq!(read.members.len(), READ as usize);

    let others: Vec<ScriptOwner> = members.iter().take(200).cloned().collect();
    let begun = Instant::now();
    let found = graph.connections(first, &others, 256).await.expect("connections");
    let connected = begun.elapsed();
    assert!(found.iter().all(Option::is_some), "all are of one cluster");
    let begun = Instant::now();
    let roots = graph.clusters_changed_above(u64::from(before.height) - 1, 100_000).await;
    let changed = begun.elapsed();
    assert!(roots.expect("roots").is_some_and(|roots| !roots.is_empty()));
    let (mut alone, mut histories) = (Vec::new(), Vec::new());
    let limits = ReadLimits { transfers: 2_000, entries: 100_000 };
    for nth in 0..200 {
        let owner = never_spent_address(nth);
        let begun = Instant::now();
        let found = graph.clusters(std::slice::from_ref(&owner)).await.expect("a cluster");
        alone.push(begun.elapsed());
        assert!(found.into_iter().flatten().all(|cluster| cluster.size == 1));
        let begun = Instant::now();
        let view = Arc::clone(&graph).view().await.expect("a view").expect("blocks");
        let number = view.owner_number(&owner).await.expect("a number").expect("an owner");
        assert!(!view.history(number, limits).await.expect("a history").incoming.is_empty());
        histories.push(begun.elapsed());
    }

    let milliseconds = |time: Duration| time.as_secs_f64() * 1_000.0;
    println!(
        "a block that adds {ADDRESSES} addresses, in ms: {}",
        Figures::from_times(growing_block)
    );
    println!(
        "the block that joins two clusters of {} addresses: {:.1} ms; its rollback: {:.1} ms; again: \
         {:.1} ms",
        size / 2,
        milliseconds(joining_block),
        milliseconds(rolled_back),
        milliseconds(again)
    );
    println!("the cluster of one address, in ms: {}", Figures::from_times(one_by_one));
    println!("that of an address that is alone in it, in ms: {}", Figures::from_times(alone));
    println!("beside: the history of that address, in ms: {}", Figures::from_times(histories));
    println!("the co-spends between an address and 200 others: {:.1} ms", milliseconds(connected));
    println!("the clusters that the joining block changed: {:.1} ms", milliseconds(changed));
    println!("the clusters of {READ} addresses at once: {:.1} ms", milliseconds(together));
    println!("{READ} members with their evidence: {:.1} ms", milliseconds(listed));
}

fn append(writer: &mut GraphWriter, block: &ResolvedBlock) -> Duration {
    let at = Timestamp::from_second(1_800_000_000).expect("a time");
    let begun = Instant::now();
    assay_tests::append(writer, std::slice::from_ref(block), 0, at).expect("a block that follows");
    begun.elapsed()
}

/// Bytes that begin with a number.
fn bytes_of_number(number: u32) -> [u8; 32] {
    let mut bytes = [1; 32];
    bytes.iter_mut().zip(number.to_be_bytes()).for_each(|(byte, digit)| *byte = digit);
    bytes
}

/// The address with a number, in a block of one of the two owners.
fn address(side: u32, block: u32, number: u32) -> ScriptOwner {
    let mut hash = [0; 20];
    for (part, value) in hash.chunks_exact_mut(4).zip([side + 1, block, number]) {
        part.copy_from_slice(&value.to_be_bytes());
    }
    ScriptOwner::KeyHash(hash)
}

/// An address that is never spent.
fn never_spent_address(number: u32) -> ScriptOwner {
    address(2, 0, number)
}

/// A chain on which two owners consolidate their outputs.
#[derive(Clone, Debug, Default)]
struct Chain {
    height: u32,
    transactions: u32,
    parent: [u8; 32],
    /// The output that each of the two owners collected last.
    collected: HashMap<u32, (OutPoint, TxOut)>,
}

impl Chain {
    fn txid(&mut self) -> Txid {
        self.transactions += 1;
        Txid::from_bytes(bytes_of_number(self.transactions))
    }

    /// A block in which one owner receives outputs at new addresses and consolidates them.
    fn growing_block(&mut self, side: u32, number: u32) -> ResolvedBlock {
        let paid: Vec<TxOut> = (0..ADDRESSES)
            .map(|nth| TxOut { owner: address(side, number, nth), value: VALUE })
            .collect();
        let txid = self.txid();
        let coinbase = Transaction {
            txid,
            kind: TransactionKind::Coinbase,
            inputs: Vec::new(),
            outputs: paid.clone(),
        };
        let made = paid.into_iter().zip(0..);
        let spent: Vec<_> = made.map(|(coin, index)| (OutPoint { txid, index }, coin)).collect();
        let collecting_transaction = self.collecting_transaction(side, spent);
        self.block(vec![coinbase, collecting_transaction])
    }

    /// A block that pays addresses which are never spent.
    fn stranger_block(&mut self) -> ResolvedBlock {
        let pay = |nth| TxOut { owner: never_spent_address(nth), value: VALUE };
        let outputs = (0..ADDRESSES).map(pay).collect();
        let txid = self.txid();
        let kind = TransactionKind::Coinbase;
        self.block(vec![Transaction { txid, kind, inputs: Vec::new(), outputs }])
    }

    /// A block in which both owners spend their consolidated outputs together.
    fn joining_block(&mut self) -> ResolvedBlock {
        let other = self.collected.remove(&1);
        let joining_block = self.collecting_transaction(0, other.into_iter().collect());
        self.block(vec![joining_block])
    }

    fn collecting_transaction(
        &mut self,
        side: u32,
        mut spent: Vec<(OutPoint, TxOut)>,
    ) -> Transaction {
        spent.extend(self.collected.remove(&side));
        let value = spent.iter().map(|(_, coin)| coin.value).sum();
        let output = TxOut { owner: address(side, u32::MAX, 0), value };
        let txid = self.txid();
        self.collected.insert(side, (OutPoint { txid, index: 0 }, output.clone()));
        let inputs = spent.into_iter().map(|(outpoint, coin)| TxInput::new(outpoint, Some(coin)));
        let (inputs, outputs) = (inputs.collect(), vec![output]);
        Transaction { txid, kind: TransactionKind::Payment, inputs, outputs }
    }

    fn block(&mut self, transactions: Vec<Transaction>) -> ResolvedBlock {
        let hash = bytes_of_number(self.height);
        let time = Timestamp::from_second(1_500_000_000 + i64::from(self.height) * 600);
        let time = time.expect("a time");
        let height = u64::from(self.height);
        let reference = BlockRef { height, hash, parent: self.parent, time };
        (self.parent, self.height) = (hash, self.height + 1);
        ResolvedBlock::assume(Block { reference, work: None, transactions })
    }
}
