//! Columns and sorted runs in memory-mapped tables: storage of large transaction graphs by numbers, for any chain
//! family.
//!
//! - [`NamedTable`]: an ordered table whose errors say its name
//! - [`Column`]: values of one width by number
//! - [`run`]: sorted runs of entries, and their merging; a chain family defines their kinds ([`run::RunKind`])
//! - [`bytes`]: numbers as bytes
//! - [`ReadCache`]: a reader's cache of values by number
//! - [`RowCache`]: a writer's cache of rows, within a limit of bytes

pub mod bytes;
mod cache;
mod column;
mod error;
mod read_cache;
pub mod run;
mod table;

pub use cache::{KeyedState, RowCache};
pub use column::{Column, PageCache};
pub use error::ColumnsError;
pub use read_cache::ReadCache;
pub use table::{NamedTable, Rows};
