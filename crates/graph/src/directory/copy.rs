//! Copying one state of a graph to another machine in parts.
//!
//! A partial copy has a folder of its own in the data directory. An interrupted copy can be resumed as long as the
//! other machine holds the copied state.

use std::{
    fs::{self, DirBuilder, File},
    io::{self, Write},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use assay_address::{ChainId, LedgerKind};
use assay_mapped::{DATA_FILE, StateBytes};

use super::{
    EmbeddedGraphs,
    backup::{file_error, make_private},
};
use crate::{
    GraphError, GraphTip,
    account::{AccountSnapshot, EmbeddedAccounts},
    error::damaged,
    utxo::{Snapshot, Tables},
};

/// Name of the file with the name of the copied state.
const ORIGIN: &str = "origin";

/// One state of a graph, held for a copy. While a state is held, freed space in the graph's file is not reused, so that
/// the file may grow.
#[derive(Debug)]
pub struct GraphCopy {
    state: HeldState,
    bytes: StateBytes,
    tip: GraphTip,
    fingerprint: OnceLock<[u8; 32]>,
}

/// The state of a graph of either family.
#[derive(Debug)]
enum HeldState {
    Utxo(Mutex<Snapshot>),
    Accounts(Box<AccountSnapshot>),
}

impl HeldState {
    fn fingerprint(&self) -> Result<[u8; 32], GraphError> {
        match self {
            Self::Utxo(snapshot) => {
                snapshot.lock().unwrap_or_else(PoisonError::into_inner).reader().fingerprint()
            }
            Self::Accounts(snapshot) => snapshot.fingerprint(),
        }
    }
}

impl EmbeddedGraphs {
    /// Holds the newest state of a chain's graph for a copy; `None` if the chain has no graph with blocks.
    ///
    /// # Errors
    ///
    /// Returns an error if the graph cannot be read.
    pub fn copy(&self, chain: ChainId) -> Result<Option<GraphCopy>, GraphError> {
        loop {
            let (held, tip, bytes) = if has_accounts(chain) {
                let Some(snapshot) = self.account_snapshot(chain)? else { return Ok(None) };
                let (tip, bytes) = (snapshot.graph_tip()?, snapshot.bytes()?);
                (HeldState::Accounts(Box::new(snapshot)), tip, bytes)
            } else {
                let Some(graph) = self.open(chain)? else { return Ok(None) };
                let snapshot = graph.snapshot()?;
                let Some(tip) = snapshot.tip()? else { return Ok(None) };
                let bytes = snapshot.bytes()?;
                (HeldState::Utxo(Mutex::new(snapshot)), tip, bytes)
            };
            // A newer state was written meanwhile: it is read instead.
            let Some(bytes) = bytes else { continue };
            let fingerprint = OnceLock::new();
            return Ok(Some(GraphCopy { state: held, bytes, tip, fingerprint }));
        }
    }

    /// True if the chain has a graph, complete or damaged.
    #[must_use]
    pub fn exists(&self, chain: ChainId) -> bool {
        self.graph_folder(chain).exists()
    }

    /// The folder of the chain's graph.
    fn graph_folder(&self, chain: ChainId) -> PathBuf {
        if has_accounts(chain) { self.accounts_path(chain) } else { self.path(chain) }
    }

    /// Begins or resumes a copy of the state named `origin`, in parts of `part` bytes; `None` if the chain already has
    /// a graph. Parts of another state are discarded, and so is the last part, which may not be complete on the disk.
    ///
    /// # Errors
    ///
    /// Returns an error if the folder cannot be written.
    pub fn begin_copy(
        &self,
        chain: ChainId,
        origin: &str,
        part: u64,
    ) -> Result<Option<PartialCopy>, GraphError> {
        if self.exists(chain) {
            return Ok(None);
        }
        let folder = self.partial_copy_path(chain);
        if self.partial_copy_origin(chain).as_deref() != Some(origin) {
            match fs::remove_dir_all(&folder) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(file_error(&folder, error));
                }
                _ => {}
            }
            create_private(&folder)?;
            let file = folder.join(ORIGIN);
            fs::write(&file, origin).map_err(|error| file_error(&file, error))?;
        }
        let path = data_file(&folder, chain);
        if let Some(parent) = path.parent().filter(|parent| !parent.exists()) {
            create_private(parent)?;
        }
        let opened = File::options().append(true).create(true).open(&path);
        let file = opened.map_err(|error| file_error(&path, error))?;
        make_private(&path)?;
        let length = file.metadata().map_err(|error| file_error(&path, error))?.len();
        let received = length.saturating_sub(1) / part * part;
        file.set_len(received).map_err(|error| file_error(&path, error))?;
        Ok(Some(PartialCopy { folder, path, file, received, chain }))
    }

    /// The name of the state that the chain's partial copy is of; `None` without a partial copy.
    #[must_use]
    pub fn partial_copy_origin(&self, chain: ChainId) -> Option<String> {
        fs::read_to_string(self.partial_copy_path(chain).join(ORIGIN)).ok()
    }

    /// Deletes the chain's partial copy.
    pub fn discard_partial_copy(&self, chain: ChainId) {
        // The next attempt deletes files that remain.
        let _ = fs::remove_dir_all(self.partial_copy_path(chain));
    }

    /// Turns a complete copy into the chain's graph, and returns its newest block. A copy with another fingerprint is
    /// deleted.
    ///
    /// # Errors
    ///
    /// Returns [`GraphError::OtherFingerprint`] if the copy has another fingerprint, and an error if the copy is no
    /// graph of the chain.
    pub fn finish_copy(
        &self,
        filling: PartialCopy,
        expected: [u8; 32],
    ) -> Result<GraphTip, GraphError> {
        let PartialCopy { folder, path, file, chain, .. } = filling;
        file.sync_all().map_err(|error| file_error(&path, error))?;
        drop(file);
        let found = fingerprint_of(&folder, chain);
        if !matches!(found, Ok(Some(found)) if found == expected) {
            let _ = fs::remove_dir_all(&folder);
            found?;
            return Err(GraphError::OtherFingerprint { chain });
        }
        let origin = folder.join(ORIGIN);
        fs::remove_file(&origin).map_err(|error| file_error(&origin, error))?;
        if !has_accounts(chain) {
            return self.install(&folder, chain);
        }
        let snapshot = EmbeddedAccounts::complete_copy(&folder, chain)?;
        let tip = snapshot.map(|snapshot| snapshot.graph_tip()).transpose()?;
        EmbeddedAccounts::install(&folder, &self.accounts_path(chain))?;
        tip.ok_or_else(|| damaged("meta", "its state"))
    }

    fn partial_copy_path(&self, chain: ChainId) -> PathBuf {
        let family = if has_accounts(chain) { "accounts" } else { "graph" };
        self.folder.join(format!("{chain}.{family}.filling"))
    }
}

/// True for a chain of accounts.
fn has_accounts(chain: ChainId) -> bool {
    chain.info().ledger == LedgerKind::Account
}

/// The file of a partial copy in its folder.
fn data_file(folder: &Path, chain: ChainId) -> PathBuf {
    if has_accounts(chain) {
        EmbeddedAccounts::file_of_copy(folder)
    } else {
        folder.join(DATA_FILE)
    }
}

/// Creates a folder that its owner alone can read.
fn create_private(folder: &Path) -> Result<(), GraphError> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder).map_err(|error| file_error(folder, error))
}

/// Computes the fingerprint of the copy in a folder; `None` if the folder has no graph.
fn fingerprint_of(folder: &Path, chain: ChainId) -> Result<Option<[u8; 32]>, GraphError> {
    if has_accounts(chain) {
        let snapshot = EmbeddedAccounts::complete_copy(folder, chain)?;
        return snapshot.map(|snapshot| snapshot.fingerprint()).transpose();
    }
    let Some(tables) = Tables::open(folder)? else { return Ok(None) };
    let snapshot = Snapshot::new(&Arc::new(tables))?;
    snapshot.reader().fingerprint().map(Some)
}

impl GraphCopy {
    /// The newest block of the state.
    #[must_use]
    pub const fn tip(&self) -> GraphTip {
        self.tip
    }

    /// Size of the state in bytes.
    #[must_use]
    pub const fn length(&self) -> u64 {
        self.bytes.length()
    }

    /// Reads at most `most` bytes of the state from `offset` on; no bytes at the end.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be read.
    pub fn read(&self, offset: u64, most: usize) -> Result<Vec<u8>, GraphError> {
        Ok(self.bytes.read(offset, most)?)
    }

    /// Computes the state's [fingerprint](crate::Graph::fingerprint) once, from everything that the graph says.
    ///
    /// # Errors
    ///
    /// Returns an error if the graph cannot be read.
    pub fn fingerprint(&self) -> Result<[u8; 32], GraphError> {
        if let Some(known) = self.fingerprint.get() {
            return Ok(*known);
        }
        let fingerprint = self.state.fingerprint()?;
        Ok(*self.fingerprint.get_or_init(|| fingerprint))
    }
}

/// A copy of a graph's state that is not complete.
#[derive(Debug)]
pub struct PartialCopy {
    folder: PathBuf,
    path: PathBuf,
    file: File,
    received: u64,
    chain: ChainId,
}

impl PartialCopy {
    /// Number of received bytes.
    #[must_use]
    pub const fn received(&self) -> u64 {
        self.received
    }

    /// Appends the next part, and flushes it to the disk.
    ///
    /// # Errors
    ///
    /// Returns an error if the part was not written completely.
    pub fn add(&mut self, bytes: &[u8]) -> Result<(), GraphError> {
        let written = self.file.write_all(bytes).and_then(|()| self.file.sync_data());
        written.map_err(|error| file_error(&self.path, error))?;
        self.received += bytes.len() as u64;
        Ok(())
    }
}
