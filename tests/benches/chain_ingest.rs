//! Ingest into an embedded graph, after parsing: `cargo bench -p assay-tests --bench chain_ingest`.
//! `ASSAY_TRANSACTIONS` sets the number of transactions; default 400,000, a million in `./tests/run --full`.
//!
//! A generated chain is recorded as the follower records it: batches of 60,000 inputs and outputs, whose spent outputs
//! are looked up first. Then the compositions (breakdowns of a transaction's funds by origin) of all transactions are
//! computed, with 10,000 labelled parties at which traces end. Printed for each step: the processor time for each
//! transaction (of looking up and recording: the time of that thread alone), the rate, bytes on the disk and the
//! program's own memory.
#![expect(clippy::print_stdout, clippy::expect_used, reason = "a program for people at a terminal")]

use std::{
    collections::HashSet,
    env, fs,
    os::unix::fs::MetadataExt,
    path::Path,
    time::{Duration, Instant},
};

use assay_address::ChainId;
use assay_engine::utxo::{OutPoint, ResolvedBlock, Txid};
use assay_graph::{EmbeddedGraphs, GraphWriter, RecordedOutput, WriterOptions};
use assay_tests::{
    big_chain::{BigChain, ChainShape, ends},
    cpu_time, own_memory,
};
use jiff::Timestamp;

/// Number of transactions of a block.
const BLOCK: usize = 2_500;
/// Number of inputs and outputs of a batch, as the follower reads them.
const BATCH_ENTRIES: usize = 60_000;
/// Number of transactions whose compositions are computed in one slice.
const SLICE: u64 = 200_000;
/// Number of the newest blocks that can be rolled back.
const REVERSIBLE: u64 = 100;

fn main() {
    let transactions = env::var("ASSAY_TRANSACTIONS").ok().and_then(|count| count.parse().ok());
    let transactions: u64 = transactions.unwrap_or(400_000);
    let blocks = transactions.div_ceil(BLOCK as u64);
    let folder = match env::var_os("ASSAY_BENCH_FOLDER") {
        Some(folder) => tempfile::tempdir_in(folder),
        None => tempfile::tempdir(),
    };
    let folder = folder.expect("a directory");
    let shape = ChainShape { seed: 1, blocks, transactions: BLOCK, hub: None };
    let step = transactions.div_ceil(10);
    println!("{transactions} transactions in {blocks} blocks; each line {step} of them");

    let store = EmbeddedGraphs::new(folder.path());
    let options = WriterOptions { start: 0, sample: false, backfill: true };
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    let mut writer = store.writer(ChainId::BTC, options).expect("a writer");
    let wallets = {
        let mut chain = BigChain::new(shape);
        while chain.next().is_some() {}
        chain.wallets()
    };
    let reversible = blocks.saturating_sub(REVERSIBLE);
    let (mut chain, mut total, mut since, mut memory) =
        (BigChain::new(shape).peekable(), MeasuredCost::default(), MeasuredCost::default(), 0);
    while chain.peek().is_some() {
        let (mut batch, mut entries) = (Vec::new(), 0);
        while entries < BATCH_ENTRIES {
            let Some(block) = chain.next() else { break };
            entries += block.inputs_and_outputs();
            batch.push(block);
        }
        since.add(&record(&mut writer, &batch, reversible));
        memory = own_memory().max(memory);
        if since.transactions >= step {
            total.add(&since);
            println!("{}, {:.0} MB of memory", since.line(), megabytes(memory));
            since = MeasuredCost::default();
        }
    }
    let begun = Stopwatch::now();
    writer.build_indexes().expect("indexes");
    since.add(&begun.until_now(0));
    drop(writer);
    total.add(&since);
    let bytes = bytes_on_disk(folder.path());
    #[expect(clippy::cast_precision_loss, reason = "for people")]
    let each = bytes as f64 / total.transactions as f64;
    println!(
        "all: {}; {:.0} MB on the disk, {each:.0} bytes a transaction",
        total.line(),
        megabytes(bytes)
    );
    let ends = runtime.block_on(ends(&store, (wallets, 10_000), (0, 0)));
    let graph = store.open(ChainId::BTC).expect("a graph").expect("a recorded chain");
    let snapshot = graph.snapshot().expect("a state");
    let writer = store.composition_writer(ChainId::BTC).expect("compositions");
    let begun = Stopwatch::now();
    while !writer.advance(&snapshot, &ends, SLICE).expect("a slice").is_complete {}
    let spent = begun.until_now(total.transactions);
    let together = (total.processor + spent.processor).as_secs_f64();
    println!(
        "compositions: {}; with them {:.2} times the processor time of ingest without",
        spent.line(),
        together / total.processor.as_secs_f64()
    );
}

/// Records a batch.
fn record(writer: &mut GraphWriter, batch: &[ResolvedBlock], reversible: u64) -> MeasuredCost {
    let transactions = || batch.iter().flat_map(|block| &block.transactions);
    let made: HashSet<Txid> = transactions().map(|transaction| transaction.txid).collect();
    let inputs = transactions().flat_map(|transaction| &transaction.inputs);
    let wanted: Vec<OutPoint> = inputs
        .map(|input| input.outpoint)
        .filter(|outpoint| !made.contains(&outpoint.txid))
        .collect();
    let begun = Stopwatch::now();
    let found = writer.outputs(&wanted).expect("outputs");
    writer.append(batch, &found, reversible, Timestamp::UNIX_EPOCH).expect("blocks are recorded");
    let spent = begun.until_now(transactions().count() as u64);
    assert!(wanted.iter().all(|outpoint| matches!(found.get(outpoint), RecordedOutput::Found(_))));
    spent
}

struct Stopwatch(Instant, Duration);

impl Stopwatch {
    fn now() -> Self {
        Self(Instant::now(), cpu_time())
    }

    fn until_now(&self, transactions: u64) -> MeasuredCost {
        MeasuredCost {
            transactions,
            wall: self.0.elapsed(),
            processor: cpu_time().saturating_sub(self.1),
        }
    }
}

/// Processor time, duration and size of recording.
#[derive(Default)]
struct MeasuredCost {
    transactions: u64,
    wall: Duration,
    processor: Duration,
}

impl MeasuredCost {
    fn add(&mut self, more: &Self) {
        self.transactions += more.transactions;
        self.wall += more.wall;
        self.processor += more.processor;
    }

    fn line(&self) -> String {
        #[expect(clippy::cast_precision_loss, reason = "for people")]
        let count = self.transactions.max(1) as f64;
        let (processor, wall) = (self.processor.as_secs_f64(), self.wall.as_secs_f64());
        format!(
            "{:.1} us of the processor a transaction, {:.0} a second",
            processor * 1e6 / count,
            count / wall
        )
    }
}

/// Bytes on the disk of all files in a folder.
fn bytes_on_disk(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry"));
    let sizes = entries.map(|entry| match entry.metadata().expect("its data") {
        data if data.is_dir() => bytes_on_disk(&entry.path()),
        data => data.blocks() * 512,
    });
    sizes.sum()
}

#[expect(clippy::cast_precision_loss, reason = "for people")]
fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}
