//! Tokens of one window, in a replica's hands.

use crate::{
    LimiterSettings,
    token_store::{ReturnedTokens, WindowGrant},
};

/// Tokens of one window.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Lease {
    window: u64,
    epoch: u64,
    tokens: u64,
    /// The local time from which none may be spent: before the window's end by any clock.
    expires: u64,
    /// The local time at which the window ends, about.
    ends: u64,
    /// What could still be drawn when the bank was asked last.
    remaining: u64,
}

impl Lease {
    /// The window that it is of.
    pub(crate) const fn window(&self) -> u64 {
        self.window
    }

    /// The local time at which its window ends, about.
    pub(crate) const fn ends(&self) -> u64 {
        self.ends
    }

    /// How many tokens may be spent.
    pub(crate) const fn spendable(&self, now: u64) -> u64 {
        if now < self.expires { self.tokens } else { 0 }
    }

    /// What could still be drawn when the bank was asked last, if its window goes on.
    pub(crate) fn remaining(&self, now: u64) -> Option<u64> {
        (now < self.expires).then_some(self.remaining)
    }

    /// Spends up to `count`, and says how many that were.
    pub(crate) fn spend(&mut self, count: u64, now: u64) -> u64 {
        let spent = count.min(self.spendable(now));
        self.tokens -= spent;
        spent
    }

    /// Takes back tokens of `window` that were not needed after all.
    pub(crate) const fn refund(&mut self, window: u64, count: u64) {
        if self.window == window {
            self.tokens = self.tokens.saturating_add(count);
        }
    }

    /// Empties it, for the bank.
    pub(crate) fn release(&mut self, now: u64) -> Option<ReturnedTokens> {
        let tokens = self.spend(u64::MAX, now);
        (tokens > 0).then_some(ReturnedTokens { window: self.window, epoch: self.epoch, tokens })
    }

    /// Adds what the bank answered in `epoch` to a question that was sent at local time `sent`.
    ///
    /// The bank decided after that, so that the window goes on for at least what it says, from then on.
    pub(crate) fn add(
        &mut self,
        epoch: u64,
        answer: &WindowGrant,
        sent: u64,
        settings: &LimiterSettings,
    ) {
        let expires = sent.saturating_add(settings.shrunk(answer.ends_in));
        let ends = sent.saturating_add(answer.ends_in);
        if self.window == answer.window {
            // Each answer's reckoning is early; the latest of them is the nearest.
            self.expires = self.expires.max(expires);
            self.ends = self.ends.max(ends);
            self.tokens = self.tokens.saturating_add(answer.granted);
        } else {
            let (window, tokens) = (answer.window, answer.granted);
            *self = Self { window, epoch, tokens, expires, ends, remaining: 0 };
        }
        self.remaining = answer.remaining;
        if answer.granted > 0 {
            self.epoch = epoch;
        }
    }

    /// The tokens, spendable or not.
    #[cfg(test)]
    pub(crate) const fn tokens(&self) -> u64 {
        self.tokens
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SECOND;

    fn answer(window: u64, granted: u64, ends_in: u64) -> WindowGrant {
        WindowGrant { granted, window, ends_in, remaining: 9, recovering: false }
    }

    #[test]
    fn a_lease_runs_out_before_its_window_however_long_the_answer_took() {
        let (settings, mut lease) = (LimiterSettings::default(), Lease::default());
        // Given a question of second 100, when the window went on for 10 s from some time after that,
        lease.add(1, &answer(7, 5, 10 * SECOND), 100 * SECOND, &settings);
        // then nothing is spent 10 s after the question, less a thousandth.
        assert_eq!(lease.spendable(109 * SECOND), 5);
        assert_eq!(lease.spendable(110 * SECOND - 10_001), 0);
        assert_eq!(lease.spend(3, 110 * SECOND), 0);
    }

    #[test]
    fn a_later_answer_knows_the_windows_end_better_and_never_moves_it_nearer() {
        let (settings, mut lease) = (LimiterSettings::default(), Lease::default());
        lease.add(1, &answer(7, 5, 10 * SECOND), 100 * SECOND, &settings);
        lease.add(1, &answer(7, 2, SECOND), 109 * SECOND, &settings);
        assert_eq!(lease.spendable(110 * SECOND - 1_002), 7);
        lease.add(1, &answer(7, 2, SECOND / 2), 109 * SECOND, &settings);
        assert_eq!(lease.spendable(110 * SECOND - 1_002), 9);
    }

    #[test]
    fn the_next_window_takes_the_place_of_the_last_one() {
        let (settings, mut lease) = (LimiterSettings::default(), Lease::default());
        lease.add(1, &answer(7, 5, 10 * SECOND), 100 * SECOND, &settings);
        lease.add(1, &answer(8, 2, 10 * SECOND), 101 * SECOND, &settings);
        lease.refund(7, 4);
        assert_eq!(lease.spend(9, 102 * SECOND), 2, "tokens of a window that is over are no more");
        lease.refund(8, 1);
        assert_eq!(
            lease.release(102 * SECOND),
            Some(ReturnedTokens { window: 8, epoch: 1, tokens: 1 })
        );
        assert_eq!(lease.release(102 * SECOND), None);
    }
}
