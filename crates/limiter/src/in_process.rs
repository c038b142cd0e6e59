//! The limiter of a single process: the same state machine, with a bank in its own memory that answers
//! at once.

use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicU64, Ordering},
};

use assay_tenancy::{directory::Limit, manifest::OnTokenStoreLoss};

use crate::{
    Account, Admission, ApplicableLimits, Charge, Decision, Ledger, LimitStatus, LimiterSettings,
    RequestKind, SECOND, ServerClock, SlotView, StoreLossPolicy, TakenChecks, TokenStoreKind,
    admit, note, sharded::ShardedLimits, take_checks,
};

/// Nothing is set aside for a loss that cannot happen.
const POLICY: StoreLossPolicy =
    StoreLossPolicy { on_token_store_loss: OnTokenStoreLoss::Refuse, fallback_share: 0 };
/// The only replica.
const ITSELF: u64 = 0;

/// Counters in memory: a restart starts them anew.
#[derive(Debug)]
pub struct InProcessLimiter {
    sharded: ShardedLimits,
    ledger: Mutex<Ledger>,
    /// The newest time seen, in microseconds: a clock that is set back stands still, so that no window is
    /// counted twice.
    latest: AtomicU64,
}

impl Default for InProcessLimiter {
    fn default() -> Self {
        let mut ledger = Ledger::new(0);
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
    /// Asks for one request at `now` (seconds since 1970).
    ///
    /// All limits hold at once: it is charged to all or refused by one. A request that only a limit on
    /// checks refuses still counts as a request.
    pub fn admit(
        &self,
        account: Account<'_>,
        ask: RequestKind,
        limits: &[Limit],
        now: u64,
    ) -> Decision {
        let now = self.advance(now);
        self.sharded.evict_idle(account, now);
        let settings = &self.sharded.settings;
        let verdict = self.sharded.with(
            account,
            limits,
            || now,
            |applicable, now, slots| {
                note(applicable, POLICY, ask, 1, now, slots, settings);
                loop {
                    match admit(applicable, POLICY, ask, now, slots, settings) {
                        Admission::Wait => self.lease(applicable, now, slots),
                        verdict => break verdict,
                    }
                }
            },
        );
        Decision::new(verdict, || self.sharded.statuses(account, limits, POLICY, now, now))
    }

    /// Takes as many of `wanted` checks as every limit on checks has room for. Limits on requests are
    /// not asked: the checks are rows of one request.
    pub fn take_checks(
        &self,
        account: Account<'_>,
        wanted: u64,
        limits: &[Limit],
        now: u64,
    ) -> TakenChecks {
        let now = self.advance(now);
        let settings = &self.sharded.settings;
        self.sharded.with(
            account,
            limits,
            || now,
            |applicable, now, slots| {
                note(applicable, POLICY, RequestKind::Check, wanted, now, slots, settings);
                loop {
                    match take_checks(applicable, POLICY, wanted, now, slots, settings) {
                        None => self.lease(applicable, now, slots),
                        Some((spent, count, verdict)) => {
                            break TakenChecks::new(Charge::new(spent, count), verdict);
                        }
                    }
                }
            },
        )
    }

    /// Gives back what was charged as a check, because it was not answered.
    pub fn refund(&self, account: Account<'_>, charge: &Charge) {
        self.sharded.refund(account, charge);
    }

    /// Where every limit stands at `now`.
    pub fn statuses(&self, account: Account<'_>, limits: &[Limit], now: u64) -> Vec<LimitStatus> {
        let now = self.advance(now);
        self.sharded.statuses(account, limits, POLICY, now, now)
    }

    /// Sends what is due, and hears the answer.
    fn lease(&self, applicable: &mut [ApplicableLimits<'_>], now: u64, slots: &SlotView) {
        let mut ledger = self.ledger.lock().unwrap_or_else(PoisonError::into_inner);
        let settings = &self.sharded.settings;
        for entry in applicable {
            for store in TokenStoreKind::ALL {
                if let Some(request) = entry.state.due_request(store, now, slots, settings) {
                    let answer =
                        ledger.lease(&server(now), ITSELF, entry.state.subject(), &request);
                    entry.state.apply_grant(store, request.sequence, &answer, now, slots, settings);
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
    fn rows_are_taken_as_far_as_there_is_room_and_given_back_where_unused() {
        let counters = InProcessLimiter::default();
        let taken = counters.take_checks(ACME, 3, &business(), 100);
        assert_eq!((taken.charge.count(), taken.violated.len()), (3, 0));
        let taken = counters.take_checks(ACME, 4, &business(), 101);
        assert_eq!((taken.charge.count(), taken.retry_after), (2, 99), "five in a hundred seconds");
        assert_eq!(taken.violated, ["daily".parse().unwrap()]);
        assert!(!admitted(&counters.admit(ACME, RequestKind::Check, &business(), 102)));
        counters.refund(ACME, &taken.charge.part(1));
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
    fn a_refusal_says_which_limit_and_how_long() {
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
        assert_eq!(left, [0, 2], "what burst refuses is not charged to the day");
    }

    #[test]
    fn a_check_that_was_not_answered_is_given_back_but_counts_as_a_request() {
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
    fn what_is_no_check_leaves_the_quota_alone() {
        let counters = InProcessLimiter::default();
        assert!(admitted(&counters.admit(ACME, RequestKind::Request, &business(), 100)));
        let left: Vec<_> =
            counters.statuses(ACME, &business(), 100).iter().map(|s| s.remaining).collect();
        assert_eq!(left, [2, 5]);
    }

    #[test]
    fn what_the_quota_refuses_counts_as_a_request() {
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
    fn a_changed_number_holds_at_once_and_keeps_what_was_used() {
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
        let ask = |tenant, key| match limiter.admit(
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
        assert_eq!(ask("acme", "a"), none);
        assert_eq!(ask("acme", "a"), none);
        assert_eq!(ask("acme", "a"), ["key"]);
        assert_eq!(ask("acme", "b"), none, "what its key may not was charged to nobody");
        assert_eq!(ask("acme", "b"), ["tenant"]);
        assert_eq!(ask("other", "c"), none);
        assert_eq!(ask("other", "c"), none);
        assert_eq!(ask("other", "d"), ["plan"], "all tenants together");
    }

    #[test]
    fn payers_are_forgotten_when_their_windows_are_over() {
        let limits = [limit("burst", 2, 10, Counts::Requests)];
        let limiter = InProcessLimiter::default();
        let (first, last) = (1_000, 60_000);
        for now in first..last {
            let name = format!("tenant-{now}");
            let account = Account { tenant: &name, ..ACME };
            assert!(admitted(&limiter.admit(account, RequestKind::Request, &limits, now)));
        }
        // A shard is tidied where it has grown to 256.
        assert!(limiter.sharded.subjects() <= 64 * 256, "{}", limiter.sharded.subjects());
    }

    proptest! {
        #[test]
        fn no_window_is_ever_exceeded(
            steps in prop::collection::vec((0..400_u64, any::<bool>()), 1..300),
        ) {
            // Given requests at any times, clocks that jump returned included, some of them unanswered.
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
            // Then each window holds what its limit allows at most.
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
