//! Blocks and transactions of the UTXO family: one model for reading, recording and tracing.
//!
//! - [`coinjoin`]: joint transactions
//! - [`cluster`]: addresses of one owner
//! - [`block`]: blocks, and blocks whose spent outputs were looked up
//! - [`transaction`]: transactions with their inputs and outputs
//! - [`script_owner`]: who can spend an output
//! - `unlocking`: the owner of an unknown output by its unlocking data, and the check for a signature
//! - [`txid`]: transaction identifiers and outpoints
//! - [`view`]: a transaction as a trace reads it, with its largest inputs and outputs
//! - [`transfer`]: the outputs of one transaction to one receiver

pub mod block;
pub mod cluster;
pub mod coinjoin;
pub mod script_owner;
#[cfg(test)]
mod testing;
pub mod transaction;
pub mod transfer;
pub mod txid;
mod unlocking;
pub mod view;

pub use block::{Block, ResolvedBlock};
pub use script_owner::{Pool, ScriptOwner};
pub use transaction::{Transaction, TransactionKind, TxInput, TxOut};
pub use transfer::{
    InvalidTransfer, OutputSelector, Spending, Transfer, TransferOutput, Unconfirmed,
};
pub use txid::{OutPoint, OutputNumber, Txid};
pub use unlocking::shows_signature;
pub use view::{SideEntry, SideLimits, TransactionSide, TransactionView};
