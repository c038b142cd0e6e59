//! How a replica deals with its banks.

use assay_tenancy::{directory::Plan, manifest::OnTokenStoreLoss};

use crate::SECOND;

/// Which bank keeps a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TokenStoreKind {
    /// The one for short windows: fast, and may lose its memory.
    Short,
    /// The one for long windows: durable.
    Long,
}

impl TokenStoreKind {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Short, Self::Long];
}

/// What a plan says about its limits as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreLossPolicy {
    /// What becomes of requests while a bank cannot be reached.
    pub on_token_store_loss: OnTokenStoreLoss,
    /// The share of each short limit that is set aside for that time, in percent.
    pub fallback_share: u8,
}

impl StoreLossPolicy {
    /// What the plan says.
    #[must_use]
    pub const fn of(plan: &Plan) -> Self {
        Self { on_token_store_loss: plan.on_token_store_loss, fallback_share: plan.fallback_share }
    }

    /// The share in force: nothing is set aside where nothing would be spent of it.
    #[must_use]
    pub const fn share(&self) -> u8 {
        match self.on_token_store_loss {
            OnTokenStoreLoss::Fallback => self.fallback_share,
            OnTokenStoreLoss::Refuse => 0,
        }
    }
}

/// How one bank is asked. All lengths are microseconds.
#[derive(Clone, Copy, Debug)]
pub struct StoreTimings {
    /// A lease holds what is asked for in this time; never more than a 144th of a long window.
    pub horizon: u64,
    /// An answer that takes longer counts as lost: what it grants is never spent. A few seconds at most
    /// for short windows, see [`crate::seats`].
    pub timeout: u64,
    /// After it said that a window is used up, it is asked again no sooner.
    pub recheck: u64,
    /// What nobody asked for in this time is given back.
    pub idle: u64,
}

/// How a replica deals with its banks.
#[derive(Clone, Copy, Debug)]
pub struct LimiterSettings {
    /// Windows of so many seconds or more are kept by the long bank.
    pub long_from_seconds: u64,
    /// How far the rates of any two clocks may differ, in parts per million.
    pub drift: u64,
    /// How the bank of short windows is asked.
    pub short: StoreTimings,
    /// How the bank of long windows is asked.
    pub long: StoreTimings,
    /// Shortest and longest time between attempts to reach a bank that fails.
    pub backoff: (u64, u64),
    /// What is wrong on purpose, to see that the simulation notices.
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
            backoff: (50_000, SECOND),
            #[cfg(test)]
            flaw: None,
        }
    }
}

impl LimiterSettings {
    /// For a bank in one's own memory: it answers at once, by the same clock, and always.
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

    /// `length` as a clock may show it that runs fast against another.
    pub(crate) fn stretched(&self, length: u64) -> u64 {
        length.saturating_add(self.margin(length))
    }

    /// `length` as a clock may show it that runs slow against another.
    pub(crate) fn shrunk(&self, length: u64) -> u64 {
        length.saturating_sub(self.margin(length))
    }

    fn margin(&self, length: u64) -> u64 {
        let margin = u128::from(length) * u128::from(self.drift) / u128::from(SECOND);
        u64::try_from(margin).unwrap_or(u64::MAX).saturating_add(u64::from(self.drift > 0))
    }
}
