//! Traits of a family of chains for an ingest: sources of its blocks, and its graphs.

use assay_address::ChainId;
use assay_engine::ledger::BlockRef;
use assay_graph::{EmbeddedGraphs, GraphError, GraphTip, WriterOptions, account::SourceNotes};
use jiff::Timestamp;

use super::{IngestError, IngestObserver};
use crate::{BlockSource, SourceBlock, SourceError};

/// The graphs of a family of chains.
pub(super) trait GraphFamily: Send + Sync {
    type Graph: IngestGraph;

    /// Returns the data directory's graphs.
    fn all(&self) -> &EmbeddedGraphs;

    /// Returns the first and the newest block of a chain's graph; `None` without blocks.
    fn tip(
        &self,
        chain: ChainId,
    ) -> impl Future<Output = Result<Option<GraphTip>, GraphError>> + Send;

    /// Opens the graph of a chain for writing, and creates it if there is none.
    fn open(&self, chain: ChainId, options: WriterOptions) -> Result<Self::Graph, GraphError>;
}

/// Source of an ingest.
pub(super) trait IngestSource<B: SourceBlock>: BlockSource<B> {
    /// Returns what the source states about its blocks.
    fn stated(&mut self) -> Result<SourceNotes, SourceError>;
}

/// The source that an ingest into a graph reads.
pub(super) type SourceOf<G> = <G as IngestGraph>::Source;

/// A graph that an ingest writes.
pub(super) trait IngestGraph: Send + Sync {
    /// Blocks of the chain.
    type Block: SourceBlock;
    /// Sources of the blocks.
    type Source: IngestSource<Self::Block> + ?Sized + 'static;
    /// Number of entries of one batch: large enough to be fast, small enough for little memory.
    const BATCH_ENTRIES: usize;

    /// True if a block's header proves the work that was done for it.
    const HEADERS_PROVE_WORK: bool;

    /// Returns the newest block; `None` without blocks.
    fn newest(&self) -> Option<BlockRef>;

    /// Returns the height of the highest recorded block, also if it was rolled back.
    fn highest(&self) -> u64;

    /// Returns the height of the newest block that the source called final.
    fn finalized(&self) -> Option<u64>;

    /// Returns the recorded blocks between two heights, both included, in their order.
    fn blocks(
        &mut self,
        from: u64,
        to: u64,
    ) -> impl Future<Output = Result<Vec<BlockRef>, GraphError>> + Send;

    /// Keeps what the source states about blocks, before these are recorded.
    fn note(&mut self, stated: SourceNotes) -> Result<(), GraphError>;

    /// Records blocks that follow the newest one.
    fn append(
        &mut self,
        blocks: Vec<Self::Block>,
        reorganizable_from: u64,
        at: Timestamp,
    ) -> Result<(), IngestError>;

    /// Rolls back all blocks above a height.
    fn roll_back(&mut self, height: u64) -> Result<(), GraphError>;

    /// Records that the source confirmed the newest block.
    fn confirm(&mut self, at: Timestamp) -> Result<(), GraphError>;

    /// Completes what is postponed while many blocks are recorded.
    fn complete(&mut self, observer: &dyn IngestObserver) -> Result<(), GraphError>;
}
