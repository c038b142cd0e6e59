//! Files and URLs as input: spooled to a private file, digested, unpacked within limits.
//!
//! Input is copied to a private temporary file before anything is read from it. The digest is then the
//! digest of the bytes that are read, and memory use does not depend on the input's size.
//!
//! - [`fetch`]: conditional download over HTTP
//! - [`SpooledFile`]: one file in private storage, with its digest
//! - [`Files`]: the files of an input, which may be a file, a folder or an archive
//! - [`TextFile`]: a text file or standard input, unpacked and decoded
//! - [`TextReader`]: a text of any [`Encoding`] and with any line ends as UTF-8 with line feeds
//! - [`text`]: bounded lines of UTF-8
//! - [`rows`]: rows of CSV with any delimiter, with their lines

mod binary;
#[cfg(feature = "fetch")]
mod connection;
mod delimiter;
mod digest;
mod encoding;
mod error;
#[cfg(feature = "fetch")]
mod fetch;
mod files;
mod limit;
#[cfg(feature = "fetch")]
mod location;
#[cfg(feature = "fetch")]
mod response;
pub mod rows;
mod spool;
pub mod text;
mod text_file;
mod text_reader;
mod unpack;

pub use {
    binary::BinaryFile,
    digest::DigestReader,
    encoding::{Encoding, EncodingError, UnknownEncoding},
    error::InputError,
    files::{FileDigest, FileSelection, Files},
    limit::InputLimits,
    spool::{SpoolError, SpooledFile},
    text_file::TextFile,
    text_reader::{TextReader, encoding_error, line_after},
};
#[cfg(feature = "fetch")]
pub use {
    fetch::{Conditions, FetchError, FetchOutcome, UrlAccess, check_access, fetch},
    location::redacted,
    response::ResponseFault,
};
