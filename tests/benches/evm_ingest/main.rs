//! Blocks of an EVM node, read until they are committed: `cargo bench -p assay-tests --bench evm_ingest`. `ASSAY_BLOCKS` sets the number
//! of blocks (default 40), each of 1,500 signed transactions: half of them payments, the others calls of tokens and exchanges.
//!
//! A server in threads of its own gives the answers of a node over HTTP. Printed for a block, and for a transfer: CPU time, without that
//! of the server, and wall time of parsing the answers as JSON alone, of reading (parsed, verified, booked), and of reading into a graph
//! with ledgers until all is committed.
#![expect(
    clippy::print_stdout,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::cast_precision_loss,
    reason = "a program for people at a terminal"
)]

mod blocks;
mod server;

use std::{
    env, slice,
    time::{Duration, Instant},
};

use assay_address::ChainId;
use assay_chain::{
    BatchLimit, TestNetworks,
    account_source::AccountBlockSource,
    evm::BlockTag,
    follow::{IngestObserver, IngestRequest, ingest_accounts},
    location::{self, BlockLocation, NodeCredentials},
};
use assay_graph::{EmbeddedGraphs, account::AccountEnds};
use assay_system::Clock;
use assay_tests::own_memory;
use jiff::Timestamp;
use serde::de::IgnoredAny;

use self::{blocks::NodeAnswers, server::Server};

/// Transactions of a block.
const TRANSACTIONS: usize = 1_500;
/// Entries of a batch, as the follower reads them.
const BATCH: BatchLimit = BatchLimit { blocks: 512, entries: 150_000 };

fn main() {
    let blocks = env::var("ASSAY_BLOCKS").ok().and_then(|text| text.parse().ok()).unwrap_or(40);
    let answers = blocks::chain(blocks, TRANSACTIONS);
    let bytes: usize = answers.iter().flat_map(NodeAnswers::texts).map(str::len).sum();
    let texts: Vec<String> =
        answers.iter().flat_map(NodeAnswers::texts).map(str::to_owned).collect();
    let server = Server::start(answers);
    let open = || {
        let location =
            BlockLocation::Node { url: server.url(), credentials: NodeCredentials::None };
        let locations = slice::from_ref(&location);
        location::open_accounts(
            ChainId::ETH,
            locations,
            None,
            (TestNetworks::Allowed, BlockTag::Latest),
            None,
        )
        .expect("a source")
    };
    let (json, ()) = measured(&server, || {
        for text in &texts {
            serde_json::from_str::<IgnoredAny>(text).expect("JSON");
        }
    });
    drop(texts);
    let (reading, transfers) = measured(&server, || read(&mut *open(), blocks));
    let folder = tempfile::tempdir().expect("a folder");
    let (committed, ()) = measured(&server, || record(folder.path(), open()));
    println!(
        "{blocks} blocks of {TRANSACTIONS} transactions: {transfers} transfers, {:.1} MB of answers a block; {:.0} MB of memory",
        bytes as f64 / 1e6 / blocks as f64,
        own_memory() as f64 / 1e6,
    );
    for (name, Cost { processor, wall }) in
        [("JSON alone", json), ("read", reading), ("read to committed", committed)]
    {
        let millis = |time: Duration| time.as_secs_f64() * 1e3 / blocks as f64;
        println!(
            "{name}: {:.1} ms of CPU time and {:.1} ms a block, {:.2} us of CPU time a transfer",
            millis(processor),
            millis(wall),
            micros(processor, transfers),
        );
    }
    let beyond = committed.processor.saturating_sub(json.processor);
    println!("beyond JSON: {:.2} us of CPU time a transfer", micros(beyond, transfers));
}

fn micros(time: Duration, count: u64) -> f64 {
    time.as_secs_f64() * 1e6 / count.max(1) as f64
}

/// Time that work took.
#[derive(Clone, Copy)]
struct Cost {
    processor: Duration,
    wall: Duration,
}

/// Measures work of all threads but the server's.
fn measured<T>(server: &Server, work: impl FnOnce() -> T) -> (Cost, T) {
    let processor = || {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
        Duration::try_from(time).unwrap_or_default().saturating_sub(server.cpu_time())
    };
    let (before, begun) = (processor(), Instant::now());
    let done = work();
    let cost = Cost { processor: processor().saturating_sub(before), wall: begun.elapsed() };
    (cost, done)
}

/// Reads all blocks, and returns the number of their transfers.
fn read(source: &mut dyn AccountBlockSource, count: u64) -> u64 {
    // The first block is empty, and its size is none that the others have.
    let (mut next, mut transfers) = (1, 0);
    while next <= count {
        for block in source.blocks(next, BATCH).expect("blocks") {
            transfers += block.transactions.iter().map(|it| it.transfers.len() as u64).sum::<u64>();
            next = block.reference.height + 1;
        }
    }
    transfers
}

struct PrintedNotices;

impl IngestObserver for PrintedNotices {
    fn reached(&self, _: u64, _: u64, _: u64) {}

    fn notice(&self, message: &str) {
        println!("{message}");
    }
}

/// Reads all blocks into a new graph.
fn record(folder: &std::path::Path, source: Box<dyn AccountBlockSource>) {
    let graphs = EmbeddedGraphs::new(folder);
    let request = IngestRequest {
        chain: ChainId::ETH,
        from: None,
        to: None,
        follow: None,
        sample: false,
        accept_branch: None,
    };
    let clock = Clock::new(|| Timestamp::UNIX_EPOCH);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let ingested =
        ingest_accounts((&graphs, &AccountEnds::default), source, request, &clock, &PrintedNotices);
    runtime.expect("a runtime").block_on(ingested).expect("an ingest");
}
