//! Following of a chain: after a failure, its source and the graph's writer are opened again.

use std::{slice, time::Duration};

use assay_address::ChainId;
use assay_graph::{EmbeddedGraphs, SourceProblem, SourceProblemKind};
use assay_system::Clock;
use assay_telemetry::{request::run_on_thread, stage};

use super::{
    accounts::{AccountGraphs, PresentEnds},
    begin::begin,
    compare::compare_ledgers,
    error::IngestError,
    family::{GraphFamily, SourceOf},
    request::{IngestObserver, IngestRequest},
    run::{LAGS, Run},
    utxo::UtxoGraphs,
};
use crate::{
    SourceError,
    evm::BlockTag,
    location::{self, BlockLocation},
    params::TestNetworks,
    stage::{self, FailureKind, RunStage, Schedule, Stage, StageId, Target},
};

/// Interval between two requests to a source for new blocks.
const POLL: Duration = Duration::from_secs(2);
/// Time for which requests to a node are retried before the failure is told. The stage tries again afterwards.
const BOUND: Duration = Duration::from_secs(15);
/// First pause before a source that failed permanently is tried again. The pause is short, so that a source that
/// returns after a long outage is found soon.
const RESTART: Duration = Duration::from_secs(10);

/// Chain to follow.
#[derive(Clone, Debug)]
pub struct FollowedChain {
    /// The chain.
    pub chain: ChainId,
    /// Location of the chain's blocks.
    pub location: BlockLocation,
    /// Height of the first block.
    pub start: u64,
    /// Acceptance of blocks of test networks.
    pub test_networks: TestNetworks,
    /// True if the chain is demo data.
    pub sample: bool,
    /// A block of a branch that the operator accepts.
    pub accept_branch: Option<[u8; 32]>,
}

/// Opens the source of a chain.
type OpenSource<G> = fn(&FollowedChain) -> Result<Box<SourceOf<G>>, SourceError>;

impl FollowedChain {
    /// Follows a chain with unspent outputs until the task is aborted; tries again after a failure.
    pub async fn follow(
        &self,
        graphs: &EmbeddedGraphs,
        clock: &Clock,
        observer: &dyn IngestObserver,
    ) {
        let open = |followed: &Self| {
            let Self { chain, location, start, test_networks, .. } = followed;
            location::open(*chain, location, *start == 0, *test_networks)
        };
        self.follow_into(&UtxoGraphs(graphs), open, clock, observer).await;
    }

    /// Follows an account chain until the task is aborted; tries again after a failure. The ledgers of a chain without
    /// recorded blocks are computed for `ends`.
    pub async fn follow_accounts(
        &self,
        (graphs, ends): (&EmbeddedGraphs, &PresentEnds<'_>),
        clock: &Clock,
        observer: &dyn IngestObserver,
    ) {
        let open = |followed: &Self| {
            let Self { chain, location, test_networks, .. } = followed;
            let locations = slice::from_ref(location);
            location::open_accounts(
                *chain,
                locations,
                None,
                (*test_networks, BlockTag::Latest),
                Some(BOUND),
            )
        };
        let accounts = AccountGraphs { graphs, ends };
        let following = self.follow_into(&accounts, open, clock, observer);
        // Nobody waits for a comparison; it ends with the following.
        tokio::select! {
            () = following => {}
            never = compare_ledgers(self, graphs) => match never {},
        }
    }

    async fn follow_into<F: GraphFamily>(
        &self,
        graphs: &F,
        open: OpenSource<F::Graph>,
        clock: &Clock,
        observer: &dyn IngestObserver,
    ) {
        // An earlier program may have noted one.
        let _ = graphs.all().note_source_problem(self.chain, None);
        let mut following =
            FollowStage { followed: self, graphs, open, clock, observer, run: None, noted: None };
        let schedule = Schedule { poll: Some(POLL), restart: Some(RESTART), lock: None };
        // Every failure is tried again.
        let _ = stage::run(&mut following, &schedule).await;
    }
}

/// Stage that follows a chain.
struct FollowStage<'a, F: GraphFamily> {
    followed: &'a FollowedChain,
    graphs: &'a F,
    open: OpenSource<F::Graph>,
    clock: &'a Clock,
    observer: &'a dyn IngestObserver,
    /// `None` until the source and the graph's writer are open.
    run: Option<Run<'a, F::Graph>>,
    /// The problem with the source that is noted beside the graphs.
    noted: Option<SourceProblem>,
}

impl<'a, F: GraphFamily> FollowStage<'a, F> {
    async fn open(&self) -> Result<Run<'a, F::Graph>, IngestError> {
        let FollowedChain { chain, start, sample, accept_branch, .. } = *self.followed;
        let (followed, open) = (self.followed.clone(), self.open);
        let opening = stage!("open_source", chain = chain.info().id)
            .in_scope(|| run_on_thread(move || open(&followed)));
        let source = opening.await.map_err(|_| IngestError::Reader)??;
        let (from, follow) = (Some(start), Some(POLL));
        let request = IngestRequest { chain, from, to: None, follow, sample, accept_branch };
        begin(self.graphs, source, request, self.clock, self.observer).await
    }
}

impl<F: GraphFamily> FollowStage<'_, F> {
    /// Notes a problem with the source beside the graphs, if it is another one than before. A problem of the same kind goes on
    /// from the time at which it was found first.
    fn note(&mut self, problem: Option<(SourceProblemKind, String)>) {
        let before = self.noted.take();
        let problem = problem.map(|(kind, text)| {
            let since = before.as_ref().filter(|before| before.kind == kind).map(|it| it.at);
            SourceProblem { at: since.unwrap_or_else(|| self.clock.now()), kind, text }
        });
        if before != problem {
            let chain = self.followed.chain;
            if let Err(error) = self.graphs.all().note_source_problem(chain, problem.as_ref()) {
                tracing::warn!(%chain, %error, "the problem with the source is not noted");
            }
        }
        self.noted = problem;
    }
}

impl<F: GraphFamily> Stage for FollowStage<'_, F> {
    type Error = IngestError;

    fn id(&self) -> StageId {
        StageId { work: "ingest", chain: self.followed.chain }
    }

    async fn target(&mut self) -> Result<Target, IngestError> {
        let run = match self.run.take() {
            Some(run) => run,
            None => self.open().await?,
        };
        let run = self.run.insert(run);
        let target = run.target().await?;
        if run.lags {
            self.note(Some((SourceProblemKind::Behind, LAGS.to_owned())));
        } else if matches!(target, Target::Reached) {
            // Blocks that are to be read may fail as before.
            self.note(None);
        }
        Ok(target)
    }

    async fn execute(&mut self, to: u64) -> Result<(), IngestError> {
        self.run.as_mut().ok_or(IngestError::Reader)?.execute(to).await?;
        self.note(None);
        Ok(())
    }

    async fn unwind(&mut self, to: Option<u64>) -> Result<(), IngestError> {
        self.run.as_mut().ok_or(IngestError::Reader)?.unwind(to).await
    }
}

impl<F: GraphFamily> RunStage for FollowStage<'_, F> {
    /// Classifies a failure. A failure to open the source counts as permanent, because the source may be configured
    /// wrongly.
    fn failure(&self, error: &IngestError) -> FailureKind {
        match error.failure() {
            FailureKind::Busy => FailureKind::Busy,
            failure if self.run.is_some() => failure,
            _ => FailureKind::Permanent,
        }
    }

    fn release(&mut self) {
        self.run = None;
    }

    fn failed(&mut self, error: &IngestError, failure: FailureKind, pause: Duration, is_new: bool) {
        let (chain, seconds) = (self.followed.chain, pause.as_secs());
        // Another program that follows the chain notes its own problems.
        let is_own = failure != FailureKind::Busy;
        self.note(is_own.then(|| (error.source_problem(), error.to_string())));
        match (failure, &mut self.run) {
            (FailureKind::Busy, _) => {
                tracing::info!(%chain, "another program follows the chain: standing by");
            }
            (FailureKind::Permanent, _) | (_, None) => {
                tracing::error!(%chain, %error, seconds, "following failed; trying again");
            }
            (_, Some(run)) => run.failed(error, failure, pause, is_new),
        }
    }
}
