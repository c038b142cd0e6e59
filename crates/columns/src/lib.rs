//! Columns and sorted runs in memory-mapped tables: how large graphs are kept by numbers, whatever chain family they are
//! of.
//!
//! - [`NamedTable`]: an ordered table that says its name when it fails
//! - [`Column`]: values of one width by number
//! - [`run`]: sorted runs of entries, and their merging; a chain family says what they hold ([`run::RunKind`])
//! - [`bytes`]: numbers as bytes
//! - [`ReadCache`]: what a reader found before, by number
//! - [`Cache`]: what a writer remembers, within a limit of bytes

pub mod bytes;
mod cache;
mod column;
mod error;
mod read_cache;
pub mod run;
mod table;

pub use cache::{Cache, KeyedState};
pub use column::{Column, PageCache};
pub use error::ColumnsError;
pub use read_cache::ReadCache;
pub use table::{NamedTable, Rows};
