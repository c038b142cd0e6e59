//! Fallback allowance: the share that a replica spends without a token store.
//!
//! The allowance does not depend on window boundaries: in *no* period as long as a window is more than the share
//! spent, and thus in no window by any clock. Spending is recorded in buckets of a sixteenth of a window; a bucket
//! counts until all of it is longer ago than a window.

use std::collections::VecDeque;

use crate::LimiterSettings;

const SLOTS: u64 = 16;

/// Spending within about the last window.
#[derive(Clone, Debug, Default)]
pub(crate) struct FallbackAllowance {
    /// Buckets by number, oldest first, with the tokens spent in each.
    spent: VecDeque<(u64, u64)>,
}

impl FallbackAllowance {
    /// Returns the part of `share` that is left at local time `now`.
    pub(crate) fn remaining(
        &self,
        share: u64,
        length: u64,
        now: u64,
        settings: &LimiterSettings,
    ) -> u64 {
        if share == 0 {
            return 0;
        }
        let since = now.saturating_sub(settings.stretched(length));
        let counting =
            self.spent.iter().filter(|(slot, _)| (slot + 1) * slot_length(length) > since);
        share.saturating_sub(counting.map(|(_, count)| count).sum())
    }

    /// Records that `count` tokens were spent.
    pub(crate) fn spend(&mut self, count: u64, length: u64, now: u64, settings: &LimiterSettings) {
        let since = now.saturating_sub(settings.stretched(length));
        while self.spent.front().is_some_and(|(slot, _)| (slot + 1) * slot_length(length) <= since)
        {
            self.spent.pop_front();
        }
        let slot = now / slot_length(length);
        match self.spent.back_mut() {
            Some((last, spent)) if *last == slot => *spent += count,
            _ => self.spent.push_back((slot, count)),
        }
    }

    /// True if no spending counts any more.
    pub(crate) fn is_idle(&self, length: u64, now: u64, settings: &LimiterSettings) -> bool {
        self.remaining(1, length, now, settings) == 1
    }
}

const fn slot_length(length: u64) -> u64 {
    if length < SLOTS { 1 } else { length / SLOTS }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn no_period_as_long_as_a_window_exceeds_the_share(
            steps in prop::collection::vec((0..400_u64, 1..5_u64), 1..200),
            share in 1..12_u64,
        ) {
            let (length, settings) = (1_000, LimiterSettings::default());
            let mut fallback = FallbackAllowance::default();
            let (mut now, mut spent) = (5_000, Vec::new());
            for (pause, wanted) in steps {
                now += pause;
                let count = wanted.min(fallback.remaining(share, length, now, &settings));
                if count > 0 {
                    fallback.spend(count, length, now, &settings);
                    spent.push((now, count));
                }
            }
            for (end, _) in &spent {
                let within = spent.iter().filter(|(at, _)| at <= end && end - at < length);
                prop_assert!(within.map(|(_, count)| count).sum::<u64>() <= share);
            }
        }
    }

    #[test]
    fn the_share_is_available_again_just_over_a_window_later() {
        let (length, settings) = (16_000, LimiterSettings::default());
        let mut fallback = FallbackAllowance::default();
        fallback.spend(3, length, 100_000, &settings);
        assert_eq!(fallback.remaining(3, length, 116_000, &settings), 0);
        assert_eq!(fallback.remaining(3, length, 118_000, &settings), 3);
        assert_eq!(
            fallback.remaining(2, length, 101_000, &settings),
            0,
            "a share that became smaller"
        );
    }
}
