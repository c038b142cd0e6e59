//! Errors of the readers of formats.

use std::io;

use assay_input::{
    InputError,
    rows::RowError,
    text::{LONGEST_LINE, TextError, TextFault},
};

use crate::xml::XmlError;

pub(crate) const NUL: &str = "a NUL byte, as in a binary file or in UTF-16";
pub(crate) const NOT_UTF8: &str = "bytes that are not UTF-8";
pub(crate) const UTF16: &str = "a byte order mark of UTF-16";

/// Reason to refuse the input of an import as a whole.
#[derive(Debug, thiserror::Error)]
pub enum FormatReadError {
    /// The files cannot be found, read or unpacked.
    #[error(transparent)]
    Input(#[from] InputError),
    /// A reader asked for another file after the last one.
    #[error("the input has no further file")]
    NoFile,
    /// A file is damaged, truncated or of another format.
    #[error("{file}: {source}")]
    File {
        /// Name of the file.
        file: String,
        /// Reason.
        #[source]
        source: FileError,
    },
}

/// Reason to refuse a file of listings or labels. Lines count from one.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The file cannot be read as XML of the format.
    #[error(transparent)]
    Xml(#[from] XmlError),
    /// The file cannot be read or unpacked.
    #[error("line {line}: failed to read: {source}")]
    Read {
        /// Line.
        line: u64,
        /// Cause.
        #[source]
        source: io::Error,
    },
    /// The file is not UTF-8 without NUL.
    #[error("line {line}: {found}: write the file as UTF-8")]
    Encoding {
        /// Line.
        line: u64,
        /// Bytes that were found there.
        found: &'static str,
    },
    /// A line, or a row of several lines, is too long.
    #[error("line {line} is longer than {max} bytes: no row needs as much")]
    LongLine {
        /// Line.
        line: u64,
        /// Limit in bytes.
        max: usize,
    },
    /// The text breaks the syntax of the format.
    #[error("line {line} cannot be read as {format}: {reason}")]
    Syntax {
        /// Line.
        line: u64,
        /// Format that was expected.
        format: &'static str,
        /// Reason.
        reason: String,
    },
    /// A column or a field is unknown, missing or repeated.
    #[error("line {line}: {problem} (known: {known})")]
    Columns {
        /// Line.
        line: u64,
        /// Problem of the header or object, with the name of the column or field.
        problem: String,
        /// Names of all columns.
        known: String,
    },
    /// A cell is a formula in a spreadsheet program.
    #[error(
        "line {line}: `{column}` begins with {start:?}, which a spreadsheet runs as a formula: \
         remove it"
    )]
    Formula {
        /// Line.
        line: u64,
        /// Column.
        column: &'static str,
        /// First character.
        start: char,
    },
    /// The file has more rows than any real file of its kind.
    #[error("more than {max} {subject}: check that the file is of this format, or split it")]
    TooMany {
        /// Rows that are counted, such as "labels".
        subject: &'static str,
        /// Limit.
        max: usize,
    },
    /// The file has more text than any real file of its kind.
    #[error("more than {max} bytes: check that the file is of this format, or split it")]
    TooLarge {
        /// Limit in bytes.
        max: u64,
    },
    /// The file's name and the options of the import leave open which explorer the labels are from.
    #[error(
        "the file name names no known explorer: set --blockchain, or name the file after its \
         explorer ({known})"
    )]
    UnknownExplorer {
        /// File names without extensions that name an explorer.
        known: String,
    },
}

impl From<TextError> for FileError {
    fn from(TextError { line, fault }: TextError) -> Self {
        match fault {
            TextFault::Read(source) => Self::Read { line, source },
            TextFault::Utf16 => Self::Encoding { line, found: UTF16 },
            TextFault::NotUtf8 => Self::Encoding { line, found: NOT_UTF8 },
            TextFault::Nul => Self::Encoding { line, found: NUL },
            TextFault::TooLong => Self::LongLine { line, max: LONGEST_LINE },
            TextFault::TooLarge(max) => Self::TooLarge { max },
        }
    }
}

impl From<RowError> for FileError {
    fn from(error: RowError) -> Self {
        match error {
            RowError::Text(error) => error.into(),
            RowError::Syntax { line, reason } => Self::Syntax { line, format: "CSV", reason },
        }
    }
}
