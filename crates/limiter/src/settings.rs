//! How a replica deals with its banks.

use assay_tenancy::{directory::Plan, manifest::OnStoreLoss};

use crate::SECOND;

/// Which bank keeps a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum BankKind {
    /// The one for short windows: fast, and may lose its memory.
    Short,
    /// The one for long windows: durable.
    Long,
}

impl BankKind {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Short, Self::Long];
}

/// What a plan says about its limits as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// What becomes of requests while a bank cannot be reached.
    pub on_store_loss: OnStoreLoss,
    /// The share of each short limit that is set aside for that time, in percent.
    pub floor_share: u8,
}

impl Terms {
    /// What the plan says.
    #[must_use]
    pub const fn of(plan: &Plan) -> Self {
        Self { on_store_loss: plan.on_store_loss, floor_share: plan.floor_share }
    }

    /// The share in force: nothing is set aside where nothing would be spent of it.
    #[must_use]
    pub const fn share(&self) -> u8 {
        match self.on_store_loss {
            OnStoreLoss::Floor => self.floor_share,
            OnStoreLoss::Closed => 0,
        }
    }
}

/// How one bank is asked. All lengths are microseconds.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
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
pub struct Settings {
    /// Windows of so many seconds or more are kept by the long bank.
    pub long_from_seconds: u64,
    /// How far the rates of any two clocks may differ, in parts per million.
    pub drift: u64,
    /// How the bank of short windows is asked.
    pub short: Pace,
    /// How the bank of long windows is asked.
    pub long: Pace,
    /// Shortest and longest time between attempts to reach a bank that fails.
    pub backoff: (u64, u64),
    /// What is wrong on purpose, to see that the simulation notices.
    #[cfg(test)]
    pub flaw: Option<crate::simulation::Flaw>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            long_from_seconds: 3600,
            drift: 1000,
            short: Pace { horizon: 400_000, timeout: 200_000, recheck: 100_000, idle: SECOND },
            long: Pace {
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

impl Settings {
    /// For a bank in one's own memory: it answers at once, by the same clock, and always.
    #[must_use]
    pub fn embedded() -> Self {
        let pace = Pace { horizon: 0, timeout: u64::MAX, recheck: 0, idle: u64::MAX };
        Self { drift: 0, short: pace, long: pace, ..Self::default() }
    }

    pub(crate) const fn bank(&self, window_seconds: u64) -> BankKind {
        if window_seconds < self.long_from_seconds { BankKind::Short } else { BankKind::Long }
    }

    pub(crate) const fn pace(&self, bank: BankKind) -> &Pace {
        match bank {
            BankKind::Short => &self.short,
            BankKind::Long => &self.long,
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
