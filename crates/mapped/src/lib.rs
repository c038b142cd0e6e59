//! Memory-mapped environments (LMDB): ordered tables in one file that many processes read and one writes; and files that
//! are read and replaced as a whole.
//!
//! This crate is the only one with an `unsafe` call: the one that opens an environment. It is sound if nobody but LMDB
//! changes the mapped file, all processes that map it share its lock table, and no page is missing. The crate therefore
//! checks the file system, the address space, and the file before and after opening the environment, and refuses what it
//! cannot guarantee to be safe ([`MappedError`]).
//!
//! - [`EnvironmentFormat`]: name, version and tables of an environment
//! - [`open_existing`], [`create`]: open an environment for reading, and for the one writer
//! - [`MappedEnvironment`]: transactions and tables
//! - [`StateBytes`]: one state as the bytes of a file, for copies
//! - [`WholeFile`]: a file that only whole content replaces

mod environment;
mod error;
mod file_system;
mod open;
mod registry;
mod state_bytes;
mod whole_file;

pub use environment::{
    EnvironmentFormat, MappedEnvironment, MappedTable, ReadTransaction, WriteTransaction,
    WriterLock,
};
pub use error::MappedError;
pub use open::{DATA_FILE, create, open_existing};
pub use state_bytes::StateBytes;
pub use whole_file::WholeFile;
