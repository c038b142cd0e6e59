//! Histories of single accounts as the APIs of explorers state them, from the transactions of a generated chain.
//!
//! - [`memory`]: a source of histories within the process
//! - `rows`: the rows of an account's lists

pub mod memory;
mod rows;

pub use memory::MemoryHistories;
