//! Stages: work that follows a chain, and what runs it.
//!
//! A stage has a checkpoint, the block up to which its work is done. It keeps the checkpoint with its work, so that both
//! change together: a graph has its newest block, compositions their state. A stage says what is to be done and does it;
//! the runner alone waits.
//!
//! - [`Stage`]: the contract; [`StageId`]: its work and its chain
//! - [`run`], [`step`]: bringing a stage up to what it reads, and keeping it there
//! - [`Schedule`]: the pauses of a runner
//! - [`keep`]: a task for each of the stages that are wanted at a time

mod contract;
mod run;
mod schedule;
mod supervise;
#[cfg(test)]
mod tests;

pub use contract::{FailureKind, RunStage, Stage, StageId, Target};
pub use run::{run, step};
#[cfg(test)]
pub(crate) use schedule::RETRIES;
pub use schedule::{Schedule, StageLock};
pub use supervise::supervise;
