//! State that the replicas of a service share to enforce limits together.
//!
//! - [`slots`]: the running replicas, and the share of every limit that each may spend on its own
//! - [`quotas`]: granted tokens of limits with long windows

pub mod quotas;
pub mod slots;

pub use quotas::QuotaStore;
pub use slots::SlotStore;

/// A store through which several servers coordinate.
pub trait Coordination: SlotStore + QuotaStore {}

impl<T: SlotStore + QuotaStore> Coordination for T {}
