//! Charge of the checks of one request: taken all at once or not at all, and refunded as far as they are not answered.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use assay_limiter::{Charge, StoreLossPolicy};
use assay_request::problem::{Code, Problem};
use assay_service::Caller;

use super::gate::{exhausted_text, uncounted_text};
use crate::{App, LimiterOutcome};

/// Checks that were taken of a caller's limits. The checks that are not settled when the value is dropped are refunded, also if the
/// request is canceled.
#[derive(Debug)]
pub(crate) struct ChecksCharge {
    app: Arc<App>,
    caller: Caller,
    charge: Charge,
    unanswered: AtomicU64,
}

impl ChecksCharge {
    /// Takes `count` checks.
    ///
    /// # Errors
    ///
    /// Returns the problem of a request for which a limit on checks has too little room; nothing is charged then.
    pub(crate) async fn take(app: &Arc<App>, caller: &Caller, count: u64) -> Result<Self, Problem> {
        let service = &app.service;
        let now = service.clock.now();
        let limits = caller.tenant.limits(now);
        let store_loss = StoreLossPolicy::of_plan(&caller.tenant.plan);
        let seconds = u64::try_from(now.as_second()).unwrap_or_default();
        let account = caller.account();
        let taken = service.limiter.take_checks(account, count, &limits, store_loss, seconds).await;
        let found = taken.charge.count();
        let charge = Self {
            app: Arc::clone(app),
            caller: caller.clone(),
            charge: taken.charge,
            unanswered: AtomicU64::new(found),
        };
        if found >= count {
            return Ok(charge);
        }
        let names: Vec<String> = taken.violated.iter().map(ToString::to_string).collect();
        let (code, outcome, text) = if taken.unavailable {
            let text = uncounted_text(&names, taken.retry_after);
            (Code::ReducedCapacity, LimiterOutcome::Unavailable, text)
        } else {
            let text = exhausted_text(&names, taken.retry_after);
            (Code::QuotaExceeded, LimiterOutcome::Refused, text)
        };
        app.metrics.limiter(outcome);
        let detail = if count == 1 {
            text
        } else {
            format!("the request needs {count} checks, and {found} remain: {text}")
        };
        Err(Problem::new(code, detail)
            .violated(names)
            .retry_after(taken.retry_after, assay_system::random_u64()))
    }

    /// Settles the charge of answered checks, which are not refunded.
    pub(crate) fn settle(&self, answered: u64) {
        let left = |unanswered: u64| Some(unanswered.saturating_sub(answered));
        // The closure always returns a value.
        let _ = self.unanswered.fetch_update(Ordering::Relaxed, Ordering::Relaxed, left);
    }
}

impl Drop for ChecksCharge {
    fn drop(&mut self) {
        let unanswered = self.unanswered.load(Ordering::Relaxed);
        if unanswered > 0 {
            let refund = self.charge.refund_of_checks(unanswered);
            self.app.service.limiter.refund(self.caller.account(), &refund);
        }
    }
}
