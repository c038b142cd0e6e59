//! Counting requests in windows.
//!
//! A window starts at a multiple of its length since 1970 (UTC). Time only moves forward here: a clock
//! that is set back stays in the newest window seen, so that no window is counted twice.

use std::collections::BTreeMap;

use assay_tenancy::{
    directory::Limit,
    manifest::{Counts, LimitName},
};

/// What one tenant has used.
#[derive(Clone, Debug, Default)]
pub struct Counters {
    cells: BTreeMap<(LimitName, u64), Cell>,
    latest: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Cell {
    window: u64,
    used: u64,
}

/// What a request is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    /// Any request: counts against the limits on requests.
    Request,
    /// A check: counts against the limits on checks too.
    Check,
}

/// Whether a request may go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// It may; the charge is to be settled by its outcome.
    Admitted {
        /// What was charged.
        charge: Charge,
    },
    /// It may not.
    Refused {
        /// The limits that are used up.
        violated: Vec<LimitName>,
        /// Seconds until all of them have room again.
        retry_after: u64,
        /// Where every limit stands.
        standings: Vec<Standing>,
    },
}

/// What an admitted request was charged beyond the limits that count every request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use = "a charge is settled by the request's outcome"]
pub struct Charge {
    /// Limits with their window's length and number.
    checks: Vec<(LimitName, u64, u64)>,
    /// How many checks were charged to each.
    count: u64,
}

impl Charge {
    /// How many checks were charged.
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// What was charged for `count` of the checks, to be given back.
    pub fn part(&self, count: u64) -> Self {
        Self { checks: self.checks.clone(), count: count.min(self.count) }
    }
}

/// How many of several checks may be made.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "a charge is settled by the checks' outcome"]
pub struct Taken {
    /// What was charged: as many checks as there was room for.
    pub charge: Charge,
    /// The limits without room for more; empty where all were taken.
    pub violated: Vec<LimitName>,
    /// Seconds until all of these have room again.
    pub retry_after: u64,
}

/// Where one limit stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// The limit.
    pub name: LimitName,
    /// How many in one window.
    pub requests: u64,
    /// The window's length in seconds.
    pub window_seconds: u64,
    /// How many are left in this window.
    pub remaining: u64,
    /// Seconds until the next window.
    pub resets_in: u64,
}

impl Counters {
    /// Asks for one request at `now` (seconds since 1970).
    ///
    /// All limits hold at once: it is charged to all or refused by one. A request that only a limit on
    /// checks refuses still counts as a request.
    pub fn admit(&mut self, ask: Ask, limits: &[Limit], now: u64) -> Decision {
        let now = self.advance(now);
        self.cells.retain(|(name, window), _| {
            limits.iter().any(|limit| limit.name == *name && limit.window.seconds() == *window)
        });
        let exhausted = |counters: &Self, counts: Counts| -> Vec<&Limit> {
            let of_kind = limits.iter().filter(|limit| limit.counts == counts);
            of_kind.filter(|limit| counters.used(limit, now) >= limit.requests).collect()
        };
        let mut violated = exhausted(self, Counts::Requests);
        if violated.is_empty() {
            self.charge(limits, Counts::Requests, 1, now);
            if ask == Ask::Check {
                violated = exhausted(self, Counts::Checks);
            }
        }
        if violated.is_empty() {
            let checks = match ask {
                Ask::Check => self.charge(limits, Counts::Checks, 1, now),
                Ask::Request => Vec::new(),
            };
            return Decision::Admitted { charge: Charge { checks, count: 1 } };
        }
        Decision::Refused {
            retry_after: violated.iter().map(|limit| resets_in(limit, now)).max().unwrap_or(1),
            violated: violated.iter().map(|limit| limit.name.clone()).collect(),
            standings: self.standings(limits, now),
        }
    }

    /// Takes as many of `wanted` checks as every limit on checks has room for. Limits on requests are
    /// not asked: the checks are rows of one request.
    pub fn take_checks(&mut self, wanted: u64, limits: &[Limit], now: u64) -> Taken {
        let now = self.advance(now);
        let of_checks = || limits.iter().filter(|limit| limit.counts == Counts::Checks);
        let room = |limit: &Limit| limit.requests.saturating_sub(self.used(limit, now));
        let count = of_checks().map(room).fold(wanted, u64::min);
        let short: Vec<&Limit> = of_checks().filter(|limit| room(limit) < wanted).collect();
        let retry_after = short.iter().map(|limit| resets_in(limit, now)).max().unwrap_or(0);
        let violated = short.into_iter().map(|limit| limit.name.clone()).collect();
        let checks = self.charge(limits, Counts::Checks, count, now);
        Taken { charge: Charge { checks, count }, violated, retry_after }
    }

    /// Gives back what an admitted request was charged as a check, because it was not answered.
    pub fn give_back(&mut self, charge: &Charge) {
        for (name, length, window) in &charge.checks {
            if let Some(cell) = self.cells.get_mut(&(name.clone(), *length))
                && cell.window == *window
            {
                cell.used = cell.used.saturating_sub(charge.count);
            }
        }
    }

    /// Where every limit stands at `now`.
    #[must_use]
    pub fn standings(&self, limits: &[Limit], now: u64) -> Vec<Standing> {
        let now = now.max(self.latest);
        limits
            .iter()
            .map(|limit| Standing {
                name: limit.name.clone(),
                requests: limit.requests,
                window_seconds: limit.window.seconds(),
                remaining: limit.requests.saturating_sub(self.used(limit, now)),
                resets_in: resets_in(limit, now),
            })
            .collect()
    }

    fn advance(&mut self, now: u64) -> u64 {
        self.latest = self.latest.max(now);
        self.latest
    }

    fn used(&self, limit: &Limit, now: u64) -> u64 {
        let cell = self.cells.get(&(limit.name.clone(), limit.window.seconds()));
        cell.filter(|cell| cell.window == window(limit, now)).map_or(0, |cell| cell.used)
    }

    fn charge(
        &mut self,
        limits: &[Limit],
        counts: Counts,
        count: u64,
        now: u64,
    ) -> Vec<(LimitName, u64, u64)> {
        let mut charged = Vec::new();
        for limit in limits.iter().filter(|limit| limit.counts == counts) {
            let (length, window) = (limit.window.seconds(), window(limit, now));
            let cell = self.cells.entry((limit.name.clone(), length)).or_default();
            if cell.window != window {
                *cell = Cell { window, used: 0 };
            }
            cell.used = cell.used.saturating_add(count);
            charged.push((limit.name.clone(), length, window));
        }
        charged
    }
}

fn window(limit: &Limit, now: u64) -> u64 {
    now / limit.window.seconds().max(1)
}

fn resets_in(limit: &Limit, now: u64) -> u64 {
    let length = limit.window.seconds().max(1);
    length - now % length
}

#[cfg(test)]
mod tests {
    use assay_tenancy::Period;
    use proptest::prelude::*;

    use super::*;

    fn limit(name: &str, requests: u64, seconds: u64, counts: Counts) -> Limit {
        Limit {
            name: name.parse().unwrap(),
            requests,
            ceiling: requests,
            window: Period::from_seconds(seconds),
            counts,
        }
    }

    fn business() -> Vec<Limit> {
        vec![limit("burst", 3, 10, Counts::Requests), limit("daily", 5, 100, Counts::Checks)]
    }

    #[test]
    fn rows_are_taken_as_far_as_there_is_room_and_given_back_where_unused() {
        let mut counters = Counters::default();
        let taken = counters.take_checks(3, &business(), 100);
        assert_eq!((taken.charge.count(), taken.violated.len()), (3, 0));
        let taken = counters.take_checks(4, &business(), 101);
        assert_eq!((taken.charge.count(), taken.retry_after), (2, 99), "five in a hundred seconds");
        assert_eq!(taken.violated, ["daily".parse().unwrap()]);
        assert!(!admitted(&counters.admit(Ask::Check, &business(), 102)));
        counters.give_back(&taken.charge.part(1));
        assert!(admitted(&counters.admit(Ask::Check, &business(), 103)));
        assert_eq!(counters.take_checks(9, &business(), 104).charge.count(), 0);
        assert_eq!(counters.take_checks(9, &business(), 200).charge.count(), 5, "the next window");
    }

    fn admitted(decision: &Decision) -> bool {
        matches!(decision, Decision::Admitted { .. })
    }

    #[test]
    fn a_window_admits_its_limit_and_the_next_one_starts_anew() {
        let mut counters = Counters::default();
        let outcomes: Vec<_> = [100, 101, 109, 109, 110]
            .map(|now| admitted(&counters.admit(Ask::Check, &business(), now)))
            .to_vec();
        assert_eq!(outcomes, [true, true, true, false, true]);
    }

    #[test]
    fn a_refusal_says_which_limit_and_how_long() {
        let mut counters = Counters::default();
        for _ in 0..3 {
            assert!(admitted(&counters.admit(Ask::Check, &business(), 104)));
        }
        let Decision::Refused { violated, retry_after, standings } =
            counters.admit(Ask::Check, &business(), 104)
        else {
            panic!("admitted")
        };
        assert_eq!((violated[0].as_str(), retry_after), ("burst", 6));
        let left: Vec<_> = standings.iter().map(|standing| standing.remaining).collect();
        assert_eq!(left, [0, 2], "what burst refuses is not charged to the day");
    }

    #[test]
    fn a_check_that_was_not_answered_is_given_back_but_counts_as_a_request() {
        let mut counters = Counters::default();
        let Decision::Admitted { charge } = counters.admit(Ask::Check, &business(), 100) else {
            panic!("refused")
        };
        counters.give_back(&charge);
        let left: Vec<_> =
            counters.standings(&business(), 100).iter().map(|s| s.remaining).collect();
        assert_eq!(left, [2, 5]);
    }

    #[test]
    fn what_is_no_check_leaves_the_quota_alone() {
        let mut counters = Counters::default();
        assert!(admitted(&counters.admit(Ask::Request, &business(), 100)));
        let left: Vec<_> =
            counters.standings(&business(), 100).iter().map(|s| s.remaining).collect();
        assert_eq!(left, [2, 5]);
    }

    #[test]
    fn what_the_quota_refuses_counts_as_a_request() {
        let limits =
            [limit("burst", 3, 10, Counts::Requests), limit("daily", 1, 100, Counts::Checks)];
        let mut counters = Counters::default();
        assert!(admitted(&counters.admit(Ask::Check, &limits, 100)));
        for expected in ["daily", "daily", "burst"] {
            match counters.admit(Ask::Check, &limits, 101) {
                Decision::Refused { violated, .. } => assert_eq!(violated[0].as_str(), expected),
                Decision::Admitted { .. } => panic!("admitted"),
            }
        }
    }

    #[test]
    fn a_changed_number_holds_at_once_and_keeps_what_was_used() {
        let mut counters = Counters::default();
        for _ in 0..3 {
            assert!(admitted(&counters.admit(Ask::Check, &business(), 100)));
        }
        let raised = [limit("burst", 4, 10, Counts::Requests)];
        assert!(admitted(&counters.admit(Ask::Check, &raised, 100)));
        assert!(!admitted(&counters.admit(Ask::Check, &raised, 100)));
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
            let mut counters = Counters::default();
            let (mut requests, mut answered) = (Vec::new(), Vec::new());
            let mut latest = 0;
            for (now, answer) in steps {
                latest = now.max(latest);
                if let Decision::Admitted { charge } = counters.admit(Ask::Check, &limits, now) {
                    requests.push(latest);
                    if answer {
                        answered.push(latest);
                    } else {
                        counters.give_back(&charge);
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
