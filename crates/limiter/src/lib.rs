//! How often a payer may ask: limits that are exact over many replicas.
//!
//! A replica draws *leases* of tokens from a *bank* and spends them by itself, so that most requests ask
//! nobody. In no window are more admitted than the limit allows; `docs/limits.md` has the proof.
//!
//! - pure, with time as an argument: [`Purse`] is what one replica knows of one payer, [`admit`] takes one
//!   token of every cell of a request or none, [`Ledger`] is what a bank does, [`SeatView`] the share that
//!   a replica may spend without a bank
//! - [`bank`]: what a bank is asked and answers, and the trait of banks
//! - [`redis`]: the bank of short windows
//! - [`Limiter`]: the edge (feature `shared`, on by default). [`InProcess`] has all of it in the memory of one process, [`Shared`] asks the
//!   banks that replicas share
//!
//! All times are microseconds. *Local* times are of the replica's monotonic clock, whose beginning means
//! nothing; windows are counted by the bank's clock since 1970 (UTC). No two clocks need to agree; each
//! must run at nearly the right rate.

#![cfg_attr(
    not(feature = "shared"),
    expect(dead_code, reason = "the edge alone asks for the rest")
)]

mod admit;
pub mod bank;
#[cfg(feature = "shared")]
mod books;
mod cell;
mod decision;
mod demand;
mod floor;
#[cfg(feature = "shared")]
mod in_process;
mod lease;
mod ledger;
#[cfg(feature = "shared")]
mod limiter;
mod payer;
mod purse;
pub mod redis;
pub mod seats;
mod settings;
#[cfg(feature = "shared")]
mod shared;
#[cfg(test)]
mod simulation;

pub use admit::{Share, Verdict, admit, note, standings, take_checks};
pub use decision::{Ask, Charge, Decision, Spent, Standing, Taken};
#[cfg(feature = "shared")]
pub use in_process::InProcess;
pub use ledger::{Ledger, Server};
#[cfg(feature = "shared")]
pub use limiter::Limiter;
pub use payer::{Account, Payer};
pub use purse::Purse;
pub use seats::{OwnSeat, SeatView};
pub use settings::{BankKind, Pace, Settings, Terms};
#[cfg(feature = "shared")]
pub use shared::Shared;

/// Microseconds in a second.
const SECOND: u64 = 1_000_000;
