//! Backups: writing one state of a graph to a file, and restoring a graph from such a file.

use std::{
    fs::{self, DirBuilder},
    io,
    path::Path,
    sync::Arc,
};

use assay_address::ChainId;
use assay_mapped::{DATA_FILE, MappedError};

use super::EmbeddedGraphs;
use crate::{
    GraphError, GraphTip,
    error::damaged,
    utxo::{Snapshot, Tables},
};

impl EmbeddedGraphs {
    /// Writes the newest state of a chain's graph to `file`, which must not exist. Returns the graph's newest block
    /// before the copy (the file may have newer blocks); `None` if there is no graph with blocks. The file has no
    /// compositions (origin breakdowns) of transactions: compositions are computed again from the graph.
    ///
    /// # Errors
    ///
    /// Returns an error if the graph cannot be read or the file cannot be written completely.
    pub fn back_up(&self, chain: ChainId, file: &Path) -> Result<Option<GraphTip>, GraphError> {
        let Some(graph) = self.open(chain)? else { return Ok(None) };
        let Some(tip) = graph.snapshot()?.tip()? else { return Ok(None) };
        graph.tables.environment.copy_to(file)?;
        Ok(Some(tip))
    }

    /// Restores a chain's graph from a backup, completely or not at all. Returns the graph's newest block.
    ///
    /// # Errors
    ///
    /// Returns [`GraphError::Exists`] if the chain has a graph, [`GraphError::BeingRestored`] if another process
    /// restores one, and an error if the file is not a complete graph of the chain.
    pub fn restore(&self, chain: ChainId, file: &Path) -> Result<GraphTip, GraphError> {
        let path = self.path(chain);
        if path.exists() {
            return Err(GraphError::Exists { path, chain });
        }
        let beside = self.folder.join(format!("{chain}.graph.restored"));
        with_folder(&beside, || {
            let copy = beside.join(DATA_FILE);
            fs::copy(file, &copy).map_err(|error| match error.kind() {
                io::ErrorKind::StorageFull => file_error(&copy, error),
                _ => file_error(file, error),
            })?;
            make_private(&copy)?;
            sync_to_disk(&copy)?;
            self.install(&beside, chain)
        })
    }

    /// Moves a complete graph from a temporary folder to the folder of the chain's graph, and deletes the compositions
    /// (origin breakdowns) of an earlier graph.
    pub(super) fn install(&self, beside: &Path, chain: ChainId) -> Result<GraphTip, GraphError> {
        let path = self.path(chain);
        let tip = tip_in(beside, chain)?;
        sync_to_disk(beside)?;
        // These are compositions of a deleted graph.
        let compositions = self.compositions_path(chain);
        match fs::remove_dir_all(&compositions) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(file_error(&compositions, error));
            }
            _ => {}
        }
        fs::rename(beside, &path).map_err(|error| file_error(&path, error))?;
        sync_to_disk(&self.folder)?;
        Ok(tip)
    }
}

/// Creates a folder, runs `work`, and removes the folder if it still exists.
fn with_folder<T>(
    folder: &Path,
    work: impl FnOnce() -> Result<T, GraphError>,
) -> Result<T, GraphError> {
    let mut private = DirBuilder::new();
    private.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut private, 0o700);
    if let Some(parent) = folder.parent() {
        private.create(parent).map_err(|error| file_error(parent, error))?;
    }
    private.recursive(false);
    private.create(folder).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => GraphError::BeingRestored { path: folder.to_owned() },
        _ => file_error(folder, error),
    })?;
    let done = work();
    let _ = fs::remove_dir_all(folder);
    done
}

/// Reads the newest block of the graph of `chain` in a folder.
pub(super) fn tip_in(folder: &Path, chain: ChainId) -> Result<GraphTip, GraphError> {
    let no_graph = || damaged("meta", "its state");
    let tables = Arc::new(Tables::open(folder)?.ok_or_else(no_graph)?);
    let snapshot = Snapshot::new(&tables)?;
    let stored = snapshot.reader().stored_state()?.ok_or_else(no_graph)?;
    if stored.chain != chain {
        return Err(GraphError::OtherChain { chain, found: stored.chain });
    }
    stored.graph_tip().ok_or_else(no_graph)
}

pub(super) fn make_private(file: &Path) -> Result<(), GraphError> {
    #[cfg(unix)]
    {
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        fs::set_permissions(file, mode).map_err(|error| file_error(file, error))?;
    }
    Ok(())
}

/// Flushes a file or folder to the disk.
pub(crate) fn sync_to_disk(path: &Path) -> Result<(), GraphError> {
    let flushed = fs::File::open(path).and_then(|file| file.sync_all());
    flushed.map_err(|error| file_error(path, error))
}

pub(crate) fn file_error(path: &Path, error: io::Error) -> GraphError {
    let path = path.to_owned();
    GraphError::from(match error.kind() {
        io::ErrorKind::StorageFull => MappedError::DiskFull { path },
        _ => MappedError::File { path, error },
    })
}
