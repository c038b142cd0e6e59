//! Update of the compositions (origin breakdowns) of one chain, slice by slice.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use assay_address::ChainId;
use assay_chain::stage::Target;
use assay_graph::{
    EmbeddedGraphs, GraphError,
    compositions::{CompositionState, CompositionWriter, TraceEnds, TraceEndsRevision},
    utxo::{EmbeddedGraph, Snapshot},
};
use assay_intel::IntelSnapshot;
use jiff::{Timestamp, civil::Date};

use super::{
    known_ends::KnownEnds,
    new_blocks::{self, NewestBlocks},
    progress::Progress,
};
use crate::chains::ends::Parties;

/// Number of transactions of a slice, in whole blocks: some hundredths of a second.
const SLICE: u64 = 10_000;

/// Data by which a slice is computed.
#[derive(Debug)]
pub(super) struct Inputs<'a> {
    pub(super) graphs: &'a EmbeddedGraphs,
    pub(super) intel: &'a IntelSnapshot,
    pub(super) now: Timestamp,
}

/// Revision of lists and labels on a day, by which parties are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct IntelState {
    generation: u64,
    today: Date,
}

/// Block up to which compositions (origin breakdowns) are complete, with the lists and labels by which they were
/// computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct CompletedState {
    newest: (u64, [u8; 32]),
    intel: IntelState,
}

/// Computation of all missing compositions (origin breakdowns), from the first slice to the last.
#[derive(Debug)]
struct ComputationPass {
    writer: CompositionWriter,
    intel: IntelState,
    begun: Instant,
    /// Number of missing transactions when the pass began.
    missing: u64,
    computed: u64,
    /// True if the log has a line about the beginning and the end of the pass.
    is_logged: bool,
}

/// State of the update of one chain between two steps.
#[derive(Debug)]
pub(super) struct CompositionUpdater {
    chain: ChainId,
    graph: Option<Arc<EmbeddedGraph>>,
    known: Option<(IntelState, KnownEnds)>,
    complete_at: Option<CompletedState>,
    /// Newest blocks when the compositions (origin breakdowns) were last complete.
    newest: Option<NewestBlocks>,
    pass: Option<ComputationPass>,
    /// Progress; `None` before the first step.
    pub(super) progress: Option<Progress>,
}

impl CompositionUpdater {
    pub(super) const fn new(chain: ChainId) -> Self {
        Self {
            chain,
            graph: None,
            known: None,
            complete_at: None,
            newest: None,
            pass: None,
            progress: None,
        }
    }

    /// Releases the writer, so that other programs can compute compositions (origin breakdowns).
    pub(super) fn release(&mut self) {
        self.pass = None;
    }

    /// Compares the compositions (origin breakdowns) with the chain and with lists and labels.
    pub(super) fn target(&mut self, inputs: &Inputs<'_>) -> Result<Target, GraphError> {
        let Some((snapshot, wanted)) = self.wanted(inputs)? else { return Ok(Target::Reached) };
        let Some(at) = self.complete_at else { return Ok(Target::Ahead(wanted.newest.0)) };
        let (height, hash) = at.newest;
        let block = snapshot.reader().block(height)?;
        Ok(if at == wanted {
            Target::Reached
        } else if block.is_some_and(|it| it.block.hash == hash) {
            Target::Ahead(wanted.newest.0)
        } else {
            Target::Branched(None)
        })
    }

    /// Clears the record of the block up to which the compositions (origin breakdowns) are complete. Compositions of
    /// blocks that were rolled back stay readable until the slice with the replacing blocks removes them in the same
    /// write.
    pub(super) const fn unwind(&mut self) {
        self.complete_at = None;
    }

    /// Computes one slice of missing compositions (origin breakdowns).
    pub(super) fn execute(&mut self, inputs: &Inputs<'_>) -> Result<(), GraphError> {
        let chain = self.chain;
        let Some((snapshot, wanted)) = self.wanted(inputs)? else { return Ok(()) };
        let ends = self.ends(inputs, wanted.intel, &snapshot)?;
        let present = ends.up_to(snapshot.owners()?);
        let state = state(inputs.graphs, chain)?;
        self.expect_newest(&snapshot, state.as_ref())?;
        if is_complete(state.as_ref(), wanted.newest, present) {
            // An earlier run or another program computed the compositions.
            self.pass = None;
        } else if !self.slice(inputs, wanted.intel, &snapshot, &ends, state.as_ref())? {
            return Ok(());
        }
        self.complete_at = Some(wanted);
        let took = self.pass.take().map(|pass| pass.end(chain, present));
        let last_pass = took.or_else(|| self.progress?.last_pass);
        self.progress = Some(Progress { behind: 0, last_pass });
        self.log_new_blocks(inputs, &snapshot, wanted.newest.0)
    }

    /// Returns the newest state of the graph, and the state that compositions (breakdowns of transactions' funds by
    /// origin) must reach: the newest block under the present lists and labels; `None` if the graph has no blocks.
    fn wanted(
        &mut self,
        inputs: &Inputs<'_>,
    ) -> Result<Option<(Snapshot, CompletedState)>, GraphError> {
        let Some(graph) = inputs.graphs.open(self.chain)? else { return Ok(None) };
        self.expect_graph(&graph);
        let snapshot = graph.snapshot()?;
        let Some(tip) = snapshot.tip()? else { return Ok(None) };
        let today = inputs.intel.day(inputs.now);
        let intel = IntelState { generation: inputs.intel.generation(), today };
        let newest = (tip.block.height, tip.block.hash);
        Ok(Some((snapshot, CompletedState { newest, intel })))
    }

    /// Resets the state if the graph was deleted and created anew.
    fn expect_graph(&mut self, graph: &Arc<EmbeddedGraph>) {
        if !self.graph.as_ref().is_some_and(|known| Arc::ptr_eq(known, graph)) {
            let (graph, progress) = (Some(Arc::clone(graph)), self.progress);
            *self = Self { graph, progress, ..Self::new(self.chain) };
        }
    }

    /// Loads, at the first step, the newest blocks that an earlier run completed.
    fn expect_newest(
        &mut self,
        snapshot: &Snapshot,
        state: Option<&CompositionState>,
    ) -> Result<(), GraphError> {
        let newest = state.and_then(|state| state.newest);
        if let (None, Some(newest)) = (&self.newest, newest) {
            let known = NewestBlocks::read(snapshot, newest.0)?;
            self.newest = Some(known).filter(|known| known.contains(newest));
        }
        Ok(())
    }

    /// Logs severe money in the blocks that are new since the compositions (origin breakdowns) were last complete.
    fn log_new_blocks(
        &mut self,
        inputs: &Inputs<'_>,
        snapshot: &Snapshot,
        height: u64,
    ) -> Result<(), GraphError> {
        let newest = NewestBlocks::read(snapshot, height)?;
        let new = self.newest.as_ref().map_or_else(Vec::new, |known| newest.added_since(known));
        self.newest = Some(newest);
        let Some(compositions) = inputs.graphs.compositions(self.chain)? else { return Ok(()) };
        match compositions.reader()? {
            Some(compositions) if !new.is_empty() => new_blocks::log_severe_receipts(
                self.chain,
                snapshot,
                &compositions,
                &new,
                inputs.now,
            ),
            _ => Ok(()),
        }
    }

    /// Returns the parties at which traces end in a state of the graph.
    fn ends(
        &mut self,
        inputs: &Inputs<'_>,
        intel: IntelState,
        snapshot: &Snapshot,
    ) -> Result<Arc<TraceEnds>, GraphError> {
        let known = self.known.take().filter(|(of, _)| *of == intel);
        let (_, known) = self.known.insert(known.unwrap_or_else(|| {
            let parties = Parties::new(self.chain, inputs.intel, intel.today);
            (intel, KnownEnds::new(parties))
        }));
        known.in_state(snapshot)
    }

    /// Computes a slice. Returns true if no slice is left.
    fn slice(
        &mut self,
        inputs: &Inputs<'_>,
        intel: IntelState,
        snapshot: &Snapshot,
        ends: &TraceEnds,
        state: Option<&CompositionState>,
    ) -> Result<bool, GraphError> {
        let known = self.pass.take().filter(|pass| pass.intel == intel);
        let pass = if let Some(known) = known {
            known
        } else {
            let work = PendingWork::new(snapshot.transactions()?, ends, state);
            self.is_behind(work.missing);
            ComputationPass::begin(inputs, self.chain, intel, work)?
        };
        let pass = self.pass.insert(pass);
        let advanced = pass.writer.advance(snapshot, ends, SLICE)?;
        pass.computed = pass.computed.saturating_add(advanced.computed);
        let left = pass.missing.saturating_sub(pass.computed).max(1);
        if !advanced.is_complete {
            self.is_behind(left);
        }
        Ok(advanced.is_complete)
    }

    fn is_behind(&mut self, transactions: u64) {
        self.progress.get_or_insert_default().behind = transactions;
    }
}

/// Amount of work that is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PendingWork {
    /// Number of transactions without a composition (origin breakdown).
    missing: u64,
    /// True if earlier compositions (origin breakdowns) were computed for other parties, or if there are no earlier
    /// compositions.
    is_anew: bool,
}

impl PendingWork {
    /// Compares the compositions (origin breakdowns) with a state of the graph that has `transactions`. Replaced blocks
    /// count once they are computed.
    fn new(transactions: u64, ends: &TraceEnds, state: Option<&CompositionState>) -> Self {
        let holds = |known: TraceEndsRevision| ends.up_to(known.owners) == known;
        let (computed, is_anew) = match state {
            Some(state) if holds(state.ends) => (state.transactions, false),
            Some(state) if holds(state.finalized_ends) => (state.finalized_transactions, true),
            _ => (0, true),
        };
        Self { missing: transactions.saturating_sub(computed), is_anew }
    }
}

impl ComputationPass {
    fn begin(
        inputs: &Inputs<'_>,
        chain: ChainId,
        intel: IntelState,
        work: PendingWork,
    ) -> Result<Self, GraphError> {
        let PendingWork { missing, is_anew } = work;
        let writer = inputs.graphs.composition_writer(chain)?;
        // The few transactions of a new block are not logged.
        let is_logged = is_anew || missing > SLICE;
        if is_logged {
            tracing::info!(%chain, transactions = missing, is_anew, "computing compositions of transactions");
        }
        Ok(Self { writer, intel, begun: Instant::now(), missing, computed: 0, is_logged })
    }

    fn end(self, chain: ChainId, ends: TraceEndsRevision) -> Duration {
        let (took, transactions) = (self.begun.elapsed(), self.computed);
        let seconds = took.as_secs_f64();
        let message = "computed compositions of transactions";
        if self.is_logged {
            let revision = ends.name();
            tracing::info!(%chain, transactions, seconds, revision, "{message}");
        } else {
            tracing::debug!(%chain, transactions, seconds, "{message}");
        }
        took
    }
}

/// Returns the state of the readable compositions (origin breakdowns); `None` before the first pass is complete.
fn state(graphs: &EmbeddedGraphs, chain: ChainId) -> Result<Option<CompositionState>, GraphError> {
    let Some(compositions) = graphs.compositions(chain)? else { return Ok(None) };
    Ok(compositions.reader()?.map(|reader| *reader.state()))
}

/// True if the compositions (origin breakdowns) reach the newest block and were computed for the present parties.
fn is_complete(
    state: Option<&CompositionState>,
    newest: (u64, [u8; 32]),
    ends: TraceEndsRevision,
) -> bool {
    state.is_some_and(|state| state.newest == Some(newest) && state.ends == ends)
}
