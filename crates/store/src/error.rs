//! Errors of stores.

use std::path::PathBuf;

use assay_database::DatabaseError;
use assay_tenancy::key::KeyId;

/// A store could not complete a request. The request changed nothing, unless the database's answer was lost.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The database failed.
    #[error(transparent)]
    Database(#[from] DatabaseError),
    /// The directory holds no store.
    #[error("there is no database in {0}")]
    Missing(PathBuf),
    /// The database holds no store.
    #[error("the database {0} holds no data of Assay")]
    Empty(String),
    /// Data of one kind were imported into a source of another kind.
    #[error("the source `{source_name}` holds {held}: import {given} under another name")]
    SourceKindMismatch {
        /// The source.
        source_name: String,
        /// Kind of data that the source holds.
        held: String,
        /// Kind of data that was given.
        given: &'static str,
    },
    /// Another program changed the store meanwhile.
    #[error("the data changed while the change was being prepared")]
    Conflict,
    /// No key has this id.
    #[error("there is no key `{0}`")]
    UnknownKey(KeyId),
}

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        Self::Database(error.into())
    }
}

impl StoreError {
    /// An unreadable value of a column.
    pub(crate) fn unreadable(column: &'static str, detail: impl ToString) -> Self {
        DatabaseError::unreadable(column, detail).into()
    }

    /// True if the database did not answer or is starting, so that it may become available.
    #[must_use]
    pub fn is_unavailable(&self) -> bool {
        matches!(self, Self::Database(error) if error.is_unavailable())
    }

    /// True if a unique constraint refused a row.
    #[must_use]
    pub fn is_unique_violation(&self) -> bool {
        matches!(self, Self::Database(error) if error.is_unique_violation())
    }
}
