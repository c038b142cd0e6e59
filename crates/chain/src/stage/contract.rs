//! The contract of a stage.

use std::{fmt, time::Duration};

use assay_address::ChainId;

/// Work that follows a chain.
pub trait Stage: Send {
    /// Error of a step.
    type Error: Send;

    /// The identity of the stage, for traces and metrics.
    fn id(&self) -> StageId;

    /// Compares the checkpoint with what the stage reads.
    fn target(&mut self) -> impl Future<Output = Result<Target, Self::Error>> + Send;

    /// Works towards the block of this height, all the way or a part of it, and moves the checkpoint forwards.
    fn execute(&mut self, to: u64) -> impl Future<Output = Result<(), Self::Error>> + Send;

    /// Takes back what rests on blocks above this height, and moves the checkpoint there. `None`: it is unknown how many
    /// of the blocks are still on the chain.
    fn unwind(&mut self, to: Option<u64>) -> impl Future<Output = Result<(), Self::Error>> + Send;
}

/// A stage that a runner brings up to what it reads.
pub trait RunStage: Stage {
    /// The kind of a failure, which decides when the stage is tried again.
    fn failure(&self, error: &Self::Error) -> FailureKind;

    /// Lets go of what other programs may need, such as locks, after a failure that does not pass soon.
    fn release(&mut self) {}

    /// Logs a failure after which the stage is tried again. `is_new`: the one before it was of another kind.
    fn failed(&mut self, error: &Self::Error, failure: FailureKind, pause: Duration, is_new: bool);

    /// Logs the first step after a failure.
    fn recovered(&mut self, _from: FailureKind) {}

    /// Publishes how far the stage is, for metrics. The runner calls it after each step.
    fn publish(&self) {}
}

/// The identity of a stage: its work, and the chain that it follows.
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

/// The checkpoint of a stage beside what it reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// There is work up to the block of this height.
    Ahead(u64),
    /// The blocks above this height are no longer on the chain; `None` if it is unknown which ones.
    Branched(Option<u64>),
    /// There is nothing to do.
    Reached,
}

/// A kind of failure of a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// What the stage reads does not fit its checkpoint: it may have changed since it was compared.
    Stray,
    /// What the stage reads was reorganized while it was read.
    Reorganized,
    /// What the stage reads is unavailable for a while.
    Unavailable,
    /// Another program does the work.
    Busy,
    /// Anything else.
    Permanent,
}
