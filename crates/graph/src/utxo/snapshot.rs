//! Snapshots: one state of a graph, held for as long as it is read.

use std::sync::Arc;

use assay_mapped::{ReadTransaction, StateBytes};

use super::{entry::GraphRuns, reader::Reader, tables::Tables};
use crate::{GraphError, GraphTip};

/// One state of a graph. It stays as it is while blocks are recorded and rolled back, and keeps the pages that
/// it shows from being used again: a snapshot is for one trace, not for a day. It moves between threads, and
/// is read by one at a time.
pub struct Snapshot {
    tables: Arc<Tables>,
    runs: GraphRuns,
    transaction: ReadTransaction,
}

impl std::fmt::Debug for Snapshot {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Snapshot").field("id", &self.id()).finish_non_exhaustive()
    }
}

impl Snapshot {
    pub(crate) fn new(tables: &Arc<Tables>) -> Result<Self, GraphError> {
        let transaction = tables.environment.read()?;
        let runs = tables.runs(&transaction)?;
        Ok(Self { tables: Arc::clone(tables), runs, transaction })
    }

    /// Number of the state: equal for snapshots of the same one.
    #[must_use]
    pub fn id(&self) -> usize {
        self.transaction.id()
    }

    /// Its bytes, as long as it lives; `None` if a newer state was written meanwhile.
    pub(crate) fn bytes(&self) -> Result<Option<StateBytes>, GraphError> {
        Ok(self.tables.environment.state_bytes(&self.transaction)?)
    }

    /// Reads it.
    #[must_use]
    pub fn reader(&self) -> Reader<'_> {
        Reader::new(&self.tables, &self.runs, &self.transaction)
    }

    /// The first and the newest block; `None` without blocks.
    ///
    /// # Errors
    ///
    /// Returns an error if the store fails.
    pub fn tip(&self) -> Result<Option<GraphTip>, GraphError> {
        Ok(self.reader().state()?.graph_tip())
    }

    /// Number of owners: they are numbered from 0.
    ///
    /// # Errors
    ///
    /// Returns an error if the store fails.
    pub fn owners(&self) -> Result<u64, GraphError> {
        Ok(self.reader().state()?.next_owner)
    }

    /// Number of transactions: they are numbered from 0.
    ///
    /// # Errors
    ///
    /// Returns an error if the store fails.
    pub fn transactions(&self) -> Result<u64, GraphError> {
        Ok(self.reader().state()?.next_transaction)
    }

    /// Number of owners whom no reorganisation removes: their numbers stay theirs.
    ///
    /// # Errors
    ///
    /// Returns an error if the store fails.
    pub fn finalized_owners(&self) -> Result<u64, GraphError> {
        Ok(self.reader().finalized()?.owners)
    }
}
