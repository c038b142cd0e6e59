//! Log lines about chains that checks cannot read: one a minute for each chain, with the number of checks.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use assay_address::ChainId;

use super::subject::ReadError;

/// The shortest time between two lines about a chain.
const INTERVAL: Duration = Duration::from_mins(1);

/// Checks that could not read a chain, by chain.
#[derive(Clone, Debug, Default)]
pub(super) struct UnreadableChains(Arc<Mutex<BTreeMap<ChainId, FailedChecks>>>);

/// The failed checks of a chain.
#[derive(Debug)]
struct FailedChecks {
    /// The time of the last line.
    logged_at: Instant,
    /// The number of failed checks since.
    since: u64,
}

impl UnreadableChains {
    /// Counts a check that could not read a chain, and logs the error if no line about the chain is of the last minute.
    pub(super) fn report(&self, chain: ChainId, error: &ReadError) {
        if let Some(checks) = self.count(chain, Instant::now()) {
            tracing::error!(%error, %chain, checks, "failed to read a chain");
        }
    }

    /// Counts a failed check. Returns the number of failed checks since the last line if the next line is due.
    fn count(&self, chain: ChainId, now: Instant) -> Option<u64> {
        let mut chains = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(known) = chains.get_mut(&chain) else {
            chains.insert(chain, FailedChecks { logged_at: now, since: 0 });
            return Some(1);
        };
        known.since += 1;
        if now.duration_since(known.logged_at) < INTERVAL {
            return None;
        }
        let since = known.since;
        *known = FailedChecks { logged_at: now, since: 0 };
        Some(since)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_a_minute_states_the_number_of_failed_checks() {
        let (bitcoin, ethereum) = ("btc".parse().unwrap(), "eth".parse().unwrap());
        let (chains, start) = (UnreadableChains::default(), Instant::now());
        let after = |seconds| start + Duration::from_secs(seconds);
        assert_eq!(chains.count(bitcoin, start), Some(1));
        for second in 1..60 {
            assert_eq!(chains.count(bitcoin, after(second)), None);
        }
        assert_eq!(chains.count(ethereum, after(59)), Some(1), "each chain counts by itself");
        // Readers that were renewed go on counting.
        let renewed = chains.clone();
        assert_eq!(renewed.count(bitcoin, after(60)), Some(60));
        assert_eq!(chains.count(bitcoin, after(119)), None);
        assert_eq!(chains.count(bitcoin, after(3600)), Some(2));
    }
}
