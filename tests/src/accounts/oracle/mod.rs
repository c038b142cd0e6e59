//! A second implementation of the ledgers of account chains (`docs/model/accounts.md` B2 to B5), in exact fractions.
//!
//! It carries no ledgers forward: the money of an account is all that the account ever received, each receipt as far as
//! later payments left it, and each receipt is made of the money of its payer. It shares only the types of transactions
//! and of origins with the engine.
//!
//! - [`contracts`]: the rules of contracts
//! - [`history`]: random histories of a few accounts
//! - `netting`: the payments to which a transaction amounts
//! - `money`: the origins of an account's money

pub mod contracts;
pub mod history;
mod money;
mod netting;

use num_rational::BigRational;

pub use history::{History, MoneySource};
pub use money::{Money, OriginShare};

/// An exact fraction.
pub type Exact = BigRational;
