//! How fast graphs are written and read. Prints figures; run with
//! `cargo test --release -p assay-store --test graph_speed -- --ignored --nocapture`. How much is said
//! by `ASSAY_BLOCKS` and `ASSAY_BLOCKS_AT_ONCE`; `ASSAY_DATABASE_URL` names an empty database of a
//! server of one's own.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test stops at the first surprise, and tells what it measured"
)]

#[expect(dead_code, reason = "shared with the contracts")]
mod backends;
#[expect(dead_code, reason = "shared with the contract")]
mod made_chain;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use assay_engine::{
    chain::ChainId,
    coins::{Holder, OutPoint, TransactionKind, Txid},
    facts::Environment,
    trace::Reading,
};
use assay_store::{
    PostgresStore, Store,
    graph::{BlockRef, Coin, GraphBlock, GraphInput, GraphTransaction, WriterOptions},
};
use jiff::Timestamp;
use made_chain::Dice;

/// Transactions of a block.
const BLOCK: usize = 2_000;
const LARGEST: u32 = 2_000;
/// Number of the holder who is in every transaction.
const HUB: u64 = 0;

fn at() -> Timestamp {
    Timestamp::from_second(1_800_000_000).unwrap()
}

fn holder(number: u64) -> Holder {
    let mut hash = [0; 20];
    // As hashes are: in no order.
    let mut dice = Dice::new(number);
    for bytes in hash.chunks_mut(8) {
        bytes.copy_from_slice(&dice.next().to_be_bytes()[..bytes.len()]);
    }
    if number.is_multiple_of(2) { Holder::Witness(0, hash.to_vec()) } else { Holder::KeyHash(hash) }
}

/// A chain as Bitcoin's is: two inputs and two and a half outputs a transaction, half of the outputs to
/// somebody new, most of them spent soon. Every hundredth output is the hub's.
struct Made {
    dice: Dice,
    tip: Option<BlockRef>,
    holders: u64,
    unspent: Vec<(OutPoint, Coin)>,
    /// Some of the transactions.
    sample: Vec<(Txid, OutPoint)>,
}

impl Made {
    fn new() -> Self {
        Self { dice: Dice::new(1), tip: None, holders: 1, unspent: Vec::new(), sample: Vec::new() }
    }

    fn somebody(&mut self) -> Holder {
        let number = match self.dice.below(100) {
            0 => HUB,
            1..50 => self.dice.next() % self.holders,
            _ => {
                self.holders += 1;
                self.holders - 1
            }
        };
        holder(number)
    }

    fn block(&mut self) -> GraphBlock {
        let height = self.tip.map_or(0, |tip| tip.height + 1);
        let hash = self.dice.bytes();
        let parent = self.tip.map_or([0; 32], |tip| tip.hash);
        let time = Timestamp::from_second(1_231_006_505 + i64::try_from(height).unwrap() * 600);
        let block = BlockRef { height, hash, parent, time: time.unwrap() };
        self.tip = Some(block);
        let transactions = (0..BLOCK).map(|place| self.transaction(place == 0)).collect();
        GraphBlock { block, transactions }
    }

    fn transaction(&mut self, coinbase: bool) -> GraphTransaction {
        let txid = Txid::from_bytes(self.dice.bytes());
        let mut inputs = Vec::new();
        while !coinbase && inputs.len() < 2 && !self.unspent.is_empty() {
            let newest = self.unspent.len() - 1;
            let back = if self.dice.below(10) < 7 { 20_000 } else { newest + 1 };
            let place = newest - self.dice.below(back.min(newest + 1));
            let (output, coin) = self.unspent.swap_remove(place);
            inputs.push(GraphInput { output, coin: Some(coin) });
        }
        let worth = inputs.iter().flat_map(|input| &input.coin).map(|coin| coin.value).sum::<u64>();
        let worth = if coinbase { 5_000_000_000 } else { worth };
        let count = if coinbase { 1 } else { 2 + self.dice.below(2) };
        let outputs: Vec<_> = (0..count)
            .map(|_| Coin { holder: self.somebody(), value: worth / count as u64 })
            .collect();
        for (coin, index) in outputs.iter().zip(0..) {
            self.unspent.push((OutPoint { txid, index }, coin.clone()));
        }
        if let Some(input) = inputs.first()
            && self.dice.below(100) == 0
        {
            self.sample.push((txid, input.output));
        }
        let kind = if coinbase { TransactionKind::Coinbase } else { TransactionKind::Payment };
        GraphTransaction { txid, kind, inputs, outputs, unknown: 0 }
    }
}

fn rows(blocks: &[GraphBlock]) -> u32 {
    let transactions = blocks.iter().flat_map(|block| &block.transactions);
    let rows = transactions.map(|one| 1 + one.inputs.len() + one.outputs.len()).sum::<usize>();
    u32::try_from(rows).unwrap()
}

fn resident() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let lines =
        status.lines().filter(|line| line.starts_with("VmHWM") || line.starts_with("RssAnon"));
    lines
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect::<Vec<_>>()
        .join(", ")
}

async fn measure(name: &str, store: Arc<dyn Store>) {
    let blocks: usize = std::env::var("ASSAY_BLOCKS").map_or(50, |blocks| blocks.parse().unwrap());
    let at_once: usize =
        std::env::var("ASSAY_BLOCKS_AT_ONCE").map_or(5, |blocks| blocks.parse().unwrap());
    let options = WriterOptions { start: 0, sample: false, backfill: true };
    let mut writer = store.graph_writer(ChainId::BTC, options).await.unwrap();
    let mut made = Made::new();
    let (mut took, mut written, mut resolved) = (Duration::ZERO, 0, Duration::ZERO);
    for batch in 0..blocks / at_once {
        let batch_of: Vec<_> = (0..at_once).map(|_| made.block()).collect();
        let spent: Vec<_> = batch_of
            .iter()
            .flat_map(|block| &block.transactions)
            .flat_map(|one| &one.inputs)
            .map(|input| input.output)
            .collect();
        let begun = Instant::now();
        writer.coins(&spent).await.unwrap();
        resolved += begun.elapsed();
        let begun = Instant::now();
        writer.append(&batch_of, u64::MAX, at()).await.unwrap();
        took += begun.elapsed();
        written += rows(&batch_of);
        if (batch + 1) % 10 == 0 {
            let seconds = took.as_secs_f64();
            println!(
                "{name}: {} blocks, {written} rows, append {seconds:.1} s = {:.0} rows/s, coins \
                 {:.1} s; {}",
                (batch + 1) * at_once,
                f64::from(written) / seconds,
                resolved.as_secs_f64(),
                resident()
            );
        }
    }
    let begun = Instant::now();
    writer.build_indexes().await.unwrap();
    println!("{name}: indexes {:.1} s; {}", begun.elapsed().as_secs_f64(), resident());
    drop(writer);

    let graph = store.graph(ChainId::BTC).await.unwrap().unwrap();
    let (txids, outputs): (Vec<_>, Vec<_>) = made.sample.iter().copied().unzip();
    for at_once in [1, 256] {
        let mut times = [Vec::new(), Vec::new(), Vec::new()];
        for level in 0..50 {
            let from = (level * 7919) % (txids.len() - at_once);
            let begun = Instant::now();
            graph.origins(&txids[from..from + at_once], LARGEST).await.unwrap();
            times[0].push(begun.elapsed());
            let begun = Instant::now();
            graph.destinations(&outputs[from..from + at_once], LARGEST).await.unwrap();
            times[1].push(begun.elapsed());
            let begun = Instant::now();
            graph.history(&holder(level as u64 * 1013 + 1), reading(LARGEST)).await.unwrap();
            times[2].push(begun.elapsed());
        }
        for (what, times) in ["origins", "destinations", "history"].iter().zip(&mut times) {
            times.sort();
            println!("{name}: {what} of {at_once}: p50 {:?}, p99 {:?}", times[25], times[49]);
        }
    }
    for largest in [1, 100, LARGEST] {
        let begun = Instant::now();
        let hub = graph.history(&holder(HUB), reading(largest)).await.unwrap().unwrap();
        println!(
            "{name}: history of a hub of {} transactions, {largest} largest: {:?}",
            hub.statistics.transactions_in,
            begun.elapsed()
        );
    }
    let begun = Instant::now();
    graph.fingerprint().await.unwrap();
    println!("{name}: fingerprint {:.1} s; {}", begun.elapsed().as_secs_f64(), resident());
    let begun = Instant::now();
    let mut count = 0;
    graph.each_block(0, u64::MAX, &mut |block| count += block.transactions.len()).await.unwrap();
    println!("{name}: each block, {count} transactions {:.1} s", begun.elapsed().as_secs_f64());
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "measures"]
async fn sqlite() {
    let backend = backends::sqlite().await;
    measure("SQLite", Arc::clone(&backend.store)).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "measures"]
async fn postgres() {
    if let Ok(url) = std::env::var("ASSAY_DATABASE_URL") {
        let store = PostgresStore::open_or_create(&url, Environment::Sample).await.unwrap();
        return measure("PostgreSQL", Arc::new(store)).await;
    }
    let backend = backends::postgres().await;
    measure("PostgreSQL", Arc::clone(&backend.store)).await;
}

fn reading(transfers: u32) -> Reading {
    Reading { transfers, legs: 100_000 }
}
