//! Settings of a replica towards its token stores.

use assay_tenancy::{directory::Plan, manifest::OnTokenStoreLoss};

use crate::SECOND;

/// Kind of token store, by the length of the windows it keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TokenStoreKind {
    /// The store of short windows: fast, may lose its memory.
    Short,
    /// The store of long windows: durable.
    Long,
}

impl TokenStoreKind {
    /// Both kinds.
    pub const ALL: [Self; 2] = [Self::Short, Self::Long];
}

/// A plan's policy for the loss of a token store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreLossPolicy {
    /// Treatment of requests while a token store is unreachable.
    pub on_token_store_loss: OnTokenStoreLoss,
    /// Share of each short limit, in percent, that is set aside for the time in which a token store is unreachable.
    pub fallback_share: u8,
}

impl StoreLossPolicy {
    /// Returns the policy of `plan`.
    #[must_use]
    pub const fn of_plan(plan: &Plan) -> Self {
        Self { on_token_store_loss: plan.on_token_store_loss, fallback_share: plan.fallback_share }
    }

    /// Returns the share in force: 0 if the plan refuses requests while a store is unreachable, since the share would
    /// never be spent.
    #[must_use]
    pub const fn share(&self) -> u8 {
        match self.on_token_store_loss {
            OnTokenStoreLoss::Fallback => self.fallback_share,
            OnTokenStoreLoss::Refuse => 0,
        }
    }
}

/// Timings of requests to one token store, in microseconds.
#[derive(Clone, Copy, Debug)]
pub struct StoreTimings {
    /// Time whose expected demand a lease covers; at most a 144th of a long window.
    pub horizon: u64,
    /// Time after which a response counts as lost: tokens that it grants are never spent. A few seconds
    /// at most for short windows, see [`crate::slots`].
    pub timeout: u64,
    /// Shortest time between requests for a window that the store reported as exhausted.
    pub recheck: u64,
    /// Time without demand after which unspent tokens are returned.
    pub idle: u64,
}

/// Settings of a replica's limiter.
#[derive(Clone, Copy, Debug)]
pub struct LimiterSettings {
    /// Shortest window, in seconds, that the store of long windows keeps.
    pub long_from_seconds: u64,
    /// Largest difference between the rates of any two clocks, in parts per million.
    pub drift: u64,
    /// Timings of the store of short windows.
    pub short: StoreTimings,
    /// Timings of the store of long windows.
    pub long: StoreTimings,
    /// Time from the first of consecutive failures of a store for which requests without a fallback
    /// allowance wait for it; after that they are refused at once.
    pub patience: u64,
    /// Shortest and longest time between attempts to reach a store that fails.
    pub backoff: (u64, u64),
    /// A deliberate defect, to prove that the simulation detects it.
    #[cfg(test)]
    pub flaw: Option<crate::simulation::Flaw>,
}

impl Default for LimiterSettings {
    fn default() -> Self {
        Self {
            long_from_seconds: 3600,
            drift: 1000,
            short: StoreTimings {
                horizon: 400_000,
                timeout: 200_000,
                recheck: 100_000,
                idle: SECOND,
            },
            long: StoreTimings {
                horizon: 600 * SECOND,
                timeout: 500_000,
                recheck: SECOND,
                idle: 60 * SECOND,
            },
            patience: SECOND,
            backoff: (50_000, SECOND),
            #[cfg(test)]
            flaw: None,
        }
    }
}

impl LimiterSettings {
    /// Settings for a token store in the same process, which always responds at once, by the same clock.
    #[must_use]
    pub fn embedded() -> Self {
        let timings = StoreTimings { horizon: 0, timeout: u64::MAX, recheck: 0, idle: u64::MAX };
        Self { drift: 0, short: timings, long: timings, ..Self::default() }
    }

    pub(crate) const fn store(&self, window_seconds: u64) -> TokenStoreKind {
        if window_seconds < self.long_from_seconds {
            TokenStoreKind::Short
        } else {
            TokenStoreKind::Long
        }
    }

    pub(crate) const fn timings(&self, store: TokenStoreKind) -> &StoreTimings {
        match store {
            TokenStoreKind::Short => &self.short,
            TokenStoreKind::Long => &self.long,
        }
    }

    /// Returns the age from which a request to `store` has certainly failed, or a failure no longer counts together
    /// with the next failure.
    pub(crate) const fn overdue(&self, store: TokenStoreKind) -> u64 {
        self.timings(store).timeout.saturating_mul(4)
    }

    /// Returns `length` as measured by a clock that runs fast against another.
    pub(crate) fn stretched(&self, length: u64) -> u64 {
        length.saturating_add(self.margin(length))
    }

    /// Returns `length` as measured by a clock that runs slow against another.
    pub(crate) fn shrunk(&self, length: u64) -> u64 {
        length.saturating_sub(self.margin(length))
    }

    fn margin(&self, length: u64) -> u64 {
        let margin = u128::from(length) * u128::from(self.drift) / u128::from(SECOND);
        u64::try_from(margin).unwrap_or(u64::MAX).saturating_add(u64::from(self.drift > 0))
    }
}
