//! Limiter of a program: in-process, or shared with other replicas.

use assay_tenancy::directory::Limit;

use crate::{
    Account, Charge, Decision, InProcessLimiter, LimitStatus, RequestKind, SharedLimiter,
    StoreLossPolicy, TakenChecks, WindowUse,
};

/// Rate limiter. `now` is the time in seconds since 1970 by the program's own clock; shared limits use the clocks of
/// the token stores, and `now` only for display.
#[derive(Debug)]
pub enum Limiter {
    /// A single process.
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
    /// A limiter of a single process, whose windows begin with the use by earlier processes.
    #[must_use]
    pub fn continuing(uses: impl IntoIterator<Item = WindowUse>) -> Self {
        Self::InProcess(Box::new(InProcessLimiter::continuing(uses)))
    }

    /// Returns the use of long windows that changed since the last call, if no token store records it.
    #[must_use]
    pub fn changed_uses(&self) -> Vec<WindowUse> {
        match self {
            Self::InProcess(limiter) => limiter.changed_uses(),
            Self::Shared(_) => Vec::new(),
        }
    }

    /// Makes the next call of [`Limiter::changed_uses`] return the use again that the last one returned, because it
    /// could not be recorded.
    pub fn keep_changed(&self) {
        if let Self::InProcess(limiter) = self {
            limiter.keep_changed();
        }
    }

    /// Decides on one request. Waits only if a token store must be asked first.
    ///
    /// All limits hold at once: a request is charged to all limits or refused by one. A request that only a limit on
    /// checks refuses still counts as a request.
    pub async fn admit(
        &self,
        account: Account<'_>,
        kind: RequestKind,
        limits: &[Limit],
        policy: StoreLossPolicy,
        now: u64,
    ) -> Decision {
        match self {
            Self::InProcess(limiter) => limiter.admit(account, kind, limits, now),
            Self::Shared(limiter) => limiter.admit(account, kind, limits, policy, now).await,
        }
    }

    /// Takes up to `wanted` checks: as many as every limit on checks has room for. Limits on requests
    /// are not consulted: the checks are rows of one request.
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

    /// Refunds a charge for checks that were not answered.
    pub fn refund(&self, account: Account<'_>, charge: &Charge) {
        match self {
            Self::InProcess(limiter) => limiter.refund(account, charge),
            Self::Shared(limiter) => limiter.refund(account, charge),
        }
    }

    /// Returns the status of every limit, as far as this replica knows.
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

    /// Returns all unspent tokens to the token stores. Call this function before the program stops, when the program
    /// admits no more requests.
    pub async fn shutdown(&self) {
        if let Self::Shared(limiter) = self {
            limiter.shutdown().await;
        }
    }
}
