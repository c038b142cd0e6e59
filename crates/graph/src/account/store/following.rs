//! Parts of a writer that follows a source: it compares the newest block and hashes of blocks, and notes the statements of the
//! source about them. Between two changes the writer lets others work on the graph: an update of its ledgers would otherwise wait for as
//! long as the chain is followed.

use std::sync::Arc;

use assay_engine::ledger::BlockRef;
use jiff::Timestamp;

use super::{
    block::GraphState,
    reader::Reader,
    tables::{SOURCE, Tables},
    view::AccountSnapshot,
    writer::{AccountGraphWriter, lock, put_state},
};
use crate::{GraphError, GraphTip, blocking, error::damaged};

/// Statements of the source of a graph's blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SourceNotes {
    /// Height of the newest recorded block that the source called final; `None` if it never called one final.
    pub finalized: Option<u64>,
    /// True if the source read the transfers inside of transactions for all blocks; `None` if no source states it, as is
    /// so for files.
    pub has_internal_transfers: Option<bool>,
}

impl SourceNotes {
    fn to_bytes(self) -> Vec<u8> {
        let internal = self.has_internal_transfers.map_or(2, u8::from);
        let mut bytes = vec![internal];
        bytes.extend(self.finalized.into_iter().flat_map(u64::to_be_bytes));
        bytes
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let (internal, finalized) = bytes.split_first()?;
        let has_internal_transfers = match internal {
            0 => Some(false),
            1 => Some(true),
            2 => None,
            _ => return None,
        };
        let finalized = match finalized {
            [] => None,
            bytes => Some(u64::from_be_bytes(bytes.try_into().ok()?)),
        };
        Some(Self { finalized, has_internal_transfers })
    }
}

impl Reader<'_> {
    /// Statements of the source about the blocks.
    pub(super) fn source_notes(&self) -> Result<SourceNotes, GraphError> {
        let Some(bytes) = self.tables.meta.get(self.txn, SOURCE)? else {
            return Ok(SourceNotes::default());
        };
        SourceNotes::parse(bytes).ok_or_else(|| damaged("meta", "notes about the source"))
    }

    /// The blocks between two heights, both included, in their order.
    fn blocks_between(&self, from: u64, to: u64) -> Result<Vec<BlockRef>, GraphError> {
        let mut blocks = Vec::new();
        let mut next = from;
        while let Some(block) = self.block_from(next)?.filter(|block| block.block.height <= to) {
            blocks.push(block.block);
            next = block.block.height.saturating_add(1);
        }
        Ok(blocks)
    }
}

impl AccountSnapshot {
    /// Statements of the source about the blocks.
    ///
    /// # Errors
    ///
    /// Returns an error if the store fails.
    pub fn source_notes(&self) -> Result<SourceNotes, GraphError> {
        self.with_reader(|reader| {
            let notes = reader.source_notes()?;
            Ok(notes)
        })
    }
}

impl AccountGraphWriter {
    /// The first and the newest block, with the hash that its source states; `None` without blocks.
    #[must_use]
    pub fn tip(&self) -> Option<GraphTip> {
        self.state.newest()
    }

    /// Height of the highest recorded block since the last rollback of more blocks than a reorganization replaces, also if the
    /// block was rolled back; 0 without blocks.
    #[must_use]
    pub const fn highest(&self) -> u64 {
        self.state.highest
    }

    /// The recorded blocks between two heights, both included, in their order. Blocks of files have a hash of zeros.
    ///
    /// # Errors
    ///
    /// Returns an error if the store fails.
    pub fn blocks(&self, from: u64, to: u64) -> Result<Vec<BlockRef>, GraphError> {
        blocking(|| self.read(|reader| reader.blocks_between(from, to)))
    }

    /// Statements of the source about the blocks.
    ///
    /// # Errors
    ///
    /// Returns an error if the store fails.
    pub fn source_notes(&self) -> Result<SourceNotes, GraphError> {
        blocking(|| {
            self.read(|reader| {
                let notes = reader.source_notes()?;
                Ok(notes)
            })
        })
    }

    /// Records that a source confirmed the newest block, and its statements about the blocks.
    ///
    /// # Errors
    ///
    /// Returns an error if the store fails.
    pub fn confirm(&mut self, notes: SourceNotes, at: Timestamp) -> Result<(), GraphError> {
        blocking(|| {
            self.held()?;
            let verified_at = self.state.verified_at.max(at);
            let after = GraphState { verified_at, ..self.state.clone() };
            let tables = &self.tables;
            let written = tables.environment.write(lock(self.lock.as_ref(), after.chain)?, |txn| {
                tables.meta.put(txn, SOURCE, &notes.to_bytes())?;
                put_state(tables, txn, &after)
            });
            self.needs_reload = written.is_err();
            written?;
            self.state = after;
            Ok(())
        })
    }

    /// Lets other programs change the graph until the next change by this writer.
    pub fn release(&mut self) {
        self.lock = None;
    }

    /// Takes the lock again after [`Self::release`], and reads what others changed meanwhile.
    ///
    /// # Errors
    ///
    /// Returns [`GraphError::Busy`] while another program changes the graph, and [`GraphError::Conflict`] if the graph was
    /// replaced: then it is to be opened again.
    pub fn hold(&mut self) -> Result<(), GraphError> {
        blocking(|| self.held())
    }

    /// Holds the lock, with the recorded state in memory.
    pub(super) fn held(&mut self) -> Result<(), GraphError> {
        if self.lock.is_none() {
            let chain = self.state.chain;
            let replaced = GraphError::Conflict(chain);
            // Opening a folder that is gone would create it.
            if !self.is_in_place() {
                return Err(replaced);
            }
            let (tables, held) = Self::tables(self.tables.environment.folder(), chain)?;
            if !Arc::ptr_eq(&tables.environment, &self.tables.environment) || !self.is_in_place() {
                return Err(replaced);
            }
            let transaction = tables.environment.read()?;
            let runs = tables.runs(&transaction)?;
            let state = Reader::new(&tables, &runs, &transaction).state()?;
            self.needs_reload |= state.as_ref() != Some(&self.state) || runs != self.runs;
            self.lock = Some(held);
        }
        self.reload_if_needed()
    }

    /// Copies the statements of the source from another graph of the same blocks.
    pub(super) fn copy_source_notes(&mut self, from: &Tables) -> Result<(), GraphError> {
        let transaction = from.environment.read()?;
        let Some(notes) = from.meta.get(&transaction, SOURCE)? else { return Ok(()) };
        let tables = &self.tables;
        tables.environment.write(lock(self.lock.as_ref(), self.state.chain)?, |txn| {
            Ok::<_, GraphError>(tables.meta.put(txn, SOURCE, notes)?)
        })
    }

    fn read<T>(
        &self,
        read: impl FnOnce(&Reader<'_>) -> Result<T, GraphError>,
    ) -> Result<T, GraphError> {
        let transaction = self.tables.environment.read()?;
        read(&Reader::new(&self.tables, &self.runs, &transaction))
    }
}

impl GraphState {
    /// The first and the newest block; `None` without blocks.
    pub(super) fn newest(&self) -> Option<GraphTip> {
        let (first, tip) = self.first.zip(self.tip)?;
        Some(GraphTip {
            start: first.block.height,
            block: tip.block,
            verified_at: self.verified_at,
            sample: self.sample,
        })
    }

    /// The value of `highest` after a rollback to `height`. The operator accepted a rollback of more blocks than a
    /// reorganization replaces, so that `highest` falls to `height`.
    pub(super) fn highest_after_rollback(&self, height: u64) -> u64 {
        let bound = self.chain.info().reorganization_bound();
        if self.highest.saturating_sub(height) > bound { height } else { self.highest }
    }
}
