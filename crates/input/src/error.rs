//! Errors of input files.

use super::{SpoolError, binary::BinaryFile};

/// Reason why the files of an input cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum InputError {
    /// A file or a folder cannot be read.
    #[error(transparent)]
    Spool(#[from] SpoolError),
    /// A zip archive is damaged.
    #[error("{origin} is not a readable zip archive: {source}")]
    Zip {
        /// Path or URL of the archive.
        origin: String,
        /// Reason.
        #[source]
        source: zip::result::ZipError,
    },
    /// A file of a zip archive is encrypted, or packed in a way that is not supported.
    #[error("{origin} {problem}: unpack it first")]
    Entry {
        /// Path or URL of the archive.
        origin: String,
        /// Problem of the archive.
        problem: String,
    },
    /// The file is a document, which is a zip archive, too.
    #[error("{origin} is {}: {}", .document.name, .document.mend)]
    Document {
        /// Path or URL of the file.
        origin: String,
        /// Kind of the document.
        document: &'static BinaryFile,
    },
    /// A folder or an archive holds no file of the format, or several files instead of one.
    #[error("{origin} holds {found}: expected {expected}")]
    Selection {
        /// Path or URL of the folder or the archive.
        origin: String,
        /// Files that it holds, such as "no `.xml` file".
        found: String,
        /// Files that it should hold, such as "exactly one".
        expected: &'static str,
    },
}
