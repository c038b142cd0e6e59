//! What is asked of the limiter, and what it decides.

use assay_tenancy::manifest::{Counts, LimitName};

use crate::{Admission, LimitSubject};

/// What a request is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestKind {
    /// Any request: counts against the limits on requests.
    Request,
    /// A check: counts against the limits on checks too.
    Check,
}

/// Whether a request may go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// It may; the charge is to be settled by its outcome.
    Admitted {
        /// What was charged.
        charge: Charge,
    },
    /// It may not: limits are used up.
    Refused {
        /// The limits that are used up.
        violated: Vec<LimitName>,
        /// Seconds until all of them have room again.
        retry_after: u64,
        /// Where every limit stands.
        statuses: Vec<LimitStatus>,
    },
    /// It may not: who counts cannot be reached, and what may be spent without is spent.
    Unavailable {
        /// The limits that cannot be counted.
        violated: Vec<LimitName>,
        /// Whether the plan refuses everything meanwhile, rather than to go on with less.
        closed: bool,
        /// Seconds after which trying again may help.
        retry_after: u64,
        /// Where every limit stands.
        statuses: Vec<LimitStatus>,
    },
}

impl Decision {
    /// What was found, with where every limit stands if the request may not go on.
    pub(crate) fn new(verdict: Admission, statuses: impl FnOnce() -> Vec<LimitStatus>) -> Self {
        match verdict {
            Admission::Admitted { spent } => Self::Admitted { charge: Charge::new(spent, 1) },
            Admission::Refused { violated, retry_after } => {
                Self::Refused { violated, retry_after, statuses: statuses() }
            }
            Admission::Unavailable { violated, closed, retry_after } => {
                Self::Unavailable { violated, closed, retry_after, statuses: statuses() }
            }
            // Whoever waited has waited long enough.
            Admission::Wait => Self::Unavailable {
                violated: Vec::new(),
                closed: false,
                retry_after: 1,
                statuses: statuses(),
            },
        }
    }
}

/// What an admitted request was charged beyond the limits that count every request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use = "a charge is settled by the request's outcome"]
pub struct Charge {
    pub(crate) checks: Vec<SpentTokens>,
    pub(crate) count: u64,
}

impl Charge {
    /// What was spent for `count` requests or rows; of it, only what counts checks can be given back.
    pub(crate) fn new(mut spent: Vec<SpentTokens>, count: u64) -> Self {
        spent.retain(|spent| spent.counts == Counts::Checks);
        Self { checks: spent, count }
    }

    /// How many checks were charged.
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// What was charged for `count` of the checks, to be given back.
    pub fn part(&self, count: u64) -> Self {
        Self { checks: self.checks.clone(), count: count.min(self.count) }
    }
}

/// What was spent of one cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpentTokens {
    /// Whose.
    pub subject: LimitSubject,
    /// The limit.
    pub limit: LimitName,
    /// The windows' length.
    pub window_seconds: u64,
    /// What it counts.
    pub counts: Counts,
    /// Tokens of the lease, and the window that they were drawn for.
    pub leased: u64,
    /// The window that these were drawn for.
    pub window: u64,
    /// Tokens of the replica's own floor.
    pub fallback: u64,
}

/// How many of several checks may be made.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "a charge is settled by the checks' outcome"]
pub struct TakenChecks {
    /// What was charged: as many checks as there was room for.
    pub charge: Charge,
    /// The limits without room for more; empty where all were taken.
    pub violated: Vec<LimitName>,
    /// Seconds until all of these may have room again.
    pub retry_after: u64,
    /// Whether there was no room because who counts cannot be reached.
    pub unavailable: bool,
}

/// Where one limit stands, as far as the replica knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LimitStatus {
    /// The limit.
    pub name: LimitName,
    /// How many in one window.
    pub requests: u64,
    /// The window's length in seconds.
    pub window_seconds: u64,
    /// How many are left in this window.
    pub remaining: u64,
    /// Seconds until the next window.
    pub resets_in: u64,
}

impl TakenChecks {
    pub(crate) fn new(charge: Charge, verdict: Admission) -> Self {
        let (violated, retry_after, unavailable) = match verdict {
            Admission::Refused { violated, retry_after } => (violated, retry_after, false),
            Admission::Unavailable { violated, retry_after, .. } => (violated, retry_after, true),
            Admission::Admitted { .. } | Admission::Wait => (Vec::new(), 0, false),
        };
        Self { charge, violated, retry_after, unavailable }
    }
}
