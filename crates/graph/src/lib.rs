//! Chain graphs: blocks in, flows of money out.
//!
//! Each chain is a graph of its own, beside the others: a file in the embedded backend
//! (`chains/btc.sqlite`), a schema in PostgreSQL (`chain_btc`). It can be made again from the chain at
//! any time and is no part of a backup. Many programs read a graph; one at a time writes it.
//!
//! Rows are append-only and numbered in the order of the chain, so that the same blocks give the same
//! rows in every backend, with or without a reorganisation in between.
//!
//! - [`memory`]: a graph in memory, the plainest one, which says what is right
//! - `plan`: what blocks write, a pure function; `rows`, `state`, `fingerprint`: what a graph holds
//! - `writer`: writing, as far as it is the same everywhere; `cache`: what it remembers
//! - `answer`, `blocks`, `touched`: what is read, put together from rows

pub(crate) mod answer;
pub(crate) mod blocks;
mod cache;
mod error;
pub(crate) mod fingerprint;
mod follow;
pub mod memory;
pub(crate) mod plan;
mod postgres;
pub(crate) mod rows;
mod sqlite;
pub(crate) mod state;
pub(crate) mod touched;
pub(crate) mod writer;

use std::collections::HashMap;

use assay_database::ChangeSubscription;
use assay_engine::{
    chain::ChainId,
    trace::Reading,
    utxo::{BlockRef, History, OutPoint, ResolvedBlock, ScriptOwner, TransactionView, TxOut, Txid},
};
use async_trait::async_trait;
use jiff::Timestamp;

pub use error::GraphError;
pub use follow::{BATCH, follow};
pub use postgres::PostgresGraphs;
pub use sqlite::SqliteGraphs;

/// The most blocks that a reorganisation may replace.
pub const DEEPEST_REORGANISATION: u64 = 100;

/// How far a graph reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GraphTip {
    /// The height of its first block: what was made before is not known.
    pub start: u64,
    /// Its newest block.
    pub block: BlockRef,
    /// When a source last confirmed that this is the newest block it knows.
    pub verified_at: Timestamp,
    /// Whether it is made up.
    pub sample: bool,
}

/// How an address is read: flows of money, in batches.
///
/// Every call is one round trip however many it asks for. Answers depend on the chain alone, never on
/// the order or number of what is asked for at once.
#[async_trait]
pub trait FlowSource: std::fmt::Debug + Send + Sync {
    /// What an owner did, with the transactions of its largest outputs in each direction (by value,
    /// then by place in the chain), each with its largest legs, as far as `reading` goes. `None` where
    /// it never appeared.
    async fn history(
        &self,
        owner: &ScriptOwner,
        reading: Reading,
    ) -> Result<Option<History>, GraphError>;

    /// The transactions, with their inputs; `None` where one is not known. In the order asked for.
    async fn origins(
        &self,
        transactions: &[Txid],
        largest: u32,
    ) -> Result<Vec<Option<TransactionView>>, GraphError>;

    /// The transactions that spend the outputs, with their outputs; `None` where one is not spent. In
    /// the order asked for.
    async fn destinations(
        &self,
        outputs: &[OutPoint],
        largest: u32,
    ) -> Result<Vec<Option<TransactionView>>, GraphError>;
}

/// A chain's graph, to be read.
#[async_trait]
pub trait Graph: FlowSource {
    /// How far it reaches; `None` where it holds no block.
    async fn tip(&self) -> Result<Option<GraphTip>, GraphError>;

    /// Blocks from one height to another, both included, newest last.
    async fn blocks(&self, from: u64, to: u64) -> Result<Vec<BlockRef>, GraphError>;

    /// A transaction with both sides, at most `largest` legs each.
    async fn transaction(
        &self,
        txid: &Txid,
        largest: u32,
    ) -> Result<Option<TransactionView>, GraphError>;

    /// Who appears, on either side, in blocks above `height`; each once.
    async fn touched_above(&self, height: u64, most: u32) -> Result<Vec<ScriptOwner>, GraphError>;

    /// Every block from one height to another, one by one and in order, as it was recorded.
    async fn each_block(
        &self,
        from: u64,
        to: u64,
        each: &mut (dyn FnMut(ResolvedBlock) + Send),
    ) -> Result<(), GraphError>;

    /// SHA-256 over all rows in order, statistics included: equal exactly for equal states, whatever
    /// the backend and the way there.
    async fn fingerprint(&self) -> Result<[u8; 32], GraphError>;
}

/// A chain's graph, to be written. Only one exists at a time; it ends with its value, or with the
/// program.
#[async_trait]
pub trait GraphWriter: std::fmt::Debug + Send + Sync {
    /// How far the graph reaches; `None` where it holds no block.
    fn tip(&self) -> Option<GraphTip>;

    /// The outputs that are recorded, spent or not. Those that are missing are not known.
    async fn outputs(
        &mut self,
        outpoints: &[OutPoint],
    ) -> Result<HashMap<OutPoint, TxOut>, GraphError>;

    /// Records blocks that follow the tip, all of them in one transaction. Blocks of at least
    /// `reorganisable_from` can be taken back; telling the height from which on that may be needed
    /// spares a backfill the work.
    ///
    /// # Errors
    ///
    /// [`GraphError::Gap`] where they do not follow one another and the tip;
    /// [`GraphError::SpentBefore`] where they spend what recorded blocks spend. A backfill meets that
    /// when it builds the indexes.
    async fn append(
        &mut self,
        blocks: &[ResolvedBlock],
        reorganisable_from: u64,
        at: Timestamp,
    ) -> Result<(), GraphError>;

    /// Takes back every block above `height`, and everything that came of it.
    ///
    /// # Errors
    ///
    /// [`GraphError::TooDeep`] where one of them cannot be taken back any more.
    async fn roll_back(&mut self, height: u64) -> Result<(), GraphError>;

    /// Notes that a source confirmed the tip as the newest block.
    async fn verified(&mut self, at: Timestamp) -> Result<(), GraphError>;

    /// Builds what reading needs and a backfill does without. Until then, reading is slow.
    ///
    /// # Errors
    ///
    /// [`GraphError::SpentTwice`] where an output is spent twice.
    async fn build_indexes(&mut self) -> Result<(), GraphError>;
}

/// All graphs of one installation.
#[async_trait]
pub trait GraphStore: std::fmt::Debug + Send + Sync + 'static {
    /// The chains that have a graph, in the table's order.
    async fn chains(&self) -> Result<Vec<ChainId>, GraphError>;

    /// A chain's graph; `None` where there is none.
    async fn graph(&self, chain: ChainId) -> Result<Option<std::sync::Arc<dyn Graph>>, GraphError>;

    /// A chain's graph, made where there is none, to be written from height `start` on. `backfill`
    /// leaves out what reading needs until [`GraphWriter::build_indexes`].
    ///
    /// # Errors
    ///
    /// [`GraphError::Busy`] where somebody else writes it; [`GraphError::OtherStart`] where it begins
    /// at another height.
    async fn writer(
        &self,
        chain: ChainId,
        options: WriterOptions,
    ) -> Result<Box<dyn GraphWriter>, GraphError>;

    /// Subscribes to new blocks of any chain. `None` if the backend cannot notify: then only
    /// [`Graph::tip`] tells.
    fn subscribe(&self) -> Option<ChangeSubscription>;

    /// Closes all graphs that were opened for reading.
    async fn close(&self);
}

/// How a graph is to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriterOptions {
    /// The height of the first block, for a graph that holds none yet.
    pub start: u64,
    /// Whether the graph is made up.
    pub sample: bool,
    /// Whether to load first and index afterwards.
    pub backfill: bool,
}
