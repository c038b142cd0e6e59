//! Slots of replicas: each running replica holds a slot, and may spend a fixed share of every limit, the fallback
//! allowance, without a request to a store.
//!
//! No other party may grant tokens that the holder of a slot can still spend. All times here are by the database's
//! clock; to a server, whose own clock may be wrong, only differences between these times have a meaning.
//!
//! Until its lease expires, a slot is not given to another replica. A server that computes the expiry by its
//! own clock, from a moment before it sent the request, never computes it too late.

use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;

use crate::StoreError;

/// All slots at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlotRegistry {
    /// The moment.
    pub now: Timestamp,
    /// The number of slots.
    pub total: u32,
    /// Expiry times of the leases of all slots that were ever held, past expiry times included.
    pub expiries: Vec<Timestamp>,
}

/// The answer to a claim or renewal of a slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlotLease {
    /// True if the holder has a slot now.
    pub is_held: bool,
    /// All slots, the slot of the holder included.
    pub registry: SlotRegistry,
}

/// The store of replica slots. Each call is one statement.
#[async_trait]
pub trait SlotStore: std::fmt::Debug + Send + Sync {
    /// Claims the lowest free slot (never held, or expired) for `lease`. A holder that has a slot already gets the same
    /// slot, renewed: a claim can be repeated after a lost answer.
    async fn claim_slot(&self, holder: &str, lease: Duration) -> Result<SlotLease, StoreError>;

    /// Extends the lease of a slot to `lease` from now. An expired slot is not renewed: it must be claimed
    /// again.
    async fn renew_slot(&self, holder: &str, lease: Duration) -> Result<SlotLease, StoreError>;

    /// Releases a slot: other replicas can claim the slot at once. In running windows, the share of the slot counts as
    /// spent.
    async fn release_slot(&self, holder: &str) -> Result<(), StoreError>;
}
