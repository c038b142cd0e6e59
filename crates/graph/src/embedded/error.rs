//! Errors of embedded graphs.

use std::{io::ErrorKind, path::PathBuf};

use assay_address::ChainId;
use assay_mapped::MappedError;

use crate::GraphError;

/// A failure of an embedded graph.
#[derive(Debug, thiserror::Error)]
pub enum EmbeddedError {
    /// The environment failed.
    #[error(transparent)]
    Environment(#[from] MappedError),
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
    /// A record cannot be read.
    #[error(
        "the graph is damaged: {table} has no valid record of {key}; delete it and ingest again"
    )]
    Damaged {
        /// Table.
        table: &'static str,
        /// Key or number of the record.
        key: String,
    },
    /// A number is beyond what a record holds.
    #[error("the {chain} chain has more {what} than a graph can number: nothing was written")]
    TooMany {
        /// The chain.
        chain: ChainId,
        /// What was numbered.
        what: &'static str,
    },
    /// A block spends an output that its transaction does not have.
    #[error(
        "a block of the {chain} chain spends output {index} of transaction number {transaction}, which has \
         fewer: nothing was written"
    )]
    NoSuchOutput {
        /// The chain.
        chain: ChainId,
        /// The number of the output's transaction.
        transaction: u64,
        /// The index of the output.
        index: u32,
    },
    /// There is a graph where one was to be restored.
    #[error(
        "there is a graph of the {chain} chain, or a folder for one, in {path}: stop the programs that use it and \
         delete that folder, then restore"
    )]
    Exists {
        /// The folder.
        path: PathBuf,
        /// The chain.
        chain: ChainId,
    },
    /// Another process restores the graph.
    #[error("another program restores into {path}; if none does any more, delete that folder")]
    BeingRestored {
        /// The folder.
        path: PathBuf,
    },
    /// A backup is of another chain.
    #[error("the backup is of the {found} chain, not of {chain}")]
    OtherChain {
        /// The chain that was asked for.
        chain: ChainId,
        /// The chain of the backup.
        found: ChainId,
    },
    /// A copied graph is not the state that it was copied from.
    #[error(
        "the copied graph of the {chain} chain has another fingerprint than its origin: it was thrown away"
    )]
    OtherFingerprint {
        /// The chain.
        chain: ChainId,
    },
    /// An earlier version of the program made the graph, in `SQLite`.
    #[error(
        "{path} was made by an earlier version of assay and is not read any more: delete it and run `assay \
         ingest chain {chain}` again"
    )]
    Sqlite {
        /// The file.
        path: PathBuf,
        /// The chain.
        chain: ChainId,
    },
}

impl From<MappedError> for GraphError {
    fn from(error: MappedError) -> Self {
        Self::Embedded(error.into())
    }
}

/// A failure of a table.
pub(super) fn table_error(table: &'static str, error: heed::Error) -> GraphError {
    let error = match error {
        heed::Error::Io(error) if error.kind() == ErrorKind::StorageFull => EmbeddedError::DiskFull,
        heed::Error::Mdb(heed::MdbError::MapFull) => EmbeddedError::DiskFull,
        error => EmbeddedError::Table { table, error },
    };
    error.into()
}

/// A record that cannot be read.
#[expect(clippy::needless_pass_by_value, reason = "callers make the key for it")]
pub(super) fn damaged(table: &'static str, key: impl ToString) -> GraphError {
    EmbeddedError::Damaged { table, key: key.to_string() }.into()
}
