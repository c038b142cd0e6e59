//! Opening environments, after all checks.

use std::{
    cmp::Ordering,
    fs::{self, DirBuilder, File, OpenOptions, TryLockError},
    io::{self, Read},
    path::Path,
    sync::Arc,
    thread,
    time::Duration,
};

use heed::{CommitOrAbort, Database, Env, EnvOpenOptions, WithoutTls, types::Bytes};

use crate::{
    EnvironmentFormat, MappedEnvironment, MappedError, MappedTable, WriterLock,
    environment::{failure, identity},
    file_system::{check_address_space, check_local},
    registry::Registry,
};

/// File of an environment in its folder, as LMDB names it.
pub const DATA_FILE: &str = "data.mdb";
/// File that the writer locks.
const LOCK: &str = "writer.lock";
/// File of the lock table, as LMDB names it.
const LOCK_TABLE: &str = "lock.mdb";
/// Table with the name and the version of the format.
const FORMAT: &str = "format";
/// Largest number of concurrent read transactions of all processes.
const READERS: u32 = 4096;
/// LMDB's magic number, in native byte order, after the header of the first page.
const MAGIC: u32 = 0xbeef_c0de;
const MAGIC_AT: usize = 16;
/// Time within which a writer has written the first two pages of a new file.
const CREATION_TIME: Duration = Duration::from_millis(50);

/// Opens the environment in `folder` for reading; `None` if the folder has no environment, or if a writer is just
/// creating it.
///
/// # Errors
///
/// Returns an error if the environment cannot be opened safely, or has another format or version.
pub fn open_existing(
    folder: &Path,
    format: &EnvironmentFormat,
) -> Result<Option<Arc<MappedEnvironment>>, MappedError> {
    if !has_data_file(folder) {
        return Ok(None);
    }
    let canonical = canonical(folder)?;
    let mut registry = Registry::lock();
    if let Some(open) = registry.find(&canonical)? {
        return Ok(Some(open));
    }
    check_local(&canonical)?;
    if has_incomplete_head(&canonical) {
        // Another program makes it just now, or it was cut: then it is as short afterwards.
        thread::sleep(CREATION_TIME);
    }
    check_data_file(&canonical, format)?;
    allocate_lock_table(&canonical)?;
    let env = open(&canonical, format)?;
    check_length(&canonical, &env)?;
    env.clear_stale_readers().map_err(|error| failure(&canonical, error))?;
    let Some(tables) = existing_tables(&canonical, &env, format)? else { return Ok(None) };
    let opened = Arc::new(environment(&canonical, env, tables, format)?);
    registry.insert(canonical, &opened);
    Ok(Some(opened))
}

/// Opens the environment in `folder` for writing, and creates it if there is none. At most one process has a writer at
/// a time.
///
/// # Errors
///
/// Returns [`MappedError::Busy`] if another writer exists, and the errors of [`open_existing`].
pub fn create(
    folder: &Path,
    format: &EnvironmentFormat,
) -> Result<(Arc<MappedEnvironment>, WriterLock), MappedError> {
    let mut private = DirBuilder::new();
    private.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut private, 0o700);
    private.create(folder).map_err(|error| MappedError::File { path: folder.to_owned(), error })?;
    let canonical = canonical(folder)?;
    let lock = lock(&canonical)?;
    let mut registry = Registry::lock();
    if let Some(open) = registry.find(&canonical)? {
        return Ok((open, lock));
    }
    check_local(&canonical)?;
    if has_data_file(&canonical) {
        check_data_file(&canonical, format)?;
    }
    allocate_lock_table(&canonical)?;
    let env = open(&canonical, format)?;
    check_length(&canonical, &env)?;
    env.clear_stale_readers().map_err(|error| failure(&canonical, error))?;
    let tables = match existing_tables(&canonical, &env, format)? {
        Some(tables) => tables,
        None => make_tables(&canonical, &env, format)?,
    };
    let opened = Arc::new(environment(&canonical, env, tables, format)?);
    opened.extend()?;
    registry.insert(canonical, &opened);
    Ok((opened, lock))
}

/// True if a folder has an environment's file that is not empty.
fn has_data_file(folder: &Path) -> bool {
    fs::metadata(folder.join(DATA_FILE)).is_ok_and(|data| data.is_file() && data.len() > 0)
}

/// True if an environment's file ends within its first two pages.
fn has_incomplete_head(folder: &Path) -> bool {
    fs::metadata(folder.join(DATA_FILE)).is_ok_and(|data| data.len() < 2 * 4096)
}

fn canonical(folder: &Path) -> Result<std::path::PathBuf, MappedError> {
    fs::canonicalize(folder).map_err(|error| MappedError::File { path: folder.to_owned(), error })
}

/// Locks the writer's file. The operating system releases the lock when the process ends, even if it is killed.
fn lock(folder: &Path) -> Result<WriterLock, MappedError> {
    lock_file(&folder.join(LOCK)).map_err(|error| match error {
        MappedError::Busy { .. } => MappedError::Busy { path: folder.to_owned() },
        error => error,
    })
}

/// Locks a file that exists for this alone.
pub(crate) fn lock_file(path: &Path) -> Result<WriterLock, MappedError> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let failed = |error| MappedError::File { path: path.to_owned(), error };
    let file = options.open(path).map_err(failed)?;
    match file.try_lock() {
        Ok(()) => Ok(WriterLock::new(file)),
        Err(TryLockError::WouldBlock) => Err(MappedError::Busy { path: path.to_owned() }),
        Err(TryLockError::Error(error)) => Err(failed(error)),
    }
}

/// Allocates the disk blocks of the lock table: LMDB maps it, and a page without room on the disk would kill the
/// process that touches it. The process must not hold a lock on the file yet, because closing the file here would
/// release this lock.
fn allocate_lock_table(folder: &Path) -> Result<(), MappedError> {
    /// A reader's slot is a cache line; the header takes a few more.
    const SLOT: u64 = 64;
    let path = folder.join(LOCK_TABLE);
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::StorageFull => MappedError::DiskFull { path: folder.to_owned() },
        _ => MappedError::File { path: path.clone(), error },
    };
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(&path).map_err(failed)?;
    let length = file.metadata().map_err(failed)?.len().max((u64::from(READERS) + 8) * SLOT);
    match rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, length) {
        // A file system that cannot do so in advance.
        Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::NOSYS) | Ok(()) => Ok(()),
        Err(error) => Err(failed(error.into())),
    }
}

/// Checks that a file begins like the files of LMDB.
fn check_data_file(folder: &Path, format: &EnvironmentFormat) -> Result<(), MappedError> {
    let path = folder.join(DATA_FILE);
    let failed = |error| MappedError::File { path: path.clone(), error };
    let foreign = |detail: &str| MappedError::Foreign {
        path: path.clone(),
        format: format.name,
        detail: detail.to_owned(),
    };
    let mut head = [0; MAGIC_AT + 4];
    match File::open(&path).and_then(|mut file| file.read_exact(&mut head)) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
            return Err(foreign("it is too short"));
        }
        Err(error) => return Err(failed(error)),
    }
    match head.last_chunk() {
        Some(magic) if u32::from_ne_bytes(*magic) == MAGIC => Ok(()),
        _ => Err(foreign("it does not begin as such a file does")),
    }
}

/// Checks that no page is missing at the end of the file: reading a missing page would kill the process.
fn check_length(folder: &Path, env: &Env<WithoutTls>) -> Result<(), MappedError> {
    let found = env.real_disk_size().map_err(|error| failure(folder, error))?;
    let page = u64::from(env.unnamed_database_stat().page_size);
    let last = u64::try_from(env.info().last_page_number).unwrap_or(u64::MAX);
    let expected = last.saturating_add(1).saturating_mul(page);
    if found < expected {
        return Err(MappedError::Truncated { path: folder.join(DATA_FILE), found, expected });
    }
    Ok(())
}

#[expect(unsafe_code, reason = "the call that maps a file; the conditions of it are checked")]
fn open(folder: &Path, format: &EnvironmentFormat) -> Result<Env<WithoutTls>, MappedError> {
    let size = u64::try_from(format.map_size).unwrap_or(u64::MAX);
    check_address_space(folder, size)?;
    let tables = u32::try_from(format.tables.len()).unwrap_or(u32::MAX).saturating_add(1);
    let mut options = EnvOpenOptions::new().read_txn_without_tls();
    options.map_size(format.map_size).max_dbs(tables).max_readers(READERS);
    // SAFETY: the references into the map stay valid while their transactions live, because only LMDB changes
    // the file. Its writers never overwrite a page that a transaction in its lock table shows; the lock table
    // works, because the file system is local (`check_local`) and no lock is switched off by a flag. This
    // process opens a file once (`Registry`). The file holds all pages of its newest state (`check_length`,
    // before the first read), and is private to the user (0600 in a folder of 0700), who must not edit it.
    let opened = unsafe { options.open(folder) };
    opened.map_err(|error| match error {
        heed::Error::Mdb(heed::MdbError::Invalid | heed::MdbError::VersionMismatch) => {
            MappedError::Foreign {
                path: folder.join(DATA_FILE),
                format: format.name,
                detail: error.to_string(),
            }
        }
        error => failure(folder, error),
    })
}

/// Opens all tables; `None` if the environment is empty.
fn existing_tables(
    folder: &Path,
    env: &Env<WithoutTls>,
    format: &EnvironmentFormat,
) -> Result<Option<Vec<MappedTable>>, MappedError> {
    let failed = |error| failure(folder, error);
    let foreign = |detail: &str| MappedError::Foreign {
        path: folder.join(DATA_FILE),
        format: format.name,
        detail: detail.to_owned(),
    };
    let transaction = env.read_txn().map_err(failed)?;
    let opened = env.open_databases_and_commit(transaction, |opener, transaction| {
        let refuse = |error| Ok(CommitOrAbort::Abort(Some(error)));
        let Some(described) = opener.open_database::<Bytes, Bytes>(transaction, Some(FORMAT))?
        else {
            // One that is being made has nothing yet.
            let all = opener.open_database::<Bytes, Bytes>(transaction, None)?;
            if all.map(|all| all.is_empty(transaction)).transpose()?.unwrap_or(true) {
                return Ok(CommitOrAbort::Abort(None));
            }
            return refuse(foreign("it is an LMDB file of another program"));
        };
        let described = described.get(transaction, FORMAT.as_bytes())?;
        if let Some(error) = mismatch(folder, described, format) {
            return refuse(error);
        }
        let mut tables = Vec::with_capacity(format.tables.len());
        for name in format.tables {
            match opener.open_database::<Bytes, Bytes>(transaction, Some(name))? {
                Some(table) => tables.push(table),
                None => return refuse(foreign(&format!("it has no table {name}"))),
            }
        }
        Ok(CommitOrAbort::Commit(Tables(tables)))
    });
    match opened.map_err(failed)? {
        CommitOrAbort::Commit(tables) => Ok(Some(tables)),
        CommitOrAbort::Abort(None) => Ok(None),
        CommitOrAbort::Abort(Some(error)) => Err(error),
    }
}

/// The error of a stored format that differs from the expected format; `None` if both agree.
fn mismatch(
    folder: &Path,
    described: Option<&[u8]>,
    wanted: &EnvironmentFormat,
) -> Option<MappedError> {
    let (version, name) = described.and_then(<[u8]>::split_first_chunk::<4>).unzip();
    let format = wanted.name;
    if name != Some(format.as_bytes()) {
        let (path, detail) = (folder.join(DATA_FILE), "it has another format".to_owned());
        return Some(MappedError::Foreign { path, format, detail });
    }
    let (path, found) = (folder.to_owned(), version.map_or(0, |bytes| u32::from_be_bytes(*bytes)));
    match found.cmp(&wanted.version) {
        Ordering::Less => Some(MappedError::Older { path, format, found, known: wanted.version }),
        Ordering::Equal => None,
        Ordering::Greater => {
            Some(MappedError::Newer { path, format, found, known: wanted.version })
        }
    }
}

fn make_tables(
    folder: &Path,
    env: &Env<WithoutTls>,
    format: &EnvironmentFormat,
) -> Result<Vec<MappedTable>, MappedError> {
    let failed = |error| failure(folder, error);
    let transaction = env.write_txn().map_err(failed)?;
    let made = env.create_databases_and_commit(transaction, |opener, transaction| {
        let described = opener.create_database::<Bytes, Bytes>(transaction, Some(FORMAT))?;
        let version = [&format.version.to_be_bytes(), format.name.as_bytes()].concat();
        described.put(transaction, FORMAT.as_bytes(), &version)?;
        let mut tables = Vec::with_capacity(format.tables.len());
        for name in format.tables {
            tables.push(opener.create_database::<Bytes, Bytes>(transaction, Some(name))?);
        }
        Ok(CommitOrAbort::<_, ()>::Commit(Tables(tables)))
    });
    match made.map_err(failed)? {
        CommitOrAbort::Commit(tables) => Ok(tables),
        CommitOrAbort::Abort(()) => Ok(Vec::new()),
    }
}

/// Tables that become usable when the transaction that opened them is committed.
struct Tables<'t>(Vec<Database<'t, Bytes, Bytes>>);

impl heed::OnCommit for Tables<'_> {
    type Committed = Vec<MappedTable>;

    fn on_commit(self, token: &heed::CommitToken) -> Vec<MappedTable> {
        self.0.into_iter().map(|table| table.on_commit(token)).collect()
    }
}

fn environment(
    folder: &Path,
    env: Env<WithoutTls>,
    tables: Vec<MappedTable>,
    format: &EnvironmentFormat,
) -> Result<MappedEnvironment, MappedError> {
    let data_file = folder.join(DATA_FILE);
    let identity = identity(&data_file)
        .map_err(|error| MappedError::File { path: data_file.clone(), error })?;
    Ok(MappedEnvironment {
        env,
        tables,
        format: *format,
        folder: folder.to_owned(),
        data_file,
        identity,
    })
}
