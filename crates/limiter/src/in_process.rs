//! Limiter of a single process: the same state machine, with a token store in its own memory that
//! responds at once.

use std::{
    collections::HashMap,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use assay_tenancy::{directory::Limit, manifest::OnTokenStoreLoss};

use crate::{
    Account, Admission, ApplicableLimits, Charge, CounterId, Decision, DecisionContext,
    LimitStatus, LimiterSettings, RequestKind, SECOND, ServerClock, SpentTokens, StoreLossPolicy,
    TakenChecks, TokenLedger, TokenStoreKind, WindowUse, admit, note,
    sharded::{ShardId, ShardedLimits},
    take_checks,
};

/// Policy of a limiter without a fallback allowance: the store in memory cannot be lost.
const POLICY: StoreLossPolicy =
    StoreLossPolicy { on_token_store_loss: OnTokenStoreLoss::Refuse, fallback_share: 0 };
/// Identifier of the only replica.
const REPLICA_ID: u64 = 0;

/// Limiter with counters in memory. A restart resets the counters of short windows; those of long windows begin with the
/// use that the process before told.
#[derive(Debug)]
pub struct InProcessLimiter {
    sharded: ShardedLimits,
    ledger: Mutex<TokenLedger>,
    /// Latest time seen, in microseconds. If the clock is behind the latest time seen, that time is used instead, so
    /// that no window is counted twice.
    latest: AtomicU64,
    changed: Mutex<ChangedCounters>,
}

/// Counters of long windows whose use is to be recorded, each with the shard of its subject.
#[derive(Debug, Default)]
struct ChangedCounters {
    /// Changed since their use was told.
    since: HashMap<CounterId, ShardId>,
    /// The use that was told last.
    told: Vec<(WindowUse, ShardId)>,
    /// The use of ended windows that was told last.
    ended: HashMap<(CounterId, u64), u64>,
    /// Tokens spent in windows whose use was told and could not be recorded.
    unrecorded: HashMap<(CounterId, u64), u64>,
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
            changed: Mutex::default(),
        }
    }
}

impl InProcessLimiter {
    /// A limiter whose windows begin with the use by earlier processes.
    #[must_use]
    pub fn continuing(uses: impl IntoIterator<Item = WindowUse>) -> Self {
        let mut limiter = Self::default();
        let ledger = limiter.ledger.get_mut().unwrap_or_else(PoisonError::into_inner);
        for used in uses {
            ledger.add_earlier(used);
        }
        limiter
    }

    /// Returns the use of long windows that changed since the last call.
    pub fn changed_uses(&self) -> Vec<WindowUse> {
        let (since, mut unrecorded) = {
            let mut changed = self.changed.lock().unwrap_or_else(PoisonError::into_inner);
            (std::mem::take(&mut changed.since), std::mem::take(&mut changed.unrecorded))
        };
        let mut told = Vec::with_capacity(since.len());
        for (counter, shard) in since {
            let last = {
                let ledger = self.ledger.lock().unwrap_or_else(PoisonError::into_inner);
                ledger.last_window(&counter)
            };
            let Some((window, granted)) = last else { continue };
            let held = self.sharded.held(shard, &counter, window);
            let spent = granted.saturating_sub(held);
            unrecorded.remove(&(counter.clone(), window));
            told.push((WindowUse { counter, window, spent }, shard));
        }
        let mut uses: Vec<WindowUse> = told.iter().map(|(used, _)| used.clone()).collect();
        // Windows that have ended since.
        uses.extend(unrecorded.iter().map(|((counter, window), spent)| WindowUse {
            counter: counter.clone(),
            window: *window,
            spent: *spent,
        }));
        let mut changed = self.changed.lock().unwrap_or_else(PoisonError::into_inner);
        changed.told = told;
        changed.ended = unrecorded;
        uses
    }

    /// Makes the next call of [`Self::changed_uses`] return the use again that the last one returned, because it could
    /// not be recorded.
    pub fn keep_changed(&self) {
        let mut changed = self.changed.lock().unwrap_or_else(PoisonError::into_inner);
        let (told, ended) = (std::mem::take(&mut changed.told), std::mem::take(&mut changed.ended));
        changed.unrecorded.extend(ended);
        for (WindowUse { counter, window, spent }, shard) in told {
            changed.since.entry(counter.clone()).or_insert(shard);
            changed.unrecorded.insert((counter, window), spent);
        }
    }

    /// Notes that the use of the windows of `spent` changed.
    fn note_use(&self, account: Account<'_>, spent: &[SpentTokens]) {
        let is_long = |seconds| self.sharded.settings.store(seconds) == TokenStoreKind::Long;
        let mut long = spent.iter().filter(|spent| is_long(spent.window_seconds)).peekable();
        if long.peek().is_none() {
            return;
        }
        let mut changed = self.changed.lock().unwrap_or_else(PoisonError::into_inner);
        for SpentTokens { subject, limit, window_seconds, .. } in long {
            let counter = CounterId {
                subject: subject.clone(),
                limit: limit.clone(),
                window_seconds: *window_seconds,
            };
            changed.since.insert(counter, self.sharded.shard_of(account, subject));
        }
    }

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
        if let Admission::Admitted { spent } = &verdict {
            self.note_use(account, spent);
        }
        Decision::new(verdict, || self.statuses_at(account, limits, now))
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
                            self.note_use(account, &spent);
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
        self.note_use(account, &charge.checks);
    }

    /// Returns the status of every limit at `now`, in seconds since 1970.
    pub fn statuses(&self, account: Account<'_>, limits: &[Limit], now: u64) -> Vec<LimitStatus> {
        self.statuses_at(account, limits, self.advance(now))
    }

    fn statuses_at(&self, account: Account<'_>, limits: &[Limit], now: u64) -> Vec<LimitStatus> {
        let mut statuses = self.sharded.statuses(account, limits, POLICY, now, now);
        let ledger = self.ledger.lock().unwrap_or_else(PoisonError::into_inner);
        for status in &mut statuses {
            let Some(limit) = limits.iter().find(|limit| limit.name == status.name) else {
                continue;
            };
            let window_seconds = limit.window.seconds().max(1);
            let counter = CounterId {
                subject: account.subject(limit.per),
                limit: limit.name.clone(),
                window_seconds,
            };
            // An earlier process used the window, and no request has begun it since.
            let earlier = ledger.earlier(&counter, now / window_seconds.saturating_mul(SECOND));
            status.remaining = status.remaining.min(limit.requests.saturating_sub(earlier));
        }
        statuses
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
    fn the_next_process_continues_long_windows_and_begins_short_ones() {
        let limits =
            [limit("minute", 3, 60, Counts::Requests), limit("daily", 4, 86_400, Counts::Checks)];
        let check =
            |limiter: &InProcessLimiter, now| limiter.admit(ACME, RequestKind::Check, &limits, now);
        let first = InProcessLimiter::default();
        for _ in 0..3 {
            assert!(admitted(&check(&first, 100)));
        }
        let Decision::Admitted { charge } = check(&first, 160) else { panic!("refused") };
        first.refund(ACME, &charge);
        let uses = first.changed_uses();
        let [WindowUse { spent: 3, window: 0, .. }] = &uses[..] else { panic!("{uses:?}") };
        assert_eq!(first.changed_uses(), [], "told once");
        let next = InProcessLimiter::continuing(uses);
        let left = |limiter: &InProcessLimiter, now| -> Vec<u64> {
            limiter.statuses(ACME, &limits, now).iter().map(|status| status.remaining).collect()
        };
        assert_eq!(left(&next, 161), [3, 1], "before the first request");
        assert!(admitted(&check(&next, 161)));
        assert_eq!(left(&next, 161), [2, 0]);
        assert!(!admitted(&check(&next, 161)));
        assert!(admitted(&check(&next, 86_400)), "the next day");
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
        fn no_long_window_is_exceeded_over_restarts(
            steps in prop::collection::vec((0..40_u64, 0..4_u8), 1..200),
        ) {
            // Given requests at any quarter of an hour, some refunded, and restarts with clocks that jump.
            let limits = [
                limit("minute", 2, 60, Counts::Requests),
                limit("hourly", 4, 3_600, Counts::Checks),
                limit("daily", 7, 4 * 3_600, Counts::Requests),
            ];
            let mut recorded: BTreeMap<(CounterId, u64), u64> = BTreeMap::new();
            let mut limiter = InProcessLimiter::default();
            let (mut requests, mut answered) = (Vec::new(), Vec::new());
            let mut latest = 0;
            for (quarter, kind) in steps {
                latest = (quarter * 900).max(latest);
                if let Decision::Admitted { charge } =
                    limiter.admit(ACME, RequestKind::Check, &limits, quarter * 900)
                {
                    requests.push(latest);
                    if kind == 1 {
                        limiter.refund(ACME, &charge);
                    } else {
                        answered.push(latest);
                    }
                }
                let uses = limiter.changed_uses();
                if kind == 2 {
                    // The use could not be recorded: it is told again.
                    limiter.keep_changed();
                    continue;
                }
                for WindowUse { counter, window, spent } in uses {
                    recorded.insert((counter, window), spent);
                }
                if kind == 3 {
                    let uses = recorded.iter().map(|((counter, window), spent)| WindowUse {
                        counter: counter.clone(), window: *window, spent: *spent,
                    });
                    limiter = InProcessLimiter::continuing(uses);
                    latest = 0;
                }
            }
            // Then each long window holds at most its limit.
            for limit in &limits[1..] {
                let events = if limit.counts == Counts::Requests { &requests } else { &answered };
                let mut windows: BTreeMap<u64, u64> = BTreeMap::new();
                for at in events {
                    *windows.entry(at / limit.window.seconds()).or_default() += 1;
                }
                prop_assert!(windows.values().all(|count| *count <= limit.requests), "{}", limit.name);
            }
        }

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
