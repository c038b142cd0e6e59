//! Coins: transactions of Bitcoin-like chains, as far as following money needs them.
//!
//! - [`script_owner`]: who can spend an output
//! - [`transaction`]: identifiers, transactions, and an address's history, as a trace reads them

pub mod script_owner;
pub mod transaction;

pub use script_owner::{Pool, ScriptOwner};
pub use transaction::{
    CoinTransaction, History, HistoryEntry, Leg, Legs, OutPoint, OwnOutput, Statistics,
    TransactionKind, Txid,
};
