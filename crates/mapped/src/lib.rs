//! Memory-mapped environments (LMDB): ordered tables in one file that many processes read and one writes; and
//! memory-mapped files that are replaced as a whole.
//!
//! This crate is the only one with `unsafe` calls: one that opens an environment, and one that maps a file. The first is
//! sound if nobody but LMDB changes the mapped file, all processes that map it share its lock table, and no page is
//! missing. The crate therefore checks the file system, the address space, and the file before and after opening the
//! environment, and refuses what it cannot guarantee to be safe ([`MappedError`]). The second is sound because mapped
//! files never change ([`MappedFile`]).
//!
//! - [`EnvironmentFormat`]: name, version and tables of an environment
//! - [`open_existing`], [`create`]: open an environment for reading, and for the one writer
//! - [`MappedEnvironment`]: transactions and tables
//! - [`StateBytes`]: one state as the bytes of a file, for copies
//! - [`MappedFile`]: a file that never changes

mod environment;
mod error;
mod file;
mod file_system;
mod open;
mod registry;
mod state_bytes;

pub use environment::{
    EnvironmentFormat, MappedEnvironment, MappedTable, ReadTransaction, WriteTransaction,
    WriterLock,
};
pub use error::MappedError;
pub use file::MappedFile;
pub use open::{DATA_FILE, create, open_existing};
pub use state_bytes::StateBytes;
