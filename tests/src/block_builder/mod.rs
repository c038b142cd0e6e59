//! Transactions and blocks without keys, for real nodes of test networks.
//!
//! An output is locked with a word instead of a key, and whoever knows the word spends it; so every
//! person of a scenario has an address of their own and nobody signs anything. All that is made here is
//! valid by consensus and goes in by `submitblock`; what nodes relay by policy is another matter.
//!
//! - [`lock`]: who can spend an output
//! - [`transaction`]: transactions, their bytes and identifiers
//! - [`block`]: blocks, with their proof of work
//! - `genesis`: the blocks that networks begin with
//! - `bytes`: how all of this is written down

pub mod block;
mod bytes;
mod genesis;
pub mod lock;
pub mod transaction;

pub use block::{Block, BlockHash, Network, Template};
pub use bytes::{hash160, sha256, sha256d};
pub use lock::Lock;
pub use transaction::{Transaction, TxIn, TxOut};
