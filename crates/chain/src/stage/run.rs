//! Runner of a stage.

use std::time::Duration;

use assay_telemetry::stage;
use tokio::time::{Instant, sleep};
use tracing::Instrument;

use super::{
    contract::{FailureKind, RunStage, Stage, Target},
    schedule::{Failures, Schedule},
};

/// Does one step of a stage: reverts the work on blocks that left the chain, or else works towards the target. Returns
/// false if no work is left.
///
/// # Errors
///
/// Returns the error of the stage.
pub async fn step<S: Stage>(stage: &mut S) -> Result<bool, S::Error> {
    match stage.target().await? {
        Target::Branched(to) => stage.unwind(to).await?,
        Target::Ahead(to) => stage.execute(to).await?,
        Target::Reached => return Ok(false),
    }
    Ok(true)
}

/// Runs a stage until it reaches its target, or without end if the schedule keeps it up to date. Dropping the runner
/// stops the stage; the checkpoint keeps the work that was done before.
///
/// # Errors
///
/// Returns the error of the stage if the schedule does not try it again.
pub async fn run<S: RunStage>(stage: &mut S, schedule: &Schedule) -> Result<(), S::Error> {
    let mut failures = Failures::new(Instant::now());
    loop {
        let guard = match &schedule.lock {
            Some(lock) => Some(lock.lock().await),
            None => None,
        };
        let (begun, id) = (Instant::now(), stage.id());
        let span = stage!("stage", otel.name = id.work, chain = %id.chain);
        let outcome = step(stage).instrument(span).await;
        stage.publish();
        let pause = match outcome {
            Ok(has_worked) => {
                if let Some(failure) = failures.record_success() {
                    stage.recovered(failure);
                }
                if has_worked {
                    if guard.is_some() {
                        sleep(begun.elapsed()).await;
                    }
                    continue;
                }
                let Some(poll) = schedule.poll else { return Ok(()) };
                poll
            }
            Err(error) => {
                let failure = stage.failure(&error);
                let pause = failures.pause(failure, schedule, Instant::now());
                let Some(pause) = pause else { return Err(error) };
                if pause > Duration::ZERO {
                    let is_new = failures.last.replace(failure) != Some(failure);
                    stage.failed(&error, failure, pause, is_new);
                }
                if matches!(failure, FailureKind::Busy | FailureKind::Permanent) {
                    stage.release();
                }
                pause
            }
        };
        drop(guard);
        sleep(pause).await;
    }
}
