//! Files and URLs as input: spooled to a private file, digested, unpacked within limits.
//!
//! Input is copied to a private temporary file before anything is read from it. The digest is then the
//! digest of the bytes that are read, and memory use does not depend on the input's size.
//!
//! - [`fetch`]: conditional download over HTTP
//! - [`SpooledFile`]: one file in private storage, with its digest
//! - [`Files`]: the files of an input, which may be a file, a folder or an archive
//! - [`text`]: bounded lines of UTF-8
//! - [`rows`]: rows of CSV, with their lines

#[cfg(feature = "fetch")]
mod connection;
mod digest;
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
mod unpack;

pub use {
    digest::DigestReader,
    error::InputError,
    files::{FileDigest, FileSelection, Files},
    limit::InputLimits,
    spool::{SpoolError, SpooledFile},
};
#[cfg(feature = "fetch")]
pub use {
    fetch::{Conditions, FetchError, FetchOutcome, UrlAccess, check_access, fetch},
    location::redacted,
    response::ResponseFault,
};
