//! Errors of transfer files.

use assay_input::InputError;

/// Reason why transfer files cannot be read. Nothing of a refused file is recorded.
#[derive(Debug, thiserror::Error)]
pub enum TransferFileError {
    /// A file cannot be opened or unpacked.
    #[error(transparent)]
    Input(#[from] InputError),
    /// A file is refused.
    #[error("{file}: {reason}")]
    File {
        /// Name of the file.
        file: String,
        /// Reason.
        reason: String,
    },
    /// The blocks of a file go backwards. The file can be read again with [`TransferFiles::open`], to be sorted.
    ///
    /// [`TransferFiles::open`]: super::TransferFiles::open
    #[error("{file}, {position}: block {block} stands behind block {last}: sort the file by block")]
    Unsorted {
        /// Name of the file.
        file: String,
        /// Index of the file.
        index: usize,
        /// Position of the row.
        position: RowPosition,
        /// The block of the row.
        block: u64,
        /// The block before it.
        last: u64,
    },
    /// A row is refused.
    #[error("{file}, {}: {reason}", .position)]
    Row {
        /// Name of the file.
        file: String,
        /// Position of the row.
        position: RowPosition,
        /// Reason, with what to write instead.
        reason: String,
    },
}

/// Position of a row in its file, counted from one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowPosition {
    /// A line of a text.
    Line(u64),
    /// A row of a Parquet file.
    Row(u64),
}

impl std::fmt::Display for RowPosition {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Line(line) => write!(formatter, "line {line}"),
            Self::Row(row) => write!(formatter, "row {row}"),
        }
    }
}
