//! Parameters and report of an ingest.

use std::time::Duration;

use assay_address::ChainId;
use serde::Serialize;

use super::RefusedBranch;

/// The parameters of an ingest.
#[derive(Clone, Copy, Debug)]
pub struct IngestRequest {
    /// Chain.
    pub chain: ChainId,
    /// Height of the first block; `None` for the source's first block.
    pub from: Option<u64>,
    /// Height of the last block; `None` for the newest block.
    pub to: Option<u64>,
    /// Interval of checks for new blocks; `None` ends the ingest at the newest block.
    pub follow: Option<Duration>,
    /// True if the chain is demo data.
    pub sample: bool,
    /// Block of a branch that the operator accepts, although the branch lacks more recorded blocks than a
    /// reorganization replaces. The block is above the fork, so that the acceptance holds for this branch alone.
    pub accept_branch: Option<[u8; 32]>,
}

/// The result of an ingest.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct IngestReport {
    /// Number of recorded blocks.
    pub blocks: u64,
    /// Number of transactions in the recorded blocks.
    pub transactions: u64,
    /// Height of the newest recorded block.
    pub latest_block_height: Option<u64>,
    /// Height of the newest recorded block that the source calls final; `None` if it calls none final.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finalized_block_height: Option<u64>,
    /// Reorganisations, in their order.
    pub reorganizations: Vec<Reorganization>,
}

/// A reorganisation of the chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Reorganization {
    /// Height of the last block that both branches share.
    pub last_common_height: u64,
    /// Number of recorded blocks that were removed.
    pub removed_blocks: u64,
}

/// Observer of the progress of an ingest.
pub trait IngestObserver: Send + Sync {
    /// Reports `blocks` more recorded blocks, up to `height` of `target`.
    fn reached(&self, height: u64, target: u64, blocks: u64);
    /// Reports a message for the operator.
    fn notice(&self, message: &str);
    /// Reports a branch of the source that is refused until the operator accepts it; `None`: the source is followed.
    fn branch_refused(&self, _refused: Option<&RefusedBranch>) {}
}
