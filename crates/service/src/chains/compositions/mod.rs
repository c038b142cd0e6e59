//! Keeping compositions up to date while the server runs: after new blocks, and after a change of lists and labels.
//!
//! The server that has the graphs in its data directory computes them, whether or not it follows the chains
//! itself.
//!
//! - `keeper`: one chain, slice by slice
//! - `known_ends`: the parties at which traces end, in a graph that grows
//! - `new_blocks`: the log lines about new blocks
//! - `progress`: how far each chain is, for metrics
//! - `severe`: the addresses that received severe money in a block

mod keeper;
mod known_ends;
mod new_blocks;
mod progress;
mod severe;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use assay_address::ChainId;
use assay_graph::{EmbeddedGraphs, GraphError, GraphStore};
use assay_intel::IntelSnapshot;
use assay_telemetry::request::on_thread;
use jiff::Timestamp;
use tokio::time::{Instant, sleep};

use self::keeper::{Inputs, Keeper, Step};
pub use self::progress::{CompositionProgress, Progress};

/// A program that has graphs, with the lists and labels that their compositions rest on.
pub trait GraphOwner: Send + Sync + 'static {
    /// The graphs in the data directory.
    fn graphs(&self) -> &EmbeddedGraphs;
    /// Lists and labels.
    fn intel(&self) -> Arc<IntelSnapshot>;
    /// The present time.
    fn now(&self) -> Timestamp;
    /// How far each chain is.
    fn progress(&self) -> &CompositionProgress;
}

/// Interval at which chains, lists and labels are looked at for changes.
const TICK: Duration = Duration::from_secs(1);
/// Wait before the next look at a chain whose compositions another program computes.
const STANDBY: Duration = Duration::from_secs(10);
/// Wait before the next attempt after a failure.
const RETRY: Duration = Duration::from_mins(1);

/// What keeps a chain from being computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Obstacle {
    /// Another program computes.
    Busy,
    Failure,
}

/// One chain: what is known of it, and when it is looked at next.
struct Kept {
    keeper: Keeper,
    due: Instant,
    obstacle: Option<Obstacle>,
}

/// Keeps the compositions of all graphs in the data directory up to date until the task is aborted.
pub async fn run(owner: Arc<dyn GraphOwner>) {
    let mut chains: BTreeMap<ChainId, Kept> = BTreeMap::new();
    loop {
        if !round(&owner, &mut chains).await {
            sleep(TICK).await;
        }
    }
}

/// Gives each chain that is due a slice. Returns true if a chain needs another one.
async fn round(owner: &Arc<dyn GraphOwner>, chains: &mut BTreeMap<ChainId, Kept>) -> bool {
    let present = match owner.graphs().chains().await {
        Ok(present) => present,
        Err(error) => {
            tracing::debug!(%error, "failed to list the chains");
            return false;
        }
    };
    chains.retain(|chain, _| present.contains(chain));
    let mut has_more = false;
    for chain in present {
        let kept = chains.remove(&chain).unwrap_or_else(|| Kept::new(chain));
        if kept.due > Instant::now() {
            chains.insert(chain, kept);
            continue;
        }
        let begun = Instant::now();
        let (kept, step) = kept.step(owner, chain).await;
        chains.insert(chain, kept);
        if step == Some(Step::More) {
            has_more = true;
            // At most half of one processor's time.
            sleep(begun.elapsed()).await;
        }
    }
    has_more
}

impl Kept {
    fn new(chain: ChainId) -> Self {
        Self { keeper: Keeper::new(chain), due: Instant::now(), obstacle: None }
    }

    /// Computes a slice on a thread of its own. Returns `None` if it failed.
    async fn step(self, owner: &Arc<dyn GraphOwner>, chain: ChainId) -> (Self, Option<Step>) {
        let Self { mut keeper, obstacle, .. } = self;
        let of = Arc::clone(owner);
        let computing = on_thread(move || {
            let outcome = step(&*of, &mut keeper);
            if outcome.is_err() {
                keeper.release();
            }
            (keeper, outcome)
        });
        let (keeper, outcome) = match computing.await {
            Ok((keeper, outcome)) => (keeper, outcome.map_err(|error| told(&error))),
            Err(error) => (Keeper::new(chain), Err((Obstacle::Failure, error.to_string()))),
        };
        match outcome {
            Ok(step) => {
                if obstacle == Some(Obstacle::Failure) {
                    tracing::info!(%chain, "compositions of transactions are computed again");
                }
                (Self { keeper, due: Instant::now(), obstacle: None }, Some(step))
            }
            Err((now, error)) => {
                if obstacle != Some(now) {
                    now.log(chain, &error);
                }
                let due = Instant::now() + now.pause();
                (Self { keeper, due, obstacle: Some(now) }, None)
            }
        }
    }
}

fn step(owner: &dyn GraphOwner, keeper: &mut Keeper) -> Result<Step, GraphError> {
    let (graphs, intel, now) = (owner.graphs(), owner.intel(), owner.now());
    keeper.step(&Inputs { graphs, intel: &intel, now, progress: owner.progress() })
}

fn told(error: &GraphError) -> (Obstacle, String) {
    let obstacle = if error.is_busy() { Obstacle::Busy } else { Obstacle::Failure };
    (obstacle, error.to_string())
}

impl Obstacle {
    const fn pause(self) -> Duration {
        match self {
            Self::Busy => STANDBY,
            Self::Failure => RETRY,
        }
    }

    fn log(self, chain: ChainId, error: &str) {
        match self {
            Self::Busy => tracing::info!(
                %chain,
                "another program computes the compositions of transactions: standing by"
            ),
            Self::Failure => tracing::error!(
                %chain,
                error,
                seconds = RETRY.as_secs(),
                "failed to compute the compositions of transactions; trying again"
            ),
        }
    }
}
