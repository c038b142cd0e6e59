//! Why plain listings are refused.

use std::io;

use assay_input::text::{LONGEST_LINE, TextError, TextFault};

use super::{MOST_ENTRIES, MOST_KEPT, column::known};

/// Why a plain listing could not be read. Lines count from one; a column is a field in JSON lines.
#[derive(Debug, thiserror::Error)]
pub enum ListError {
    /// The input could not be read or unpacked.
    #[error("line {line}: failed to read: {source}")]
    Read {
        /// Where.
        line: u64,
        /// What happened.
        #[source]
        source: io::Error,
    },
    /// There is nothing in it.
    #[error("line {line}: the file is empty")]
    Empty {
        /// Where something was expected.
        line: u64,
    },
    /// It is in another encoding.
    #[error("line {line}: the file is in UTF-16: save it as UTF-8")]
    Utf16 {
        /// Where.
        line: u64,
    },
    /// It is in an unknown encoding, or damaged.
    #[error("line {line}: not UTF-8")]
    NotUtf8 {
        /// Where.
        line: u64,
    },
    /// It has a NUL character, which no text has.
    #[error("line {line}: a NUL character: the file is no text in UTF-8")]
    Nul {
        /// Where.
        line: u64,
    },
    /// A line, or a row of several lines, is longer than any real one.
    #[error("line {line}: longer than {LONGEST_LINE} bytes")]
    TooLong {
        /// Where.
        line: u64,
    },
    /// A row is not of the format.
    #[error("line {line}: {detail}")]
    Malformed {
        /// Where.
        line: u64,
        /// What is wrong.
        detail: String,
    },
    /// A row has more or fewer cells than the header.
    #[error("line {line}: {found} cells, but the header has {expected}")]
    Cells {
        /// Where.
        line: u64,
        /// How many there are.
        found: usize,
        /// How many there should be.
        expected: usize,
    },
    /// A column that means nothing here.
    #[error("line {line}: unknown column `{name}`; known are {known}", known = known())]
    UnknownColumn {
        /// Where.
        line: u64,
        /// Its name.
        name: String,
    },
    /// A column comes twice.
    #[error("line {line}: column `{name}` comes twice; known are {known}", known = known())]
    RepeatedColumn {
        /// Where.
        line: u64,
        /// Its name.
        name: String,
    },
    /// A column that must be there is not.
    #[error("line {line}: column `{name}` is missing; known are {known}", known = known())]
    MissingColumn {
        /// Where.
        line: u64,
        /// Its name.
        name: &'static str,
    },
    /// A text that a spreadsheet would run as a formula: no name or remark begins like one.
    #[error("line {line}: `{column}` begins like a formula of a spreadsheet")]
    Formula {
        /// Where.
        line: u64,
        /// Its column.
        column: &'static str,
    },
    /// It holds more rows than any real list.
    #[error("line {line}: no real list has more than {MOST_ENTRIES} addresses")]
    TooMany {
        /// Where.
        line: u64,
    },
    /// It holds more than any real list.
    #[error("line {line}: the rows hold more than {MOST_KEPT} bytes: no real list does")]
    TooLarge {
        /// Where.
        line: u64,
    },
}

impl From<TextError> for ListError {
    fn from(TextError { line, fault }: TextError) -> Self {
        match fault {
            TextFault::Read(source) => Self::Read { line, source },
            TextFault::Utf16 => Self::Utf16 { line },
            TextFault::NotUtf8 => Self::NotUtf8 { line },
            TextFault::Nul => Self::Nul { line },
            TextFault::TooLong => Self::TooLong { line },
        }
    }
}
