//! The folder of an account chain: a folder for each computing of its ledgers, of which the file `current` names one. Ledgers
//! for other ends are computed in a new folder and take the old one's place at once.

use std::{
    fs::{self, DirBuilder, File, TryLockError},
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use assay_address::ChainId;

use crate::{
    GraphError,
    directory::{file_error, sync_to_disk},
};

/// Name of the file that names the present folder.
const CURRENT: &str = "current";

/// The place of a chain's graph.
#[derive(Clone, Debug)]
pub(super) struct ChainFolder(PathBuf);

impl ChainFolder {
    pub(super) fn new(folder: &Path) -> Self {
        Self(folder.to_owned())
    }

    /// The number of the present folder; `None` without a graph.
    pub(super) fn current(&self) -> Result<Option<u64>, GraphError> {
        let path = self.0.join(CURRENT);
        match fs::read_to_string(&path) {
            Ok(text) => text.trim().parse().map(Some).map_err(|_| {
                let detail = format!("`{}` names no folder", text.trim());
                file_error(&path, io::Error::other(detail))
            }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(file_error(&path, error)),
        }
    }

    /// The folder with a number.
    pub(super) fn folder(&self, number: u64) -> PathBuf {
        self.0.join(number.to_string())
    }

    /// Makes the folder with a number the present one.
    pub(super) fn set_current(&self, number: u64) -> Result<(), GraphError> {
        let (path, new) = (self.0.join(CURRENT), self.0.join("current.new"));
        let written = File::create(&new).and_then(|mut file| {
            file.write_all(format!("{number}\n").as_bytes())?;
            file.sync_all()
        });
        written.map_err(|error| file_error(&new, error))?;
        fs::rename(&new, &path).map_err(|error| file_error(&path, error))?;
        sync_to_disk(&self.0)
    }

    /// Creates the folder of the chain, readable by its owner only.
    pub(super) fn create(&self) -> Result<(), GraphError> {
        let mut private = DirBuilder::new();
        private.recursive(true);
        std::os::unix::fs::DirBuilderExt::mode(&mut private, 0o700);
        private.create(&self.0).map_err(|error| file_error(&self.0, error))
    }

    /// Takes the lock of those who compute ledgers anew. It is held until the file is dropped.
    pub(super) fn lock_rebuild(&self, chain: ChainId) -> Result<File, GraphError> {
        let path = self.0.join("rebuild.lock");
        let mut options = File::options();
        options.create(true).truncate(false).write(true);
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(&path).map_err(|error| file_error(&path, error))?;
        match file.try_lock() {
            Ok(()) => Ok(file),
            Err(TryLockError::WouldBlock) => Err(GraphError::Busy(chain)),
            Err(TryLockError::Error(error)) => Err(file_error(&path, error)),
        }
    }

    /// Deletes a folder.
    pub(super) fn delete(&self, number: u64) -> Result<(), GraphError> {
        let path = self.folder(number);
        match fs::remove_dir_all(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(file_error(&path, error)),
            _ => Ok(()),
        }
    }

    /// Deletes all folders but the present one and `kept`. Programs that read one of them keep it until they close it.
    pub(super) fn delete_others(&self, kept: Option<u64>) -> Result<(), GraphError> {
        let Some(current) = self.current()? else { return Ok(()) };
        let Ok(entries) = fs::read_dir(&self.0) else { return Ok(()) };
        for entry in entries.flatten() {
            let number: Option<u64> = entry.file_name().to_str().and_then(|name| name.parse().ok());
            let is_other = number.is_some_and(|number| number != current && Some(number) != kept);
            if is_other {
                // The next attempt deletes files that remain.
                let _ = fs::remove_dir_all(entry.path());
            }
        }
        Ok(())
    }
}
