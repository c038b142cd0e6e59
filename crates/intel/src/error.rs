//! Errors of the readers of formats.

use std::io;

use assay_input::{
    EncodingError, InputError, encoding_error,
    rows::RowError,
    text::{LONGEST_LINE, TextError, TextFault},
};

use crate::xml::XmlError;

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
    /// The file is no text of its encoding.
    #[error("line {line}: {problem}")]
    Encoding {
        /// Line.
        line: u64,
        /// Bytes that were found there, and the mend.
        problem: EncodingError,
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
    /// A cell cannot be read, and the row cannot be left out.
    #[error("line {line}: `{column}`: {problem}")]
    Cell {
        /// Line.
        line: u64,
        /// Column.
        column: &'static str,
        /// Problem, and what would be right.
        problem: String,
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

impl FileError {
    /// The error of a line that cannot be read.
    #[must_use]
    pub fn reading(line: u64, source: io::Error) -> Self {
        match encoding_error(&source) {
            Some(problem) => Self::Encoding { line, problem: problem.clone() },
            None => Self::Read { line, source },
        }
    }
}

impl From<TextError> for FileError {
    fn from(TextError { line, fault }: TextError) -> Self {
        match fault {
            TextFault::Read(source) => Self::Read { line, source },
            TextFault::Encoding(problem) => Self::Encoding { line, problem },
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
