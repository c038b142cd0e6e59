//! The graphs in a data directory: one folder with an LMDB environment per graph.
//!
//! - `backup`: writing and restoring backups
//! - `copy`: copying a state to another machine in parts
//! - `source_problem`: the note of a follower about a problem with its source

mod backup;
mod copy;
mod source_problem;

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use assay_address::ChainId;

pub(crate) use backup::{file_error, sync_to_disk};
pub use copy::{GraphCopy, PartialCopy};
pub use source_problem::{SourceProblem, SourceProblemKind};

use crate::{
    Graph, GraphError, WriterOptions,
    account::{
        AccountEnds, AccountGraphWriter, AccountSnapshot, EmbeddedAccounts, LedgerComparisons,
        LedgerRebuild, RecordedState,
    },
    blocking,
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
    opened_accounts: Mutex<HashMap<ChainId, EmbeddedAccounts>>,
    ledger_comparisons: LedgerComparisons,
}

impl EmbeddedGraphs {
    /// The graphs in the data directory `directory`, which is neither read nor written yet.
    #[must_use]
    pub fn new(directory: &Path) -> Self {
        let folder = directory.join(FOLDER);
        Self {
            folder,
            opened: Mutex::default(),
            opened_accounts: Mutex::default(),
            ledger_comparisons: LedgerComparisons::default(),
        }
    }

    /// The comparisons of ledgers with a node in this program.
    #[must_use]
    pub const fn ledger_comparisons(&self) -> &LedgerComparisons {
        &self.ledger_comparisons
    }

    fn path(&self, chain: ChainId) -> PathBuf {
        self.folder.join(format!("{chain}.graph"))
    }

    fn accounts_path(&self, chain: ChainId) -> PathBuf {
        self.folder.join(format!("{chain}.accounts"))
    }

    /// The file beside an account chain's graph in which a source may keep what it recorded. It is lost with the graph.
    #[must_use]
    pub fn deliveries_path(&self, chain: ChainId) -> PathBuf {
        self.accounts_path(chain).join("deliveries")
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

    /// Returns an error if the chain has only a file of transfers of an earlier version.
    fn expect_no_old_transfers(&self, chain: ChainId) -> Result<(), GraphError> {
        let path = self.folder.join(format!("{chain}.transfers"));
        if path.exists() && !self.accounts_path(chain).exists() {
            return Err(GraphError::OldTransfers { path, chain });
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
        self.opened_accounts.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Opens the graph of an account chain for writing, and creates it if the chain has none: with demo data if `sample`,
    /// and with ledgers for `ends`. An existing graph keeps the ends of its ledgers.
    ///
    /// # Errors
    ///
    /// Returns [`GraphError::Busy`] if another writer exists.
    pub fn account_writer(
        &self,
        chain: ChainId,
        sample: bool,
        ends: &AccountEnds,
    ) -> Result<AccountGraphWriter, GraphError> {
        self.expect_no_old_transfers(chain)?;
        blocking(|| AccountGraphWriter::open(&self.accounts_path(chain), chain, sample, ends))
    }

    /// Opens the graph of an account chain for reading; `None` if the chain has no graph. The call blocks its thread
    /// ([`blocking`]).
    ///
    /// # Errors
    ///
    /// Returns an error if the graph cannot be opened, or is of another chain.
    pub fn accounts(&self, chain: ChainId) -> Result<Option<EmbeddedAccounts>, GraphError> {
        let mut opened = self.opened_accounts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(graph) = opened.get(&chain).filter(|graph| graph.is_current()) {
            return Ok(Some(graph.clone()));
        }
        opened.remove(&chain);
        self.expect_no_old_transfers(chain)?;
        let found = blocking(|| EmbeddedAccounts::open(&self.accounts_path(chain), chain))?;
        if let Some(graph) = &found {
            opened.insert(chain, graph.clone());
        }
        Ok(found)
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

    /// Bytes that the graph of a chain occupies on the disk, with its compositions (origin breakdowns) or ledgers; 0 without
    /// a graph.
    #[must_use]
    pub fn bytes(&self, chain: ChainId) -> u64 {
        let beside = [self.path(chain), self.compositions_path(chain)];
        let beside: u64 = beside.iter().map(|it| bytes_in(it)).sum();
        beside + self.account_bytes(chain)
    }

    /// Begins, or resumes, the computing of an account chain's ledgers for other ends; `None` without a graph, or if they
    /// are for these ends already.
    ///
    /// # Errors
    ///
    /// Returns [`GraphError::Busy`] if another program computes them, and an error if a store fails.
    pub fn rebuild_ledgers(
        &self,
        chain: ChainId,
        ends: &AccountEnds,
    ) -> Result<Option<LedgerRebuild>, GraphError> {
        blocking(|| LedgerRebuild::open(&self.accounts_path(chain), chain, ends, false))
    }

    /// Begins, or resumes, the computing of all of an account chain's ledgers anew, also of those that other ends do not change;
    /// `None` without blocks.
    ///
    /// # Errors
    ///
    /// Returns [`GraphError::Busy`] if another program computes them, and an error if a store fails.
    pub fn recompute_ledgers(
        &self,
        chain: ChainId,
        ends: &AccountEnds,
    ) -> Result<Option<LedgerRebuild>, GraphError> {
        blocking(|| LedgerRebuild::open(&self.accounts_path(chain), chain, ends, true))
    }

    /// The chains that have an account graph, in the order of [`ChainId::all`].
    #[must_use]
    pub fn account_chains(&self) -> Vec<ChainId> {
        let has_graph = |chain: &ChainId| {
            self.accounts_path(*chain).is_dir() || self.expect_no_old_transfers(*chain).is_err()
        };
        ChainId::all().filter(has_graph).collect()
    }

    /// The newest state of an account chain's graph; `None` without blocks.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Self::accounts`], and an error if the store fails.
    pub fn account_snapshot(&self, chain: ChainId) -> Result<Option<AccountSnapshot>, GraphError> {
        let Some(graph) = self.accounts(chain)? else { return Ok(None) };
        blocking(|| graph.snapshot())
    }

    /// Writes the newest state of an account chain's graph to `file`, which must not exist. Returns its description; `None`
    /// without blocks.
    ///
    /// # Errors
    ///
    /// Returns an error if the graph cannot be read or the file cannot be written completely.
    pub fn back_up_accounts(
        &self,
        chain: ChainId,
        file: &Path,
    ) -> Result<Option<RecordedState>, GraphError> {
        let Some(graph) = self.accounts(chain)? else { return Ok(None) };
        blocking(|| graph.back_up(file))
    }

    /// Restores an account chain's graph from a backup, completely or not at all. Returns its description.
    ///
    /// # Errors
    ///
    /// Returns [`GraphError::Exists`] if the chain has a graph, [`GraphError::BeingRestored`] if another process
    /// restores one, and an error if the file is not a complete graph of the chain.
    pub fn restore_accounts(
        &self,
        chain: ChainId,
        file: &Path,
    ) -> Result<RecordedState, GraphError> {
        blocking(|| EmbeddedAccounts::restore(&self.accounts_path(chain), chain, file))
    }

    /// Bytes that the graph of an account chain occupies on the disk; 0 without a graph.
    #[must_use]
    pub fn account_bytes(&self, chain: ChainId) -> u64 {
        let Ok(folders) = std::fs::read_dir(self.accounts_path(chain)) else { return 0 };
        folders.flatten().map(|folder| bytes_in(&folder.path())).sum()
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
