//! Stages of work that follows a chain, and their runner.
//!
//! A stage has a checkpoint, the block up to which its work is done. The checkpoint is stored with the work, so that
//! both change together: a graph with its newest block, compositions (origin breakdowns) with their state. A stage
//! decides on the work and does it; only the runner waits.
//!
//! - [`Stage`]: the contract; [`StageId`]: its work and its chain
//! - [`run`], [`step`]: bring a stage up to date, and keep the stage up to date
//! - [`Schedule`]: the pauses of a runner
//! - [`supervise`]: runs a task for each stage of a changing set

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
