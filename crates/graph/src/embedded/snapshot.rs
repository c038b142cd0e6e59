//! Snapshots: one state of a graph, held for as long as it is read.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use assay_mapped::{ReadTransaction, StateBytes};

use super::{EmbeddedError, reader::Reader, run::Manifest, tables::Tables};
use crate::{GraphError, GraphTip};

/// One state of a graph. It stays as it is while blocks are recorded and rolled back, and keeps the pages that
/// it shows from being used again: a snapshot is for one trace, not for a day. It moves between threads, and
/// is read by one at a time.
pub struct Snapshot {
    tables: Arc<Tables>,
    runs: Manifest,
    transaction: ReadTransaction,
}

impl std::fmt::Debug for Snapshot {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Snapshot").field("id", &self.id()).finish_non_exhaustive()
    }
}

impl Snapshot {
    pub(super) fn new(tables: &Arc<Tables>) -> Result<Self, GraphError> {
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
    pub(super) fn bytes(&self) -> Result<Option<StateBytes>, GraphError> {
        let bytes = self.tables.environment.state_bytes(&self.transaction);
        Ok(bytes.map_err(EmbeddedError::from)?)
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
        Ok(self.reader().state()?.state.graph_tip())
    }
}

/// A snapshot that several tasks read, one at a time.
#[derive(Clone, Debug)]
pub(super) struct SharedSnapshot(Arc<Mutex<Snapshot>>);

impl SharedSnapshot {
    pub(super) fn new(snapshot: Snapshot) -> Self {
        Self(Arc::new(Mutex::new(snapshot)))
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Snapshot> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
