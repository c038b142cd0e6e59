//! `SQLite` files in a directory that belongs to one user.

use std::{
    fs::DirBuilder,
    path::{Path, PathBuf},
    time::Duration,
};

use sqlx::{
    ConnectOptions, Connection, SqlitePool,
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

/// A pool of connections to one file. A connection whose transaction did not end, because its commit or rollback failed,
/// is closed and does not return to the pool: `SQLite` undoes the transaction then, and no later one can begin in it.
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
        .after_release(|connection, _| {
            Box::pin(async {
                // The rollback of a dropped transaction has run when the connection answers.
                connection.ping().await?;
                Ok(!connection.is_in_transaction())
            })
        })
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

#[cfg(test)]
mod tests {
    use sqlx::Executor;

    use super::*;

    #[tokio::test]
    async fn a_connection_whose_transaction_did_not_end_leaves_the_pool() {
        let directory = std::env::temp_dir().join(format!("assay-pool-{}", std::process::id()));
        create_private_directory(&directory).unwrap();
        let file = directory.join("test.sqlite");
        let pool = pool(file.clone(), options(&file).create_if_missing(true)).await.unwrap();
        for round in 0..2 * CONNECTIONS {
            // Given a transaction that the database ends by itself, as it does when the disk is full
            let mut transaction = pool.begin_with("BEGIN IMMEDIATE").await.unwrap();
            transaction.execute("ROLLBACK").await.unwrap();
            // When its end fails
            if round % 2 == 0 {
                transaction.commit().await.unwrap_err();
            } else {
                drop(transaction);
            }
            // Then the next transaction begins as if nothing had happened.
            let mut next = pool.begin_with("BEGIN IMMEDIATE").await.unwrap();
            next.execute("CREATE TABLE IF NOT EXISTS t (x)").await.unwrap();
            next.commit().await.unwrap();
        }
        pool.close().await;
        std::fs::remove_dir_all(directory).unwrap();
    }
}
