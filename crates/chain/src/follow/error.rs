//! Errors of an ingest.

use assay_address::ChainId;
use assay_engine::ledger::BlockRef;
use assay_graph::{GraphError, SourceProblemKind};

use crate::{SourceError, TipRef, resolve::ResolveError, stage::FailureKind};

/// A block with another parent than the newest recorded block.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{}block {} does not follow what is recorded: its hash is {}, its parent is {}, recorded is block \
     {} {}. Give a source that holds block {} as well, or remove the graph and ingest anew",
    origin.as_ref().map(|origin| format!("{origin}: ")).unwrap_or_default(),
    block.height, hex::encode(block.hash), hex::encode(block.parent),
    recorded.height, hex::encode(recorded.hash), recorded.height
)]
pub struct UnconnectedBlock {
    /// Position of the block in the source, if it has files.
    pub origin: Option<String>,
    /// The block.
    pub block: BlockRef,
    /// The newest recorded block.
    pub recorded: BlockRef,
}

/// Branch of the source that is not followed unless the operator accepts it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the source is on another branch of {chain}: {}, {}. What is \
     recorded stays. If the source's branch is the right one, accept it by the hash of one of its blocks above the \
     fork, such as its newest, block {} {}{}",
    match .last_common {
        Some(height) => format!("{} blocks above block {height} are not on it", .recorded.saturating_sub(*height)),
        None => "all blocks that can be rolled back are not on it".to_owned(),
    },
    match .finalized {
        Some(height) => format!("although a source called block {height} final"),
        None => format!("more than the {} that a reorganization replaces", .bound),
    },
    .newest.height, hex::encode(.newest.hash), .accepted.as_deref().unwrap_or_default()
)]
pub struct RefusedBranch {
    /// The chain.
    pub chain: ChainId,
    /// Height of the last recorded block that is on the branch; `None` if it is below the blocks that can be rolled
    /// back.
    pub last_common: Option<u64>,
    /// Height of the highest recorded block.
    pub recorded: u64,
    /// Largest number of blocks that a reorganization replaces.
    pub bound: u64,
    /// Height of a recorded block that is not on the branch although a source called it final; `None` without one.
    pub finalized: Option<u64>,
    /// The source's newest block.
    pub newest: TipRef,
    /// Reason for which the block that the operator accepted does not identify the branch; `None` if no block was
    /// accepted.
    pub accepted: Option<String>,
}

/// Error of an ingest. Blocks that were recorded before the error stay recorded.
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
    Unconnected(Box<UnconnectedBlock>),
    /// The source is on a branch that needs the operator's acceptance.
    #[error(transparent)]
    RefusedBranch(Box<RefusedBranch>),
    /// A thread that read blocks panicked.
    #[error("the reader of blocks ended unexpectedly")]
    Reader,
}

impl IngestError {
    /// Returns the kind of problem that the error is for whoever configured the source.
    pub(super) const fn source_problem(&self) -> SourceProblemKind {
        match self {
            Self::Source(error) => match error {
                SourceError::Unreachable { .. } => SourceProblemKind::Unreachable,
                SourceError::NotSent { .. } | SourceError::Denied { .. } => {
                    SourceProblemKind::CredentialsRefused
                }
                SourceError::OtherChain { .. }
                | SourceError::TestNetwork { .. }
                | SourceError::OtherMagic { .. } => SourceProblemKind::OtherNetwork,
                SourceError::NoBlock { .. } => SourceProblemKind::Behind,
                SourceError::Pruned { .. } => SourceProblemKind::Pruned,
                _ => SourceProblemKind::Failed,
            },
            Self::RefusedBranch(_) => SourceProblemKind::BranchRefused,
            _ => SourceProblemKind::Failed,
        }
    }

    /// Returns the kind of failure of the error.
    pub(super) const fn failure(&self) -> FailureKind {
        match self {
            Self::Unconnected(_) | Self::Source(SourceError::NoBlock { .. }) => FailureKind::Stray,
            Self::Source(SourceError::NotOnChain { .. }) => FailureKind::Reorganized,
            Self::Source(SourceError::Unreachable { .. }) | Self::RefusedBranch(_) => {
                FailureKind::Unavailable
            }
            Self::Graph(GraphError::Busy(_)) => FailureKind::Busy,
            _ => FailureKind::Permanent,
        }
    }
}
