//! Errors of tables.

use std::io::ErrorKind;

/// A failure of a table, a column or a run.
#[derive(Debug, thiserror::Error)]
pub enum ColumnsError {
    /// A table failed.
    #[error("table {table} of the graph: {error}")]
    Table {
        /// Table.
        table: &'static str,
        /// The cause.
        error: heed::Error,
    },
    /// The disk is full.
    #[error("no space is left on the disk of the graph: nothing was written")]
    DiskFull,
    /// A record cannot be decoded.
    #[error(
        "the graph is damaged: {table} has no valid record of {key}; delete it and ingest again"
    )]
    Damaged {
        /// Table.
        table: &'static str,
        /// Key or number of the record.
        key: String,
    },
}

impl ColumnsError {
    /// Converts an error of LMDB into that of a table.
    pub(crate) fn table(table: &'static str, error: heed::Error) -> Self {
        match error {
            heed::Error::Io(error) if error.kind() == ErrorKind::StorageFull => Self::DiskFull,
            heed::Error::Mdb(heed::MdbError::MapFull) => Self::DiskFull,
            error => Self::Table { table, error },
        }
    }

    /// The error of a record that cannot be decoded.
    #[expect(clippy::needless_pass_by_value, reason = "callers make the key for it")]
    pub fn damaged(table: &'static str, key: impl ToString) -> Self {
        Self::Damaged { table, key: key.to_string() }
    }
}
