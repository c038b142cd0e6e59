//! Limiter of one of many replicas: sends requests to the token stores, and wakes callers that wait for
//! responses.

#[cfg(test)]
mod tests;

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, AtomicU64, Ordering},
    },
    time::Duration,
};

use assay_tenancy::directory::Limit;
use tokio::{
    sync::Notify,
    task::JoinSet,
    time::{Instant, MissedTickBehavior, interval, timeout, timeout_at},
};

use crate::{
    Account, Admission, ApplicableLimits, Charge, Decision, DecisionContext, LimitStatus,
    LimiterSettings, RequestKind, SECOND, SlotView, StoreLossPolicy, TakenChecks, TokenStoreKind,
    admit, note,
    sharded::{DueRequest, SHARDS, ShardId, ShardedLimits},
    subject_limits::UNREACHABLE_FROM,
    take_checks,
    token_store::{LeaseGrant, TokenStore, TokenStoreError},
};

/// Longest time that a request waits for token stores in all: long enough to win a token near exhaustion, where many
/// replicas take the tokens one by one.
const LEASE_WAIT: Duration = Duration::from_secs(2);
/// Interval of sweeps for tokens without demand.
const SWEEP_EVERY: Duration = Duration::from_millis(500);

/// Limiter of one of many replicas. Clones share all state.
#[derive(Clone, Debug)]
pub struct SharedLimiter(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    sharded: ShardedLimits,
    short: Arc<dyn TokenStore>,
    long: Arc<dyn TokenStore>,
    /// Origin of local times.
    started: Instant,
    answered: Notify,
    /// Wakes the callers of each shard of tenants.
    answered_in: [Notify; SHARDS],
    lease_requests: [AtomicU64; 2],
    /// Consecutive requests that failed, of all subjects.
    failures: [AtomicU32; 2],
}

impl SharedLimiter {
    /// Creates a limiter on these token stores. Until [`Self::set_slots`], the limiter has no fallback allowance, and
    /// leaves the other replicas their allowances. [`Self::run_maintenance`] must run in another task.
    pub fn new(
        short: Arc<dyn TokenStore>,
        long: Arc<dyn TokenStore>,
        settings: LimiterSettings,
    ) -> Self {
        Self(Arc::new(Inner {
            sharded: ShardedLimits::new(settings),
            short,
            long,
            started: Instant::now(),
            answered: Notify::new(),
            answered_in: [const { Notify::const_new() }; SHARDS],
            lease_requests: [const { AtomicU64::new(0) }; 2],
            failures: [const { AtomicU32::new(0) }; 2],
        }))
    }

    /// Returns the local time in microseconds, by which slots are held and viewed.
    #[must_use]
    pub fn local_now(&self) -> u64 {
        self.0.now()
    }

    /// Replaces the view of the slots.
    pub fn set_slots(&self, slots: SlotView) {
        self.0.sharded.set_slots(slots);
    }

    /// True unless the last two requests to `store` failed.
    #[must_use]
    pub fn is_reachable(&self, store: TokenStoreKind) -> bool {
        self.0.failures(store).load(Ordering::Relaxed) < UNREACHABLE_FROM
    }

    /// Returns the number of requests sent to `store`.
    #[must_use]
    pub fn lease_requests(&self, store: TokenStoreKind) -> u64 {
        self.0.lease_requests(store).load(Ordering::Relaxed)
    }

    /// Returns the number of subjects in memory.
    #[must_use]
    pub fn subjects(&self) -> usize {
        self.0.sharded.subjects()
    }

    /// Decides on one request: see [`crate::Limiter::admit`].
    pub async fn admit(
        &self,
        account: Account<'_>,
        kind: RequestKind,
        limits: &[Limit],
        policy: StoreLossPolicy,
        wall_seconds: u64,
    ) -> Decision {
        let decide =
            |applicable: &mut [ApplicableLimits<'_>], context: &DecisionContext<'_>, first| {
                if first {
                    note(applicable, policy, kind, 1, context);
                }
                match admit(applicable, policy, kind, context) {
                    Admission::Wait => None,
                    verdict => Some(verdict),
                }
            };
        let verdict = self.decide(account, limits, decide).await.unwrap_or(Admission::Wait);
        Decision::new(verdict, || self.statuses(account, limits, policy, wall_seconds))
    }

    /// Takes up to `wanted` checks: see [`crate::Limiter::take_checks`].
    pub async fn take_checks(
        &self,
        account: Account<'_>,
        wanted: u64,
        limits: &[Limit],
        policy: StoreLossPolicy,
    ) -> TakenChecks {
        let decide =
            |applicable: &mut [ApplicableLimits<'_>], context: &DecisionContext<'_>, first| {
                if first {
                    note(applicable, policy, RequestKind::Check, wanted, context);
                }
                take_checks(applicable, policy, wanted, context)
            };
        match self.decide(account, limits, decide).await {
            Some((spent, count, verdict)) => TakenChecks::new(Charge::new(spent, count), verdict),
            None => TakenChecks {
                charge: Charge::default(),
                violated: Vec::new(),
                retry_after: 1,
                unavailable: true,
            },
        }
    }

    /// Refunds a charge for checks that were not answered.
    pub fn refund(&self, account: Account<'_>, charge: &Charge) {
        self.0.sharded.refund(account, charge);
    }

    /// Returns the status of every limit, as far as this replica knows.
    #[must_use]
    pub fn statuses(
        &self,
        account: Account<'_>,
        limits: &[Limit],
        policy: StoreLossPolicy,
        wall_seconds: u64,
    ) -> Vec<LimitStatus> {
        let wall = wall_seconds.saturating_mul(SECOND);
        self.0.sharded.statuses(account, limits, policy, wall, self.0.now())
    }

    /// Returns tokens without demand and drops idle subjects, until the future is dropped.
    pub async fn run_maintenance(&self) {
        let mut ticks = interval(SWEEP_EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            for due in self.0.sharded.sweep(false, self.0.now()) {
                self.send(due);
            }
        }
    }

    /// Returns all tokens to the stores that are reachable, when no more requests are admitted.
    pub async fn shutdown(&self) {
        // Requests in flight may still be granted tokens.
        for _ in 0..3 {
            let mut returning = JoinSet::new();
            for due in self.0.sharded.sweep(true, self.0.now()) {
                let inner = Arc::clone(&self.0);
                returning.spawn(async move { inner.send_and_apply(due).await });
            }
            while returning.join_next().await.is_some() {}
            let answered = self.0.answered.notified();
            if !self.0.sharded.is_waiting_for() {
                break;
            }
            let longest = self.0.timeout(TokenStoreKind::Long);
            let _ = timeout(longest, answered).await;
        }
    }

    /// Decides at once if possible, otherwise after a response of the stores. `None` after
    /// [`LEASE_WAIT`].
    async fn decide<T>(
        &self,
        account: Account<'_>,
        limits: &[Limit],
        decide: impl Fn(&mut [ApplicableLimits<'_>], &DecisionContext<'_>, bool) -> Option<T>,
    ) -> Option<T> {
        if let Some(decided) =
            self.attempt(account, limits, |applicable, context| decide(applicable, context, true))
        {
            return Some(decided);
        }
        let deadline = Instant::now() + LEASE_WAIT;
        let shard = self.0.sharded.index(account.tenant);
        loop {
            // A response from here on wakes this task, even before it waits.
            let answered = self.0.answered_in.get(shard).map(Notify::notified)?;
            if let Some(decided) = self
                .attempt(account, limits, |applicable, context| decide(applicable, context, false))
            {
                return Some(decided);
            }
            // While a store fails, no response may be awaited: then the next attempt is due soon.
            let next = Instant::now() + Duration::from_micros(self.0.sharded.settings.backoff.0);
            if timeout_at(next.min(deadline), answered).await.is_err() && next >= deadline {
                return None;
            }
        }
    }

    fn attempt<T>(
        &self,
        account: Account<'_>,
        limits: &[Limit],
        decide: impl FnOnce(&mut [ApplicableLimits<'_>], &DecisionContext<'_>) -> T,
    ) -> T {
        let sharded = &self.0.sharded;
        let (decided, due) = sharded.with_applicable(
            account,
            limits,
            || self.0.now(),
            |applicable, context| {
                let decided = decide(applicable, context);
                (decided, sharded.due_requests(account, applicable, context))
            },
        );
        for due in due {
            self.send(due);
        }
        decided
    }

    fn send(&self, due: DueRequest) {
        let inner = Arc::clone(&self.0);
        tokio::spawn(async move { inner.send_and_apply(due).await });
    }
}

impl Inner {
    fn now(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_micros()).unwrap_or(u64::MAX)
    }

    /// Sends a request to its token store, and applies the response.
    async fn send_and_apply(&self, due: DueRequest) {
        self.lease_requests(due.store).fetch_add(1, Ordering::Relaxed);
        let longest = self.timeout(due.store);
        let store = match due.store {
            TokenStoreKind::Short => &self.short,
            TokenStoreKind::Long => &self.long,
        };
        let answer =
            timeout(longest, store.lease(&due.subject, &due.request)).await.unwrap_or_else(|_| {
                Err(TokenStoreError::Timeout(
                    u64::try_from(longest.as_millis()).unwrap_or(u64::MAX),
                ))
            });
        self.note_reachable(due.store, &answer);
        self.sharded.apply_outcome(&due, answer.as_ref().ok(), self.now());
        self.answered.notify_waiters();
        // Callers of other shards wait for other subjects.
        match due.shard {
            ShardId::Tenants(index) => {
                self.answered_in.get(index).into_iter().for_each(Notify::notify_waiters);
            }
            ShardId::Plans => self.answered_in.iter().for_each(Notify::notify_waiters),
        }
    }

    fn note_reachable(&self, store: TokenStoreKind, answer: &Result<LeaseGrant, TokenStoreError>) {
        let failures = self.failures(store);
        match answer {
            Ok(_) => {
                if failures.swap(0, Ordering::Relaxed) >= UNREACHABLE_FROM {
                    tracing::info!(?store, "the token store responds again");
                }
            }
            Err(error) => {
                // Once for each outage; the number of failures in one is far from the type's end.
                if failures.fetch_add(1, Ordering::Relaxed) + 1 == UNREACHABLE_FROM {
                    tracing::warn!(
                        ?store,
                        %error,
                        "the token store is unreachable: limits are not shared with other replicas"
                    );
                }
            }
        }
    }

    const fn timeout(&self, store: TokenStoreKind) -> Duration {
        Duration::from_micros(self.sharded.settings.timings(store).timeout)
    }

    const fn lease_requests(&self, store: TokenStoreKind) -> &AtomicU64 {
        let [short, long] = &self.lease_requests;
        match store {
            TokenStoreKind::Short => short,
            TokenStoreKind::Long => long,
        }
    }

    const fn failures(&self, store: TokenStoreKind) -> &AtomicU32 {
        let [short, long] = &self.failures;
        match store {
            TokenStoreKind::Short => short,
            TokenStoreKind::Long => long,
        }
    }
}
