//! Requests to the limiter, and its decisions.

use assay_tenancy::manifest::{Counts, LimitName};

use crate::LimitSubject;

/// Kind of request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestKind {
    /// Any request: counts against the limits on requests.
    Request,
    /// A check: counts against the limits on checks too.
    Check,
}

/// Outcome of an attempt to admit a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Admission {
    /// The request is admitted.
    Admitted {
        /// The tokens spent, including those of limits on requests.
        spent: Vec<SpentTokens>,
    },
    /// Undecided until a token store responds: send the due requests, and retry after a response.
    Wait,
    /// Limits are exhausted.
    Refused {
        /// The exhausted limits.
        violated: Vec<LimitName>,
        /// Seconds until all exceeded limits have room again.
        retry_after: u64,
    },
    /// A token store is unreachable, and the fallback allowance is used up.
    Unavailable {
        /// The limits that cannot be counted.
        violated: Vec<LimitName>,
        /// True if the plan refuses all requests while a token store is unreachable.
        closed: bool,
        /// Seconds after which a retry may succeed.
        retry_after: u64,
    },
}

/// Decision on a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The request may proceed; the charge is settled by its outcome.
    Admitted {
        /// The charge.
        charge: Charge,
    },
    /// Limits are exhausted.
    Refused {
        /// The exhausted limits.
        violated: Vec<LimitName>,
        /// Seconds until all exceeded limits have room again.
        retry_after: u64,
        /// Status of every limit.
        statuses: Vec<LimitStatus>,
    },
    /// A token store is unreachable, and the fallback allowance is used up.
    Unavailable {
        /// The limits that cannot be counted.
        violated: Vec<LimitName>,
        /// True if the plan refuses all requests while a token store is unreachable, instead of using a fallback
        /// allowance.
        closed: bool,
        /// Seconds after which a retry may succeed.
        retry_after: u64,
        /// Status of every limit.
        statuses: Vec<LimitStatus>,
    },
}

impl Decision {
    /// Converts the outcome of an admission; `statuses` is evaluated only if the request is refused.
    pub(crate) fn new(verdict: Admission, statuses: impl FnOnce() -> Vec<LimitStatus>) -> Self {
        match verdict {
            Admission::Admitted { spent } => Self::Admitted { charge: Charge::new(spent, 1) },
            Admission::Refused { violated, retry_after } => {
                Self::Refused { violated, retry_after, statuses: statuses() }
            }
            Admission::Unavailable { violated, closed, retry_after } => {
                Self::Unavailable { violated, closed, retry_after, statuses: statuses() }
            }
            // The deadline for a response of the token stores has passed.
            Admission::Wait => Self::Unavailable {
                violated: Vec::new(),
                closed: false,
                retry_after: 1,
                statuses: statuses(),
            },
        }
    }
}

/// Charge of an admitted request against limits on checks, refundable. Charges against limits on
/// requests are final.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use = "a charge is settled by the request's outcome"]
pub struct Charge {
    pub(crate) checks: Vec<SpentTokens>,
    pub(crate) count: u64,
}

impl Charge {
    /// Creates the charge for `count` requests or rows. Of the tokens spent, only those of limits on checks can be
    /// refunded.
    pub(crate) fn new(mut spent: Vec<SpentTokens>, count: u64) -> Self {
        spent.retain(|spent| spent.counts == Counts::Checks);
        Self { checks: spent, count }
    }

    /// Returns the number of checks charged.
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// Returns the refund of `count` of the checks: the charge for these checks only.
    pub fn refund_of_checks(&self, count: u64) -> Self {
        Self { checks: self.checks.clone(), count: count.min(self.count) }
    }
}

/// Tokens spent of one window counter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpentTokens {
    /// The subject.
    pub subject: LimitSubject,
    /// The limit.
    pub limit: LimitName,
    /// Length of the windows in seconds.
    pub window_seconds: u64,
    /// Unit that the limit counts.
    pub counts: Counts,
    /// Tokens spent of the lease.
    pub leased: u64,
    /// The window that the lease belongs to.
    pub window: u64,
    /// Tokens spent of the replica's fallback allowance.
    pub fallback: u64,
}

/// Outcome of taking several checks at once.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "a charge is settled by the checks' outcome"]
pub struct TakenChecks {
    /// The charge: as many checks as there was room for.
    pub charge: Charge,
    /// The limits without room for more checks; empty if all checks were taken.
    pub violated: Vec<LimitName>,
    /// Seconds until all limits without room may have room again.
    pub retry_after: u64,
    /// True if the limits had no room because a token store is unreachable.
    pub unavailable: bool,
}

/// Status of one limit, as far as the replica knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LimitStatus {
    /// Name of the limit.
    pub name: LimitName,
    /// Requests or checks allowed in one window.
    pub requests: u64,
    /// Length of the window in seconds.
    pub window_seconds: u64,
    /// Requests or checks left in this window.
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
