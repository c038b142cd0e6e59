//! Records large generated chains as graphs that are kept between runs.

use std::path::Path;

use assay_address::ChainId;
use assay_engine::utxo::ResolvedBlock;
use assay_graph::{EmbeddedGraphs, WriterOptions};
use jiff::Timestamp;

use super::{BigChain, ChainShape};
use crate::{append, cpu_time};

const TRANSACTIONS_OF_BLOCK: usize = 2_500;
/// Number of blocks from which a graph is written as a whole before it is indexed.
const MANY_BLOCKS: u64 = 5_000;

impl ChainShape {
    /// The shape of a chain with a number of transactions, in blocks of 2,500.
    #[must_use]
    pub const fn with_transactions(transactions: u64) -> Self {
        let blocks = transactions / TRANSACTIONS_OF_BLOCK as u64;
        Self { seed: 9, blocks, transactions: TRANSACTIONS_OF_BLOCK, hub: None }
    }
}

/// Records a chain as a graph in `folder`, unless the folder has it, and returns the number of the chain's wallets.
///
/// # Panics
///
/// Panics if the graph cannot be written.
#[expect(clippy::print_stdout, reason = "benchmarks print")]
pub async fn record_chain(shape: ChainShape, folder: &Path) -> u64 {
    let known = folder.join("wallets");
    if let Some(wallets) = std::fs::read_to_string(&known).ok().and_then(|it| it.parse().ok()) {
        return wallets;
    }
    std::fs::create_dir_all(folder).expect("a folder");
    let graphs = EmbeddedGraphs::new(folder);
    let backfill = shape.blocks >= MANY_BLOCKS;
    let options = WriterOptions { start: 0, sample: false, backfill };
    let mut writer = graphs.writer(ChainId::BTC, options).expect("a writer");
    let mut chain = BigChain::new(shape);
    let begun = cpu_time();
    loop {
        let blocks: Vec<ResolvedBlock> = Iterator::take(&mut chain, 8).collect();
        if blocks.is_empty() {
            break;
        }
        let from = shape.blocks.saturating_sub(100);
        append(&mut writer, &blocks, from, Timestamp::UNIX_EPOCH).expect("blocks");
    }
    writer.build_indexes().expect("indexes");
    let spent = cpu_time().saturating_sub(begun);
    println!("recorded {} blocks in {:.0} s of CPU time", shape.blocks, spent.as_secs_f64());
    std::fs::write(known, chain.wallets().to_string()).expect("a note");
    chain.wallets()
}
