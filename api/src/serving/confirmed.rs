//! When what is in memory was last seen to be what the store holds.

use std::{
    collections::BTreeMap,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicI64, Ordering},
    },
};

use assay_engine::chain::ChainId;
use jiff::{SignedDuration, Timestamp};

/// Points in time, in milliseconds since 1970.
#[derive(Debug)]
pub struct Confirmed {
    directory: AtomicI64,
    intel: AtomicI64,
    tips: Mutex<BTreeMap<ChainId, Timestamp>>,
}

impl Confirmed {
    /// Everything was loaded just now.
    #[must_use]
    pub fn at(now: Timestamp) -> Self {
        let now = now.as_millisecond();
        Self { directory: AtomicI64::new(now), intel: AtomicI64::new(now), tips: Mutex::default() }
    }

    /// Keys, tenants and plans are those of the store.
    pub fn directory(&self, now: Timestamp) {
        self.directory.store(now.as_millisecond(), Ordering::Relaxed);
    }

    /// Listings and labels are those of the store.
    pub fn intel(&self, now: Timestamp) {
        self.intel.store(now.as_millisecond(), Ordering::Relaxed);
    }

    /// The newest known block of a chain is from this time.
    pub fn tip(&self, chain: ChainId, time: Timestamp) {
        // Whoever panicked here left whole values.
        self.tips.lock().unwrap_or_else(PoisonError::into_inner).insert(chain, time);
    }

    /// Time since the directory was confirmed.
    #[must_use]
    pub fn directory_age(&self, now: Timestamp) -> SignedDuration {
        age(&self.directory, now)
    }

    /// Time since listings and labels were confirmed.
    #[must_use]
    pub fn intel_age(&self, now: Timestamp) -> SignedDuration {
        age(&self.intel, now)
    }

    /// Time since the newest known block of each chain, by the block's own time.
    #[must_use]
    pub fn tip_ages(&self, now: Timestamp) -> Vec<(ChainId, SignedDuration)> {
        let tips = self.tips.lock().unwrap_or_else(PoisonError::into_inner);
        let ages = tips.iter().map(|(chain, time)| (*chain, now.duration_since(*time)));
        ages.map(|(chain, age)| (chain, age.max(SignedDuration::ZERO))).collect()
    }
}

fn age(at: &AtomicI64, now: Timestamp) -> SignedDuration {
    let passed = now.as_millisecond().saturating_sub(at.load(Ordering::Relaxed));
    SignedDuration::from_millis(passed.max(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn each_part_ages_by_itself_and_never_below_nothing() {
        let confirmed = Confirmed::at(at(100));
        confirmed.intel(at(130));
        confirmed.tip(ChainId::BTC, at(90));
        let now = at(140);
        assert_eq!(confirmed.directory_age(now).as_secs(), 40);
        assert_eq!(confirmed.intel_age(now).as_secs(), 10);
        assert_eq!(confirmed.tip_ages(now), [(ChainId::BTC, SignedDuration::from_secs(50))]);
        assert_eq!(confirmed.intel_age(at(5)).as_secs(), 0, "the clock went back");
    }
}
