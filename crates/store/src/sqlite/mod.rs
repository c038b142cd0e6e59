//! The embedded backend: one `SQLite` file in WAL mode, for one server and any number of command-line programs.

mod schema;

use std::{
    fs::{self, OpenOptions},
    path::{Path, PathBuf},
    sync::Arc,
};

use assay_database::{
    ChangeSubscription, DatabaseError,
    sqlite::{create_private_directory, options, pool},
};
use assay_engine::facts::Environment;
use async_trait::async_trait;
use jiff::Timestamp;
use sqlx::{
    SqlitePool,
    sqlite::{SqliteJournalMode, SqliteSynchronous},
};

use crate::{
    Coordination, Revisions, Store, StoreError,
    sql::{self, Backend, Session, SessionConnection, SessionMode},
};

/// The database's file in its data directory.
const FILE_NAME: &str = "assay.sqlite";

/// A store in one `SQLite` file.
#[derive(Clone, Debug)]
pub struct SqliteStore {
    pool: SqlitePool,
    directory: Arc<Path>,
}

impl SqliteStore {
    /// Opens the store in `directory`, creates it if there is none, and migrates its schema to the newest version. A
    /// new store holds data of `environment`; an existing store keeps its environment.
    ///
    /// # Errors
    ///
    /// Returns an error if the directory cannot be written, or if the database is corrupt or newer
    /// than this program.
    pub async fn open_or_create(
        directory: &Path,
        environment: Environment,
    ) -> Result<Self, StoreError> {
        create_private_directory(directory)?;
        let store = Self::connect(directory, true).await?;
        schema::migrate(&store.pool).await?;
        sqlx::query(
            "INSERT INTO installation
                 (id, environment, intel_generation, data_number, data_hash, control_revision)
             VALUES (1, ?, 0, 0, '', 0) ON CONFLICT (id) DO NOTHING",
        )
        .bind(environment.as_str())
        .execute(&store.pool)
        .await?;
        Ok(store)
    }

    /// Opens the store in `directory`.
    ///
    /// # Errors
    ///
    /// Returns [`StoreError::Missing`] if there is no store; otherwise the errors of [`SqliteStore::open_or_create`].
    pub async fn open(directory: &Path) -> Result<Self, StoreError> {
        if !directory.join(FILE_NAME).is_file() {
            return Err(StoreError::Missing(directory.to_owned()));
        }
        let store = Self::connect(directory, false).await?;
        schema::migrate(&store.pool).await?;
        Ok(store)
    }

    /// Writes a consistent copy of the whole database to a new file.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be written or exists already.
    pub async fn back_up(&self, file: &Path) -> Result<(), StoreError> {
        let mut private = OpenOptions::new();
        private.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut private, 0o600);
        private.open(file).map_err(|error| DatabaseError::Open {
            path: file.to_owned(),
            source: sqlx::Error::Io(error),
        })?;
        sqlx::query("VACUUM INTO ?")
            .bind(file.to_string_lossy().into_owned())
            .execute(&self.pool)
            .await?;
        Ok(())
    }

    /// Replaces the database in `directory` by the copy in `file`; no program may use the directory
    /// meanwhile. The copy is first opened in `beside`, so that a file that is no store replaces
    /// nothing. Returns the path at which the previous database is kept.
    ///
    /// # Errors
    ///
    /// Returns an error if the file is no store, is newer than this program, or cannot be copied.
    pub async fn restore(
        file: &Path,
        beside: &Path,
        directory: &Path,
        at: Timestamp,
    ) -> Result<Option<PathBuf>, StoreError> {
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |error| DatabaseError::Open { path, source: sqlx::Error::Io(error) }
        };
        create_private_directory(directory)?;
        create_private_directory(beside)?;
        fs::copy(file, beside.join(FILE_NAME)).map_err(failed(file))?;
        let copy = Self::open(beside).await?;
        copy.environment().await?;
        copy.close().await;

        let place = directory.join(FILE_NAME);
        // Never the same name twice: a second restore keeps what the first one kept.
        let kept = directory.join(format!("{FILE_NAME}.before-{}", at.as_millisecond()));
        let replaces = place.is_file();
        if replaces {
            // The write-ahead log belongs to the database that is replaced.
            let before = Self::connect(directory, false).await?;
            sqlx::query("PRAGMA wal_checkpoint(TRUNCATE)").execute(&before.pool).await?;
            before.close().await;
            fs::rename(&place, &kept).map_err(failed(&place))?;
        }
        for rest in ["-wal", "-shm"] {
            let _ = fs::remove_file(directory.join(format!("{FILE_NAME}{rest}")));
        }
        fs::rename(beside.join(FILE_NAME), &place).map_err(failed(&place))?;
        let _ = fs::remove_dir_all(beside);
        Ok(replaces.then_some(kept))
    }

    async fn connect(directory: &Path, create: bool) -> Result<Self, StoreError> {
        let path = directory.join(FILE_NAME);
        let options = options(&path)
            .create_if_missing(create)
            .journal_mode(SqliteJournalMode::Wal)
            // A commit is on disk before it is reported: a revoked key stays revoked.
            .synchronous(SqliteSynchronous::Full)
            .foreign_keys(true);
        let pool = pool(path, options).await?;
        Ok(Self { pool, directory: directory.into() })
    }
}

/// Backend of a local file, which answers at once, so that timeouts and probes do nothing. Writers wait for each
/// other, by the options of the file.
impl Backend for SqliteStore {
    /// The data directory.
    fn cache_folder(&self) -> Option<&Path> {
        Some(&self.directory)
    }

    async fn session(&self, access: SessionMode<'_>) -> Result<Session, StoreError> {
        Ok(Session::Sqlite(match access {
            SessionMode::Statements | SessionMode::ReadFetched => {
                SessionConnection::Connection(self.pool.acquire().await?)
            }
            SessionMode::Read(_) => SessionConnection::Transaction(self.pool.begin().await?),
            // The write lock is held from the start, so that values it read stay valid.
            SessionMode::Write(_) | SessionMode::Change(_) | SessionMode::WriteFetched => {
                SessionConnection::Transaction(self.pool.begin_with("BEGIN IMMEDIATE").await?)
            }
        }))
    }

    async fn with_timeout<T: Send>(
        &self,
        statements: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        statements.await
    }

    async fn with_liveness_probe<T: Send>(
        &self,
        work: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        work.await
    }

    async fn next_part<T: Send>(
        &self,
        part: impl Future<Output = Result<T, sqlx::Error>> + Send,
    ) -> Result<T, DatabaseError> {
        Ok(part.await?)
    }
}

#[async_trait]
impl Store for SqliteStore {
    async fn environment(&self) -> Result<Environment, StoreError> {
        sql::environment(self).await
    }

    async fn revisions(&self) -> Result<Revisions, StoreError> {
        sql::revisions(self).await
    }

    async fn time(&self) -> Result<Option<Timestamp>, StoreError> {
        Ok(None)
    }

    /// Returns `None`: polling a local file is cheap.
    fn subscribe(&self) -> Option<ChangeSubscription> {
        None
    }

    fn coordination(&self) -> Option<Arc<dyn Coordination>> {
        None
    }

    async fn close(&self) {
        self.pool.close().await;
    }
}
