//! Receivers of withdrawals that a tenant checked, by which addresses that look like them are found.

use assay_address::{CanonicalAddress, ResemblanceKeys};
use assay_tenancy::Name;
use async_trait::async_trait;
use jiff::Timestamp;

use crate::StoreError;

/// Most receivers that are kept of one tenant: a purge deletes those whose last check is the longest ago.
pub const MOST_RECEIVERS: u32 = 100_000;
/// Most receivers that one search returns for each key.
pub const MOST_FOUND: usize = 64;

/// The store of receivers that tenants checked.
#[async_trait]
pub trait ReceiverStore: std::fmt::Debug + Send + Sync {
    /// Records receivers. Of a known receiver, the earliest and the latest time are kept.
    async fn record_receivers(&self, receivers: &[CheckedReceiver]) -> Result<(), StoreError>;

    /// Receivers of a tenant that share one of the keys, the first checked first; of each key at most
    /// [`MOST_FOUND`].
    async fn receivers_like(
        &self,
        tenant: &Name,
        keys: &ResemblanceKeys,
    ) -> Result<Vec<KnownReceiver>, StoreError>;

    /// Deletes receivers of a tenant that were last checked before a time, and those beyond [`MOST_RECEIVERS`]. Returns
    /// how many.
    async fn purge_receivers(&self, tenant: &Name, before: Timestamp) -> Result<u64, StoreError>;
}

/// A receiver that a tenant checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckedReceiver {
    /// The tenant.
    pub tenant: Name,
    /// The receiver.
    pub address: CanonicalAddress,
    /// Time of the first check.
    pub first_checked_at: Timestamp,
    /// Time of the last check.
    pub last_checked_at: Timestamp,
}

impl CheckedReceiver {
    /// Joins checks of the same receiver, on whatever chain: the chain of the earliest one stays.
    pub fn join(&mut self, other: &Self) {
        if other.first_checked_at < self.first_checked_at {
            self.address.clone_from(&other.address);
            self.first_checked_at = other.first_checked_at;
        }
        self.last_checked_at = self.last_checked_at.max(other.last_checked_at);
    }
}

/// A receiver that is known of a tenant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownReceiver {
    /// The receiver.
    pub address: CanonicalAddress,
    /// Time of the first check.
    pub first_checked_at: Timestamp,
}
