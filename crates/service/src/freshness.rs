//! Freshness of data in memory: the time since the database last confirmed it.

use std::{
    collections::BTreeMap,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use assay_address::ChainId;
use jiff::{SignedDuration, Timestamp};

/// Times of the last confirmation of each kind of data, by the monotonic clock, and times of the latest blocks.
#[derive(Debug)]
pub struct Freshness {
    directory: Mark,
    intel: Mark,
    tips: Mutex<BTreeMap<ChainId, Timestamp>>,
}

/// Point in time that only moves forward.
#[derive(Debug)]
struct Mark {
    begun: Instant,
    /// Milliseconds since `begun`.
    at: AtomicU64,
}

impl Mark {
    const fn new(now: Instant) -> Self {
        Self { begun: now, at: AtomicU64::new(0) }
    }

    fn advance(&self, to: Instant) {
        let since = to.saturating_duration_since(self.begun).as_millis();
        self.at.fetch_max(u64::try_from(since).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    fn age(&self, now: Instant) -> Duration {
        let at = self.begun + Duration::from_millis(self.at.load(Ordering::Relaxed));
        now.saturating_duration_since(at)
    }
}

impl Freshness {
    /// Freshness of data that was requested from the database at `now`.
    #[must_use]
    pub fn confirmed_at(now: Instant) -> Self {
        Self { directory: Mark::new(now), intel: Mark::new(now), tips: Mutex::default() }
    }

    /// Records that keys, tenants and plans equal the database's as of a request sent at `asked`. A change
    /// made after the request was sent may be missing from its answer.
    pub fn confirm_key_data(&self, asked: Instant) {
        self.directory.advance(asked);
    }

    /// Records that listings and labels equal the database's as of a request sent at `asked`.
    pub fn confirm_intel(&self, asked: Instant) {
        self.intel.advance(asked);
    }

    /// Records the time of the latest known block of a chain.
    pub fn set_tip(&self, chain: ChainId, time: Timestamp) {
        // A panic while the lock was held leaves whole values.
        self.tips.lock().unwrap_or_else(PoisonError::into_inner).insert(chain, time);
    }

    /// Returns the age of keys, tenants and plans.
    #[must_use]
    pub fn key_data_age(&self, now: Instant) -> Duration {
        self.directory.age(now)
    }

    /// Returns the age of listings and labels.
    #[must_use]
    pub fn intel_age(&self, now: Instant) -> Duration {
        self.intel.age(now)
    }

    /// Returns the time since the latest known block of each chain, by the block's timestamp.
    #[must_use]
    pub fn tip_ages(&self, now: Timestamp) -> Vec<(ChainId, SignedDuration)> {
        let tips = self.tips.lock().unwrap_or_else(PoisonError::into_inner);
        let ages = tips.iter().map(|(chain, time)| (*chain, now.duration_since(*time)));
        ages.map(|(chain, age)| (chain, age.max(SignedDuration::ZERO))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_is_as_old_as_the_request_that_confirmed_it() {
        let begun = Instant::now();
        let after = |seconds| begun + Duration::from_secs(seconds);
        let freshness = Freshness::confirmed_at(begun);
        assert_eq!(freshness.key_data_age(after(10)), Duration::from_secs(10));
        freshness.confirm_key_data(after(10));
        assert_eq!(freshness.key_data_age(after(13)), Duration::from_secs(3));
        assert_eq!(freshness.intel_age(after(13)), Duration::from_secs(13));
        // An answer that arrives after a later one changes nothing.
        freshness.confirm_key_data(after(5));
        assert_eq!(freshness.key_data_age(after(13)), Duration::from_secs(3));
    }

    #[test]
    fn a_chain_is_as_old_as_its_latest_block_and_never_younger_than_now() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let freshness = Freshness::confirmed_at(Instant::now());
        freshness.set_tip(ChainId::BTC, at(90));
        assert_eq!(freshness.tip_ages(at(140)), [(ChainId::BTC, SignedDuration::from_secs(50))]);
        assert_eq!(freshness.tip_ages(at(5)), [(ChainId::BTC, SignedDuration::ZERO)]);
    }
}
