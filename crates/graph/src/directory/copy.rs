//! One state of a graph in parts: read where the graph is, and put together on another machine.
//!
//! A graph that is being put together lies in a folder of its own beside the others. It can be continued after an
//! interruption as long as the state that it is of is held on the other side.

use std::{
    fs::{self, DirBuilder, File},
    io::{self, Write},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use assay_address::ChainId;
use assay_mapped::{DATA_FILE, StateBytes};

use super::{
    EmbeddedGraphs,
    backup::{file_error, make_private},
};
use crate::{
    GraphError, GraphTip,
    utxo::{Snapshot, Tables},
};

/// File with the name of the state that a graph is put together of.
const ORIGIN: &str = "origin";

/// One state of a graph, held to be copied. Meanwhile no space in the graph's file is used again, so that it may grow.
#[derive(Debug)]
pub struct GraphCopy {
    snapshot: Mutex<Snapshot>,
    bytes: StateBytes,
    tip: GraphTip,
    fingerprint: OnceLock<[u8; 32]>,
}

impl EmbeddedGraphs {
    /// Holds the newest state of a chain's graph; `None` if there is none with blocks.
    ///
    /// # Errors
    ///
    /// Returns an error if the graph cannot be read.
    pub fn copy(&self, chain: ChainId) -> Result<Option<GraphCopy>, GraphError> {
        let Some(graph) = self.open(chain)? else { return Ok(None) };
        loop {
            let snapshot = graph.snapshot()?;
            let Some(tip) = snapshot.tip()? else { return Ok(None) };
            // Another state was written meanwhile: that one is newer.
            let Some(bytes) = snapshot.bytes()? else { continue };
            let (snapshot, fingerprint) = (Mutex::new(snapshot), OnceLock::new());
            return Ok(Some(GraphCopy { snapshot, bytes, tip, fingerprint }));
        }
    }

    /// True if there is a graph of a chain, whole or damaged.
    #[must_use]
    pub fn exists(&self, chain: ChainId) -> bool {
        self.path(chain).exists()
    }

    /// Puts a graph of a chain together from the state of this name, in parts of so many bytes, or goes on with that;
    /// `None` if there is a graph of the chain already. What was received of another state is thrown away, and the last
    /// part, which may not have reached the disk.
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
            let mut builder = DirBuilder::new();
            builder.recursive(true);
            #[cfg(unix)]
            std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
            builder.create(&folder).map_err(|error| file_error(&folder, error))?;
            let file = folder.join(ORIGIN);
            fs::write(&file, origin).map_err(|error| file_error(&file, error))?;
        }
        let path = folder.join(DATA_FILE);
        let opened = File::options().append(true).create(true).open(&path);
        let file = opened.map_err(|error| file_error(&path, error))?;
        make_private(&path)?;
        let length = file.metadata().map_err(|error| file_error(&path, error))?.len();
        let received = length.saturating_sub(1) / part * part;
        file.set_len(received).map_err(|error| file_error(&path, error))?;
        Ok(Some(PartialCopy { folder, path, file, received, chain }))
    }

    /// The name of the state of which a graph of a chain is being put together; `None` if none is.
    #[must_use]
    pub fn partial_copy_origin(&self, chain: ChainId) -> Option<String> {
        fs::read_to_string(self.partial_copy_path(chain).join(ORIGIN)).ok()
    }

    /// Throws away what was received of a graph that is not whole.
    pub fn discard_partial_copy(&self, chain: ChainId) {
        // What is left is thrown away by the next attempt.
        let _ = fs::remove_dir_all(self.partial_copy_path(chain));
    }

    /// Makes a graph of what was received, as a whole. Returns its newest block. Nothing is left of one that is not
    /// the state with this fingerprint.
    ///
    /// # Errors
    ///
    /// Returns [`GraphError::OtherFingerprint`] if it is another state, and an error if it is no graph of the chain.
    pub fn finish_copy(
        &self,
        filling: PartialCopy,
        expected: [u8; 32],
    ) -> Result<GraphTip, GraphError> {
        let PartialCopy { folder, path, file, chain, .. } = filling;
        file.sync_all().map_err(|error| file_error(&path, error))?;
        drop(file);
        let found = fingerprint_of(&folder);
        if !matches!(found, Ok(Some(found)) if found == expected) {
            let _ = fs::remove_dir_all(&folder);
            found?;
            return Err(GraphError::OtherFingerprint { chain });
        }
        let origin = folder.join(ORIGIN);
        fs::remove_file(&origin).map_err(|error| file_error(&origin, error))?;
        self.install(&folder, chain)
    }

    fn partial_copy_path(&self, chain: ChainId) -> PathBuf {
        self.folder.join(format!("{chain}.graph.filling"))
    }
}

/// The fingerprint of the graph in a folder; `None` if there is none.
fn fingerprint_of(folder: &Path) -> Result<Option<[u8; 32]>, GraphError> {
    let Some(tables) = Tables::open(folder)? else { return Ok(None) };
    let snapshot = Snapshot::new(&Arc::new(tables))?;
    snapshot.reader().fingerprint().map(Some)
}

impl GraphCopy {
    /// Its newest block.
    #[must_use]
    pub const fn tip(&self) -> GraphTip {
        self.tip
    }

    /// Number of its bytes.
    #[must_use]
    pub const fn length(&self) -> u64 {
        self.bytes.length()
    }

    /// Its bytes from `offset` on, at most `most` of them; none at the end.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be read.
    pub fn read(&self, offset: u64, most: usize) -> Result<Vec<u8>, GraphError> {
        Ok(self.bytes.read(offset, most)?)
    }

    /// Its [fingerprint](crate::Graph::fingerprint). That reads all blocks, transactions and clusters, once.
    ///
    /// # Errors
    ///
    /// Returns an error if the graph cannot be read.
    pub fn fingerprint(&self) -> Result<[u8; 32], GraphError> {
        let snapshot = self.snapshot.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = self.fingerprint.get() {
            return Ok(*known);
        }
        let fingerprint = snapshot.reader().fingerprint()?;
        Ok(*self.fingerprint.get_or_init(|| fingerprint))
    }
}

/// A graph that is being put together.
#[derive(Debug)]
pub struct PartialCopy {
    folder: PathBuf,
    path: PathBuf,
    file: File,
    received: u64,
    chain: ChainId,
}

impl PartialCopy {
    /// Bytes that were received.
    #[must_use]
    pub const fn received(&self) -> u64 {
        self.received
    }

    /// Adds the next part, and waits until it is on the disk.
    ///
    /// # Errors
    ///
    /// Returns an error if they cannot be written; then fewer may have been.
    pub fn add(&mut self, bytes: &[u8]) -> Result<(), GraphError> {
        let written = self.file.write_all(bytes).and_then(|()| self.file.sync_data());
        written.map_err(|error| file_error(&self.path, error))?;
        self.received += bytes.len() as u64;
        Ok(())
    }
}
