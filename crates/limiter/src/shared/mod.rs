//! The limiter of one of many replicas: carries draws to the banks, and wakes who waits for them.

#[cfg(test)]
mod tests;

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
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
    Account, Admission, ApplicableLimits, Charge, Decision, LimitStatus, LimiterSettings,
    RequestKind, SECOND, SlotView, StoreLossPolicy, TakenChecks, TokenStoreKind, admit, note,
    sharded::{DueRequest, ShardedLimits},
    take_checks,
    token_store::{LeaseGrant, TokenStore, TokenStoreError},
};

/// How long a request waits for banks altogether: long enough to win a token at a window's end, where
/// many replicas draw them one by one.
const LEASE_WAIT: Duration = Duration::from_secs(2);
/// Between two looks for what nobody asks for any more.
const SWEEP_EVERY: Duration = Duration::from_millis(500);

/// The limiter of one of many replicas. Clones share everything.
#[derive(Clone, Debug)]
pub struct SharedLimiter(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    sharded: ShardedLimits,
    short: Arc<dyn TokenStore>,
    long: Arc<dyn TokenStore>,
    /// Local times count from here.
    started: Instant,
    answered: Notify,
    lease_requests: [AtomicU64; 2],
    reachable: [AtomicBool; 2],
}

impl SharedLimiter {
    /// A limiter that draws from these banks. Until [`Self::set_seats`] it has no floor, and leaves the
    /// others theirs. [`Self::keep`] must run beside it.
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
            lease_requests: [const { AtomicU64::new(0) }; 2],
            reachable: [const { AtomicBool::new(true) }; 2],
        }))
    }

    /// The local time in microseconds: by it are seats held and known.
    #[must_use]
    pub fn local_now(&self) -> u64 {
        self.0.now()
    }

    /// What is known of the seats from now on.
    pub fn set_slots(&self, slots: SlotView) {
        self.0.sharded.set_slots(slots);
    }

    /// Whether a bank answered when it was asked last.
    #[must_use]
    pub fn is_reachable(&self, store: TokenStoreKind) -> bool {
        self.0.reachable(store).load(Ordering::Relaxed)
    }

    /// How often a bank was asked.
    #[must_use]
    pub fn lease_requests(&self, store: TokenStoreKind) -> u64 {
        self.0.lease_requests(store).load(Ordering::Relaxed)
    }

    /// How many payers are known at the moment.
    #[must_use]
    pub fn subjects(&self) -> usize {
        self.0.sharded.subjects()
    }

    /// Asks for one request: see [`crate::Limiter::admit`].
    pub async fn admit(
        &self,
        account: Account<'_>,
        ask: RequestKind,
        limits: &[Limit],
        policy: StoreLossPolicy,
        wall_seconds: u64,
    ) -> Decision {
        let settings = &self.0.sharded.settings;
        let decide = |applicable: &mut [ApplicableLimits<'_>], now, slots: &SlotView, first| {
            if first {
                note(applicable, policy, ask, 1, now, slots, settings);
            }
            match admit(applicable, policy, ask, now, slots, settings) {
                Admission::Wait => None,
                verdict => Some(verdict),
            }
        };
        let verdict = self.decide(account, limits, decide).await.unwrap_or(Admission::Wait);
        Decision::new(verdict, || self.statuses(account, limits, policy, wall_seconds))
    }

    /// Takes as many of `wanted` checks as there is room for: see [`crate::Limiter::take_checks`].
    pub async fn take_checks(
        &self,
        account: Account<'_>,
        wanted: u64,
        limits: &[Limit],
        policy: StoreLossPolicy,
    ) -> TakenChecks {
        let settings = &self.0.sharded.settings;
        let decide = |applicable: &mut [ApplicableLimits<'_>], now, slots: &SlotView, first| {
            if first {
                note(applicable, policy, RequestKind::Check, wanted, now, slots, settings);
            }
            take_checks(applicable, policy, wanted, now, slots, settings)
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

    /// Gives back what was charged as a check, because it was not answered.
    pub fn refund(&self, account: Account<'_>, charge: &Charge) {
        self.0.sharded.refund(account, charge);
    }

    /// Where every limit stands, as far as this replica knows.
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

    /// Gives back what nobody asks for any more, and forgets who does not ask: runs until it is dropped.
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

    /// Gives everything back, as far as banks can be reached: when no more requests are admitted.
    pub async fn shutdown(&self) {
        // Draws that are on their way still come returned with tokens.
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

    /// Decides at once where that is possible, and else as soon as banks have answered. `None` where that
    /// takes too long.
    async fn decide<T>(
        &self,
        account: Account<'_>,
        limits: &[Limit],
        decide: impl Fn(&mut [ApplicableLimits<'_>], u64, &SlotView, bool) -> Option<T>,
    ) -> Option<T> {
        if let Some(decided) = self
            .attempt(account, limits, |applicable, now, slots| decide(applicable, now, slots, true))
        {
            return Some(decided);
        }
        let deadline = Instant::now() + LEASE_WAIT;
        loop {
            // What is answered from here on wakes this, also before it waits.
            let answered = self.0.answered.notified();
            if let Some(decided) = self.attempt(account, limits, |applicable, now, slots| {
                decide(applicable, now, slots, false)
            }) {
                return Some(decided);
            }
            timeout_at(deadline, answered).await.ok()?;
        }
    }

    fn attempt<T>(
        &self,
        account: Account<'_>,
        limits: &[Limit],
        decide: impl FnOnce(&mut [ApplicableLimits<'_>], u64, &SlotView) -> T,
    ) -> T {
        let sharded = &self.0.sharded;
        let (decided, due) = sharded.with(
            account,
            limits,
            || self.0.now(),
            |applicable, now, slots| {
                let decided = decide(applicable, now, slots);
                (decided, sharded.due(account, applicable, now, slots))
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

    /// Carries a draw to its bank, and its answer back.
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
    }

    fn note_reachable(&self, store: TokenStoreKind, answer: &Result<LeaseGrant, TokenStoreError>) {
        let was = self.reachable(store).swap(answer.is_ok(), Ordering::Relaxed);
        match answer {
            Ok(_) if !was => tracing::info!(?store, "limits are counted together again"),
            Err(error) if was => tracing::warn!(?store, %error, "limits are not counted together"),
            _ => {}
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

    const fn reachable(&self, store: TokenStoreKind) -> &AtomicBool {
        let [short, long] = &self.reachable;
        match store {
            TokenStoreKind::Short => short,
            TokenStoreKind::Long => long,
        }
    }
}
