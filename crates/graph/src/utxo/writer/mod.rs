//! Writing a graph: a batch of blocks is one transaction of the environment.
//!
//! - `plan`: what a batch writes, looked up and put together in memory
//! - `clusters`: what it joins
//! - `record`, `roll_back`: the transaction
//! - `caches`: what is remembered from one batch to the next

mod caches;
mod clusters;
mod plan;
mod record;
mod roll_back;

use std::{collections::HashMap, path::Path, sync::Arc};

use assay_address::ChainId;
use assay_columns::run::{Filters, fill_filters};
use assay_engine::utxo::{OutPoint, ResolvedBlock, TxOut};
use assay_mapped::{MappedError, WriteTransaction, WriterLock};
use async_trait::async_trait;
use jiff::Timestamp;

use self::{
    caches::{Caches, KnownOutput},
    plan::Planner,
};
use super::{
    entry::Manifest,
    index,
    reader::Reader,
    record::OutputValue,
    state::{GraphState, HIGHEST, KEY, RUNS},
    tables::Tables,
};
use crate::{GraphError, GraphTip, GraphWriter, WriterOptions, blocking, error::damaged};

/// Opens the graph in `folder` for writing; makes it where there is none.
pub(crate) fn open(
    folder: &Path,
    chain: ChainId,
    options: WriterOptions,
) -> Result<EmbeddedWriter, GraphError> {
    let (tables, lock) = Tables::create(folder).map_err(|error| match error {
        GraphError::Environment(MappedError::Busy { .. }) => GraphError::Busy(chain),
        error => error,
    })?;
    let stored = tables.environment.write(&lock, |txn| begin(&tables, txn, chain, options))?;
    let filters = if options.backfill { Filters::enabled() } else { Filters::default() };
    let mut writer = EmbeddedWriter {
        tables: Arc::new(tables),
        lock,
        stored,
        runs: Manifest::default(),
        caches: Caches::new(filters),
        unsure: true,
    };
    writer.settle()?;
    Ok(writer)
}

/// Makes the state of a graph where there is none; one without blocks may begin anywhere.
fn begin(
    tables: &Tables,
    txn: &mut WriteTransaction<'_>,
    chain: ChainId,
    options: WriterOptions,
) -> Result<GraphState, GraphError> {
    let stored = Reader::new(tables, &Manifest::default(), txn).stored_state()?;
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
    runs: &Manifest,
) -> Result<(), GraphError> {
    Ok(tables.meta.put(txn, RUNS, &runs.to_bytes())?)
}

/// The one writer of a graph.
#[derive(Debug)]
pub(crate) struct EmbeddedWriter {
    tables: Arc<Tables>,
    lock: WriterLock,
    stored: GraphState,
    runs: Manifest,
    caches: Caches,
    /// True if a change failed, so that memory may not be what is recorded.
    unsure: bool,
}

impl EmbeddedWriter {
    /// Reads the state again if a change failed.
    fn settle(&mut self) -> Result<(), GraphError> {
        if self.unsure {
            let transaction = self.tables.environment.read()?;
            self.runs = self.tables.runs(&transaction)?;
            self.stored = Reader::new(&self.tables, &self.runs, &transaction).state()?;
            self.caches.clear();
            fill_filters(&transaction, self.tables.run, &self.runs, &mut self.caches.filters)?;
            self.unsure = false;
        }
        Ok(())
    }

    fn append(
        &mut self,
        blocks: &[ResolvedBlock],
        reorganisable_from: u64,
        at: Timestamp,
    ) -> Result<(), GraphError> {
        self.settle()?;
        self.stored.expect_next(blocks)?;
        let Some(last) = blocks.last().map(|block| block.reference) else { return Ok(()) };
        let reorganisable_from = self.stored.reorganisable_after(last.height, reorganisable_from);
        // Whatever fails from here on, memory has what was planned.
        self.unsure = true;
        let committed = self.tables.environment.read()?;
        let reader = Reader::new(&self.tables, &self.runs, &committed);
        expect_state(&reader, &self.stored)?;
        let caches = &mut self.caches;
        let (plan, mut after) =
            Planner::plan(reader, caches, &self.stored, blocks, reorganisable_from)?;
        let verified_at = self.stored.tip.map(|(_, verified_at)| verified_at);
        after.highest = after.highest.max(last.height);
        after.tip = Some((last, verified_at.map_or(at, |before| before.max(at))));
        let mut runs = self.runs.clone();
        let batch = record::Batch { blocks, plan, before: &self.stored };
        self.tables.environment.write(&self.lock, |txn| {
            batch.write(&self.tables, (&committed, txn), &mut after, &mut runs, caches)
        })?;
        (self.stored, self.runs, self.unsure) = (after, runs, false);
        Ok(())
    }

    fn roll_back(&mut self, height: u64) -> Result<(), GraphError> {
        self.settle()?;
        if self.stored.tip.is_none_or(|(tip, _)| tip.height <= height) {
            return Ok(());
        }
        self.stored.expect_reversible(height)?;
        self.unsure = true;
        let committed = self.tables.environment.read()?;
        let reader = Reader::new(&self.tables, &self.runs, &committed);
        expect_state(&reader, &self.stored)?;
        self.tables
            .environment
            .write(&self.lock, |txn| roll_back::roll_back(&reader, txn, &self.stored, height))?;
        self.settle()
    }

    fn outputs(
        &mut self,
        outpoints: &[OutPoint],
    ) -> Result<HashMap<OutPoint, Option<TxOut>>, GraphError> {
        self.settle()?;
        let transaction = self.tables.environment.read()?;
        let reader = Reader::new(&self.tables, &self.runs, &transaction);
        let mut outputs = HashMap::with_capacity(outpoints.len());
        for outpoint in outpoints {
            if let Some(known) = self.caches.outputs.get(outpoint) {
                outputs.insert(*outpoint, Some(known.output.clone()));
                continue;
            }
            match find_output(&reader, &self.caches.filters, outpoint)? {
                Recorded::Output(known) => {
                    outputs.insert(*outpoint, Some(known.output.clone()));
                    self.caches.outputs.insert(*outpoint, known);
                }
                Recorded::Missing => {
                    outputs.insert(*outpoint, None);
                }
                Recorded::Unknown => {}
            }
        }
        Ok(outputs)
    }

    /// Changes the state alone.
    fn change_state(&mut self, change: impl FnOnce(&mut GraphState)) -> Result<(), GraphError> {
        self.settle()?;
        let mut after = self.stored.clone();
        change(&mut after);
        if after != self.stored {
            self.unsure = true;
            let tables = &self.tables;
            tables.environment.write(&self.lock, |txn| put_state(tables, txn, &after))?;
            (self.stored, self.unsure) = (after, false);
        }
        Ok(())
    }
}

/// Checks that a graph is in the state that its writer left.
fn expect_state(reader: &Reader<'_>, expected: &GraphState) -> Result<(), GraphError> {
    if reader.state()? == *expected { Ok(()) } else { Err(GraphError::Conflict(expected.chain)) }
}

/// What a graph has of an output.
enum Recorded {
    /// The output, spent or not.
    Output(KnownOutput),
    /// Its transaction, which does not have such an output.
    Missing,
    /// Neither.
    Unknown,
}

/// Looks an output up.
fn find_output(
    reader: &Reader<'_>,
    filters: &Filters,
    outpoint: &OutPoint,
) -> Result<Recorded, GraphError> {
    let found = index::newest_transaction(reader, Some(filters), &outpoint.txid)?;
    let Some(transaction) = found else { return Ok(Recorded::Unknown) };
    let record = reader.known_transaction(transaction)?;
    let Some(OutputValue { value, owner }) = record.output_at(outpoint.index)? else {
        return Ok(Recorded::Missing);
    };
    let number = record.head().first_output + u64::from(outpoint.index);
    let output = TxOut { owner: reader.owner(owner)?, value };
    Ok(Recorded::Output(KnownOutput { transaction, number, owner, output }))
}

#[async_trait]
impl GraphWriter for EmbeddedWriter {
    fn tip(&self) -> Option<GraphTip> {
        self.stored.graph_tip()
    }

    fn highest(&self) -> u64 {
        self.stored.highest
    }

    async fn outputs(
        &mut self,
        outpoints: &[OutPoint],
    ) -> Result<HashMap<OutPoint, Option<TxOut>>, GraphError> {
        blocking(|| Self::outputs(self, outpoints))
    }

    async fn append(
        &mut self,
        blocks: &[ResolvedBlock],
        reorganisable_from: u64,
        at: Timestamp,
    ) -> Result<(), GraphError> {
        blocking(|| Self::append(self, blocks, reorganisable_from, at))
    }

    async fn roll_back(&mut self, height: u64) -> Result<(), GraphError> {
        blocking(|| Self::roll_back(self, height))
    }

    async fn verified(&mut self, at: Timestamp) -> Result<(), GraphError> {
        blocking(|| {
            self.change_state(|state| {
                if let Some((_, verified_at)) = &mut state.tip {
                    *verified_at = at.max(*verified_at);
                }
            })
        })
    }

    async fn build_indexes(&mut self) -> Result<(), GraphError> {
        blocking(|| self.change_state(|state| state.indexed = true))
    }
}
