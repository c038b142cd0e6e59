//! Graphs of chains with unspent outputs: memory-mapped tables (LMDB), one environment a chain, and a reference in memory.
//!
//! Transactions, outputs and owners are numbered in the order of the chain, and everything is stored under
//! these numbers: a transaction's inputs and outputs in one record, identifiers, spenders and cluster parents
//! in columns. Identifiers and scripts are looked up where a request names them and where an answer shows
//! them.
//!
//! - `tables`, `record`, `link`, `state`: what is stored, and how
//! - `entry`: what sorted runs hold
//! - [`Snapshot`], [`Reader`]: reading by numbers, in one state
//! - `index`: what is found by a hash or by an owner, in runs and among the newest blocks
//! - `links`, `clusters`: clusters
//! - `view`: what queries read
//! - `graph`: the contract of graphs over these
//! - `fingerprint`: a digest of everything that a graph holds
//! - `writer`: batches of blocks, and their rollback
//! - [`compositions`]: what the money of each transaction is made of
//! - [`memory`]: the reference

mod clusters;
pub mod compositions;
mod entry;
mod fingerprint;
mod graph;
mod index;
mod link;
mod links;
pub mod memory;
mod reader;
mod record;
mod snapshot;
mod state;
mod tables;
mod view;
mod writer;

pub use graph::EmbeddedGraph;
pub use index::{OwnerEntry, Side};
pub use reader::Reader;
pub use record::{
    InputEntry, InputOrigin, OutputEntry, OutputValue, StoredBlock, TransactionHead,
    TransactionRecord,
};
pub use snapshot::Snapshot;
pub(crate) use tables::Tables;
pub use writer::{GraphWriter, RecordedOutput, RecordedOutputs};

/// A number of entries.
fn entry_limit(limit: u32) -> usize {
    usize::try_from(limit).unwrap_or(usize::MAX)
}
