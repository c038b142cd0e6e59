//! The graphs in a data directory: one folder with an LMDB environment per graph.
//!
//! - `backup`: writing and restoring backups
//! - `copy`: copying a state to another machine in parts

mod backup;
mod copy;

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use assay_address::ChainId;

pub(crate) use backup::{file_error, sync_to_disk};
pub use copy::{GraphCopy, PartialCopy};

use crate::{
    Graph, GraphError, WriterOptions, blocking,
    error::damaged,
    utxo::{
        EmbeddedGraph, GraphWriter, Tables,
        compositions::{self, CompositionWriter, Compositions, GraphCompositions},
    },
};

/// Name of the folder of graphs in the data directory.
const FOLDER: &str = "chains";

/// The graphs in a data directory.
#[derive(Debug)]
pub struct EmbeddedGraphs {
    folder: PathBuf,
    opened: Mutex<HashMap<ChainId, Arc<EmbeddedGraph>>>,
}

impl EmbeddedGraphs {
    /// The graphs in the data directory `directory`, which is neither read nor written yet.
    #[must_use]
    pub fn new(directory: &Path) -> Self {
        Self { folder: directory.join(FOLDER), opened: Mutex::default() }
    }

    fn path(&self, chain: ChainId) -> PathBuf {
        self.folder.join(format!("{chain}.graph"))
    }

    /// The file with the recorded transfers of an account chain.
    pub(crate) fn transfers_path(&self, chain: ChainId) -> PathBuf {
        self.folder.join(format!("{chain}.transfers"))
    }

    fn compositions_path(&self, chain: ChainId) -> PathBuf {
        self.folder.join(compositions::folder_name(chain))
    }

    /// Returns an error if the chain has only a graph in the `SQLite` format of an earlier version.
    fn expect_no_old_form(&self, chain: ChainId) -> Result<(), GraphError> {
        let path = self.folder.join(format!("{chain}.sqlite"));
        if path.exists() && !self.path(chain).exists() {
            return Err(GraphError::Sqlite { path, chain });
        }
        Ok(())
    }

    /// The chains that have a graph, in the order of [`ChainId::all`].
    #[must_use]
    pub fn chains(&self) -> Vec<ChainId> {
        ChainId::all().filter(|chain| self.path(*chain).is_dir()).collect()
    }

    /// The graph of a chain for reading; `None` if the chain has no graph. The call blocks its thread ([`blocking`]).
    ///
    /// # Errors
    ///
    /// Returns an error if the graph cannot be opened.
    pub fn graph(&self, chain: ChainId) -> Result<Option<Arc<dyn Graph>>, GraphError> {
        Ok(blocking(|| self.open(chain))?.map(|graph| graph as Arc<dyn Graph>))
    }

    /// Opens a chain's graph for writing, and creates the graph if the chain has none. The options apply to a graph
    /// without blocks.
    ///
    /// # Errors
    ///
    /// Returns [`GraphError::Busy`] if another writer exists, and [`GraphError::OtherStart`] if the graph starts at
    /// another height.
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

    /// Opens the graph of a chain for reading; `None` if the chain has no graph.
    ///
    /// # Errors
    ///
    /// Returns an error if the graph cannot be opened.
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

    /// Bytes that the graph of a chain and its compositions (origin breakdowns) occupy on the disk; 0 without a graph.
    #[must_use]
    pub fn bytes(&self, chain: ChainId) -> u64 {
        [self.path(chain), self.compositions_path(chain)].iter().map(|it| bytes_in(it)).sum()
    }

    /// Opens the compositions (origin breakdowns) of a chain for writing.
    ///
    /// # Errors
    ///
    /// Returns an error if another process writes the compositions, or if the compositions cannot be opened.
    pub fn composition_writer(&self, chain: ChainId) -> Result<CompositionWriter, GraphError> {
        let opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(graph) = opened.get(&chain) {
            graph.compositions.release_deleted();
        }
        drop(opened);
        CompositionWriter::open(&self.compositions_path(chain))
    }

    /// Opens the compositions (origin breakdowns) of a chain for reading; `None` if the chain has none.
    ///
    /// # Errors
    ///
    /// Returns an error if the compositions cannot be opened.
    pub fn compositions(&self, chain: ChainId) -> Result<Option<Compositions>, GraphError> {
        Compositions::open(&self.compositions_path(chain))
    }
}

/// Bytes that the files in a folder occupy on the disk.
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
