//! Decoding of rows for every backend, independent of the driver. The backends differ in their SQL;
//! the decoding of its results is written once.

pub(crate) mod control;
pub(crate) mod intel;
pub(crate) mod jobs;
pub(crate) mod labels;
pub(crate) mod usage;

use sqlx::{Row, postgres::PgRow, sqlite::SqliteRow};

use crate::StoreError;

/// A row, by the names of its columns. Numbers and times are 64 bits wide in every backend.
pub(crate) trait Columns {
    fn text(&self, column: &str) -> Result<&str, StoreError>;
    fn optional_text(&self, column: &str) -> Result<Option<&str>, StoreError>;
    fn integer(&self, column: &str) -> Result<i64, StoreError>;
    fn optional_integer(&self, column: &str) -> Result<Option<i64>, StoreError>;
    fn optional_bytes(&self, column: &str) -> Result<Option<&[u8]>, StoreError>;
    fn flag(&self, column: &str) -> Result<bool, StoreError>;
}

macro_rules! columns {
    ($($row:ty),+) => {
        $(impl Columns for $row {
            fn text(&self, column: &str) -> Result<&str, StoreError> {
                Ok(self.try_get(column)?)
            }

            fn optional_text(&self, column: &str) -> Result<Option<&str>, StoreError> {
                Ok(self.try_get(column)?)
            }

            fn integer(&self, column: &str) -> Result<i64, StoreError> {
                Ok(self.try_get(column)?)
            }

            fn optional_integer(&self, column: &str) -> Result<Option<i64>, StoreError> {
                Ok(self.try_get(column)?)
            }

            fn optional_bytes(&self, column: &str) -> Result<Option<&[u8]>, StoreError> {
                Ok(self.try_get(column)?)
            }

            fn flag(&self, column: &str) -> Result<bool, StoreError> {
                Ok(self.try_get(column)?)
            }
        })+
    };
}

columns!(SqliteRow, PgRow);
