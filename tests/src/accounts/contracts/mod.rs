//! Contracts that accounts use: what their transactions move, in amounts that the contracts could pay.
//!
//! - [`call`]: a transaction before it is sent
//! - [`pool`]: pools of two assets, their liquidity and swaps
//! - [`lending`]: loans against deposits, by one contract or by one for each asset
//! - [`scheme`]: random laundering schemes over all of these
//! - [`wrapper`]: tokens that stand for ether
//! - [`vault`]: shares of what a contract holds
//! - [`deposits`]: money that contracts keep for the accounts that their logs name
//! - [`escrow`]: sales whose price waits in a contract
//! - [`protocols`]: the contracts that everybody uses, together

pub mod call;
pub mod deposits;
pub mod escrow;
pub mod lending;
pub mod pool;
pub mod protocols;
pub mod scheme;
pub mod vault;
pub mod wrapper;

pub use call::{Call, named_depositor, named_payee};
pub use deposits::Deposits;
pub use lending::Lending;
pub use pool::Pool;
pub use protocols::Protocols;
pub use vault::Vault;
