//! Update of compositions (origin breakdowns) while a program runs: after new blocks, and after a change of lists and
//! labels.
//!
//! The program with the graphs in its data directory computes compositions, also if another program follows the chains.
//!
//! - `updater`: one chain, slice by slice
//! - `known_ends`: the parties at which traces end, in a graph that grows
//! - `new_blocks`: the log lines about new blocks
//! - `progress`: the progress of each chain, for metrics
//! - `severe`: the addresses that received money of severe categories in a block

mod known_ends;
mod new_blocks;
mod progress;
mod severe;
mod updater;

use std::{mem, sync::Arc, time::Duration};

use assay_address::ChainId;
use assay_chain::stage::{
    self, FailureKind, RunStage, Schedule, Stage, StageId, StageLock, Target, supervise,
};
use assay_graph::{EmbeddedGraphs, GraphError};
use assay_intel::IntelSnapshot;
use assay_telemetry::request::run_on_thread;
use jiff::Timestamp;
use tokio::task::JoinError;

pub use self::progress::{CompositionProgress, Progress};
use self::updater::{CompositionUpdater, Inputs};

/// Program that has graphs, and the lists and labels for their compositions (origin breakdowns).
pub trait GraphOwner: Send + Sync + 'static {
    /// Returns the graphs in the data directory.
    fn graphs(&self) -> &Arc<EmbeddedGraphs>;
    /// Returns lists and labels.
    fn intel(&self) -> Arc<IntelSnapshot>;
    /// Returns the present time.
    fn now(&self) -> Timestamp;
    /// Returns the progress of each chain, also of the ledgers of account chains.
    fn progress(&self) -> &CompositionProgress;
}

/// Interval of checking chains, lists and labels for changes.
const TICK: Duration = Duration::from_secs(1);
/// Pause before the next attempt after a failure.
const RESTART: Duration = Duration::from_mins(1);

/// Keeps the compositions (origin breakdowns) of all graphs in the data directory up to date until the task is aborted.
pub async fn run(owner: Arc<dyn GraphOwner>) {
    // The stages of all chains together take at most half of one processor's time.
    let lock = Some(StageLock::default());
    let schedule = Schedule { poll: Some(TICK), restart: Some(RESTART), lock };
    let wanted =
        || async { Some(owner.graphs().chains().into_iter().map(|chain| (chain, ())).collect()) };
    let start = |chain: &ChainId, (): &()| {
        let (chain, owner, schedule) = (*chain, Arc::clone(&owner), schedule.clone());
        async move {
            let mut compositions =
                Compositions { chain, owner, updater: CompositionUpdater::new(chain) };
            // Every failure is tried again.
            let _ = stage::run(&mut compositions, &schedule).await;
        }
    };
    supervise(TICK, wanted, start).await;
}

/// Stage that computes the compositions (origin breakdowns) of a chain. The stage's checkpoint is the stored state of
/// the compositions.
struct Compositions {
    chain: ChainId,
    owner: Arc<dyn GraphOwner>,
    updater: CompositionUpdater,
}

/// Error of computing compositions (origin breakdowns).
#[derive(Debug, thiserror::Error)]
enum CompositionError {
    #[error(transparent)]
    Graph(#[from] GraphError),
    #[error(transparent)]
    Thread(#[from] JoinError),
}

impl Compositions {
    /// Runs `work` on a thread of its own.
    async fn with_updater<T: Send + 'static>(
        &mut self,
        work: impl FnOnce(&mut CompositionUpdater, &Inputs<'_>) -> Result<T, GraphError>
        + Send
        + 'static,
    ) -> Result<T, CompositionError> {
        let owner = Arc::clone(&self.owner);
        let mut updater = mem::replace(&mut self.updater, CompositionUpdater::new(self.chain));
        let working = run_on_thread(move || {
            let (graphs, intel, now) = (owner.graphs(), owner.intel(), owner.now());
            let outcome = work(&mut updater, &Inputs { graphs, intel: &intel, now });
            (updater, outcome)
        });
        let (updater, outcome) = working.await?;
        self.updater = updater;
        Ok(outcome?)
    }
}

impl Stage for Compositions {
    type Error = CompositionError;

    fn id(&self) -> StageId {
        StageId { work: "compositions", chain: self.chain }
    }

    async fn target(&mut self) -> Result<Target, CompositionError> {
        self.with_updater(CompositionUpdater::target).await
    }

    async fn execute(&mut self, _to: u64) -> Result<(), CompositionError> {
        self.with_updater(CompositionUpdater::execute).await
    }

    async fn unwind(&mut self, _to: Option<u64>) -> Result<(), CompositionError> {
        self.updater.unwind();
        Ok(())
    }
}

impl RunStage for Compositions {
    fn failure(&self, error: &CompositionError) -> FailureKind {
        match error {
            CompositionError::Graph(error) if error.is_busy() => FailureKind::Busy,
            _ => FailureKind::Permanent,
        }
    }

    fn release(&mut self) {
        self.updater.release();
    }

    fn failed(
        &mut self,
        error: &CompositionError,
        failure: FailureKind,
        pause: Duration,
        is_new: bool,
    ) {
        let (chain, error, seconds) = (self.chain, error.to_string(), pause.as_secs());
        match failure {
            _ if !is_new => {}
            FailureKind::Busy => tracing::info!(
                %chain,
                "another program computes the compositions of transactions: standing by"
            ),
            _ => tracing::error!(
                %chain,
                error,
                seconds,
                "failed to compute the compositions of transactions; trying again"
            ),
        }
    }

    fn recovered(&mut self, from: FailureKind) {
        if from == FailureKind::Permanent {
            tracing::info!(chain = %self.chain, "compositions of transactions are computed again");
        }
    }

    fn publish(&self) {
        if let Some(progress) = self.updater.progress {
            self.owner.progress().set(self.chain, progress);
        }
    }
}
