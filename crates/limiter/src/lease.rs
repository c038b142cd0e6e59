//! Lease of a replica: tokens of one window that the replica may spend.

use crate::{
    LimiterSettings,
    token_store::{ReturnedTokens, WindowGrant},
};

/// Tokens of one window that a replica holds.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Lease {
    window: u64,
    epoch: u64,
    tokens: u64,
    /// Local time from which no token may be spent: before the window's end by any clock.
    expires: u64,
    /// Approximate local time of the window's end.
    ends: u64,
    /// Tokens left in the store at its last response.
    remaining: u64,
}

impl Lease {
    /// Returns the window of the lease.
    pub(crate) const fn window(&self) -> u64 {
        self.window
    }

    /// Returns the approximate local time of the window's end.
    pub(crate) const fn ends(&self) -> u64 {
        self.ends
    }

    /// Returns the number of tokens that may be spent.
    pub(crate) const fn spendable(&self, now: u64) -> u64 {
        if now < self.expires { self.tokens } else { 0 }
    }

    /// Returns the tokens left in the store at its last response, if the window has not ended.
    pub(crate) fn remaining(&self, now: u64) -> Option<u64> {
        (now < self.expires).then_some(self.remaining)
    }

    /// Spends up to `count` tokens, and returns how many.
    pub(crate) fn spend(&mut self, count: u64, now: u64) -> u64 {
        let spent = count.min(self.spendable(now));
        self.tokens -= spent;
        spent
    }

    /// Takes back spent tokens of `window`.
    pub(crate) const fn refund(&mut self, window: u64, count: u64) {
        if self.window == window {
            self.tokens = self.tokens.saturating_add(count);
        }
    }

    /// Empties the lease, and returns its tokens for the store.
    pub(crate) fn release(&mut self, now: u64) -> Option<ReturnedTokens> {
        let tokens = self.spend(u64::MAX, now);
        (tokens > 0).then_some(ReturnedTokens { window: self.window, epoch: self.epoch, tokens })
    }

    /// Adds the grant of a request that was sent at local time `sent`.
    ///
    /// The store decided after `sent`, so that the window lasts at least for the stated time after `sent`.
    pub(crate) fn add(
        &mut self,
        epoch: u64,
        grant: &WindowGrant,
        sent: u64,
        settings: &LimiterSettings,
    ) {
        let expires = sent.saturating_add(settings.shrunk(grant.ends_in));
        let ends = sent.saturating_add(grant.ends_in);
        if self.window == grant.window {
            // Each response underestimates the end; the latest estimate is the closest.
            self.expires = self.expires.max(expires);
            self.ends = self.ends.max(ends);
            self.tokens = self.tokens.saturating_add(grant.granted);
        } else {
            let (window, tokens) = (grant.window, grant.granted);
            *self = Self { window, epoch, tokens, expires, ends, remaining: 0 };
        }
        self.remaining = grant.remaining;
        if grant.granted > 0 {
            self.epoch = epoch;
        }
    }

    /// Returns the tokens of the lease, spendable or not.
    pub(crate) const fn tokens(&self) -> u64 {
        self.tokens
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SECOND;

    fn grant(window: u64, granted: u64, ends_in: u64) -> WindowGrant {
        WindowGrant { granted, window, ends_in, remaining: 9, recovering: false }
    }

    #[test]
    fn a_lease_expires_before_its_window_however_late_the_response() {
        let (settings, mut lease) = (LimiterSettings::default(), Lease::default());
        // Given a request sent at second 100 and a window that goes on for 10 s from some time after
        // that,
        lease.add(1, &grant(7, 5, 10 * SECOND), 100 * SECOND, &settings);
        // then nothing is spent 10 s after the request, less a thousandth.
        assert_eq!(lease.spendable(109 * SECOND), 5);
        assert_eq!(lease.spendable(110 * SECOND - 10_001), 0);
        assert_eq!(lease.spend(3, 110 * SECOND), 0);
    }

    #[test]
    fn a_later_response_may_only_extend_the_lease() {
        let (settings, mut lease) = (LimiterSettings::default(), Lease::default());
        lease.add(1, &grant(7, 5, 10 * SECOND), 100 * SECOND, &settings);
        lease.add(1, &grant(7, 2, SECOND), 109 * SECOND, &settings);
        assert_eq!(lease.spendable(110 * SECOND - 1_002), 7);
        lease.add(1, &grant(7, 2, SECOND / 2), 109 * SECOND, &settings);
        assert_eq!(lease.spendable(110 * SECOND - 1_002), 9);
    }

    #[test]
    fn a_lease_of_the_next_window_replaces_the_last_one() {
        let (settings, mut lease) = (LimiterSettings::default(), Lease::default());
        lease.add(1, &grant(7, 5, 10 * SECOND), 100 * SECOND, &settings);
        lease.add(1, &grant(8, 2, 10 * SECOND), 101 * SECOND, &settings);
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
