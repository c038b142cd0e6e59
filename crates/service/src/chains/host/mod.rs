//! Chain server: answers questions from the graphs in its data directory, and the lists and labels of the installation.
//!
//! - [`ChainHost`]: the state that all questions share
//! - `admission`: checks that the server has the data and the time for a question
//! - `questions`: the answers
//! - [`RefusalReason`]: the reason for which a question gets no answer
//! - `copies`: states that are held while other servers copy them
//! - `failed`: questions that a graph failed to answer
//! - `fill`: copies a neighbor's graph to an empty server
//! - `policies`: compiled policies of questions
//! - [`rate`]: the rate at which blocks are recorded

mod admission;
mod copies;
mod failed;
mod fill;
mod policies;
mod questions;
pub mod rate;
mod refusal;

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use arc_swap::{ArcSwap, ArcSwapOption};
use assay_address::{ChainId, LedgerKind};
use assay_chain::{TipRef, follow};
use assay_chain_protocol::{
    ServerSet,
    message::{
        NewestBlock, RefusedBranchMessage, ServerState, SourceProblemKindMessage,
        SourceProblemMessage,
    },
};
use assay_engine::{account::AccountView, ledger::BlockId};
use assay_graph::{
    EmbeddedGraphs, GraphTip, SourceProblem, SourceProblemKind,
    account::{AccountEnds, AccountGraphView},
};
use assay_intel::IntelSnapshot;
use assay_store::{Store, StoreError};
use assay_system::Clock;
use jiff::Timestamp;
use tokio::{
    sync::{Notify, Semaphore},
    time::{MissedTickBehavior, interval},
};

use self::{copies::Copies, failed::FailedQuestions, policies::PolicyCache, rate::Rate};

use super::{
    accounts::AccountReaders,
    compositions::{CompositionProgress, GraphOwner},
    graph::GraphReaders,
    mempool::Mempools,
    messages::types::MessageForm,
    reader::ChainReader,
    subject::ReadError,
};
pub use questions::Answers;
pub use refusal::RefusalReason;

/// Time for which the previous lists and labels answer questions of their revision, because API servers reload them
/// within this time.
const PREVIOUS_SNAPSHOT_LIFETIME: Duration = Duration::from_secs(5);

/// Lists and labels that were replaced.
#[derive(Debug)]
struct PreviousSnapshot {
    intel: Arc<IntelSnapshot>,
    until: Instant,
}

/// The state of a chain server.
#[derive(Debug)]
pub struct ChainHost {
    store: Arc<dyn Store>,
    graphs: Arc<EmbeddedGraphs>,
    clock: Clock,
    intel: ArcSwap<IntelSnapshot>,
    /// Lists and labels that were replaced less than [`PREVIOUS_SNAPSHOT_LIFETIME`] ago.
    previous: ArcSwapOption<PreviousSnapshot>,
    readers: Mutex<GraphReaders>,
    account_readers: Mutex<AccountReaders>,
    /// Unconfirmed transactions of the chain that the server follows.
    mempools: Mempools,
    policies: PolicyCache,
    copies: Copies,
    traces: Semaphore,
    most_traces: usize,
    /// Chain that the server is configured for; its graph may not exist yet.
    expected: Option<ChainId>,
    refresh_requested: Notify,
    compositions: CompositionProgress,
    /// Rates of followed chains, and heights of their sources' newest blocks.
    rates: Mutex<BTreeMap<ChainId, (Rate, u64)>>,
    /// Branches of sources that the server does not follow.
    refused_branches: Mutex<BTreeMap<ChainId, RefusedBranchMessage>>,
    failed: FailedQuestions,
    is_draining: AtomicBool,
}

impl ChainHost {
    /// Loads lists and labels from the installation's store. At most `most_traces` questions run concurrently.
    ///
    /// # Errors
    ///
    /// Returns an error if the store cannot be read.
    pub async fn load(
        store: Arc<dyn Store>,
        graphs: Arc<EmbeddedGraphs>,
        clock: Clock,
        most_traces: usize,
        expected: Option<ChainId>,
    ) -> Result<Arc<Self>, StoreError> {
        let intel = IntelSnapshot::load(&*store, None).await?;
        Ok(Arc::new(Self {
            store,
            graphs,
            clock,
            intel: ArcSwap::from_pointee(intel),
            previous: ArcSwapOption::empty(),
            readers: Mutex::default(),
            account_readers: Mutex::default(),
            mempools: Mempools::default(),
            policies: PolicyCache::default(),
            copies: Copies::default(),
            traces: Semaphore::new(most_traces),
            most_traces,
            expected,
            refresh_requested: Notify::new(),
            compositions: CompositionProgress::default(),
            rates: Mutex::default(),
            refused_branches: Mutex::default(),
            failed: FailedQuestions::default(),
            is_draining: AtomicBool::new(false),
        }))
    }

    /// Returns the graphs.
    #[must_use]
    pub const fn graphs(&self) -> &Arc<EmbeddedGraphs> {
        &self.graphs
    }

    /// Returns the unconfirmed transactions of followed chains.
    #[must_use]
    pub const fn mempools(&self) -> &Mempools {
        &self.mempools
    }

    /// Returns the clock.
    #[must_use]
    pub const fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Returns lists and labels.
    #[must_use]
    pub fn intel(&self) -> Arc<IntelSnapshot> {
        self.intel.load_full()
    }

    /// Returns the accounts of a chain at which money ends now.
    #[must_use]
    pub fn account_ends(&self, chain: ChainId) -> AccountEnds {
        let intel = self.intel();
        let ends = intel.account_ends(chain, intel.day(self.clock.now()));
        ends.collect::<AccountEnds>().with_prices(Arc::clone(intel.prices()))
    }

    /// Returns the progress of the compositions (origin breakdowns) of each chain.
    #[must_use]
    pub const fn compositions(&self) -> &CompositionProgress {
        &self.compositions
    }

    /// Returns the number of running questions.
    #[must_use]
    pub fn running_traces(&self) -> usize {
        self.most_traces.saturating_sub(self.traces.available_permits())
    }

    /// Announces that the server is about to stop.
    pub fn start_draining(&self) {
        self.is_draining.store(true, Ordering::Relaxed);
    }

    /// True if the server is about to stop.
    #[must_use]
    pub fn is_draining(&self) -> bool {
        self.is_draining.load(Ordering::Relaxed)
    }

    /// Requests a refresh of lists and labels before the interval is over.
    pub fn request_refresh(&self) {
        self.refresh_requested.notify_one();
    }

    /// Refreshes lists and labels from the store until the task is aborted. While the store cannot be read, the last
    /// loaded lists and labels stay: questions of a newer revision are refused.
    pub async fn keep_intel(self: Arc<Self>, every: Duration) {
        let mut ticks = interval(every);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut is_failing = false;
        loop {
            tokio::select! {
                _ = ticks.tick() => {}
                () = self.refresh_requested.notified() => {}
            }
            self.copies.release();
            if self.previous.load().as_ref().is_some_and(|it| it.until < Instant::now()) {
                self.previous.store(None);
            }
            let refreshed = self.refresh_intel().await;
            match &refreshed {
                Ok(()) if is_failing => tracing::info!("reloading lists and labels works again"),
                Err(error) if !is_failing => {
                    tracing::error!(%error, "failed to reload lists and labels; using those loaded before");
                }
                _ => {}
            }
            is_failing = refreshed.is_err();
        }
    }

    async fn refresh_intel(&self) -> Result<(), StoreError> {
        let generation = self.store.revisions().await?.intel;
        let before = self.intel();
        if generation != before.generation() {
            let snapshot = IntelSnapshot::load(&*self.store, Some(&before)).await?;
            let (generation, addresses) = (snapshot.generation(), snapshot.addresses());
            self.previous.store(Some(Arc::new(PreviousSnapshot {
                intel: before,
                until: Instant::now() + PREVIOUS_SNAPSHOT_LIFETIME,
            })));
            self.intel.store(Arc::new(snapshot));
            tracing::info!(generation, addresses, "listings and labels reloaded");
        }
        Ok(())
    }

    /// Records the number of new blocks, and the height of the source's newest one.
    pub fn note_blocks(&self, chain: ChainId, blocks: u64, source_height: u64) {
        let mut rates = self.rates.lock().unwrap_or_else(PoisonError::into_inner);
        let (rate, height) = rates.entry(chain).or_default();
        rate.add(Instant::now(), blocks);
        *height = source_height;
    }

    /// Records the branch of the source that the server refuses; `None` if it follows the source.
    pub fn note_refused_branch(&self, chain: ChainId, refused: Option<&follow::RefusedBranch>) {
        let mut branches = self.refused_branches.lock().unwrap_or_else(PoisonError::into_inner);
        match refused {
            Some(refused) => {
                let TipRef { height, hash } = refused.newest;
                let last_common = refused.last_common;
                let newest = BlockId { height, hash }.into_message();
                branches.insert(chain, RefusedBranchMessage { last_common, newest });
            }
            None => {
                branches.remove(&chain);
            }
        }
    }

    /// Returns the branch of the source that the server refuses.
    fn refused_branch(&self, chain: ChainId) -> Option<RefusedBranchMessage> {
        let branches = self.refused_branches.lock().unwrap_or_else(PoisonError::into_inner);
        branches.get(&chain).copied()
    }

    /// True if the graph of an account chain lacks transfers inside of transactions, of all blocks or of some.
    fn lacks_internal_transfers(&self, chain: ChainId) -> Result<bool, RefusalReason> {
        if chain.info().ledger != LedgerKind::Account {
            return Ok(false);
        }
        let snapshot = self.graphs.account_snapshot(chain).map_err(ReadError::from)?;
        let Some(snapshot) = snapshot else { return Ok(false) };
        let notes = snapshot.source_notes().map_err(ReadError::from)?;
        let has_gaps = !snapshot.internal_gaps().is_empty();
        snapshot.check().map_err(ReadError::from)?;
        Ok(has_gaps || notes.has_internal_transfers == Some(false))
    }

    /// Returns the state of one chain.
    ///
    /// # Errors
    ///
    /// Returns an error if the chain has no graph, or the graph cannot be read.
    pub async fn state(&self, chain: ChainId) -> Result<ServerState, RefusalReason> {
        let tip = match self.reader(chain)? {
            Some(reader) => reader.tip().await?,
            None => None,
        };
        let newest = |GraphTip { start, block, verified_at, sample }| NewestBlock {
            block: block.into_message(),
            verified_at,
            start,
            sample,
        };
        let mut rates = self.rates.lock().unwrap_or_else(PoisonError::into_inner);
        let followed = rates.get_mut(&chain);
        let followed = followed.map(|(rate, height)| (rate.per_second(Instant::now()), *height));
        drop(rates);
        let (rate, source_height) = followed.unzip();
        Ok(ServerState {
            release: env!("CARGO_PKG_VERSION").to_owned(),
            lists: self.intel.load().generation(),
            newest: tip.map(newest),
            bytes: self.graphs.bytes(chain),
            blocks_per_second: rate,
            source_height,
            is_draining: self.is_draining(),
            traces: u32::try_from(self.running_traces()).unwrap_or(u32::MAX),
            answers_blocks: true,
            refused_branch: self.refused_branch(chain),
            source_problem: self.graphs.source_problem(chain).map(source_problem_message),
            lacks_internal_transfers: self.lacks_internal_transfers(chain)?,
            graph_problem: self.failed.of_chain(chain, Instant::now()),
        })
    }

    /// Returns the state of every chain with a graph that can be read.
    pub async fn states(&self) -> Vec<(ChainId, ServerState)> {
        let mut states = Vec::new();
        for chain in self.chains() {
            if let Ok(state) = self.state(chain).await {
                states.push((chain, state));
            }
        }
        states
    }

    /// Returns the chains with a graph in the data directory.
    fn chains(&self) -> Vec<ChainId> {
        let mut chains = self.graphs.chains();
        chains.extend(self.graphs.account_chains());
        chains
    }

    /// Counts a question that could not be answered, and logs it with others, once a minute.
    pub fn note_failed(&self, chain: ChainId, error: &ReadError) {
        self.failed.note(chain, error);
    }

    /// Returns the reason for which the server cannot answer questions; `None` if every chain that it is configured for
    /// has readable blocks, and no graph failed to answer a question in the last ten minutes.
    pub async fn problem(&self) -> Option<String> {
        let mut chains = self.chains();
        chains.extend(self.expected.filter(|chain| !chains.contains(chain)));
        if chains.is_empty() {
            return Some("there is no graph in the data directory".to_owned());
        }
        for chain in chains {
            match self.state(chain).await {
                Ok(ServerState { newest: Some(_), .. }) => {}
                Ok(_) => return Some(format!("the graph of {chain} has no block yet")),
                Err(error) => return Some(format!("the graph of {chain} cannot be read: {error}")),
            }
        }
        let (chain, error) = self.failed.recent(Instant::now())?;
        Some(format!("the graph of {chain} failed to answer a question: {error}"))
    }

    /// Fills an empty server with the graph of a chain from a neighbor, if a neighbor has the graph.
    pub async fn fill(&self, chain: ChainId, neighbors: &ServerSet) {
        if !self.graphs.exists(chain) {
            fill::fill(&self.graphs, chain, neighbors).await;
        }
    }

    /// Returns the reader of a chain; `None` without a graph.
    fn reader(&self, chain: ChainId) -> Result<Option<Arc<dyn ChainReader>>, RefusalReason> {
        if chain.info().ledger == LedgerKind::Account {
            let mut readers = self.account_readers.lock().unwrap_or_else(PoisonError::into_inner);
            let reader = readers.renew_reader(chain, &self.graphs).map_err(ReadError::from)?;
            return Ok(reader.map(|reader| reader as Arc<dyn ChainReader>));
        }
        let graph = self.graphs.graph(chain).map_err(ReadError::from)?;
        let mut readers = self.readers.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(readers.renew_reader(chain, graph).map(|reader| reader as Arc<dyn ChainReader>))
    }
}

impl GraphOwner for ChainHost {
    fn graphs(&self) -> &Arc<EmbeddedGraphs> {
        &self.graphs
    }

    fn intel(&self) -> Arc<IntelSnapshot> {
        Self::intel(self)
    }

    fn now(&self) -> Timestamp {
        self.clock.now()
    }

    fn progress(&self) -> &CompositionProgress {
        &self.compositions
    }
}

fn source_problem_message(problem: SourceProblem) -> SourceProblemMessage {
    let SourceProblem { at, kind, text } = problem;
    let kind = match kind {
        SourceProblemKind::Unreachable => SourceProblemKindMessage::Unreachable,
        SourceProblemKind::CredentialsRefused => SourceProblemKindMessage::CredentialsRefused,
        SourceProblemKind::OtherNetwork => SourceProblemKindMessage::OtherNetwork,
        SourceProblemKind::Behind => SourceProblemKindMessage::Behind,
        SourceProblemKind::Pruned => SourceProblemKindMessage::Pruned,
        SourceProblemKind::BranchRefused => SourceProblemKindMessage::BranchRefused,
        SourceProblemKind::Failed => SourceProblemKindMessage::Failed,
    };
    SourceProblemMessage { at, kind, text }
}
