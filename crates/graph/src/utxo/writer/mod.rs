//! Writing a graph: a batch of blocks is one transaction of the environment.
//!
//! - `outputs`: the recorded outputs that a batch spends
//! - `plan`: the rows of a batch, computed in memory
//! - `clusters`: the clusters that a batch joins
//! - `record`, `roll_back`: the write transactions
//! - `caches`: caches that are kept between batches

mod caches;
mod clusters;
mod outputs;
mod plan;
mod record;
mod roll_back;

use std::{path::Path, sync::Arc};

use assay_address::ChainId;
use assay_columns::run::{Filters, fill_filters};
use assay_engine::utxo::{OutPoint, ResolvedBlock};
use assay_mapped::{MappedError, WriteTransaction, WriterLock};
use jiff::Timestamp;

use self::{caches::Caches, plan::Planner};
use super::{
    entry::GraphRuns,
    reader::Reader,
    state::{GraphState, HIGHEST, KEY, RUNS},
    tables::Tables,
};
use crate::{GraphError, GraphTip, WriterOptions, blocking, error::damaged};

pub use self::outputs::{RecordedOutput, RecordedOutputs};

/// Reads the state of a graph, or creates it for a graph without blocks.
fn begin(
    tables: &Tables,
    txn: &mut WriteTransaction<'_>,
    chain: ChainId,
    options: WriterOptions,
) -> Result<GraphState, GraphError> {
    let stored = Reader::new(tables, &GraphRuns::default(), txn).stored_state()?;
    let indexed = stored.as_ref().is_some_and(|stored| stored.indexed);
    let mut stored = match stored {
        Some(stored) if stored.chain != chain => {
            return Err(damaged("meta", format!("another chain, {}", stored.chain)));
        }
        Some(stored) if stored.tip.is_some() => {
            let start = stored.start;
            if start != options.start {
                return Err(GraphError::OtherStart { chain, start, wanted: options.start });
            }
            stored
        }
        _ => GraphState::new(chain, options),
    };
    stored.indexed = indexed || !options.backfill;
    put_state(tables, txn, &stored)?;
    Ok(stored)
}

fn put_state(
    tables: &Tables,
    txn: &mut WriteTransaction<'_>,
    stored: &GraphState,
) -> Result<(), GraphError> {
    tables.meta.put(txn, HIGHEST, &stored.highest.to_be_bytes())?;
    Ok(tables.meta.put(txn, KEY, &stored.to_bytes())?)
}

fn put_runs(
    tables: &Tables,
    txn: &mut WriteTransaction<'_>,
    runs: &GraphRuns,
) -> Result<(), GraphError> {
    Ok(tables.meta.put(txn, RUNS, &runs.to_bytes())?)
}

/// The writer of a chain's graph. One writer exists at a time, until it is dropped or its program ends. The methods
/// block their thread until the disk has written ([`blocking`]).
#[derive(Debug)]
pub struct GraphWriter {
    tables: Arc<Tables>,
    lock: WriterLock,
    stored: GraphState,
    runs: GraphRuns,
    caches: Caches,
    /// True after a failed change: the state in memory may differ from the recorded state.
    needs_reload: bool,
}

impl GraphWriter {
    /// Opens the graph in `folder` for writing, and creates it if the folder has none.
    pub(crate) fn open(
        folder: &Path,
        chain: ChainId,
        options: WriterOptions,
    ) -> Result<Self, GraphError> {
        let (tables, lock) = Tables::create(folder).map_err(|error| match error {
            GraphError::Environment(MappedError::Busy { .. }) => GraphError::Busy(chain),
            error => error,
        })?;
        let stored = tables.environment.write(&lock, |txn| begin(&tables, txn, chain, options))?;
        let filters = if options.backfill { Filters::enabled() } else { Filters::default() };
        let mut writer = Self {
            tables: Arc::new(tables),
            lock,
            stored,
            runs: GraphRuns::default(),
            caches: Caches::new(filters),
            needs_reload: true,
        };
        writer.reload_if_needed()?;
        Ok(writer)
    }

    /// The graph's first and newest block; `None` without blocks.
    #[must_use]
    pub fn tip(&self) -> Option<GraphTip> {
        self.stored.graph_tip()
    }

    /// Height of the highest recorded block since the last rollback of more blocks than a reorganization replaces, also
    /// if the block was rolled back; 0 without blocks.
    #[must_use]
    pub const fn highest(&self) -> u64 {
        self.stored.highest
    }

    /// Looks up recorded outputs, spent or unspent, for blocks that follow the tip.
    ///
    /// # Errors
    ///
    /// Returns an error if the store fails.
    pub fn outputs(&mut self, outpoints: &[OutPoint]) -> Result<RecordedOutputs, GraphError> {
        blocking(|| {
            self.reload_if_needed()?;
            let transaction = self.tables.environment.read()?;
            let reader = Reader::new(&self.tables, &self.runs, &transaction);
            let tip = self.stored.tip.map(|(tip, _)| tip);
            RecordedOutputs::look_up(&reader, &mut self.caches, tip, outpoints)
        })
    }

    /// Records blocks that follow the tip, in one transaction. Blocks from the height `reorganizable_from` on can be
    /// rolled back; a backfill sets a height near the tip to avoid writing the undo log. `recorded` has the outputs of
    /// earlier blocks that the new blocks spend; other outputs count as unrecorded.
    ///
    /// # Errors
    ///
    /// Returns [`GraphError::Gap`] if the blocks do not follow the tip and one another, [`GraphError::Conflict`] if the
    /// outputs were looked up in another state, and [`GraphError::SpentBefore`] if the blocks spend an output again. A
    /// backfill may detect a double spend only when it builds the indexes.
    pub fn append(
        &mut self,
        blocks: &[ResolvedBlock],
        recorded: &RecordedOutputs,
        reorganizable_from: u64,
        at: Timestamp,
    ) -> Result<(), GraphError> {
        blocking(|| self.write(blocks, recorded, reorganizable_from, at))
    }

    /// Rolls back every block above `height`.
    ///
    /// # Errors
    ///
    /// Returns [`GraphError::TooDeep`] if the undo log does not reach down to `height`.
    pub fn roll_back(&mut self, height: u64) -> Result<(), GraphError> {
        blocking(|| self.remove_above(height))
    }

    /// Records that a source confirmed the tip as the newest block.
    ///
    /// # Errors
    ///
    /// Returns an error if the store fails.
    pub fn verified(&mut self, at: Timestamp) -> Result<(), GraphError> {
        self.change_state(|state| {
            if let Some((_, verified_at)) = &mut state.tip {
                *verified_at = at.max(*verified_at);
            }
        })
    }

    /// Builds the indexes that a backfill postpones. Reading is slow without these indexes.
    ///
    /// # Errors
    ///
    /// Returns [`GraphError::SpentTwice`] if an output is spent twice.
    pub fn build_indexes(&mut self) -> Result<(), GraphError> {
        self.change_state(|state| state.indexed = true)
    }

    /// Reads the state again after a failed change.
    fn reload_if_needed(&mut self) -> Result<(), GraphError> {
        if self.needs_reload {
            let transaction = self.tables.environment.read()?;
            self.runs = self.tables.runs(&transaction)?;
            self.stored = Reader::new(&self.tables, &self.runs, &transaction).state()?;
            self.caches.forget_blocks();
            let filters = (&mut self.caches.filters, &mut self.caches.unfinished);
            fill_filters(&transaction, self.tables.run, &self.runs, filters)?;
            self.needs_reload = false;
        }
        Ok(())
    }

    fn write(
        &mut self,
        blocks: &[ResolvedBlock],
        recorded: &RecordedOutputs,
        reorganizable_from: u64,
        at: Timestamp,
    ) -> Result<(), GraphError> {
        self.reload_if_needed()?;
        if recorded.tip != self.stored.tip.map(|(tip, _)| tip) {
            return Err(GraphError::Conflict(self.stored.chain));
        }
        self.stored.expect_next(blocks)?;
        let Some(last) = blocks.last().map(|block| block.reference) else { return Ok(()) };
        let reorganizable_from = self.stored.reorganizable_after(last.height, reorganizable_from);
        // After an error from here on, the caches hold data of the failed batch.
        self.needs_reload = true;
        let committed = self.tables.environment.read()?;
        let reader = Reader::new(&self.tables, &self.runs, &committed);
        expect_state(&reader, &self.stored)?;
        let caches = &mut self.caches;
        let (plan, mut after) =
            Planner::plan(reader, caches, &self.stored, (blocks, recorded), reorganizable_from)?;
        let verified_at = self.stored.tip.map(|(_, verified_at)| verified_at);
        after.highest = after.highest.max(last.height);
        after.tip = Some((last, verified_at.map_or(at, |before| before.max(at))));
        let mut runs = self.runs.clone();
        let batch = record::Batch { blocks, plan, before: &self.stored };
        self.tables.environment.write(&self.lock, |txn| {
            batch.write(&self.tables, (&committed, txn), &mut after, &mut runs, caches)
        })?;
        (self.stored, self.runs, self.needs_reload) = (after, runs, false);
        Ok(())
    }

    fn remove_above(&mut self, height: u64) -> Result<(), GraphError> {
        self.reload_if_needed()?;
        if self.stored.tip.is_none_or(|(tip, _)| tip.height <= height) {
            return Ok(());
        }
        self.stored.expect_reversible(height)?;
        self.needs_reload = true;
        let committed = self.tables.environment.read()?;
        let reader = Reader::new(&self.tables, &self.runs, &committed);
        expect_state(&reader, &self.stored)?;
        self.tables
            .environment
            .write(&self.lock, |txn| roll_back::roll_back(&reader, txn, &self.stored, height))?;
        self.reload_if_needed()
    }

    /// Changes the state record only.
    fn change_state(&mut self, change: impl FnOnce(&mut GraphState)) -> Result<(), GraphError> {
        blocking(|| {
            self.reload_if_needed()?;
            let mut after = self.stored.clone();
            change(&mut after);
            if after != self.stored {
                self.needs_reload = true;
                let tables = &self.tables;
                tables.environment.write(&self.lock, |txn| put_state(tables, txn, &after))?;
                (self.stored, self.needs_reload) = (after, false);
            }
            Ok(())
        })
    }
}

/// Checks that the graph is in the state that the writer expects.
fn expect_state(reader: &Reader<'_>, expected: &GraphState) -> Result<(), GraphError> {
    if reader.state()? == *expected { Ok(()) } else { Err(GraphError::Conflict(expected.chain)) }
}
