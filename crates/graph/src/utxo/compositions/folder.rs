//! The compositions beside a graph, and the states of the graph that they are of.

use std::{
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

use super::{CompositionReader, Compositions};
use crate::{GraphError, utxo::Reader};

/// The folder of a chain's compositions, which may come and go while the graph is open.
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

    /// Their newest state; `None` if there are none.
    pub(in crate::utxo) fn reader(&self) -> Result<Option<CompositionReader>, GraphError> {
        match self.open()? {
            Some(compositions) => compositions.reader(),
            None => Ok(None),
        }
    }

    /// Lets go of those whose folder was deleted: their place cannot be used again before.
    pub(crate) fn release_deleted(&self) {
        let mut opened = self.0.opened.lock().unwrap_or_else(PoisonError::into_inner);
        opened.take_if(|known| !known.is_current());
    }

    fn open(&self) -> Result<Option<Arc<Compositions>>, GraphError> {
        let mut opened = self.0.opened.lock().unwrap_or_else(PoisonError::into_inner);
        // A file of which the process still has the old one cannot be opened anew.
        opened.take_if(|known| !known.is_current());
        if opened.is_none() {
            *opened = Compositions::open(&self.0.folder)?.map(Arc::new);
        }
        Ok(opened.clone())
    }
}

impl CompositionReader {
    /// True if a state of the graph has the blocks that they are of.
    pub(in crate::utxo) fn belongs_to(&self, graph: &Reader<'_>) -> Result<bool, GraphError> {
        let Some((height, hash)) = self.state().newest else { return Ok(false) };
        let has_start = graph.state()?.start == self.state().start;
        Ok(has_start && graph.block(height)?.is_some_and(|stored| stored.block.hash == hash))
    }
}
