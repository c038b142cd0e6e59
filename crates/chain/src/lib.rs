//! Sources of blocks, of the Bitcoin family and of account chains, and their ingest into chain graphs.
//!
//! A [`BlockSource`] returns blocks by height, each a [`Block`](assay_engine::utxo::Block): from a node, block files,
//! an Esplora API or JSON lines. `resolve` looks up the outputs that each transaction spends and checks amounts.
//!
//! - [`params`]: the parameters of each chain
//! - [`raw`]: parsing of raw blocks
//! - [`esplora`]: blocks, and histories of addresses, from an Esplora API
//! - `evm`: blocks of the chains with Ethereum's accounts, from a node over JSON-RPC
//! - `tron`: blocks of TRON, from the HTTP API of a node
//! - [`files`]: blocks of a node's files, with their spent outputs
//! - [`jsonl`]: blocks as JSON lines, read and written
//! - [`node`]: blocks of a node, over JSON-RPC
//! - [`mempool`]: unconfirmed transactions of a node or an Esplora server
//! - [`rpc`], [`http`]: requests to a server, with retries
//! - [`identity`]: verifies that a source serves the requested chain
//! - [`source`]: the trait of block sources and its errors
//! - `account_source`: the trait of sources of blocks of account chains
//! - `compared`: several sources of one account chain, compared with one another
//! - `resolve`: spent outputs, amounts and kinds of transactions
//! - [`transfers`]: files of transfers of account chains
//! - `follow`: ingest of a chain into a graph
//! - `stage`: stages of work that follows a chain, and their runner

mod abilities;
#[cfg(feature = "edge")]
pub mod account_source;
mod booking;
#[cfg(feature = "edge")]
pub mod compared;
mod concurrent;
mod decimal;
pub mod esplora;
#[cfg(feature = "edge")]
pub mod evm;
pub mod files;
#[cfg(feature = "edge")]
pub mod follow;
mod hash;
pub mod histories;
pub mod http;
pub mod identity;
pub mod jsonl;
#[cfg(feature = "edge")]
pub mod location;
pub mod mempool;
pub mod node;
pub mod params;
pub mod raw;
#[cfg(feature = "edge")]
pub mod resolve;
pub mod rpc;
pub mod source;
#[cfg(feature = "edge")]
pub mod stage;
#[cfg(test)]
pub(crate) mod testing;
pub mod transfers;
#[cfg(feature = "edge")]
pub mod tron;

pub use abilities::{NodeAbilities, ProvenParts, Tracer};
pub use concurrent::FetchBounds;
pub use params::{ChainParams, TestNetworks};
pub use source::{BatchLimit, BlockSource, SourceBlock, SourceError, TipRef};
