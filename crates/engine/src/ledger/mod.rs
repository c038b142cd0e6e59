//! Types that the ledgers of all chains share: references to blocks, numbers of owners and transactions, histories,
//! exact amounts and shares, limits of reads.
//!
//! [`crate::utxo`] holds the types of UTXO chains; account-based chains will get a module of their own.
//!
//! - `block`: references to blocks
//! - `number`: numbers of transactions and owners
//! - `history`: an owner's statistics and transactions
//! - [`mass`]: exact amounts and their division
//! - `share`: parts of one, in units of 2^-32
//! - `limits`: limits of reads

mod block;
mod history;
mod limits;
pub mod mass;
mod number;
mod share;

pub use block::{BlockId, BlockRef};
pub use history::{OwnHistory, OwnTransaction, Statistics, change};
pub use limits::{ENTRIES_PER_TRANSACTION, ReadLimits};
pub use mass::Mass;
pub use number::{OwnerNumber, TransactionNumber};
pub use share::CoinShare;
