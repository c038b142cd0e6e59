//! Why a file of labels is refused as a whole: then nothing of it is kept.

use std::io;

/// Why a file of labels is refused. Lines count from one.
#[derive(Debug, thiserror::Error)]
pub enum LabelError {
    /// The file could not be read.
    #[error("failed to read {file}: {source}")]
    Read {
        /// The file.
        file: String,
        /// What happened.
        #[source]
        source: io::Error,
    },
    /// More than any label file needs.
    #[error("{file} is larger than {most} bytes: split it into several files")]
    TooLarge {
        /// The file.
        file: String,
        /// The most bytes that are read.
        most: u64,
    },
    /// Not text as every format here is written.
    #[error("{file}, line {line}: {found}: write the file as UTF-8")]
    Encoding {
        /// The file.
        file: String,
        /// Where.
        line: u64,
        /// What stands there.
        found: &'static str,
    },
    /// A line that no label fills.
    #[error("{file}, line {line} is longer than {most} bytes: no label needs as much")]
    LongLine {
        /// The file.
        file: String,
        /// Where.
        line: u64,
        /// The most bytes that a line may have.
        most: usize,
    },
    /// Text that the format does not allow.
    #[error("{file}, line {line} cannot be read as {format}: {reason}")]
    Broken {
        /// The file.
        file: String,
        /// Where.
        line: u64,
        /// What it should be.
        format: &'static str,
        /// What is wrong.
        reason: String,
    },
    /// A header that does not name the columns as it should.
    #[error("{file}, line {line}: {problem}: the columns are {known}")]
    Columns {
        /// The file.
        file: String,
        /// Where.
        line: u64,
        /// What is wrong, with the column.
        problem: String,
        /// The columns there are.
        known: String,
    },
    /// A cell that a spreadsheet would run.
    #[error(
        "{file}, line {line}: `{column}` begins with {begins:?}, which a spreadsheet runs as a \
         formula: remove it"
    )]
    Formula {
        /// The file.
        file: String,
        /// Where.
        line: u64,
        /// The column.
        column: &'static str,
        /// The first character.
        begins: char,
    },
    /// More of something than a real file holds.
    #[error(
        "{file} has more than {most} {what}: check that it is of the right format, or split it"
    )]
    TooMany {
        /// The file.
        file: String,
        /// What there is too much of.
        what: &'static str,
        /// The most that is taken in.
        most: usize,
    },
}
