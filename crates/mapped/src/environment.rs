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
/// One state of an environment. It can move between threads and keeps the environment open.
pub type ReadTransaction = RoTxn<'static, WithoutTls>;
/// A change of an environment: all of it, or nothing.
pub type WriteTransaction<'e> = RwTxn<'e>;

/// The file is at least this much longer than its used pages, as a hole without blocks on the disk. So a file
/// that ends before its last page was cut: LMDB itself leaves the last pages unwritten where they are free.
const GROWTH_MARGIN: u64 = 64 << 20;

/// What an environment holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EnvironmentFormat {
    /// The name of the format.
    pub name: &'static str,
    /// Its version, which is the only one that is read.
    pub version: u32,
    /// The names of its tables.
    pub tables: &'static [&'static str],
    /// The largest size of the file, and the addresses that it takes: a multiple of the page size.
    pub map_size: usize,
}

/// Device and number of a file: a file that was deleted and made anew has others.
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

/// The right to write an environment. It ends when this value is dropped, or with the process.
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

    /// Its format.
    #[must_use]
    pub const fn format(&self) -> EnvironmentFormat {
        self.format
    }

    /// Its folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// True if its file is still the one in its folder, and was not deleted or replaced.
    #[must_use]
    pub fn is_current(&self) -> bool {
        identity(&self.data_file).ok() == Some(self.identity)
    }

    /// The newest state. As long as it is held, pages that it shows are not used again.
    ///
    /// # Errors
    ///
    /// Returns an error if no more readers fit the lock table.
    pub fn read(&self) -> Result<ReadTransaction, MappedError> {
        self.env.clone().static_read_txn().map_err(|error| self.error(error))
    }

    /// Changes the environment: all that `change` does, or nothing if it fails. To be called by the holder of
    /// the [`WriterLock`], on one thread to the end.
    ///
    /// # Errors
    ///
    /// Returns the error of `change`, or why it could not be written.
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

    /// Writes its newest state to a file, which must not exist, without pages that are free. Writers go on meanwhile,
    /// and use no page again that this state shows, so that the environment may grow.
    ///
    /// # Errors
    ///
    /// Returns an error if the file exists, or cannot be written as a whole: then it is removed.
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

    /// Extends the file ahead of its used pages.
    pub(crate) fn extend(&self) -> Result<(), MappedError> {
        let failed = |error| MappedError::File { path: self.data_file.clone(), error };
        let file = self.env.try_clone_inner_file().map_err(|error| self.error(error))?;
        let (length, used) = (file.metadata().map_err(failed)?.len(), self.used_bytes());
        if length < used.saturating_add(GROWTH_MARGIN / 2) {
            file.set_len(used.saturating_add(GROWTH_MARGIN)).map_err(failed)?;
        }
        Ok(())
    }

    /// Bytes up to the end of the last page in use.
    #[must_use]
    pub fn used_bytes(&self) -> u64 {
        let page = u64::from(self.env.unnamed_database_stat().page_size);
        let last = u64::try_from(self.env.info().last_page_number).unwrap_or(u64::MAX);
        last.saturating_add(1).saturating_mul(page)
    }

    /// An error of this environment.
    #[must_use]
    pub fn error(&self, error: heed::Error) -> MappedError {
        failure(&self.folder, error)
    }
}

fn is_io(error: &io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::IO.raw_os_error())
}

/// True if the disk of a folder has no room for a batch.
fn is_full(folder: &Path) -> bool {
    const BATCH: u64 = 1 << 20;
    rustix::fs::statvfs(folder)
        .is_ok_and(|disk| disk.f_bavail.saturating_mul(disk.f_frsize) < BATCH)
}

/// An error of the environment in `folder`.
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
