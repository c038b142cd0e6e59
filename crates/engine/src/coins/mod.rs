//! Coins: transactions of Bitcoin-like chains, as far as following money needs them.
//!
//! - [`holder`]: who can spend an output
//! - [`transaction`]: identifiers, transactions, and an address's history, as a trace reads them

pub mod holder;
pub mod transaction;

pub use holder::{Holder, Pool};
pub use transaction::{
    CoinTransaction, History, HistoryEntry, Leg, Legs, OutPoint, OwnOutput, Statistics,
    TransactionKind, Txid,
};
