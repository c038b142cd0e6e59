//! The limiter of a single process: the same state machine, with a bank in its own memory that answers
//! at once.

use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicU64, Ordering},
};

use assay_tenancy::{directory::Limit, manifest::OnStoreLoss};

use crate::{
    Account, Ask, BankKind, Charge, Decision, Ledger, SECOND, SeatView, Server, Settings, Share,
    Standing, Taken, Terms, Verdict, admit, books::Books, note, take_checks,
};

/// Nothing is set aside for a loss that cannot happen.
const TERMS: Terms = Terms { on_store_loss: OnStoreLoss::Closed, floor_share: 0 };
/// The only replica.
const ITSELF: u64 = 0;

/// Counters in memory: a restart starts them anew.
#[derive(Debug)]
pub struct InProcess {
    books: Books,
    ledger: Mutex<Ledger>,
    /// The newest time seen, in microseconds: a clock that is set back stands still, so that no window is
    /// counted twice.
    latest: AtomicU64,
}

impl Default for InProcess {
    fn default() -> Self {
        let mut ledger = Ledger::new(0);
        let (epoch, _) = ledger.open(&server(0));
        ledger.nothing_came_before(epoch);
        Self {
            books: Books::new(Settings::embedded()),
            ledger: Mutex::new(ledger),
            latest: AtomicU64::new(0),
        }
    }
}

impl InProcess {
    /// Asks for one request at `now` (seconds since 1970).
    ///
    /// All limits hold at once: it is charged to all or refused by one. A request that only a limit on
    /// checks refuses still counts as a request.
    pub fn admit(&self, account: Account<'_>, ask: Ask, limits: &[Limit], now: u64) -> Decision {
        let now = self.advance(now);
        self.books.tidy(account, now);
        let settings = &self.books.settings;
        let verdict = self.books.with(
            account,
            limits,
            || now,
            |shares, now, seats| {
                note(shares, TERMS, ask, 1, now, seats, settings);
                loop {
                    match admit(shares, TERMS, ask, now, seats, settings) {
                        Verdict::Wait => self.draw(shares, now, seats),
                        verdict => break verdict,
                    }
                }
            },
        );
        Decision::new(verdict, || self.books.standings(account, limits, TERMS, now, now))
    }

    /// Takes as many of `wanted` checks as every limit on checks has room for. Limits on requests are
    /// not asked: the checks are rows of one request.
    pub fn take_checks(
        &self,
        account: Account<'_>,
        wanted: u64,
        limits: &[Limit],
        now: u64,
    ) -> Taken {
        let now = self.advance(now);
        let settings = &self.books.settings;
        self.books.with(
            account,
            limits,
            || now,
            |shares, now, seats| {
                note(shares, TERMS, Ask::Check, wanted, now, seats, settings);
                loop {
                    match take_checks(shares, TERMS, wanted, now, seats, settings) {
                        None => self.draw(shares, now, seats),
                        Some((spent, count, verdict)) => {
                            break Taken::new(Charge::new(spent, count), verdict);
                        }
                    }
                }
            },
        )
    }

    /// Gives back what was charged as a check, because it was not answered.
    pub fn give_back(&self, account: Account<'_>, charge: &Charge) {
        self.books.give_back(account, charge);
    }

    /// Where every limit stands at `now`.
    pub fn standings(&self, account: Account<'_>, limits: &[Limit], now: u64) -> Vec<Standing> {
        let now = self.advance(now);
        self.books.standings(account, limits, TERMS, now, now)
    }

    /// Sends what is due, and hears the answer.
    fn draw(&self, shares: &mut [Share<'_>], now: u64, seats: &SeatView) {
        let mut ledger = self.ledger.lock().unwrap_or_else(PoisonError::into_inner);
        let settings = &self.books.settings;
        for share in shares {
            for bank in BankKind::ALL {
                if let Some(draw) = share.purse.due(bank, now, seats, settings) {
                    let answer = ledger.draw(&server(now), ITSELF, share.purse.payer(), &draw);
                    share.purse.drawn(bank, draw.sequence, &answer, now, seats, settings);
                }
            }
        }
    }

    fn advance(&self, now: u64) -> u64 {
        let now = now.saturating_mul(SECOND);
        self.latest.fetch_max(now, Ordering::Relaxed).max(now)
    }
}

fn server(now: u64) -> Server {
    Server { run: String::new(), now }
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
        let counters = InProcess::default();
        let taken = counters.take_checks(ACME, 3, &business(), 100);
        assert_eq!((taken.charge.count(), taken.violated.len()), (3, 0));
        let taken = counters.take_checks(ACME, 4, &business(), 101);
        assert_eq!((taken.charge.count(), taken.retry_after), (2, 99), "five in a hundred seconds");
        assert_eq!(taken.violated, ["daily".parse().unwrap()]);
        assert!(!admitted(&counters.admit(ACME, Ask::Check, &business(), 102)));
        counters.give_back(ACME, &taken.charge.part(1));
        assert!(admitted(&counters.admit(ACME, Ask::Check, &business(), 103)));
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
        let counters = InProcess::default();
        let outcomes: Vec<_> = [100, 101, 109, 109, 110]
            .map(|now| admitted(&counters.admit(ACME, Ask::Check, &business(), now)))
            .to_vec();
        assert_eq!(outcomes, [true, true, true, false, true]);
    }

    #[test]
    fn a_refusal_says_which_limit_and_how_long() {
        let counters = InProcess::default();
        for _ in 0..3 {
            assert!(admitted(&counters.admit(ACME, Ask::Check, &business(), 104)));
        }
        let Decision::Refused { violated, retry_after, standings } =
            counters.admit(ACME, Ask::Check, &business(), 104)
        else {
            panic!("admitted")
        };
        assert_eq!((violated[0].as_str(), retry_after), ("burst", 6));
        let left: Vec<_> = standings.iter().map(|standing| standing.remaining).collect();
        assert_eq!(left, [0, 2], "what burst refuses is not charged to the day");
    }

    #[test]
    fn a_check_that_was_not_answered_is_given_back_but_counts_as_a_request() {
        let counters = InProcess::default();
        let Decision::Admitted { charge } = counters.admit(ACME, Ask::Check, &business(), 100)
        else {
            panic!("refused")
        };
        counters.give_back(ACME, &charge);
        let left: Vec<_> =
            counters.standings(ACME, &business(), 100).iter().map(|s| s.remaining).collect();
        assert_eq!(left, [2, 5]);
    }

    #[test]
    fn what_is_no_check_leaves_the_quota_alone() {
        let counters = InProcess::default();
        assert!(admitted(&counters.admit(ACME, Ask::Request, &business(), 100)));
        let left: Vec<_> =
            counters.standings(ACME, &business(), 100).iter().map(|s| s.remaining).collect();
        assert_eq!(left, [2, 5]);
    }

    #[test]
    fn what_the_quota_refuses_counts_as_a_request() {
        let limits =
            [limit("burst", 3, 10, Counts::Requests), limit("daily", 1, 100, Counts::Checks)];
        let counters = InProcess::default();
        assert!(admitted(&counters.admit(ACME, Ask::Check, &limits, 100)));
        for expected in ["daily", "daily", "burst"] {
            match counters.admit(ACME, Ask::Check, &limits, 101) {
                Decision::Refused { violated, .. } => assert_eq!(violated[0].as_str(), expected),
                other => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn a_changed_number_holds_at_once_and_keeps_what_was_used() {
        let counters = InProcess::default();
        for _ in 0..3 {
            assert!(admitted(&counters.admit(ACME, Ask::Check, &business(), 100)));
        }
        let raised = [limit("burst", 4, 10, Counts::Requests)];
        assert!(admitted(&counters.admit(ACME, Ask::Check, &raised, 100)));
        assert!(!admitted(&counters.admit(ACME, Ask::Check, &raised, 100)));
    }

    #[test]
    fn many_threads_together_get_exactly_the_limit() {
        let limits = [limit("burst", 1000, 60, Counts::Requests)];
        let limiter = InProcess::default();
        let passed = AtomicU64::new(0);
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..500 {
                        if admitted(&limiter.admit(ACME, Ask::Check, &limits, 7)) {
                            passed.fetch_add(1, Ordering::Relaxed);
                        }
                    }
                });
            }
        });
        assert_eq!(passed.into_inner(), 1000);
        let other = Account { tenant: "other", ..ACME };
        assert!(admitted(&limiter.admit(other, Ask::Check, &limits, 7)));
    }

    #[test]
    fn a_limit_counts_a_key_a_tenant_or_a_plan() {
        let per =
            |name, requests, per| Limit { per, ..limit(name, requests, 60, Counts::Requests) };
        let limits =
            [per("plan", 5, Per::Plan), per("tenant", 3, Per::Tenant), per("key", 2, Per::Key)];
        let limiter = InProcess::default();
        let ask = |tenant, key| match limiter.admit(
            Account { plan: "p", tenant, key },
            Ask::Request,
            &limits,
            7,
        ) {
            Decision::Refused { violated, standings, .. } => {
                assert_eq!(standings.len(), 3);
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
        let limiter = InProcess::default();
        let (first, last) = (1_000, 60_000);
        for now in first..last {
            let name = format!("tenant-{now}");
            let account = Account { tenant: &name, ..ACME };
            assert!(admitted(&limiter.admit(account, Ask::Request, &limits, now)));
        }
        // A shard is tidied where it has grown to 256.
        assert!(limiter.books.payers() <= 64 * 256, "{}", limiter.books.payers());
    }

    proptest! {
        #[test]
        fn no_window_is_ever_exceeded(
            steps in prop::collection::vec((0..400_u64, any::<bool>()), 1..300),
        ) {
            // Given requests at any times, clocks that jump back included, some of them unanswered.
            let limits = [
                limit("burst", 3, 10, Counts::Requests),
                limit("minute", 10, 60, Counts::Requests),
                limit("quota", 7, 90, Counts::Checks),
            ];
            let counters = InProcess::default();
            let (mut requests, mut answered) = (Vec::new(), Vec::new());
            let mut latest = 0;
            for (now, answer) in steps {
                latest = now.max(latest);
                if let Decision::Admitted { charge } = counters.admit(ACME, Ask::Check, &limits, now) {
                    requests.push(latest);
                    if answer {
                        answered.push(latest);
                    } else {
                        counters.give_back(ACME, &charge);
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
