//! Errors of an ingest.

use assay_engine::utxo::BlockRef;
use assay_graph::GraphError;

use crate::{SourceError, resolve::ResolveError};

/// A block with another parent than the newest recorded block.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{}block {} does not follow what is recorded: its hash is {}, its parent is {}, recorded is block \
     {} {}. Give a source that holds block {} as well, or remove the graph and ingest anew",
    origin.as_ref().map(|origin| format!("{origin}: ")).unwrap_or_default(),
    block.height, hex::encode(block.hash), hex::encode(block.parent),
    recorded.height, hex::encode(recorded.hash), recorded.height
)]
pub struct Unconnected {
    /// Position of the block in the source, if it has files.
    pub origin: Option<String>,
    /// The block.
    pub block: BlockRef,
    /// The newest recorded block.
    pub recorded: BlockRef,
}

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
    #[error(transparent)]
    Unconnected(Box<Unconnected>),
    /// A thread that read blocks panicked.
    #[error("the reader of blocks ended unexpectedly")]
    Reader,
}
