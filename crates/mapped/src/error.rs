//! Errors of environments.

use std::{io, path::PathBuf};

/// A failure to open, read or write an environment.
#[derive(Debug, thiserror::Error)]
pub enum MappedError {
    /// The program is not a 64-bit build.
    #[error("this program has addresses of less than 64 bits: run a 64-bit build")]
    AddressBits,
    /// The file system does not keep memory maps of several processes consistent.
    #[error(
        "{path} is on a network file system ({kind}), where a mapped file can be torn: put the data \
         directory on a local disk or volume"
    )]
    Network {
        /// The folder.
        path: PathBuf,
        /// The kind of file system.
        kind: String,
    },
    /// The limit of the process's address space is too small for an environment.
    #[error(
        "the limit on address space (ulimit -v) is {limit} bytes, and {path} takes {wanted}: remove the \
         limit; it does not bound memory, because mapped pages are the system's cache"
    )]
    AddressSpace {
        /// The folder.
        path: PathBuf,
        /// The limit in bytes.
        limit: u64,
        /// Size of the address space that is needed, in bytes.
        wanted: u64,
    },
    /// The file is not an environment of the expected format.
    #[error("{path} is not a file of {format}: {detail}")]
    Foreign {
        /// The file.
        path: PathBuf,
        /// The name of the expected format.
        format: &'static str,
        /// Kind of the file that was found instead.
        detail: String,
    },
    /// The file ends before its last used page.
    #[error(
        "{path} is damaged: it has {found} bytes of at least {expected}; delete its folder and ingest again"
    )]
    Truncated {
        /// The file.
        path: PathBuf,
        /// Its length.
        found: u64,
        /// Length of the file's used pages in bytes.
        expected: u64,
    },
    /// A newer program created the file.
    #[error(
        "{path} has version {found} of {format}, made by a newer program (this one knows up to {known}): \
         update assay"
    )]
    Newer {
        /// The folder.
        path: PathBuf,
        /// The name of the format.
        format: &'static str,
        /// Its version.
        found: u32,
        /// The newest version that this program knows.
        known: u32,
    },
    /// An older program created the file.
    #[error(
        "{path} has version {found} of {format}, made by an earlier program (this one needs {known}): \
         delete the folder and ingest again"
    )]
    Older {
        /// The folder.
        path: PathBuf,
        /// The name of the format.
        format: &'static str,
        /// Its version.
        found: u32,
        /// The version that this program needs.
        known: u32,
    },
    /// Another writer exists.
    #[error("another program writes {path}")]
    Busy {
        /// The folder.
        path: PathBuf,
    },
    /// The file was replaced, and this process still reads the old one.
    #[error("{path} was replaced while it was being read: try again when all readings have ended")]
    Replaced {
        /// The folder.
        path: PathBuf,
    },
    /// A file could not be read, created or locked.
    #[error("{path}: {error}")]
    File {
        /// The file or folder.
        path: PathBuf,
        /// The cause.
        error: io::Error,
    },
    /// Others than the program's user and root can write a file.
    #[error(
        "{path} belongs to another user, or others may write it: delete it, or run `chown` and `chmod 600`"
    )]
    OpenToOthers {
        /// The file.
        path: PathBuf,
    },
    /// The disk is full.
    #[error("no space is left on the disk of {path}: nothing was written")]
    DiskFull {
        /// The folder.
        path: PathBuf,
    },
    /// LMDB failed.
    #[error("{path}: {error}")]
    Environment {
        /// The folder.
        path: PathBuf,
        /// The cause.
        error: heed::Error,
    },
}
