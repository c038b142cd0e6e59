//! Records of one tenant as people and programs read them: charges by day, and keys. Both include what is in memory
//! and not written yet.

use std::collections::BTreeMap;

use assay_store::{
    StoreError,
    control::KeyRecord,
    usage::{ChargeKey, UsageCount},
};
use assay_telemetry::stage;
use assay_tenancy::Name;
use jiff::civil::Date;
use tracing::Instrument as _;

use crate::Service;

impl Service {
    /// Returns the charges of a tenant from one day to another, both included, up to now: by tenant, day, key, plan,
    /// operation and verdict.
    ///
    /// # Errors
    ///
    /// Returns an error if the store fails.
    pub async fn charges_of(
        &self,
        tenant: &Name,
        from: Date,
        to: Date,
    ) -> Result<BTreeMap<ChargeKey, u64>, StoreError> {
        // No charge is written between both reads: it would be missed, or counted twice.
        let _settled = self.recorder.pause_writes().await;
        let unwritten = self.recorder.unwritten_usage(tenant);
        let read = self.databases.store.usage(Some(tenant), from, to);
        let written = read.instrument(stage!("read_usage")).await?;
        let in_days = |count: &UsageCount| (from..=to).contains(&count.charged.day);
        let mut charges: BTreeMap<ChargeKey, u64> = BTreeMap::new();
        for row in written.into_iter().chain(unwritten.into_iter().filter(in_days)) {
            *charges.entry(row.charged).or_default() += row.count;
        }
        Ok(charges)
    }

    /// Returns the keys of a tenant, revoked and expired ones included, in order of creation, with their last uses.
    ///
    /// # Errors
    ///
    /// Returns an error if the store fails.
    pub async fn keys_of(&self, tenant: &Name) -> Result<Vec<KeyRecord>, StoreError> {
        let read = self.databases.store.keys_of(tenant);
        let mut keys = read.instrument(stage!("read_keys")).await?;
        for key in &mut keys {
            key.last_used_at = key.last_used_at.max(self.key_use.unwritten(&key.id));
        }
        Ok(keys)
    }
}
