//! Graphs of UTXO chains: memory-mapped tables (LMDB), one environment per chain, and a reference in memory.
//!
//! Transactions, outputs and owners are numbered in the order of the chain, and these numbers are the keys of the
//! tables: a transaction's inputs and outputs in one record, identifiers, spenders and cluster parents in columns.
//! Identifiers and scripts are looked up for requests and answers only.
//!
//! - `tables`, `record`, `link`, `state`: the tables and the format of their rows
//! - `entry`: entries of sorted runs
//! - [`Snapshot`], [`Reader`]: one state of a graph, read by numbers
//! - `index`: indexes by a hash or an owner
//! - `links`, `clusters`: reading of clusters
//! - `view`: the reads of queries
//! - `graph`: the implementation of [`Graph`](crate::Graph)
//! - `fingerprint`: a digest of all rows of a graph
//! - `writer`: recording and rollback of blocks
//! - [`compositions`]: the origins of the money in each transaction
//! - [`memory`]: the reference implementation

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

/// Converts a maximum number of entries.
fn entry_limit(limit: u32) -> usize {
    usize::try_from(limit).unwrap_or(usize::MAX)
}
