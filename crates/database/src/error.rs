//! Errors of databases.

use std::{path::PathBuf, time::Duration};

use sqlx::migrate::MigrateError;

/// The `PostgreSQL` error code of a server that is starting (`cannot_connect_now`).
const CANNOT_CONNECT_NOW: &str = "57P03";

/// A database failed, cannot be reached, or holds something unexpected.
#[derive(Debug, thiserror::Error)]
pub enum DatabaseError {
    /// A statement failed.
    #[error("the database failed: {}", text(.0))]
    Statement(#[from] sqlx::Error),
    /// The database file cannot be opened.
    #[error("failed to open the database {path}: {}", text(.source))]
    Open {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: sqlx::Error,
    },
    /// The server cannot be reached, or refuses the login.
    #[error("failed to connect to the database {server}: {}", text(.source))]
    Connect {
        /// Server and database, without the password.
        server: String,
        /// The cause.
        #[source]
        source: sqlx::Error,
    },
    /// The server does not answer: the network may be cut. A write may or may not have been committed.
    #[error("the database {server} did not answer for {} s", .limit.as_secs())]
    NoAnswer {
        /// Server and database, without the password.
        server: String,
        /// The timeout.
        limit: Duration,
    },
    /// None of the servers takes writes: the error of each server.
    #[error("none of the database's servers takes writes: {}", join(.0))]
    NoPrimary(Vec<Self>),
    /// The server takes no writes.
    #[error(
        "the database {0} takes no writes: its server is a standby or set to be read-only; name the \
         primary"
    )]
    ReadOnly(String),
    /// A file with a URL or a password cannot be used.
    #[error("failed to read the database's credentials in {file}: {source}")]
    CredentialFile {
        /// The file.
        file: PathBuf,
        /// The cause.
        #[source]
        source: std::io::Error,
    },
    /// The database URL is not valid. The message does not show the URL, which may hold a password.
    #[error("the database's URL is not valid: {0}")]
    InvalidUrl(String),
    /// The server or the database cannot be used.
    #[error("the database {server} is not suitable: {reason}")]
    Unsuitable {
        /// Server and database.
        server: String,
        /// The reason why the server or the database is not suitable, and the requirement.
        reason: String,
    },
    /// A schema migration failed.
    #[error("failed to migrate the database: {}", migration_text(.0))]
    Migrate(#[source] MigrateError),
    /// The schema is older than this program, and the login may not change it.
    #[error(
        "the database's schema is older than this program, and this login may not change it: run \
         `assay migrate` with one that may"
    )]
    MayNotMigrate,
    /// A newer program wrote the schema, with which this program cannot work.
    #[error(
        "the database has schema version {0}, with which this program cannot work: use the program \
         that wrote it, or a newer one"
    )]
    NewerSchema(i64),
    /// A development version of Assay wrote the schema, which is older than the oldest schema that this program can
    /// migrate.
    #[error(
        "the database has schema version {found}, of a development version of Assay, and this program takes \
         over none older than {oldest}: run `assay migrate` of the last development version that has {oldest}, \
         or start from an empty database"
    )]
    OlderSchema {
        /// Schema version of the database.
        found: i64,
        /// Oldest schema version that this program can migrate.
        oldest: i64,
    },
    /// A stored value cannot be read.
    #[error("the database holds an unreadable {column}: {detail}")]
    Unreadable {
        /// Table and column.
        column: &'static str,
        /// Description of the problem.
        detail: String,
    },
}

/// The text of an error. An error that a `PostgreSQL` server returned is its message alone: sqlx appends the line of the
/// server's source code that reported it.
fn text(error: &sqlx::Error) -> String {
    match error {
        sqlx::Error::Database(error)
            if error.try_downcast_ref::<sqlx::postgres::PgDatabaseError>().is_some() =>
        {
            error.message().to_owned()
        }
        other => other.to_string(),
    }
}

/// The text of a failed migration, with the message of its statement's error.
fn migration_text(error: &MigrateError) -> String {
    match error {
        MigrateError::Execute(error) => text(error),
        MigrateError::ExecuteMigration(error, version) => {
            format!("migration {version}: {}", text(error))
        }
        other => other.to_string(),
    }
}

fn join(errors: &[DatabaseError]) -> String {
    errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

impl DatabaseError {
    /// An unreadable value of a column.
    #[expect(clippy::needless_pass_by_value, reason = "callers have an error to give away")]
    pub fn unreadable(column: &'static str, detail: impl ToString) -> Self {
        Self::Unreadable { column, detail: detail.to_string() }
    }

    /// True if the server did not answer or is starting, so that it may become available.
    #[must_use]
    pub fn is_unavailable(&self) -> bool {
        match self {
            // Any other answer of the server itself is final.
            Self::Connect { source: sqlx::Error::Database(error), .. } => {
                error.code().as_deref() == Some(CANNOT_CONNECT_NOW)
            }
            Self::Connect { .. } | Self::NoAnswer { .. } => true,
            Self::NoPrimary(each) => each.iter().any(Self::is_unavailable),
            _ => false,
        }
    }

    /// True if a unique constraint refused a row.
    #[must_use]
    pub fn is_unique_violation(&self) -> bool {
        let Self::Statement(error) = self else { return false };
        error.as_database_error().is_some_and(sqlx::error::DatabaseError::is_unique_violation)
    }
}
