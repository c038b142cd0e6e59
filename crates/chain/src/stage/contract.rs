//! Contract of a stage.

use std::{fmt, time::Duration};

use assay_address::ChainId;

/// Stage: work that follows a chain.
pub trait Stage: Send {
    /// Error of a step of the stage.
    type Error: Send;

    /// Returns the identity of the stage, for traces and metrics.
    fn id(&self) -> StageId;

    /// Compares the checkpoint with the chain.
    fn target(&mut self) -> impl Future<Output = Result<Target, Self::Error>> + Send;

    /// Works towards the block of this height, all the way or in part, and advances the checkpoint.
    fn execute(&mut self, to: u64) -> impl Future<Output = Result<(), Self::Error>> + Send;

    /// Reverts the work on blocks above this height, and moves the checkpoint to this height; `None` if it is unknown
    /// how many of the blocks are still on the chain.
    fn unwind(&mut self, to: Option<u64>) -> impl Future<Output = Result<(), Self::Error>> + Send;
}

/// Stage that a runner keeps up to date.
pub trait RunStage: Stage {
    /// Returns the kind of a failure, which decides when the stage is tried again.
    fn failure(&self, error: &Self::Error) -> FailureKind;

    /// Releases what other programs may need, such as locks, after a failure that lasts.
    fn release(&mut self) {}

    /// Logs a failure after which the stage is tried again. `is_new` is true if the previous failure was of another
    /// kind.
    fn failed(&mut self, error: &Self::Error, failure: FailureKind, pause: Duration, is_new: bool);

    /// Logs the first step after a failure.
    fn recovered(&mut self, _from: FailureKind) {}

    /// Publishes the stage's progress for metrics. The runner calls this function after each step.
    fn publish(&self) {}
}

/// Identity of a stage: its work, and the chain that it follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StageId {
    /// The work in one word, such as `ingest`.
    pub work: &'static str,
    /// The chain.
    pub chain: ChainId,
}

impl fmt::Display for StageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.work, self.chain)
    }
}

/// Result of the comparison of a stage's checkpoint with the chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// Work is left up to the block of this height.
    Ahead(u64),
    /// The blocks above this height are no longer on the chain; `None` if it is unknown which ones.
    Branched(Option<u64>),
    /// No work is left.
    Reached,
}

/// Kind of a stage's failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// The chain does not fit the stage's checkpoint: it may have changed since the comparison.
    Stray,
    /// The chain was reorganized while the stage read it.
    Reorganized,
    /// The chain is unavailable for a while.
    Unavailable,
    /// Another program does the work.
    Busy,
    /// Any other failure.
    Permanent,
}
