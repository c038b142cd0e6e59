//! Why ingesting ends before its end.

use assay_engine::utxo::BlockRef;
use assay_graph::GraphError;

use crate::{SourceError, resolve::ResolveError};

/// Why a chain could not be ingested. What was recorded before stays.
#[derive(Debug, thiserror::Error)]
pub enum IngestError {
    /// The source failed.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// A block cannot be as the source gives it.
    #[error("nothing of this block was written: {0}")]
    Resolve(#[from] ResolveError),
    /// The graph failed.
    #[error(transparent)]
    Graph(#[from] GraphError),
    /// The source begins after the first block that is missing.
    #[error(
        "the next block is {next}, and the source begins with {first}: blocks in between are missing"
    )]
    Missing {
        /// The block that is needed.
        next: u64,
        /// The first that the source has.
        first: u64,
    },
    /// The source goes on from another block than the newest that is recorded, which it does not have
    /// or says it has too.
    #[error(
        "block {height} does not follow what is recorded: its parent is {}, recorded is block {} {}. \
         Give a source that holds block {} as well, or remove the graph and ingest anew",
        hex::encode(parent), recorded.height, hex::encode(recorded.hash), recorded.height
    )]
    Unconnected {
        /// The block's height.
        height: u64,
        /// What it names as the block before it.
        parent: [u8; 32],
        /// The newest block that is recorded.
        recorded: BlockRef,
    },
    /// A thread that read blocks ended by itself.
    #[error("the reader of blocks ended unexpectedly")]
    Reader,
}
