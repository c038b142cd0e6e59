//! How often a payer may ask: limits that are exact over many replicas.
//!
//! A replica draws *leases* of tokens from a *bank* and spends them by itself, so that most requests ask
//! nobody. In no window are more admitted than the limit allows; `docs/limits.md` has the proof.
//!
//! - pure, with time as an argument: [`SubjectLimits`] is what one replica knows of one payer, [`admit`] takes one
//!   token of every cell of a request or none, [`Ledger`] is what a bank does, [`SlotView`] the share that
//!   a replica may spend without a bank
//! - [`bank`]: what a bank is asked and answers, and the trait of banks
//! - [`redis`]: the bank of short windows
//! - [`Limiter`]: the edge (feature `shared`, on by default). [`InProcessLimiter`] has all of it in the memory of one process, [`SharedLimiter`] asks the
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
mod decision;
mod demand;
mod fallback;
#[cfg(feature = "shared")]
mod in_process;
mod lease;
mod ledger;
#[cfg(feature = "shared")]
mod limiter;
pub mod redis;
mod settings;
#[cfg(feature = "shared")]
mod sharded;
#[cfg(feature = "shared")]
mod shared;
#[cfg(test)]
mod simulation;
pub mod slots;
mod subject;
mod subject_limits;
pub mod token_store;
mod window_counter;

pub use admit::{Admission, ApplicableLimits, admit, note, statuses, take_checks};
pub use decision::{Charge, Decision, LimitStatus, RequestKind, SpentTokens, TakenChecks};
#[cfg(feature = "shared")]
pub use in_process::InProcessLimiter;
pub use ledger::{Ledger, ServerClock};
#[cfg(feature = "shared")]
pub use limiter::Limiter;
pub use settings::{LimiterSettings, StoreLossPolicy, StoreTimings, TokenStoreKind};
#[cfg(feature = "shared")]
pub use shared::SharedLimiter;
pub use slots::{ReplicaSlot, SlotView};
pub use subject::{Account, LimitSubject};
pub use subject_limits::SubjectLimits;

/// Microseconds in a second.
const SECOND: u64 = 1_000_000;
