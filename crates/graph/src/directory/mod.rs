//! The graphs in a data directory, each an environment in a folder of its own.
//!
//! - `backup`: one state of a graph as a file
//! - `copy`: one state of a graph in parts, for another machine

mod backup;
mod copy;

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use assay_address::ChainId;

pub use copy::{GraphCopy, PartialCopy};

use crate::{
    Graph, GraphError, WriterOptions, blocking,
    error::damaged,
    utxo::{
        EmbeddedGraph, GraphWriter, Tables,
        compositions::{self, CompositionWriter, Compositions, GraphCompositions},
    },
};

/// The folder of the graphs in the data directory.
const FOLDER: &str = "chains";

/// The graphs in a data directory.
#[derive(Debug)]
pub struct EmbeddedGraphs {
    folder: PathBuf,
    opened: Mutex<HashMap<ChainId, Arc<EmbeddedGraph>>>,
}

impl EmbeddedGraphs {
    /// The graphs in the data directory `directory`. Nothing is read or made yet.
    #[must_use]
    pub fn new(directory: &Path) -> Self {
        Self { folder: directory.join(FOLDER), opened: Mutex::default() }
    }

    fn path(&self, chain: ChainId) -> PathBuf {
        self.folder.join(format!("{chain}.graph"))
    }

    fn compositions_path(&self, chain: ChainId) -> PathBuf {
        self.folder.join(compositions::folder_name(chain))
    }

    /// Refuses a graph that an earlier version of the program made, unless there is a new one beside it.
    fn expect_no_old_form(&self, chain: ChainId) -> Result<(), GraphError> {
        let path = self.folder.join(format!("{chain}.sqlite"));
        if path.exists() && !self.path(chain).exists() {
            return Err(GraphError::Sqlite { path, chain });
        }
        Ok(())
    }

    /// The chains that have a graph, in the table's order.
    #[must_use]
    pub fn chains(&self) -> Vec<ChainId> {
        ChainId::all().filter(|chain| self.path(*chain).is_dir()).collect()
    }

    /// The graph of a chain as its callers read it; `None` if there is none. Other tasks of this thread go on elsewhere
    /// meanwhile ([`blocking`]).
    ///
    /// # Errors
    ///
    /// Returns an error if it cannot be opened.
    pub fn graph(&self, chain: ChainId) -> Result<Option<Arc<dyn Graph>>, GraphError> {
        Ok(blocking(|| self.open(chain))?.map(|graph| graph as Arc<dyn Graph>))
    }

    /// A writer of a chain's graph, which is created if there is none. A graph without blocks takes the options of the
    /// newest writer.
    ///
    /// # Errors
    ///
    /// Returns [`GraphError::Busy`] if another writer exists; [`GraphError::OtherStart`] if the graph starts at another
    /// height.
    pub fn writer(
        &self,
        chain: ChainId,
        options: WriterOptions,
    ) -> Result<GraphWriter, GraphError> {
        self.expect_no_old_form(chain)?;
        blocking(|| GraphWriter::open(&self.path(chain), chain, options))
    }

    /// Closes all graphs that were opened for reading.
    pub fn close(&self) {
        self.opened.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// The graph of a chain; `None` if there is none.
    ///
    /// # Errors
    ///
    /// Returns an error if it cannot be opened.
    pub fn open(&self, chain: ChainId) -> Result<Option<Arc<EmbeddedGraph>>, GraphError> {
        self.expect_no_old_form(chain)?;
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(graph) = opened.get(&chain) {
            if graph.tables.environment.is_current() {
                return Ok(Some(Arc::clone(graph)));
            }
            opened.remove(&chain);
        }
        let Some(tables) = Tables::open(&self.path(chain))? else { return Ok(None) };
        let beside = GraphCompositions::new(self.compositions_path(chain));
        let graph = Arc::new(EmbeddedGraph::new(Arc::new(tables), beside));
        match graph.snapshot()?.reader().stored_state()? {
            Some(state) if state.chain == chain => {}
            Some(state) => return Err(damaged("meta", format!("chain {}", state.chain))),
            None => return Ok(None),
        }
        opened.insert(chain, Arc::clone(&graph));
        Ok(Some(graph))
    }

    /// Bytes that the graph of a chain and its compositions take on the disk; 0 if there is none.
    #[must_use]
    pub fn bytes(&self, chain: ChainId) -> u64 {
        [self.path(chain), self.compositions_path(chain)].iter().map(|it| bytes_in(it)).sum()
    }

    /// The compositions of a chain, to be computed.
    ///
    /// # Errors
    ///
    /// Returns an error if another process computes them, or if they cannot be opened.
    pub fn composition_writer(&self, chain: ChainId) -> Result<CompositionWriter, GraphError> {
        let opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(graph) = opened.get(&chain) {
            graph.compositions.release_deleted();
        }
        drop(opened);
        CompositionWriter::open(&self.compositions_path(chain))
    }

    /// The compositions of a chain; `None` if there are none.
    ///
    /// # Errors
    ///
    /// Returns an error if they cannot be opened.
    pub fn compositions(&self, chain: ChainId) -> Result<Option<Compositions>, GraphError> {
        Compositions::open(&self.compositions_path(chain))
    }
}

/// Bytes that the files in a folder take on the disk.
fn bytes_in(folder: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(folder) else { return 0 };
    let size = |metadata: std::fs::Metadata| {
        #[cfg(unix)]
        return std::os::unix::fs::MetadataExt::blocks(&metadata) * 512;
        #[cfg(not(unix))]
        metadata.len()
    };
    entries.flatten().filter_map(|entry| entry.metadata().ok()).map(size).sum()
}
