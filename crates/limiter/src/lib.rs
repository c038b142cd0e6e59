//! Rate limiter: limits that are exact across many replicas.
//!
//! A replica leases tokens from a *token store* and spends them locally, so that most requests need no
//! network call. No window admits more than its limit; `docs/limits.md` has the proof.
//!
//! - pure, with time as an argument: [`SubjectLimits`] is the state of one replica for one subject
//!   (key, tenant or plan), [`admit`] takes one token from every window counter of a request or none,
//!   [`TokenLedger`] is the state machine of a token store, [`SlotView`] the share that a replica may spend
//!   without a token store
//! - [`token_store`]: requests and responses of token stores, and their trait
//! - [`redis`]: the token store of short windows
//! - [`Limiter`]: the entry point (feature `shared`, on by default). [`InProcessLimiter`] counts in the memory of one
//!   process, and tells the use of long windows ([`WindowUse`]), with which the next process begins, [`SharedLimiter`] asks the token stores that replicas
//!   share
//!
//! All times are microseconds. *Local* times are of the replica's monotonic clock, whose origin is
//! arbitrary; windows are counted by the token store's clock since 1970 (UTC). No two clocks need to
//! agree; each must run at nearly the right rate.
#![cfg_attr(
    not(feature = "shared"),
    expect(dead_code, reason = "only the limiters of the feature `shared` use the rest")
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
mod window_use;

pub use admit::{ApplicableLimits, admit, note, statuses, take_checks};
pub use decision::{
    Admission, Charge, Decision, LimitStatus, RequestKind, SpentTokens, TakenChecks,
};
#[cfg(feature = "shared")]
pub use in_process::InProcessLimiter;
pub use ledger::{ServerClock, TokenLedger};
#[cfg(feature = "shared")]
pub use limiter::Limiter;
pub use settings::{LimiterSettings, StoreLossPolicy, StoreTimings, TokenStoreKind};
#[cfg(feature = "shared")]
pub use shared::SharedLimiter;
pub use slots::{ReplicaSlot, SlotView};
pub use subject::{Account, LimitSubject};
pub use subject_limits::SubjectLimits;
pub use window_counter::DecisionContext;
pub use window_use::{CounterId, WindowUse};

/// Microseconds in a second.
const SECOND: u64 = 1_000_000;
