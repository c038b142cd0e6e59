//! Blocks of TRON, from the HTTP API of a node or of a provider that serves the same paths.
//!
//! A block is made of two answers: the block with its transactions, and what the node states about them (logs, fees, internal
//! transfers). The identifier of the block, the identifiers of its transactions and their root are recomputed. Payments of a
//! transaction itself are read from the bytes that its identifier is the hash of. Nothing on the chain commits to the node's other
//! statements; only a second source shows an invented one.
//!
//! - `wire`: messages of Protocol Buffers, written as the chain hashes them and read as its nodes read them
//! - `answer`: a node's JSON
//! - `verify`: comparison of a block with its identifier
//! - `contract`: the action of a transaction, from its bytes
//! - `logs`: event logs, and transfers of tokens
//! - `block`: transactions with their transfers
//! - `api`: requests to a node, and its errors
//! - [`node`]: the source of blocks

mod answer;
mod api;
mod block;
mod contract;
mod logs;
pub mod node;
#[cfg(test)]
mod tests;
mod verify;
mod wire;

pub(crate) use contract::numbered;
pub use node::{TronNodeOptions, TronNodeSource};

/// Identifier of the first block of the main network.
pub(crate) const FIRST_BLOCK: [u8; 32] =
    alloy_primitives::hex!("00000000000000001ebf88508a03865c71d452e25f4d51194196a1d22b6653dc");
