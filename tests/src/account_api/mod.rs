//! Histories of single accounts as the APIs of explorers state them, from the transactions of a generated chain.
//!
//! - [`memory`]: a source of histories within the process
//! - `server`: a server over HTTP, with the limits and faults of public ones
//! - `etherscan`, `trongrid`: its answers
//! - `rows`: the rows of an account's lists

mod etherscan;
pub mod memory;
mod rows;
mod server;
#[cfg(test)]
mod tests;
mod trongrid;

pub use memory::MemoryHistories;
pub use server::{AccountApi, ApiBehavior, ApiFault, ApiRequest};
