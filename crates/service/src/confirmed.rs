//! How long ago what is in memory was last known to be what the store says.

use std::{
    collections::BTreeMap,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use assay_engine::chain::ChainId;
use jiff::{SignedDuration, Timestamp};

/// When each part was last confirmed, by a clock that nobody sets; and the newest blocks, by theirs.
#[derive(Debug)]
pub struct Confirmed {
    directory: Mark,
    intel: Mark,
    tips: Mutex<BTreeMap<ChainId, Timestamp>>,
}

/// A moment that only moves forward.
#[derive(Debug)]
struct Mark {
    begun: Instant,
    /// Milliseconds since then.
    at: AtomicU64,
}

impl Mark {
    const fn at(now: Instant) -> Self {
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

impl Confirmed {
    /// Everything was loaded by questions that were asked at `now`.
    #[must_use]
    pub fn at(now: Instant) -> Self {
        Self { directory: Mark::at(now), intel: Mark::at(now), tips: Mutex::default() }
    }

    /// Keys, tenants and plans are those of the store, by an answer to what was asked at `asked`: what
    /// changed while the answer was under way may not be in it.
    pub fn directory(&self, asked: Instant) {
        self.directory.advance(asked);
    }

    /// Listings and labels are those of the store, by an answer to what was asked at `asked`.
    pub fn intel(&self, asked: Instant) {
        self.intel.advance(asked);
    }

    /// The newest known block of a chain is from this time.
    pub fn tip(&self, chain: ChainId, time: Timestamp) {
        // Whoever panicked here left whole values.
        self.tips.lock().unwrap_or_else(PoisonError::into_inner).insert(chain, time);
    }

    /// How long before `now` the directory was confirmed.
    #[must_use]
    pub fn key_data_age(&self, now: Instant) -> Duration {
        self.directory.age(now)
    }

    /// How long before `now` listings and labels were confirmed.
    #[must_use]
    pub fn intel_age(&self, now: Instant) -> Duration {
        self.intel.age(now)
    }

    /// Time since the newest known block of each chain, by the block's own time.
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
    fn each_part_is_as_old_as_the_question_that_confirmed_it() {
        let begun = Instant::now();
        let after = |seconds| begun + Duration::from_secs(seconds);
        let confirmed = Confirmed::at(begun);
        assert_eq!(confirmed.key_data_age(after(10)), Duration::from_secs(10));
        confirmed.directory(after(10));
        assert_eq!(confirmed.key_data_age(after(13)), Duration::from_secs(3));
        assert_eq!(confirmed.intel_age(after(13)), Duration::from_secs(13));
        // An answer that was overtaken by a later one changes nothing.
        confirmed.directory(after(5));
        assert_eq!(confirmed.key_data_age(after(13)), Duration::from_secs(3));
    }

    #[test]
    fn a_chain_is_as_old_as_its_newest_block_and_never_younger_than_now() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let confirmed = Confirmed::at(Instant::now());
        confirmed.tip(ChainId::BTC, at(90));
        assert_eq!(confirmed.tip_ages(at(140)), [(ChainId::BTC, SignedDuration::from_secs(50))]);
        assert_eq!(confirmed.tip_ages(at(5)), [(ChainId::BTC, SignedDuration::ZERO)]);
    }
}
