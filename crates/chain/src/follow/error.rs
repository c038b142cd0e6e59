//! Errors of an ingest.

use assay_engine::utxo::BlockRef;
use assay_graph::GraphError;

use crate::{SourceError, resolve::ResolveError};

/// A failure of an ingest. Blocks that were recorded before stay.
#[derive(Debug, thiserror::Error)]
pub enum IngestError {
    /// The source failed.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// A block is invalid.
    #[error("nothing of this block was written: {0}")]
    Resolve(#[from] ResolveError),
    /// The graph failed.
    #[error(transparent)]
    Graph(#[from] GraphError),
    /// The source starts after the first missing block.
    #[error(
        "the next block is {next}, and the source begins with {first}: blocks in between are missing"
    )]
    Missing {
        /// Height of the first missing block.
        next: u64,
        /// Height of the source's first block.
        first: u64,
    },
    /// The source's next block has another parent than the newest recorded block.
    #[error(
        "block {height} does not follow what is recorded: its parent is {}, recorded is block {} {}. \
         Give a source that holds block {} as well, or remove the graph and ingest anew",
        hex::encode(parent), recorded.height, hex::encode(recorded.hash), recorded.height
    )]
    Unconnected {
        /// Height of the block.
        height: u64,
        /// Hash of its parent.
        parent: [u8; 32],
        /// The newest recorded block.
        recorded: BlockRef,
    },
    /// A thread that read blocks panicked.
    #[error("the reader of blocks ended unexpectedly")]
    Reader,
}
