//! `SQLite` files in a directory that belongs to one user.

use std::{
    fs::DirBuilder,
    path::{Path, PathBuf},
    time::Duration,
};

use sqlx::{
    ConnectOptions, SqlitePool,
    sqlite::{SqliteConnectOptions, SqlitePoolOptions},
};

use crate::DatabaseError;

/// Time for which a writer waits for another writer.
pub const BUSY_TIMEOUT: Duration = Duration::from_secs(15);
/// Number of connections that read one file at once.
const CONNECTIONS: u32 = 4;

/// Options for a file: statements are not logged, writers wait for each other.
#[must_use]
pub fn options(file: &Path) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .filename(file)
        .create_if_missing(false)
        .busy_timeout(BUSY_TIMEOUT)
        // Loading a chain or all labels takes its time; that is no news.
        .disable_statement_logging()
}

/// A pool of connections to one file.
///
/// # Errors
///
/// Returns an error if the file cannot be opened.
pub async fn pool(
    file: PathBuf,
    options: SqliteConnectOptions,
) -> Result<SqlitePool, DatabaseError> {
    SqlitePoolOptions::new()
        .max_connections(CONNECTIONS)
        .connect_with(options)
        .await
        .map_err(|source| DatabaseError::Open { path: file, source })
}

/// Creates a directory that only its owner can read: key hashes and customers' names are private.
///
/// # Errors
///
/// Returns an error if the directory cannot be created.
pub fn create_private_directory(directory: &Path) -> Result<(), DatabaseError> {
    let mut private = DirBuilder::new();
    private.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut private, 0o700);
    private.create(directory).map_err(|error| DatabaseError::Open {
        path: directory.to_owned(),
        source: sqlx::Error::Io(error),
    })
}
