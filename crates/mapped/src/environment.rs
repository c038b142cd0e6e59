//! An open environment: its tables and transactions.

use std::{
    fs::{self, File},
    io::{self, ErrorKind},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use heed::{CompactionOption, Database, Env, MdbError, RoTxn, RwTxn, WithoutTls, types::Bytes};

use crate::MappedError;

/// A table: ordered keys with values.
pub type MappedTable = Database<'static, Bytes, Bytes>;
/// One state of an environment for reading. The transaction can move between threads and keeps the environment open.
pub type ReadTransaction = RoTxn<'static, WithoutTls>;
/// An atomic change of an environment.
pub type WriteTransaction<'e> = RwTxn<'e>;

/// The file is at least this much longer than its used pages; the rest is a hole that takes no disk blocks. A file that
/// ends before its last used page was therefore truncated: without the hole, LMDB may leave free pages at the end
/// unwritten.
const GROWTH_MARGIN: u64 = 64 << 20;

/// Format of an environment: its name, version, tables and size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EnvironmentFormat {
    /// The name of the format.
    pub name: &'static str,
    /// Version of the format. Environments of other versions are refused.
    pub version: u32,
    /// The names of its tables.
    pub tables: &'static [&'static str],
    /// Largest size of the file, and size of the address range that maps it: a multiple of the page size.
    pub map_size: usize,
}

/// Device and inode number of a file: a file that was deleted and created again has other numbers.
pub(crate) type FileIdentity = (u64, u64);

/// An open environment.
#[derive(Debug)]
pub struct MappedEnvironment {
    pub(crate) env: Env<WithoutTls>,
    pub(crate) tables: Vec<MappedTable>,
    pub(crate) format: EnvironmentFormat,
    pub(crate) folder: PathBuf,
    pub(crate) data_file: PathBuf,
    pub(crate) identity: FileIdentity,
}

/// The exclusive lock of an environment's writer. It is released when this value is dropped or the process ends.
#[derive(Debug)]
pub struct WriterLock {
    /// The locked file.
    file: File,
}

impl WriterLock {
    pub(crate) const fn new(file: File) -> Self {
        Self { file }
    }
}

impl Drop for WriterLock {
    fn drop(&mut self) {
        // Closing the file alone is not enough: a process that is just being started has a copy of it for a moment.
        let _ = self.file.unlock();
    }
}

impl MappedEnvironment {
    /// The tables, in the order of [`EnvironmentFormat::tables`].
    #[must_use]
    pub fn tables(&self) -> &[MappedTable] {
        &self.tables
    }

    /// Format of the environment.
    #[must_use]
    pub const fn format(&self) -> EnvironmentFormat {
        self.format
    }

    /// Folder of the environment.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// True if the open file is still the one in the folder, and was not deleted or replaced.
    #[must_use]
    pub fn is_current(&self) -> bool {
        identity(&self.data_file).ok() == Some(self.identity)
    }

    /// The newest state. As long as the transaction lives, no writer reuses the state's pages.
    ///
    /// # Errors
    ///
    /// Returns an error if the lock table has no free slot for a reader.
    pub fn read(&self) -> Result<ReadTransaction, MappedError> {
        self.env.clone().static_read_txn().map_err(|error| self.error(error))
    }

    /// Changes the environment atomically: commits all that `change` writes, or nothing if it fails. Only the holder of
    /// the [`WriterLock`] calls it, from one thread.
    ///
    /// # Errors
    ///
    /// Returns the error of `change`, or the reason why the change could not be written.
    pub fn write<T, E: From<MappedError>>(
        &self,
        _lock: &WriterLock,
        change: impl FnOnce(&mut WriteTransaction<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        self.extend()?;
        // Slots of readers that were killed would keep pages from being used again.
        self.env.clear_stale_readers().map_err(|error| self.error(error))?;
        let mut transaction = self.env.write_txn().map_err(|error| self.error(error))?;
        let changed = change(&mut transaction)?;
        transaction.commit().map_err(|error| self.error(error))?;
        Ok(changed)
    }

    /// Writes the newest state to a new file, without free pages. Writers continue during the copy and do not reuse the
    /// state's pages, so the environment may grow.
    ///
    /// # Errors
    ///
    /// Returns an error if the file exists or cannot be written completely; an incomplete file is removed.
    pub fn copy_to(&self, file: &Path) -> Result<(), MappedError> {
        let failed = |error: io::Error| match error.kind() {
            ErrorKind::StorageFull => MappedError::DiskFull { path: file.to_owned() },
            _ => MappedError::File { path: file.to_owned(), error },
        };
        let mut options = File::options();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut copy = options.open(file).map_err(failed)?;
        let written = self
            .env
            .copy_to_file(&mut copy, CompactionOption::Enabled)
            .map_err(|error| match error {
                heed::Error::Io(error) => failed(error),
                error => self.error(error),
            })
            .and_then(|()| copy.sync_all().map_err(failed))
            .and_then(|()| match file.parent().filter(|parent| *parent != Path::new("")) {
                Some(parent) => File::open(parent).and_then(|it| it.sync_all()).map_err(failed),
                None => Ok(()),
            });
        if written.is_err() {
            // The error says more than that half a copy could not be removed.
            let _ = fs::remove_file(file);
        }
        written
    }

    /// Extends the file beyond its used pages.
    pub(crate) fn extend(&self) -> Result<(), MappedError> {
        let failed = |error| MappedError::File { path: self.data_file.clone(), error };
        let file = self.env.try_clone_inner_file().map_err(|error| self.error(error))?;
        let (length, used) = (file.metadata().map_err(failed)?.len(), self.used_bytes());
        if length < used.saturating_add(GROWTH_MARGIN / 2) {
            file.set_len(used.saturating_add(GROWTH_MARGIN)).map_err(failed)?;
        }
        Ok(())
    }

    /// Size of the file up to the end of the last used page, in bytes.
    #[must_use]
    pub fn used_bytes(&self) -> u64 {
        let page = u64::from(self.env.unnamed_database_stat().page_size);
        let last = u64::try_from(self.env.info().last_page_number).unwrap_or(u64::MAX);
        last.saturating_add(1).saturating_mul(page)
    }

    /// Converts an error of LMDB into one that names this environment's folder.
    #[must_use]
    pub fn error(&self, error: heed::Error) -> MappedError {
        failure(&self.folder, error)
    }
}

fn is_io(error: &io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::IO.raw_os_error())
}

/// True if the disk of a folder has no room for another batch of changes.
fn is_full(folder: &Path) -> bool {
    const BATCH: u64 = 1 << 20;
    rustix::fs::statvfs(folder)
        .is_ok_and(|disk| disk.f_bavail.saturating_mul(disk.f_frsize) < BATCH)
}

/// Converts an error of LMDB into one that names the folder of the environment.
pub(crate) fn failure(folder: &Path, error: heed::Error) -> MappedError {
    let path = folder.to_owned();
    match error {
        heed::Error::Io(error) if error.kind() == ErrorKind::StorageFull => {
            MappedError::DiskFull { path }
        }
        // A write of several pages that ends early is told as a failure of the device.
        heed::Error::Io(error) if is_io(&error) && is_full(folder) => {
            MappedError::DiskFull { path }
        }
        heed::Error::Mdb(MdbError::MapFull) => MappedError::DiskFull { path },
        heed::Error::EnvAlreadyOpened => MappedError::Replaced { path },
        error => MappedError::Environment { path, error },
    }
}

pub(crate) fn identity(file: &Path) -> io::Result<FileIdentity> {
    let data = fs::metadata(file)?;
    Ok((data.dev(), data.ino()))
}
