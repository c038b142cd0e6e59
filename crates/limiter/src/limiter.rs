//! The limiter of a program: for itself, or together with other replicas.

use assay_tenancy::directory::Limit;

use crate::{
    Account, Charge, Decision, InProcessLimiter, LimitStatus, RequestKind, SharedLimiter,
    StoreLossPolicy, TakenChecks,
};

/// How often payers may ask. `now` is the time in seconds since 1970 by the program's own clock; where
/// limits are shared, the banks' clocks decide, and it is only shown.
#[derive(Debug)]
pub enum Limiter {
    /// One process by itself: a restart starts its counters anew.
    InProcess(Box<InProcessLimiter>),
    /// One of many replicas.
    Shared(SharedLimiter),
}

impl Default for Limiter {
    fn default() -> Self {
        Self::InProcess(Box::default())
    }
}

impl Limiter {
    /// Asks for one request. Waits only where banks have to be asked first.
    ///
    /// All limits hold at once: it is charged to all or refused by one. A request that only a limit on
    /// checks refuses still counts as a request.
    pub async fn admit(
        &self,
        account: Account<'_>,
        ask: RequestKind,
        limits: &[Limit],
        policy: StoreLossPolicy,
        now: u64,
    ) -> Decision {
        match self {
            Self::InProcess(limiter) => limiter.admit(account, ask, limits, now),
            Self::Shared(limiter) => limiter.admit(account, ask, limits, policy, now).await,
        }
    }

    /// Takes as many of `wanted` checks as every limit on checks has room for. Limits on requests are
    /// not asked: the checks are rows of one request.
    pub async fn take_checks(
        &self,
        account: Account<'_>,
        wanted: u64,
        limits: &[Limit],
        policy: StoreLossPolicy,
        now: u64,
    ) -> TakenChecks {
        match self {
            Self::InProcess(limiter) => limiter.take_checks(account, wanted, limits, now),
            Self::Shared(limiter) => limiter.take_checks(account, wanted, limits, policy).await,
        }
    }

    /// Gives back what was charged as a check, because it was not answered.
    pub fn refund(&self, account: Account<'_>, charge: &Charge) {
        match self {
            Self::InProcess(limiter) => limiter.refund(account, charge),
            Self::Shared(limiter) => limiter.refund(account, charge),
        }
    }

    /// Where every limit stands, as far as this replica knows.
    #[must_use]
    pub fn statuses(
        &self,
        account: Account<'_>,
        limits: &[Limit],
        policy: StoreLossPolicy,
        now: u64,
    ) -> Vec<LimitStatus> {
        match self {
            Self::InProcess(limiter) => limiter.statuses(account, limits, now),
            Self::Shared(limiter) => limiter.statuses(account, limits, policy, now),
        }
    }

    /// Gives everything back that was drawn and not spent: before the program stops, when it admits no
    /// more requests.
    pub async fn shutdown(&self) {
        if let Self::Shared(limiter) = self {
            limiter.shutdown().await;
        }
    }
}
