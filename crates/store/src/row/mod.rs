//! Decoding of rows for every backend, independent of the driver.

pub(crate) mod control;
pub(crate) mod intel;
pub(crate) mod jobs;
pub(crate) mod labels;
pub(crate) mod prices;
pub(crate) mod receivers;
pub(crate) mod sessions;
pub(crate) mod usage;

use sqlx::{Decode, Postgres, Row as _, Sqlite, Type, postgres::PgRow, sqlite::SqliteRow};

use crate::StoreError;

/// A row, by the names of its columns. Numbers and times are 64 bits wide in every backend.
#[derive(Debug)]
pub(crate) enum Row {
    Sqlite(SqliteRow),
    Postgres(PgRow),
}

impl Row {
    pub(crate) fn text(&self, column: &str) -> Result<&str, StoreError> {
        self.get(column)
    }

    pub(crate) fn optional_text(&self, column: &str) -> Result<Option<&str>, StoreError> {
        self.get(column)
    }

    pub(crate) fn integer(&self, column: &str) -> Result<i64, StoreError> {
        self.get(column)
    }

    pub(crate) fn optional_integer(&self, column: &str) -> Result<Option<i64>, StoreError> {
        self.get(column)
    }

    pub(crate) fn optional_bytes(&self, column: &str) -> Result<Option<&[u8]>, StoreError> {
        self.get(column)
    }

    pub(crate) fn flag(&self, column: &str) -> Result<bool, StoreError> {
        self.get(column)
    }

    fn get<'r, T>(&'r self, column: &str) -> Result<T, StoreError>
    where
        T: Decode<'r, Sqlite> + Type<Sqlite> + Decode<'r, Postgres> + Type<Postgres>,
    {
        Ok(match self {
            Self::Sqlite(row) => row.try_get(column)?,
            Self::Postgres(row) => row.try_get(column)?,
        })
    }
}
