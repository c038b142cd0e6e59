//! Transactions and blocks without keys, for real nodes of test networks.
//!
//! Outputs are locked with a word instead of a key, and the word spends them: every party of a scenario has an address
//! of its own without signatures. All blocks are valid by consensus and submitted by `submitblock`; the relay policy of
//! nodes does not apply.
//!
//! - [`lock`]: locking scripts of outputs
//! - [`transaction`]: transactions, their bytes and identifiers
//! - [`block`]: blocks, with their proof of work
//! - `genesis`: the first blocks of networks
//! - `bytes`: serialization

pub mod block;
mod bytes;
mod genesis;
pub mod lock;
pub mod transaction;

pub use block::{Block, BlockHash, BlockTemplate, Network};
pub use bytes::{hash160, sha256, sha256d};
pub use lock::LockingScript;
pub use transaction::{Transaction, TxIn, TxOut};
