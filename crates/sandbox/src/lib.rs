//! The sandbox: addresses and transactions that choose the answer to their check, so that an integration can be tested
//! without data.
//!
//! - [`Outcome`]: one table of all answers and problems that can be chosen
//! - [`catalog`]: the addresses and the transaction of each outcome on a chain
//! - [`assess_address`], [`assess_listed`], [`assess_planned_withdrawal`], [`assess_sent_transfer`]: assessments by the engine, of made-up
//!   facts under [`policy`]

mod assess;
mod catalog;
mod facts;
mod outcome;
mod transfer;

pub use assess::{
    Answer, assess_address, assess_listed, assess_planned_withdrawal, assess_sent_transfer, policy,
};
pub use catalog::{OutcomeEntry, SandboxCatalog, catalog};
pub use outcome::{Outcome, OutcomeReply, Scenario};
