//! Limiter of a single process: the same state machine, with a token store in its own memory that
//! responds at once.

use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicU64, Ordering},
};

use assay_tenancy::{directory::Limit, manifest::OnTokenStoreLoss};

use crate::{
    Account, Admission, ApplicableLimits, Charge, Decision, DecisionContext, LimitStatus,
    LimiterSettings, RequestKind, SECOND, ServerClock, StoreLossPolicy, TakenChecks, TokenLedger,
    TokenStoreKind, admit, note, sharded::ShardedLimits, take_checks,
};

/// Policy of a limiter without a fallback allowance: the store in memory cannot be lost.
const POLICY: StoreLossPolicy =
    StoreLossPolicy { on_token_store_loss: OnTokenStoreLoss::Refuse, fallback_share: 0 };
/// Identifier of the only replica.
const REPLICA_ID: u64 = 0;

/// Limiter with counters in memory: a restart resets them.
#[derive(Debug)]
pub struct InProcessLimiter {
    sharded: ShardedLimits,
    ledger: Mutex<TokenLedger>,
    /// Latest time seen, in microseconds. If the clock is behind the latest time seen, that time is used instead, so
    /// that no window is counted twice.
    latest: AtomicU64,
}

impl Default for InProcessLimiter {
    fn default() -> Self {
        let mut ledger = TokenLedger::new(0);
        let (epoch, _) = ledger.open(&server(0));
        ledger.confirm_first_epoch(epoch);
        Self {
            sharded: ShardedLimits::new(LimiterSettings::embedded()),
            ledger: Mutex::new(ledger),
            latest: AtomicU64::new(0),
        }
    }
}

impl InProcessLimiter {
    /// Decides on one request at `now` (seconds since 1970).
    ///
    /// All limits hold at once: a request is charged to all limits or refused by one. A request that only a limit on
    /// checks refuses still counts as a request.
    pub fn admit(
        &self,
        account: Account<'_>,
        kind: RequestKind,
        limits: &[Limit],
        now: u64,
    ) -> Decision {
        let now = self.advance(now);
        self.sharded.evict_idle(account, now);
        let verdict = self.sharded.with_applicable(
            account,
            limits,
            || now,
            |applicable, context| {
                note(applicable, POLICY, kind, 1, context);
                loop {
                    match admit(applicable, POLICY, kind, context) {
                        Admission::Wait => self.lease(applicable, context),
                        verdict => break verdict,
                    }
                }
            },
        );
        Decision::new(verdict, || self.sharded.statuses(account, limits, POLICY, now, now))
    }

    /// Takes up to `wanted` checks: as many as every limit on checks has room for. Limits on requests
    /// are not consulted: the checks are rows of one request.
    pub fn take_checks(
        &self,
        account: Account<'_>,
        wanted: u64,
        limits: &[Limit],
        now: u64,
    ) -> TakenChecks {
        let now = self.advance(now);
        self.sharded.with_applicable(
            account,
            limits,
            || now,
            |applicable, context| {
                note(applicable, POLICY, RequestKind::Check, wanted, context);
                loop {
                    match take_checks(applicable, POLICY, wanted, context) {
                        None => self.lease(applicable, context),
                        Some((spent, count, verdict)) => {
                            break TakenChecks::new(Charge::new(spent, count), verdict);
                        }
                    }
                }
            },
        )
    }

    /// Refunds a charge for checks that were not answered.
    pub fn refund(&self, account: Account<'_>, charge: &Charge) {
        self.sharded.refund(account, charge);
    }

    /// Returns the status of every limit at `now`, in seconds since 1970.
    pub fn statuses(&self, account: Account<'_>, limits: &[Limit], now: u64) -> Vec<LimitStatus> {
        let now = self.advance(now);
        self.sharded.statuses(account, limits, POLICY, now, now)
    }

    /// Processes the due requests, and applies the grants.
    fn lease(&self, applicable: &mut [ApplicableLimits<'_>], context: &DecisionContext<'_>) {
        let mut ledger = self.ledger.lock().unwrap_or_else(PoisonError::into_inner);
        for entry in applicable {
            for store in TokenStoreKind::ALL {
                if let Some(request) = entry.state.due_request(store, context) {
                    let answer = ledger.lease(
                        &server(context.now),
                        REPLICA_ID,
                        entry.state.subject(),
                        &request,
                    );
                    entry.state.apply_grant(store, request.sequence, &answer, context);
                }
            }
        }
    }

    fn advance(&self, now: u64) -> u64 {
        let now = now.saturating_mul(SECOND);
        self.latest.fetch_max(now, Ordering::Relaxed).max(now)
    }
}

fn server(now: u64) -> ServerClock {
    ServerClock { run: String::new(), now }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, thread};

    use assay_tenancy::{
        Period,
        manifest::{Counts, Per},
    };
    use proptest::prelude::*;

    use super::*;

    const ACME: Account<'_> = Account { plan: "business", tenant: "acme", key: "a1" };

    fn limit(name: &str, requests: u64, seconds: u64, counts: Counts) -> Limit {
        Limit {
            name: name.parse().unwrap(),
            requests,
            ceiling: requests,
            window: Period::from_seconds(seconds),
            counts,
            per: Per::Tenant,
        }
    }

    fn business() -> Vec<Limit> {
        vec![limit("burst", 3, 10, Counts::Requests), limit("daily", 5, 100, Counts::Checks)]
    }

    #[test]
    fn checks_are_taken_up_to_the_limit_and_unused_ones_refunded() {
        let counters = InProcessLimiter::default();
        let taken = counters.take_checks(ACME, 3, &business(), 100);
        assert_eq!((taken.charge.count(), taken.violated.len()), (3, 0));
        let taken = counters.take_checks(ACME, 4, &business(), 101);
        assert_eq!((taken.charge.count(), taken.retry_after), (2, 99), "five in a hundred seconds");
        assert_eq!(taken.violated, ["daily".parse().unwrap()]);
        assert!(!admitted(&counters.admit(ACME, RequestKind::Check, &business(), 102)));
        counters.refund(ACME, &taken.charge.refund_of_checks(1));
        assert!(admitted(&counters.admit(ACME, RequestKind::Check, &business(), 103)));
        assert_eq!(counters.take_checks(ACME, 9, &business(), 104).charge.count(), 0);
        assert_eq!(
            counters.take_checks(ACME, 9, &business(), 200).charge.count(),
            5,
            "the next window"
        );
    }

    fn admitted(decision: &Decision) -> bool {
        matches!(decision, Decision::Admitted { .. })
    }

    #[test]
    fn a_window_admits_its_limit_and_the_next_one_starts_anew() {
        let counters = InProcessLimiter::default();
        let outcomes: Vec<_> = [100, 101, 109, 109, 110]
            .map(|now| admitted(&counters.admit(ACME, RequestKind::Check, &business(), now)))
            .to_vec();
        assert_eq!(outcomes, [true, true, true, false, true]);
    }

    #[test]
    fn a_refusal_names_the_limit_and_the_time_to_wait() {
        let counters = InProcessLimiter::default();
        for _ in 0..3 {
            assert!(admitted(&counters.admit(ACME, RequestKind::Check, &business(), 104)));
        }
        let Decision::Refused { violated, retry_after, statuses } =
            counters.admit(ACME, RequestKind::Check, &business(), 104)
        else {
            panic!("admitted")
        };
        assert_eq!((violated[0].as_str(), retry_after), ("burst", 6));
        let left: Vec<_> = statuses.iter().map(|status| status.remaining).collect();
        assert_eq!(left, [0, 2], "a request that `burst` refuses is not charged to `daily`");
    }

    #[test]
    fn a_refunded_check_still_counts_as_a_request() {
        let counters = InProcessLimiter::default();
        let Decision::Admitted { charge } =
            counters.admit(ACME, RequestKind::Check, &business(), 100)
        else {
            panic!("refused")
        };
        counters.refund(ACME, &charge);
        let left: Vec<_> =
            counters.statuses(ACME, &business(), 100).iter().map(|s| s.remaining).collect();
        assert_eq!(left, [2, 5]);
    }

    #[test]
    fn requests_that_are_not_checks_do_not_count_against_the_quota() {
        let counters = InProcessLimiter::default();
        assert!(admitted(&counters.admit(ACME, RequestKind::Request, &business(), 100)));
        let left: Vec<_> =
            counters.statuses(ACME, &business(), 100).iter().map(|s| s.remaining).collect();
        assert_eq!(left, [2, 5]);
    }

    #[test]
    fn a_request_refused_by_the_quota_still_counts_as_a_request() {
        let limits =
            [limit("burst", 3, 10, Counts::Requests), limit("daily", 1, 100, Counts::Checks)];
        let counters = InProcessLimiter::default();
        assert!(admitted(&counters.admit(ACME, RequestKind::Check, &limits, 100)));
        for expected in ["daily", "daily", "burst"] {
            match counters.admit(ACME, RequestKind::Check, &limits, 101) {
                Decision::Refused { violated, .. } => assert_eq!(violated[0].as_str(), expected),
                other => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn a_changed_limit_applies_at_once_and_keeps_spent_tokens() {
        let counters = InProcessLimiter::default();
        for _ in 0..3 {
            assert!(admitted(&counters.admit(ACME, RequestKind::Check, &business(), 100)));
        }
        let raised = [limit("burst", 4, 10, Counts::Requests)];
        assert!(admitted(&counters.admit(ACME, RequestKind::Check, &raised, 100)));
        assert!(!admitted(&counters.admit(ACME, RequestKind::Check, &raised, 100)));
    }

    #[test]
    fn many_threads_together_get_exactly_the_limit() {
        let limits = [limit("burst", 1000, 60, Counts::Requests)];
        let limiter = InProcessLimiter::default();
        let passed = AtomicU64::new(0);
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..500 {
                        if admitted(&limiter.admit(ACME, RequestKind::Check, &limits, 7)) {
                            passed.fetch_add(1, Ordering::Relaxed);
                        }
                    }
                });
            }
        });
        assert_eq!(passed.into_inner(), 1000);
        let other = Account { tenant: "other", ..ACME };
        assert!(admitted(&limiter.admit(other, RequestKind::Check, &limits, 7)));
    }

    #[test]
    fn a_limit_counts_a_key_a_tenant_or_a_plan() {
        let per =
            |name, requests, per| Limit { per, ..limit(name, requests, 60, Counts::Requests) };
        let limits =
            [per("plan", 5, Per::Plan), per("tenant", 3, Per::Tenant), per("key", 2, Per::Key)];
        let limiter = InProcessLimiter::default();
        let violated_limits = |tenant, key| match limiter.admit(
            Account { plan: "p", tenant, key },
            RequestKind::Request,
            &limits,
            7,
        ) {
            Decision::Refused { violated, statuses, .. } => {
                assert_eq!(statuses.len(), 3);
                violated.iter().map(ToString::to_string).collect()
            }
            other => {
                assert!(admitted(&other));
                Vec::new()
            }
        };
        let none: [&str; 0] = [];
        assert_eq!(violated_limits("acme", "a"), none);
        assert_eq!(violated_limits("acme", "a"), none);
        assert_eq!(violated_limits("acme", "a"), ["key"]);
        assert_eq!(
            violated_limits("acme", "b"),
            none,
            "a refused request is charged to no subject"
        );
        assert_eq!(violated_limits("acme", "b"), ["tenant"]);
        assert_eq!(violated_limits("other", "c"), none);
        assert_eq!(violated_limits("other", "c"), none);
        assert_eq!(violated_limits("other", "d"), ["plan"], "all tenants together");
    }

    #[test]
    fn subjects_are_evicted_after_their_windows() {
        let limits = [limit("burst", 2, 10, Counts::Requests)];
        let limiter = InProcessLimiter::default();
        let (first, last) = (1_000, 60_000);
        for now in first..last {
            let name = format!("tenant-{now}");
            let account = Account { tenant: &name, ..ACME };
            assert!(admitted(&limiter.admit(account, RequestKind::Request, &limits, now)));
        }
        // A shard evicts idle subjects when it has grown to 256.
        assert!(limiter.sharded.subjects() <= 64 * 256, "{}", limiter.sharded.subjects());
    }

    proptest! {
        #[test]
        fn no_window_is_ever_exceeded(
            steps in prop::collection::vec((0..400_u64, any::<bool>()), 1..300),
        ) {
            // Given requests at any times, including clocks that jump back, some of them unanswered.
            let limits = [
                limit("burst", 3, 10, Counts::Requests),
                limit("minute", 10, 60, Counts::Requests),
                limit("quota", 7, 90, Counts::Checks),
            ];
            let counters = InProcessLimiter::default();
            let (mut requests, mut answered) = (Vec::new(), Vec::new());
            let mut latest = 0;
            for (now, answer) in steps {
                latest = now.max(latest);
                if let Decision::Admitted { charge } = counters.admit(ACME, RequestKind::Check, &limits, now) {
                    requests.push(latest);
                    if answer {
                        answered.push(latest);
                    } else {
                        counters.refund(ACME, &charge);
                    }
                }
            }
            // Then each window holds at most its limit.
            for limit in &limits {
                let events = if limit.counts == Counts::Requests { &requests } else { &answered };
                let mut windows: BTreeMap<u64, u64> = BTreeMap::new();
                for at in events {
                    *windows.entry(at / limit.window.seconds()).or_default() += 1;
                }
                prop_assert!(windows.values().all(|count| *count <= limit.requests));
            }
        }
    }
}
