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
