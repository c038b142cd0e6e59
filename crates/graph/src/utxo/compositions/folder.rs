//! The folder of a graph's compositions (origin breakdowns), and the check that compositions belong to a state of the
//! graph.

use std::{
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

use super::{CompositionReader, Compositions};
use crate::{GraphError, utxo::Reader};

/// The compositions (origin breakdowns) of a chain, whose folder may be created or deleted while the graph is open.
#[derive(Clone, Debug)]
pub(crate) struct GraphCompositions(Arc<CompositionsFolder>);

#[derive(Debug)]
struct CompositionsFolder {
    folder: PathBuf,
    opened: Mutex<Option<Arc<Compositions>>>,
}

impl GraphCompositions {
    pub(crate) fn new(folder: PathBuf) -> Self {
        Self(Arc::new(CompositionsFolder { folder, opened: Mutex::default() }))
    }

    /// Reads the newest state of the compositions (origin breakdowns); `None` without compositions.
    pub(in crate::utxo) fn reader(&self) -> Result<Option<CompositionReader>, GraphError> {
        match self.open()? {
            Some(compositions) => compositions.reader(),
            None => Ok(None),
        }
    }

    /// Closes compositions (origin breakdowns) whose folder was deleted, so that the folder can be created again.
    pub(crate) fn release_deleted(&self) {
        let mut opened = self.0.opened.lock().unwrap_or_else(PoisonError::into_inner);
        opened.take_if(|known| !known.is_current());
    }

    fn open(&self) -> Result<Option<Arc<Compositions>>, GraphError> {
        let mut opened = self.0.opened.lock().unwrap_or_else(PoisonError::into_inner);
        // A replaced file cannot be opened while the process has the old one open.
        opened.take_if(|known| !known.is_current());
        if opened.is_none() {
            *opened = Compositions::open(&self.0.folder)?.map(Arc::new);
        }
        Ok(opened.clone())
    }
}

impl CompositionReader {
    /// True if a state of the graph has the blocks of the compositions (origin breakdowns).
    pub(in crate::utxo) fn belongs_to(&self, graph: &Reader<'_>) -> Result<bool, GraphError> {
        let Some((height, hash)) = self.state().newest else { return Ok(false) };
        let has_start = graph.state()?.start == self.state().start;
        Ok(has_start && graph.block(height)?.is_some_and(|stored| stored.block.hash == hash))
    }
}
