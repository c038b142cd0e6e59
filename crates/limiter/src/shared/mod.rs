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
    Account, Ask, BankKind, Charge, Decision, SECOND, SeatView, Settings, Share, Standing, Taken,
    Terms, Verdict, admit,
    bank::{Bank, BankError, Drawn},
    books::{Books, Due},
    note, take_checks,
};

/// How long a request waits for banks altogether: long enough to win a token at a window's end, where
/// many replicas draw them one by one.
const PATIENCE: Duration = Duration::from_secs(2);
/// Between two looks for what nobody asks for any more.
const SWEEP_EVERY: Duration = Duration::from_millis(500);

/// The limiter of one of many replicas. Clones share everything.
#[derive(Clone, Debug)]
pub struct Shared(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    books: Books,
    short: Arc<dyn Bank>,
    long: Arc<dyn Bank>,
    /// Local times count from here.
    started: Instant,
    answered: Notify,
    draws: [AtomicU64; 2],
    reachable: [AtomicBool; 2],
}

impl Shared {
    /// A limiter that draws from these banks. Until [`Self::set_seats`] it has no floor, and leaves the
    /// others theirs. [`Self::keep`] must run beside it.
    pub fn new(short: Arc<dyn Bank>, long: Arc<dyn Bank>, settings: Settings) -> Self {
        Self(Arc::new(Inner {
            books: Books::new(settings),
            short,
            long,
            started: Instant::now(),
            answered: Notify::new(),
            draws: [const { AtomicU64::new(0) }; 2],
            reachable: [const { AtomicBool::new(true) }; 2],
        }))
    }

    /// The local time in microseconds: by it are seats held and known.
    #[must_use]
    pub fn local_now(&self) -> u64 {
        self.0.now()
    }

    /// What is known of the seats from now on.
    pub fn set_seats(&self, seats: SeatView) {
        self.0.books.set_seats(seats);
    }

    /// Whether a bank answered when it was asked last.
    #[must_use]
    pub fn is_reachable(&self, bank: BankKind) -> bool {
        self.0.reachable(bank).load(Ordering::Relaxed)
    }

    /// How often a bank was asked.
    #[must_use]
    pub fn draws(&self, bank: BankKind) -> u64 {
        self.0.draws(bank).load(Ordering::Relaxed)
    }

    /// How many payers are known at the moment.
    #[must_use]
    pub fn payers(&self) -> usize {
        self.0.books.payers()
    }

    /// Asks for one request: see [`crate::Limiter::admit`].
    pub async fn admit(
        &self,
        account: Account<'_>,
        ask: Ask,
        limits: &[Limit],
        terms: Terms,
        wall_seconds: u64,
    ) -> Decision {
        let settings = &self.0.books.settings;
        let decide = |shares: &mut [Share<'_>], now, seats: &SeatView, first| {
            if first {
                note(shares, terms, ask, 1, now, seats, settings);
            }
            match admit(shares, terms, ask, now, seats, settings) {
                Verdict::Wait => None,
                verdict => Some(verdict),
            }
        };
        let verdict = self.decide(account, limits, decide).await.unwrap_or(Verdict::Wait);
        Decision::new(verdict, || self.standings(account, limits, terms, wall_seconds))
    }

    /// Takes as many of `wanted` checks as there is room for: see [`crate::Limiter::take_checks`].
    pub async fn take_checks(
        &self,
        account: Account<'_>,
        wanted: u64,
        limits: &[Limit],
        terms: Terms,
    ) -> Taken {
        let settings = &self.0.books.settings;
        let decide = |shares: &mut [Share<'_>], now, seats: &SeatView, first| {
            if first {
                note(shares, terms, Ask::Check, wanted, now, seats, settings);
            }
            take_checks(shares, terms, wanted, now, seats, settings)
        };
        match self.decide(account, limits, decide).await {
            Some((spent, count, verdict)) => Taken::new(Charge::new(spent, count), verdict),
            None => Taken {
                charge: Charge::default(),
                violated: Vec::new(),
                retry_after: 1,
                unavailable: true,
            },
        }
    }

    /// Gives back what was charged as a check, because it was not answered.
    pub fn give_back(&self, account: Account<'_>, charge: &Charge) {
        self.0.books.give_back(account, charge);
    }

    /// Where every limit stands, as far as this replica knows.
    #[must_use]
    pub fn standings(
        &self,
        account: Account<'_>,
        limits: &[Limit],
        terms: Terms,
        wall_seconds: u64,
    ) -> Vec<Standing> {
        let wall = wall_seconds.saturating_mul(SECOND);
        self.0.books.standings(account, limits, terms, wall, self.0.now())
    }

    /// Gives back what nobody asks for any more, and forgets who does not ask: runs until it is dropped.
    pub async fn keep(&self) {
        let mut ticks = interval(SWEEP_EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            for due in self.0.books.sweep(false, self.0.now()) {
                self.send(due);
            }
        }
    }

    /// Gives everything back, as far as banks can be reached: when no more requests are admitted.
    pub async fn shutdown(&self) {
        // Draws that are on their way still come back with tokens.
        for _ in 0..3 {
            let mut given_back = JoinSet::new();
            for due in self.0.books.sweep(true, self.0.now()) {
                let inner = Arc::clone(&self.0);
                given_back.spawn(async move { inner.carry(due).await });
            }
            while given_back.join_next().await.is_some() {}
            let answered = self.0.answered.notified();
            if !self.0.books.is_asking() {
                break;
            }
            let longest = self.0.timeout(BankKind::Long);
            let _ = timeout(longest, answered).await;
        }
    }

    /// Decides at once where that is possible, and else as soon as banks have answered. `None` where that
    /// takes too long.
    async fn decide<T>(
        &self,
        account: Account<'_>,
        limits: &[Limit],
        decide: impl Fn(&mut [Share<'_>], u64, &SeatView, bool) -> Option<T>,
    ) -> Option<T> {
        if let Some(decided) =
            self.attempt(account, limits, |shares, now, seats| decide(shares, now, seats, true))
        {
            return Some(decided);
        }
        let deadline = Instant::now() + PATIENCE;
        loop {
            // What is answered from here on wakes this, also before it waits.
            let answered = self.0.answered.notified();
            if let Some(decided) = self
                .attempt(account, limits, |shares, now, seats| decide(shares, now, seats, false))
            {
                return Some(decided);
            }
            timeout_at(deadline, answered).await.ok()?;
        }
    }

    fn attempt<T>(
        &self,
        account: Account<'_>,
        limits: &[Limit],
        decide: impl FnOnce(&mut [Share<'_>], u64, &SeatView) -> T,
    ) -> T {
        let books = &self.0.books;
        let (decided, due) = books.with(
            account,
            limits,
            || self.0.now(),
            |shares, now, seats| {
                let decided = decide(shares, now, seats);
                (decided, books.due(account, shares, now, seats))
            },
        );
        for due in due {
            self.send(due);
        }
        decided
    }

    fn send(&self, due: Due) {
        let inner = Arc::clone(&self.0);
        tokio::spawn(async move { inner.carry(due).await });
    }
}

impl Inner {
    fn now(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_micros()).unwrap_or(u64::MAX)
    }

    /// Carries a draw to its bank, and its answer back.
    async fn carry(&self, due: Due) {
        self.draws(due.bank).fetch_add(1, Ordering::Relaxed);
        let longest = self.timeout(due.bank);
        let bank = match due.bank {
            BankKind::Short => &self.short,
            BankKind::Long => &self.long,
        };
        let answer =
            timeout(longest, bank.draw(&due.payer, &due.draw)).await.unwrap_or_else(|_| {
                Err(BankError::TooLate(u64::try_from(longest.as_millis()).unwrap_or(u64::MAX)))
            });
        self.note_reachable(due.bank, &answer);
        self.books.settle(&due, answer.as_ref().ok(), self.now());
        self.answered.notify_waiters();
    }

    fn note_reachable(&self, bank: BankKind, answer: &Result<Drawn, BankError>) {
        let was = self.reachable(bank).swap(answer.is_ok(), Ordering::Relaxed);
        match answer {
            Ok(_) if !was => tracing::info!(?bank, "limits are counted together again"),
            Err(error) if was => tracing::warn!(?bank, %error, "limits are not counted together"),
            _ => {}
        }
    }

    const fn timeout(&self, bank: BankKind) -> Duration {
        Duration::from_micros(self.books.settings.pace(bank).timeout)
    }

    const fn draws(&self, bank: BankKind) -> &AtomicU64 {
        let [short, long] = &self.draws;
        match bank {
            BankKind::Short => short,
            BankKind::Long => long,
        }
    }

    const fn reachable(&self, bank: BankKind) -> &AtomicBool {
        let [short, long] = &self.reachable;
        match bank {
            BankKind::Short => short,
            BankKind::Long => long,
        }
    }
}
