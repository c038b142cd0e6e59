//! Updating of compositions (origin breakdowns) to the newest block and the current trace ends, in slices.

use assay_mapped::WriteTransaction;

use super::{
    super::{
        Snapshot,
        reader::{Finalized, Reader},
    },
    CompositionState, CompositionWriter, TraceEnds, TraceEndsRevision,
    read::{self, CURRENT, NEXT},
    slice::CompositionSlice,
    stored_ends,
    update::{self, UpdateProgress},
};
use crate::GraphError;

/// The result of a slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SliceProgress {
    /// Number of compositions (origin breakdowns) that were computed.
    pub computed: u64,
    /// True if the compositions (origin breakdowns) for the trace ends are complete up to the graph's newest block, and
    /// readers use these compositions.
    pub is_complete: bool,
}

/// The state from which a slice continues.
enum SliceStart {
    /// A stored state; `answers` is true if readers use the state. The slice has already computed `computed`
    /// compositions (origin breakdowns), and must compute at least `least` more.
    From { state: CompositionState, answers: bool, computed: u64, least: u64 },
    /// No state: an update took the whole slice and computed `computed` compositions (origin breakdowns).
    Ended { computed: u64 },
}

impl CompositionWriter {
    /// Computes and stores about `most` compositions (origin breakdowns), for whole blocks. `ends` has the trace ends
    /// of all owners in `graph`. If the stored compositions are for other trace ends, the affected compositions are
    /// computed again, or all compositions if many are affected; the complete result replaces the stored compositions
    /// at once.
    ///
    /// # Errors
    ///
    /// Returns an error if a store fails; the slice then stores nothing.
    pub fn advance(
        &self,
        graph: &Snapshot,
        ends: &TraceEnds,
        most: u64,
    ) -> Result<SliceProgress, GraphError> {
        let reader = graph.reader();
        let finalized = reader.finalized()?;
        let owners = reader.state()?.next_owner;
        self.tables.environment.write(&self.lock, |txn| {
            let (mut state, answers, mut computed, least) =
                match self.begin(txn, &reader, ends, (&finalized, most))? {
                    SliceStart::From { state, answers, computed, least } => {
                        (state, answers, computed, least)
                    }
                    SliceStart::Ended { computed } => {
                        return Ok(SliceProgress { computed, is_complete: false });
                    }
                };
            if !hold(ends, state.ends) || !is_on_chain(&reader, &state)? {
                state.transactions = state.finalized_transactions;
                state.newest = None;
            }
            let table = self.tables.page(state.half);
            let mut slice = CompositionSlice::begin(&reader, ends, table, txn, state)?;
            let reached_end = slice.blocks(txn, most.max(least))?;
            computed += slice.state.transactions.saturating_sub(state.transactions);
            let state = CompositionState {
                ends: ends.up_to(owners),
                finalized_transactions: finalized.transactions.min(slice.state.transactions),
                finalized_ends: ends.up_to(finalized.owners),
                ..slice.state
            };
            if answers || reached_end {
                self.keep_answering(txn, &state, ends)?;
            } else {
                self.tables.meta.put(txn, NEXT, &state.to_bytes())?;
            }
            Ok(SliceProgress { computed, is_complete: reached_end })
        })
    }

    /// The state from which a slice continues.
    fn begin<'g>(
        &'g self,
        txn: &mut WriteTransaction<'_>,
        graph: &'g Reader<'g>,
        ends: &'g TraceEnds,
        (finalized, most): (&Finalized, u64),
    ) -> Result<SliceStart, GraphError> {
        // A graph that starts at another block has other origins, and a restored graph may have fewer finalized blocks
        // than the stored state.
        let start = graph.state()?.start;
        let of_graph = |state: &CompositionState| {
            state.start == start && state.finalized_transactions <= finalized.transactions
        };
        let current = read::state(txn, self.tables.meta, CURRENT)?.filter(of_graph);
        let next = read::state(txn, self.tables.meta, NEXT)?.filter(of_graph);
        let from = |state, answers| SliceStart::From { state, answers, computed: 0, least: 0 };
        if let Some(state) = current.filter(|state| hold(ends, state.finalized_ends)) {
            return Ok(from(state, true));
        }
        if let Some(state) = next.filter(|state| hold(ends, state.finalized_ends)) {
            return Ok(from(state, false));
        }
        if let Some(current) = current {
            match update::advance(&self.tables, txn, graph, ends, (&current, most))? {
                UpdateProgress::Unfinished(computed) => return Ok(SliceStart::Ended { computed }),
                UpdateProgress::Applied(computed) => {
                    let ends = ends.up_to(current.finalized_ends.owners);
                    let state = CompositionState {
                        transactions: current.finalized_transactions,
                        ends,
                        finalized_ends: ends,
                        newest: None,
                        ..current
                    };
                    // Readers must find at least as many compositions as before.
                    let least = current.transactions.saturating_sub(state.transactions);
                    return Ok(SliceStart::From { state, answers: true, computed, least });
                }
                UpdateProgress::TooLarge => {}
            }
        }
        let half = current.map_or(0, |current| 1 - current.half);
        self.tables.page(half).clear(txn)?;
        Ok(from(CompositionState::begin(half, start, ends.up_to(finalized.owners)), false))
    }

    /// Writes the state that readers use, and removes unfinished computations.
    fn keep_answering(
        &self,
        txn: &mut WriteTransaction<'_>,
        state: &CompositionState,
        ends: &TraceEnds,
    ) -> Result<(), GraphError> {
        let meta = self.tables.meta;
        let before = read::state(txn, meta, CURRENT)?;
        if before.map(|before| before.ends.revision) != Some(state.ends.revision) {
            stored_ends::store(txn, self.tables.ends, ends)?;
        }
        meta.put(txn, CURRENT, &state.to_bytes())?;
        meta.delete(txn, NEXT)?;
        update::clear(&self.tables, txn)?;
        Ok(self.tables.page(1 - state.half).clear(txn)?)
    }
}

/// True if the trace ends are the same as in a known revision.
fn hold(ends: &TraceEnds, known: TraceEndsRevision) -> bool {
    ends.up_to(known.owners) == known
}

/// True if the newest block of a state is still on the chain.
fn is_on_chain(graph: &Reader<'_>, state: &CompositionState) -> Result<bool, GraphError> {
    let Some((height, hash)) = state.newest else { return Ok(true) };
    Ok(graph.block(height)?.is_some_and(|it| it.block.hash == hash))
}
