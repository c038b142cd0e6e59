//! Chains of the Bitcoin family, from wherever their blocks come.
//!
//! A [`BlockSource`] gives blocks by height, each a [`Block`], whatever it reads: a node, block
//! files, an Esplora API, JSON lines. [`resolve`] then says what each transaction spends and checks that
//! the values add up. Nothing here knows a store; what has to be looked up in one is asked for.
//!
//! - [`params`]: what differs between the chains, one row each
//! - [`raw`]: blocks in bytes
//! - [`esplora`]: blocks, and histories of addresses, of an Esplora API
//! - [`files`]: blocks of a node's files
//! - [`jsonl`]: blocks as JSON lines, read and written
//! - [`node`]: blocks of a node, over JSON-RPC
//! - [`rpc`], [`http`]: asking a server, patiently
//! - [`identity`]: whether a source serves the chain that it is asked for
//! - [`source`]: what every source can be asked, and how it can fail
//! - [`resolve`]: from blocks to what a store records

mod decimal;
pub mod esplora;
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
pub mod node;
pub mod params;
pub mod raw;
pub mod resolve;
pub mod rpc;
pub mod source;
#[cfg(test)]
pub(crate) mod testing;

pub use identity::TestNetworks;
pub use params::ChainParams;
pub use source::{BlockSource, Portion, SourceError, TipRef};
