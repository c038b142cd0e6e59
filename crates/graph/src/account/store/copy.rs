//! Backups and copies of account chains: one state as a file.

use std::{
    fs::{self, DirBuilder},
    io,
    path::{Path, PathBuf},
};

use assay_address::ChainId;
use assay_mapped::DATA_FILE;

use super::{
    folders::ChainFolder,
    view::{AccountSnapshot, EmbeddedAccounts},
    writer::FIRST_FOLDER,
};
use crate::{
    GraphError,
    account::RecordedState,
    directory::{file_error, sync_to_disk},
};

impl EmbeddedAccounts {
    /// Writes the newest state to `file`, which must not exist. Returns its description; `None` without blocks.
    pub(crate) fn back_up(&self, file: &Path) -> Result<Option<RecordedState>, GraphError> {
        let Some(snapshot) = self.snapshot()? else { return Ok(None) };
        self.copy_to(file)?;
        Ok(Some(*snapshot.recorded()))
    }

    /// Restores a backup to the folder of a chain, completely or not at all. Returns its description.
    pub(crate) fn restore(
        folder: &Path,
        chain: ChainId,
        file: &Path,
    ) -> Result<RecordedState, GraphError> {
        if folder.exists() {
            return Err(GraphError::Exists { path: folder.to_owned(), chain });
        }
        let beside = folder.with_extension("accounts.restored");
        let mut private = DirBuilder::new();
        std::os::unix::fs::DirBuilderExt::mode(&mut private, 0o700);
        if let Some(parent) = folder.parent().filter(|parent| !parent.exists()) {
            private.recursive(true);
            private.create(parent).map_err(|error| file_error(parent, error))?;
            private.recursive(false);
        }
        private.create(&beside).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => GraphError::BeingRestored { path: beside.clone() },
            _ => file_error(&beside, error),
        })?;
        let restored = Self::restore_beside(&beside, folder, chain, file);
        let _ = fs::remove_dir_all(&beside);
        restored
    }

    fn restore_beside(
        beside: &Path,
        folder: &Path,
        chain: ChainId,
        file: &Path,
    ) -> Result<RecordedState, GraphError> {
        let inner = ChainFolder::new(beside).folder(FIRST_FOLDER);
        fs::create_dir(&inner).map_err(|error| file_error(&inner, error))?;
        let copy = Self::file_of_copy(beside);
        fs::copy(file, &copy).map_err(|error| match error.kind() {
            io::ErrorKind::StorageFull => file_error(&copy, error),
            _ => file_error(file, error),
        })?;
        let private = <fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o600);
        fs::set_permissions(&copy, private).map_err(|error| file_error(&copy, error))?;
        sync_to_disk(&copy)?;
        let restored = Self::complete_copy(beside, chain)?;
        let recorded = restored.map(|snapshot| *snapshot.recorded());
        let recorded = recorded.ok_or_else(|| {
            file_error(file, io::Error::other("it is no backup of a graph with blocks"))
        })?;
        Self::install(beside, folder)?;
        Ok(recorded)
    }

    /// The file of the graph in a folder that a copy is written to.
    pub(crate) fn file_of_copy(beside: &Path) -> PathBuf {
        ChainFolder::new(beside).folder(FIRST_FOLDER).join(DATA_FILE)
    }

    /// Opens a complete copy in a folder of its own; `None` if it has no blocks.
    pub(crate) fn complete_copy(
        beside: &Path,
        chain: ChainId,
    ) -> Result<Option<AccountSnapshot>, GraphError> {
        ChainFolder::new(beside).set_current(FIRST_FOLDER)?;
        Ok(Self::open(beside, chain)?.map(|graph| graph.snapshot()).transpose()?.flatten())
    }

    /// Moves a complete copy to the folder of a chain.
    pub(crate) fn install(beside: &Path, folder: &Path) -> Result<(), GraphError> {
        fs::rename(beside, folder).map_err(|error| file_error(folder, error))?;
        folder.parent().map_or(Ok(()), sync_to_disk)
    }
}
