//! Receivers of withdrawals that a tenant checked: recorded in memory and written twice a second, and searched for those
//! that look like a receiver of a withdrawal.
//!
//! A killed program loses at most the receivers since the last write; a program that is stopped writes all.

use std::{
    collections::HashMap,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use assay_address::CanonicalAddress;
use assay_engine::planned::{EarlierReceiver, EarlierReceivers};
use assay_store::{
    ReceiverStore, StoreError,
    receivers::{CheckedReceiver, KnownReceiver},
};
use assay_tenancy::Name;
use jiff::Timestamp;

/// Largest number of receivers that are not written yet. If the store fails for longer, later receivers are not
/// recorded.
const MOST_WAITING: usize = 10_000;
/// Most receivers that an assessment names or counts.
const MOST_NAMED: usize = 20;

/// Receivers that are not written yet, by tenant and address.
#[derive(Debug, Default)]
pub struct Receivers {
    waiting: Mutex<HashMap<(Name, CanonicalAddress), CheckedReceiver>>,
    is_failing: AtomicBool,
}

impl Receivers {
    /// Records a check of a receiver.
    pub fn record(&self, tenant: &Name, address: &CanonicalAddress, now: Timestamp) {
        let mut waiting = self.lock();
        let key = (tenant.clone(), address.clone());
        let is_full = waiting.len() >= MOST_WAITING && !waiting.contains_key(&key);
        if is_full || address.resemblance_keys().is_none() {
            return;
        }
        let checked = CheckedReceiver {
            tenant: tenant.clone(),
            address: address.clone(),
            first_checked_at: now,
            last_checked_at: now,
        };
        waiting.entry(key).and_modify(|known| known.join(&checked)).or_insert(checked);
    }

    /// Writes the receivers. Receivers that cannot be written stay in memory.
    ///
    /// # Errors
    ///
    /// Returns an error if the store fails.
    pub(crate) async fn write(&self, store: &dyn ReceiverStore) -> Result<(), StoreError> {
        let batch: Vec<CheckedReceiver> = self.lock().values().cloned().collect();
        let written = if batch.is_empty() { Ok(()) } else { store.record_receivers(&batch).await };
        if written.is_ok() {
            // What was checked again meanwhile is written again.
            let mut waiting = self.lock();
            for checked in batch {
                let key = (checked.tenant.clone(), checked.address.clone());
                if waiting.get(&key) == Some(&checked) {
                    waiting.remove(&key);
                }
            }
        }
        self.is_failing.store(written.is_err(), Ordering::Relaxed);
        written
    }

    /// True if the last attempt to write failed.
    pub fn is_failing(&self) -> bool {
        self.is_failing.load(Ordering::Relaxed)
    }

    /// Returns the receivers that a tenant checked before `to` was first checked, and that look like it.
    pub(crate) async fn like(
        &self,
        store: &dyn ReceiverStore,
        tenant: &Name,
        to: &CanonicalAddress,
    ) -> EarlierReceivers {
        let Some(keys) = to.resemblance_keys() else { return EarlierReceivers::default() };
        let mut known = match store.receivers_like(tenant, &keys).await {
            Ok(known) => known,
            Err(error) => {
                tracing::warn!(%error, "failed to read the receivers that a tenant checked");
                return EarlierReceivers::Unreadable;
            }
        };
        let waiting = self.lock();
        let unwritten = waiting.values().filter(|checked| checked.tenant == *tenant);
        known.extend(unwritten.map(|checked| KnownReceiver {
            address: checked.address.clone(),
            first_checked_at: checked.first_checked_at,
        }));
        drop(waiting);
        EarlierReceivers::Found(earlier(known, to))
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<(Name, CanonicalAddress), CheckedReceiver>> {
        // Every change is a single step, so that the state after a panic is consistent.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the receivers that look like `to` and were checked before it, the first checked first. A receiver that was
/// checked after `to` imitates `to`, and not the other way round.
fn earlier(mut known: Vec<KnownReceiver>, to: &CanonicalAddress) -> Vec<EarlierReceiver> {
    known.sort_by(|one, other| {
        let key = |receiver: &KnownReceiver| receiver.first_checked_at;
        key(one).cmp(&key(other)).then_with(|| one.address.cmp(&other.address))
    });
    let is_same = |receiver: &KnownReceiver| receiver.address.as_str() == to.as_str();
    let own = known.iter().find(|receiver| is_same(receiver));
    let own = own.map(|receiver| receiver.first_checked_at);
    let mut found: Vec<EarlierReceiver> = Vec::new();
    for receiver in known {
        let is_before = own.is_none_or(|own| receiver.first_checked_at < own);
        let is_named =
            found.iter().any(|known| known.address.as_str() == receiver.address.as_str());
        if let Some(by) = to.resembles(&receiver.address).filter(|_| is_before && !is_named) {
            let KnownReceiver { address, first_checked_at } = receiver;
            found.push(EarlierReceiver { address, first_checked_at, by });
        }
    }
    found.truncate(MOST_NAMED);
    found
}

#[cfg(test)]
mod tests {
    use assay_address::{ChainId, Resemblance};
    use jiff::SignedDuration;

    use super::*;

    fn receiver(text: &str, minute: i64) -> KnownReceiver {
        KnownReceiver {
            address: CanonicalAddress::parse(ChainId::ETH, text).unwrap(),
            first_checked_at: Timestamp::UNIX_EPOCH + SignedDuration::from_mins(minute),
        }
    }

    const ONE: &str = "0x189f40034be7a199f1fa9891668ee3ab6049f82d";
    const FAKE: &str = "0x189f00000000000000000000000000000000f82d";

    #[test]
    fn the_receiver_that_was_checked_first_is_the_one_that_is_imitated() {
        let known = || vec![receiver(FAKE, 2), receiver(ONE, 1), receiver(ONE, 3)];
        let found = earlier(known(), &receiver(FAKE, 0).address);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].address, receiver(ONE, 0).address);
        assert_eq!((found[0].first_checked_at, found[0].by), {
            (receiver(ONE, 1).first_checked_at, Resemblance::Ends)
        });
        assert_eq!(earlier(known(), &receiver(ONE, 0).address), []);
    }

    #[test]
    fn a_receiver_that_is_checked_for_the_first_time_is_compared_with_all() {
        let known = vec![receiver(ONE, 1)];
        let new = receiver("0x189f40034be7a199f1fa9891668ee3ab6049f820", 0).address;
        let found = earlier(known, &new);
        assert_eq!(found[0].by, Resemblance::OneEdit);
    }
}
