//! Demand estimate: an exponentially decaying rate in whole numbers.

/// Decaying estimate of the demand for tokens.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct DemandEstimate {
    /// Demand within roughly the last horizon, in thousandths of a token.
    level: u64,
    since: u64,
    /// Tokens requested after the time `since`.
    count: u64,
}

impl DemandEstimate {
    /// Records a demand of `count` tokens at `now`.
    pub(crate) fn note(&mut self, count: u64, horizon: u64, now: u64) {
        if now.saturating_sub(self.since) >= (horizon / 8).max(1) {
            self.level = self.level_at(horizon, now);
            (self.since, self.count) = (now, 0);
        }
        self.count = self.count.saturating_add(count);
    }

    /// Returns the expected demand within `horizon` at the present rate, rounded up.
    pub(crate) fn within(&self, horizon: u64, now: u64) -> u64 {
        self.level_at(horizon, now).div_ceil(1000)
    }

    /// Returns the level at `now`: past demand decays by `horizon / (horizon + elapsed)`.
    fn level_at(&self, horizon: u64, now: u64) -> u64 {
        let elapsed = u128::from(now.saturating_sub(self.since));
        let horizon = u128::from(horizon);
        let level = u128::from(self.level) + u128::from(self.count) * 1000;
        let faded = level * horizon / (horizon + elapsed).max(1);
        u64::try_from(faded).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_steady_rate_is_estimated_within_a_few_horizons_and_decays() {
        let (mut demand, horizon) = (DemandEstimate::default(), 400_000);
        assert_eq!(demand.within(horizon, 0), 0);
        for now in (0..2_000_000).step_by(2_000) {
            demand.note(1, horizon, now);
        }
        // 500 a second are 200 in a horizon.
        let found = demand.within(horizon, 2_000_000);
        assert!((160..=240).contains(&found), "{found}");
        assert!(demand.within(horizon, 60_000_000) <= 2);
    }

    #[test]
    fn the_first_request_raises_the_estimate_at_once() {
        let mut demand = DemandEstimate::default();
        demand.note(3, 400_000, 77);
        assert_eq!(demand.within(400_000, 77), 3);
        assert_eq!(demand.within(0, 77), 0, "without a horizon nothing is kept ready");
    }
}
