//! Snapshots: one state of a graph, held while it is read.

use std::sync::Arc;

use assay_mapped::{ReadTransaction, StateBytes};

use super::{entry::GraphRuns, reader::Reader, tables::Tables};
use crate::{GraphError, GraphTip};

/// One state of a graph, unaffected by blocks that are recorded or rolled back later. A snapshot prevents the reuse of
/// its pages, so that it should live no longer than a trace. One thread at a time reads a snapshot.
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

    /// The number of the state: equal for snapshots of the same state.
    #[must_use]
    pub fn id(&self) -> usize {
        self.transaction.id()
    }

    /// The bytes of the state; `None` if a newer state was written meanwhile.
    pub(crate) fn bytes(&self) -> Result<Option<StateBytes>, GraphError> {
        Ok(self.tables.environment.state_bytes(&self.transaction)?)
    }

    /// Opens a reader of the state.
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

    /// Number of owners, whose numbers begin at 0.
    ///
    /// # Errors
    ///
    /// Returns an error if the store fails.
    pub fn owners(&self) -> Result<u64, GraphError> {
        Ok(self.reader().state()?.next_owner)
    }

    /// Number of transactions, whose numbers begin at 0.
    ///
    /// # Errors
    ///
    /// Returns an error if the store fails.
    pub fn transactions(&self) -> Result<u64, GraphError> {
        Ok(self.reader().state()?.next_transaction)
    }

    /// Number of owners that no reorganization removes, and whose numbers are final.
    ///
    /// # Errors
    ///
    /// Returns an error if the store fails.
    pub fn finalized_owners(&self) -> Result<u64, GraphError> {
        Ok(self.reader().finalized()?.owners)
    }
}
