//! What a chain server answers with: the graphs in its data directory, and the lists and labels of the installation.
//!
//! - [`ChainHost`]: the state that all questions share, and the answers
//! - [`Refused`]: the reason why there is none
//! - `copies`: states that are held while other servers copy them
//! - `fill`: filling an empty server from a neighbor
//! - `policies`: the policies of questions, ready for use
//! - [`rate`]: how many blocks are recorded

mod copies;
mod fill;
mod policies;
pub mod rate;

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use arc_swap::{ArcSwap, ArcSwapOption};
use assay_address::{CanonicalAddress, ChainId};
use assay_chain::{TipRef, follow};
use assay_chain_protocol::{
    ServerSet,
    message::{
        Asked, AtLeast, BRANCH_BLOCKS, BranchBlock, BranchBlocks, BranchBlocksQuestion,
        ChangesAnswer, ChangesQuestion, ClusterAnswer, ClusterQuestion, CopyAnswer,
        CopyFingerprintAnswer, CopyFingerprintQuestion, CopyPartQuestion, CopyQuestion,
        FlowsAtMostQuestion, HistoryAnswer, HistoryQuestion, NewestBlock, Outputs, PART_BYTES,
        RefusalCode, RefusedBranch, ServerState, TraceAnswer, TraceQuestion, TransactionAnswer,
        TransactionQuestion, TransferAnswer, TransferQuestion,
    },
};
use assay_engine::{
    evidence::ChainState,
    ledger::BlockId,
    transfer::TransferQuery,
    utxo::{OutputSelector, ScriptOwner},
};
use assay_graph::{EmbeddedGraphs, GraphCopy, GraphStore, GraphTip, blocking};
use assay_intel::IntelSnapshot;
use assay_store::{Store, StoreError};
use assay_system::Clock;
use assay_telemetry::request::on_thread;
use jiff::Timestamp;
use tokio::{
    sync::{Notify, Semaphore, SemaphorePermit},
    time::{MissedTickBehavior, interval, timeout},
};

use self::{copies::Copies, policies::Policies, rate::Rate};
use super::{
    changes::Changes,
    compositions::{CompositionProgress, GraphOwner},
    graph::GraphReader,
    messages::{cluster_answer, history_answer, trace_answer, transfer_answer},
    reader::{ChainReader, ReadError, TraceRequest, Traced},
    transfer::{TransferError, TransferRequest},
};

/// Why a question has no answer.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    /// The server has no graph of the chain.
    #[error("there is no graph of {0} here")]
    NoGraph(ChainId),
    /// The question cannot be understood.
    #[error("{0}")]
    Invalid(String),
    /// The lists and labels of the server are older than those of the question.
    #[error("lists and labels have the revision {known} here, not {wanted}")]
    ListsBehind {
        /// The revision here.
        known: u64,
        /// The least revision of the question.
        wanted: u64,
    },
    /// The newest block is older than the one of the question.
    #[error("the newest block here is {known}, not {wanted}")]
    BlocksBehind {
        /// Its height.
        known: u64,
        /// The least height of the question.
        wanted: u64,
    },
    /// The server is on another branch than the question names.
    #[error("block {height} is not {hash} here: the server is on another branch", height = .0.height, hash = hex::encode(.0.hash))]
    OtherBranch(BlockId),
    /// The state is not held, or not any more.
    #[error("no state of the name `{0}` is held here")]
    NotHeld(String),
    /// As many states are held as the server allows.
    #[error("other servers copy the graph already: as many as may at a time")]
    TooManyCopies,
    /// As many traces are running as the server allows.
    #[error("{0} traces are running, the most of this server")]
    Busy(usize),
    /// The deadline of the question passed.
    #[error("the answer took longer than {0} ms")]
    DeadlineExceeded(u32),
    /// The graph cannot be read.
    #[error(transparent)]
    Failed(#[from] ReadError),
}

impl Refused {
    /// The reason as a client reads it.
    #[must_use]
    pub const fn code(&self) -> RefusalCode {
        match self {
            Self::NoGraph(_) | Self::NotHeld(_) => RefusalCode::NotFound,
            Self::Invalid(_) => RefusalCode::Invalid,
            Self::ListsBehind { .. } | Self::BlocksBehind { .. } | Self::OtherBranch(_) => {
                RefusalCode::Behind
            }
            Self::Busy(_) | Self::TooManyCopies => RefusalCode::Busy,
            Self::DeadlineExceeded(_) => RefusalCode::DeadlineExceeded,
            Self::Failed(_) => RefusalCode::Failed,
        }
    }
}

/// Time for which replaced lists and labels answer questions of their revision: API servers reload them meanwhile.
const EARLIER_FOR: Duration = Duration::from_secs(5);

/// Lists and labels that were replaced.
#[derive(Debug)]
struct Earlier {
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
    /// Lists and labels that were replaced a moment ago.
    earlier: ArcSwapOption<Earlier>,
    readers: Mutex<BTreeMap<ChainId, GraphReader>>,
    policies: Policies,
    copies: Copies,
    traces: Semaphore,
    most_traces: usize,
    /// The chain that the server is for, whether or not there is a graph of it yet.
    expected: Option<ChainId>,
    refresh_requested: Notify,
    compositions: CompositionProgress,
    rates: Mutex<BTreeMap<ChainId, Rate>>,
    /// The branches of sources that are not followed.
    refused_branches: Mutex<BTreeMap<ChainId, RefusedBranch>>,
    is_draining: AtomicBool,
}

impl ChainHost {
    /// Loads lists and labels from the installation's store. At most `most_traces` questions are worked on at a time.
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
            earlier: ArcSwapOption::empty(),
            readers: Mutex::default(),
            policies: Policies::default(),
            copies: Copies::default(),
            traces: Semaphore::new(most_traces),
            most_traces,
            expected,
            refresh_requested: Notify::new(),
            compositions: CompositionProgress::default(),
            rates: Mutex::default(),
            refused_branches: Mutex::default(),
            is_draining: AtomicBool::new(false),
        }))
    }

    /// The graphs.
    #[must_use]
    pub const fn graphs(&self) -> &Arc<EmbeddedGraphs> {
        &self.graphs
    }

    /// The clock.
    #[must_use]
    pub const fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Lists and labels.
    #[must_use]
    pub fn intel(&self) -> Arc<IntelSnapshot> {
        self.intel.load_full()
    }

    /// How far the compositions of each chain are.
    #[must_use]
    pub const fn compositions(&self) -> &CompositionProgress {
        &self.compositions
    }

    /// Number of questions that are worked on.
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

    /// Asks for a refresh of lists and labels before the interval is over.
    pub fn request_refresh(&self) {
        self.refresh_requested.notify_one();
    }

    /// Keeps lists and labels as the store has them, until the task is aborted. While the store cannot be read,
    /// the last ones stay: an API server with newer ones is told so.
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
            if self.earlier.load().as_ref().is_some_and(|it| it.until < Instant::now()) {
                self.earlier.store(None);
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
            self.earlier.store(Some(Arc::new(Earlier {
                intel: before,
                until: Instant::now() + EARLIER_FOR,
            })));
            self.intel.store(Arc::new(snapshot));
            tracing::info!(generation, addresses, "listings and labels reloaded");
        }
        Ok(())
    }

    /// Notes blocks that were recorded.
    pub fn note_blocks(&self, chain: ChainId, blocks: u64) {
        let mut rates = self.rates.lock().unwrap_or_else(PoisonError::into_inner);
        rates.entry(chain).or_default().add(Instant::now(), blocks);
    }

    /// Notes the source's branch if it is not followed, or that it is.
    pub fn note_refused_branch(&self, chain: ChainId, refused: Option<&follow::RefusedBranch>) {
        let mut branches = self.refused_branches.lock().unwrap_or_else(PoisonError::into_inner);
        match refused {
            Some(refused) => {
                let TipRef { height, hash } = refused.newest;
                let (last_common, newest) = (refused.last_common, BlockId { height, hash });
                branches.insert(chain, RefusedBranch { last_common, newest });
            }
            None => {
                branches.remove(&chain);
            }
        }
    }

    /// The source's branch, if the server stays on its own.
    fn refused_branch(&self, chain: ChainId) -> Option<RefusedBranch> {
        let branches = self.refused_branches.lock().unwrap_or_else(PoisonError::into_inner);
        branches.get(&chain).copied()
    }

    /// The state of one chain.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no graph of it, or it cannot be read.
    pub async fn state(&self, chain: ChainId) -> Result<ServerState, Refused> {
        let tip = match self.reader(chain).await? {
            Some(reader) => reader.tip().await?,
            None => None,
        };
        let newest = |GraphTip { start, block, verified_at, sample }| NewestBlock {
            block,
            verified_at,
            start,
            sample,
        };
        let mut rates = self.rates.lock().unwrap_or_else(PoisonError::into_inner);
        let rate = rates.get_mut(&chain).map(|rate| rate.per_second(Instant::now()));
        drop(rates);
        Ok(ServerState {
            release: env!("CARGO_PKG_VERSION").to_owned(),
            lists: self.intel.load().generation(),
            newest: tip.map(newest),
            bytes: self.graphs.bytes(chain),
            blocks_per_second: rate,
            is_draining: self.is_draining(),
            traces: u32::try_from(self.running_traces()).unwrap_or(u32::MAX),
            answers_blocks: true,
            refused_branch: self.refused_branch(chain),
        })
    }

    /// The state of every chain that has a graph and can be read.
    pub async fn states(&self) -> Vec<(ChainId, ServerState)> {
        let mut states = Vec::new();
        for chain in self.graphs.chains().await.unwrap_or_default() {
            if let Ok(state) = self.state(chain).await {
                states.push((chain, state));
            }
        }
        states
    }

    /// Why the server cannot answer questions; `None` if it can: every chain that it is for has blocks that can be
    /// read.
    pub async fn problem(&self) -> Option<String> {
        let mut chains = self.graphs.chains().await.unwrap_or_default();
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
        None
    }

    /// Traces an address.
    ///
    /// # Errors
    ///
    /// Returns the reason for which there is no answer.
    pub async fn trace(
        &self,
        chain: ChainId,
        asked: Asked<TraceQuestion>,
    ) -> Result<TraceAnswer, Refused> {
        let Asked { deadline_ms, knows, question } = asked;
        let working = self.working(chain, knows).await?;
        let subject = &address(chain, &question.address)?;
        let policy = self.policies.of(&question.policy)?;
        let rules = question.policy.rules;
        let Working { reader, intel, _permit } = &working;
        let now = question.now;
        let request = TraceRequest { subject, rules, policy: &policy, intel, now };
        let traced = within(deadline_ms, reader.trace(request)).await??;
        expect_block(&traced, knows)?;
        expect_branch(reader, knows).await?;
        Ok(trace_answer(traced, intel))
    }

    /// The flows of an address at their largest weight, if they are known.
    ///
    /// # Errors
    ///
    /// Returns the reason for which there is no answer.
    pub async fn flows_at_most(
        &self,
        chain: ChainId,
        asked: Asked<FlowsAtMostQuestion>,
    ) -> Result<Option<TraceAnswer>, Refused> {
        let Asked { deadline_ms, knows, question: FlowsAtMostQuestion(question) } = asked;
        let working = self.working(chain, knows).await?;
        let subject = &address(chain, &question.address)?;
        let policy = self.policies.of(&question.policy)?;
        let rules = question.policy.rules;
        let Working { reader, intel, _permit } = &working;
        let now = question.now;
        let request = TraceRequest { subject, rules, policy: &policy, intel, now };
        let traced = within(deadline_ms, reader.flows_at_most(request)).await??;
        if let Some(traced) = &traced {
            expect_block(traced, knows)?;
            expect_branch(reader, knows).await?;
        }
        Ok(traced.map(|traced| trace_answer(traced, intel)))
    }

    /// Reads a transfer.
    ///
    /// # Errors
    ///
    /// Returns the reason for which there is no answer.
    pub async fn transfer(
        &self,
        chain: ChainId,
        asked: Asked<TransferQuestion>,
    ) -> Result<TransferAnswer, Refused> {
        let Asked { deadline_ms, knows, question } = asked;
        let working = self.working(chain, knows).await?;
        let TransferQuestion { transaction, outputs, direction, policy, now } = question;
        let selector = match outputs {
            Outputs::Index(index) => OutputSelector::Index(index),
            Outputs::Address(text) => OutputSelector::Address(address(chain, &text)?),
        };
        let query = TransferQuery { chain, txid: transaction, selector, direction };
        let rules = policy.rules;
        let policy = self.policies.of(&policy)?;
        let Working { reader, intel, _permit } = &working;
        let request = TransferRequest { query: &query, rules, policy: &policy, intel, now };
        let read = within(deadline_ms, reader.transfer(request)).await?;
        if let Ok(read) = &read {
            expect_height(read.tip_height, knows)?;
        }
        expect_branch(reader, knows).await?;
        transfer_answer(read, intel, now).map_err(|error| match error {
            TransferError::Read(error) => Refused::Failed(error),
            other => Refused::Invalid(other.to_string()),
        })
    }

    /// Reads a transaction.
    ///
    /// # Errors
    ///
    /// Returns the reason for which there is no answer.
    pub async fn transaction(
        &self,
        chain: ChainId,
        asked: Asked<TransactionQuestion>,
    ) -> Result<Option<TransactionAnswer>, Refused> {
        let Asked { deadline_ms, knows, question } = asked;
        let TransactionQuestion { transaction, largest } = question;
        let Working { reader, .. } = &self.working(chain, knows).await?;
        Ok(within(deadline_ms, reader.transaction(&transaction, largest)).await??)
    }

    /// Reads the history of an address.
    ///
    /// # Errors
    ///
    /// Returns the reason for which there is no answer.
    pub async fn history(
        &self,
        chain: ChainId,
        asked: Asked<HistoryQuestion>,
    ) -> Result<Option<HistoryAnswer>, Refused> {
        let Asked { deadline_ms, knows, question } = asked;
        let HistoryQuestion { address: text, largest } = question;
        let subject = address(chain, &text)?;
        let Some(script) = ScriptOwner::from_address(&subject) else { return Ok(None) };
        let Working { reader, .. } = &self.working(chain, knows).await?;
        let read = within(deadline_ms, reader.history(&script, largest)).await??;
        Ok(read.map(|(history, names)| history_answer(history, &names)))
    }

    /// Reads the cluster of an address.
    ///
    /// # Errors
    ///
    /// Returns the reason for which there is no answer.
    pub async fn cluster(
        &self,
        chain: ChainId,
        asked: Asked<ClusterQuestion>,
    ) -> Result<ClusterAnswer, Refused> {
        let Asked { deadline_ms, knows, question } = asked;
        let subject = address(chain, &question.address)?;
        let Working { reader, intel, _permit } = &self.working(chain, knows).await?;
        Ok(cluster_answer(within(deadline_ms, reader.cluster(&subject, intel)).await??))
    }

    /// The addresses in new blocks.
    ///
    /// # Errors
    ///
    /// Returns the reason for which there is no answer.
    pub async fn changes(
        &self,
        chain: ChainId,
        asked: Asked<ChangesQuestion>,
    ) -> Result<ChangesAnswer, Refused> {
        let Asked { deadline_ms, knows, question: ChangesQuestion { since } } = asked;
        // No permit: answers would be made anew without this one, which is more work.
        let reader = self.knowing(chain, knows).await?.0;
        let changes = within(deadline_ms, reader.changes(since)).await??;
        expect_branch(&reader, knows).await?;
        Ok(match changes {
            None => ChangesAnswer { newest: None, addresses: None },
            Some(Changes { newest, addresses }) => {
                let text = |address: &CanonicalAddress| address.as_str().to_owned();
                let addresses = addresses.map(|all| all.iter().map(text).collect());
                ChangesAnswer { newest: Some(newest), addresses }
            }
        })
    }

    /// The blocks at some heights of a branch; `None` if it is not the chain's any more.
    ///
    /// # Errors
    ///
    /// Returns the reason for which there is no answer.
    pub async fn blocks(
        &self,
        chain: ChainId,
        asked: Asked<BranchBlocksQuestion>,
    ) -> Result<Option<BranchBlocks>, Refused> {
        let Asked { deadline_ms, knows, question } = asked;
        let BranchBlocksQuestion { newest, heights } = question;
        if heights.len() > BRANCH_BLOCKS {
            let (most, asked) = (BRANCH_BLOCKS, heights.len());
            let problem = format!("{asked} heights are too many: ask for at most {most}");
            return Err(Refused::Invalid(problem));
        }
        // No permit: without this answer, no other question is asked.
        let reader = self.knowing(chain, knows).await?.0;
        let read = reader.branch_blocks(newest, &heights);
        let blocks = within(deadline_ms, read).await??;
        Ok(blocks.map(|blocks| BranchBlocks {
            blocks: blocks
                .into_iter()
                .map(|(block, work_above)| BranchBlock { block, work_above })
                .collect(),
        }))
    }

    /// Holds the newest state of a graph for another server, or finds one that is held.
    ///
    /// # Errors
    ///
    /// Returns the reason for which there is no answer.
    pub fn copy(&self, chain: ChainId, asked: Asked<CopyQuestion>) -> Result<CopyAnswer, Refused> {
        let (held, copy) = if let Some(held) = asked.question.held {
            let found = self.copies.get(chain, &held);
            let copy = found.ok_or_else(|| Refused::NotHeld(held.clone()))?;
            (held, copy)
        } else {
            let new = || -> Result<(String, GraphCopy), Refused> {
                let copy = blocking(|| self.graphs.copy(chain)).map_err(ReadError::from)?;
                let held = format!("{:032x}", assay_system::random_u128());
                Ok((held, copy.ok_or(Refused::NoGraph(chain))?))
            };
            self.copies.hold(chain, new)?
        };
        Ok(CopyAnswer { held, bytes: copy.length(), newest: copy.tip().block })
    }

    /// The next bytes of a held state.
    ///
    /// # Errors
    ///
    /// Returns the reason for which there is no answer.
    pub fn copy_part(
        &self,
        chain: ChainId,
        asked: Asked<CopyPartQuestion>,
    ) -> Result<Vec<u8>, Refused> {
        let CopyPartQuestion { held, offset } = asked.question;
        let copy = self.copies.get(chain, &held).ok_or(Refused::NotHeld(held))?;
        let _reading = self.copies.part_permit().ok_or(Refused::TooManyCopies)?;
        let read = blocking(|| copy.read(offset, PART_BYTES));
        Ok(read.map_err(ReadError::from)?)
    }

    /// The fingerprint of a held state.
    ///
    /// # Errors
    ///
    /// Returns the reason for which there is no answer.
    pub async fn copy_fingerprint(
        &self,
        chain: ChainId,
        asked: Asked<CopyFingerprintQuestion>,
    ) -> Result<CopyFingerprintAnswer, Refused> {
        let CopyFingerprintQuestion { held } = asked.question;
        let copy = self.copies.get(chain, &held).ok_or(Refused::NotHeld(held))?;
        // It goes on without the one who asked, and is known to the next one.
        let permit = self.copies.fingerprint_permit().ok_or(Refused::TooManyCopies)?;
        let read = on_thread(move || {
            let fingerprint = copy.fingerprint();
            drop(permit);
            fingerprint
        });
        let read = read.await;
        let fingerprint = read.map_err(|_| Refused::Invalid("the server stops".to_owned()))?;
        let fingerprint = hex::encode(fingerprint.map_err(ReadError::from)?);
        Ok(CopyFingerprintAnswer { fingerprint })
    }

    /// Fills an empty server with the graph of a chain from a neighbor, if one has it.
    pub async fn fill(&self, chain: ChainId, neighbors: &ServerSet) {
        if !self.graphs.exists(chain) {
            fill::fill(&self.graphs, chain, neighbors).await;
        }
    }

    /// What a question is answered with, unless the server is busy or behind.
    async fn working(&self, chain: ChainId, knows: AtLeast) -> Result<Working<'_>, Refused> {
        let (reader, intel) = self.knowing(chain, knows).await?;
        let permit = self.traces.try_acquire().map_err(|_| Refused::Busy(self.most_traces))?;
        Ok(Working { reader, intel, _permit: permit })
    }

    /// The graph of a chain with lists and labels, unless the server is behind.
    async fn knowing(
        &self,
        chain: ChainId,
        knows: AtLeast,
    ) -> Result<(GraphReader, Arc<IntelSnapshot>), Refused> {
        let intel = self.intel_for(knows.lists);
        let lists = intel.generation();
        if lists < knows.lists {
            self.request_refresh();
            return Err(Refused::ListsBehind { known: lists, wanted: knows.lists });
        }
        let reader = self.reader(chain).await?.ok_or(Refused::NoGraph(chain))?;
        let newest = reader.tip().await?.map_or(0, |tip| tip.block.height);
        if newest < knows.block {
            return Err(Refused::BlocksBehind { known: newest, wanted: knows.block });
        }
        expect_branch(&reader, knows).await?;
        Ok((reader, intel))
    }

    /// Lists and labels for a question: those of its revision if they were replaced only just now, so that the answer
    /// rests on the same ones as the rest of the assessment.
    fn intel_for(&self, lists: u64) -> Arc<IntelSnapshot> {
        let earlier = self.earlier.load();
        match earlier.as_ref() {
            Some(earlier) if earlier.intel.generation() == lists => Arc::clone(&earlier.intel),
            _ => self.intel(),
        }
    }

    /// The reader of a chain; `None` if there is no graph of it.
    async fn reader(&self, chain: ChainId) -> Result<Option<GraphReader>, Refused> {
        let graph = self.graphs.graph(chain).await.map_err(ReadError::from)?;
        let mut readers = self.readers.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(graph) = graph else {
            readers.remove(&chain);
            return Ok(None);
        };
        let reader = match readers.get(&chain) {
            Some(known) if known.reads(&graph) => return Ok(Some(known.clone())),
            Some(known) => known.renewed(graph),
            None => GraphReader::new(chain, graph),
        };
        readers.insert(chain, reader.clone());
        Ok(Some(reader))
    }
}

impl GraphOwner for ChainHost {
    fn graphs(&self) -> &EmbeddedGraphs {
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

/// What one question is answered with.
struct Working<'h> {
    reader: GraphReader,
    intel: Arc<IntelSnapshot>,
    /// Counts among the running traces until it is dropped.
    _permit: SemaphorePermit<'h>,
}

fn address(chain: ChainId, text: &str) -> Result<CanonicalAddress, Refused> {
    CanonicalAddress::parse(chain, text).map_err(|error| Refused::Invalid(error.to_string()))
}

/// Works until the deadline of a question. Work that is given up ends at its next step.
async fn within<T>(deadline_ms: u32, work: impl Future<Output = T>) -> Result<T, Refused> {
    let deadline = Duration::from_millis(deadline_ms.into());
    timeout(deadline, work).await.map_err(|_| Refused::DeadlineExceeded(deadline_ms))
}

/// Refuses an answer by an older block than the question names: blocks were rolled back meanwhile.
fn expect_block(traced: &Traced, knows: AtLeast) -> Result<(), Refused> {
    match &traced.state {
        ChainState::Followed(facts) => expect_height(facts.tip.height, knows),
        ChainState::NotFollowed | ChainState::Unavailable(_) => expect_height(0, knows),
    }
}

/// Refuses an answer by another branch than the question names. The block is looked up before the answer is made and
/// after it: one that was there both times was there meanwhile.
async fn expect_branch(reader: &GraphReader, knows: AtLeast) -> Result<(), Refused> {
    match knows.on {
        Some(on) if !reader.has(on).await? => Err(Refused::OtherBranch(on)),
        _ => Ok(()),
    }
}

const fn expect_height(height: u64, knows: AtLeast) -> Result<(), Refused> {
    if height < knows.block {
        return Err(Refused::BlocksBehind { known: height, wanted: knows.block });
    }
    Ok(())
}
