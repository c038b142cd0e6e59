//! Reader of account chains.
//!
//! - `named`: the accounts that lists and labels name, and those at which money ends
//! - `bridges`: the other chains on which deposits into bridges are searched
//! - `attributions`: attributions of accounts during one check
//! - `state`: the graph, with the ledgers for the present lists and labels
//! - `keeper`: keeps ledgers up to date while a program runs
//! - `lookalikes`: accounts that look like counterparties of a subject
//! - `tokens`: tokens whose money is not followed
//! - `associates`: accounts that are associated with a subject
//! - `payments`: the facts that the payments of a subject give
//! - `transaction`: one transaction with the payments as which it is booked
//! - `transfer`: one transfer with the flows of its own money
//! - `reader`: the reader

mod associates;
mod attributions;
mod bridges;
mod keeper;
mod lookalikes;
mod named;
mod payments;
mod reader;
mod state;
mod tokens;
mod transaction;
mod transfer;

pub(super) use associates::labels;
pub(super) use attributions::CheckAttributions;
pub(super) use keeper::keep_ledgers;
pub(super) use named::NamedAccounts;
pub(super) use payments::PaymentFacts;
pub use reader::{AccountReader, AccountReaders};
pub use state::present_ledgers;
