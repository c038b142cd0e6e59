//! Limits of requests to an API: slots in time that all clients of one key share, and a circuit breaker.
//!
//! The slots of a period have equal distances. Clients take the numbers of slots from shared counters, and send at the time of
//! their slot: no second has more requests than the plan allows, however many clients there are. A slot that passed
//! without a request is lost.

use std::{
    collections::HashMap,
    fmt,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

/// Length of the period whose slots are counted.
const PERIOD: Duration = Duration::from_mins(1);
/// Length of a day.
const DAY: Duration = Duration::from_hours(24);
/// Failures in a row after which no requests are sent for some time.
const MOST_FAILURES: u32 = 5;
/// Time without requests after failures in a row.
const OPEN_TIME: Duration = Duration::from_secs(30);

/// Limits of a plan of an API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ApiPlan {
    /// Most requests in a second, at least 1.
    pub per_second: u32,
    /// Most requests in a day.
    pub per_day: u32,
}

impl ApiPlan {
    /// The free plan of Etherscan.
    pub const ETHERSCAN: Self = Self { per_second: 3, per_day: 100_000 };
    /// The free plan of Blockscout, in which each request takes 20 of 100,000 credits.
    pub const BLOCKSCOUT: Self = Self { per_second: 5, per_day: 5_000 };
    /// The free plan of TronGrid.
    pub const TRONGRID: Self = Self { per_second: 15, per_day: 100_000 };

    /// The distance of slots: a fifth more than the plan requires, because requests take different times to arrive.
    fn spacing(self) -> Duration {
        Duration::from_micros(1_200_000 / u64::from(self.per_second.max(1)))
    }

    /// The number of slots of a period.
    fn slots(self) -> u64 {
        count(PERIOD, self.spacing())
    }

    /// The number of slots up to a time of the period, rounded up.
    fn slots_until(self, time: Duration) -> u64 {
        count(time.saturating_add(self.spacing()), self.spacing()).min(self.slots())
    }

    fn start_of(self, slot: u64) -> Duration {
        self.spacing().saturating_mul(u32::try_from(slot).unwrap_or(u32::MAX))
    }
}

fn count(time: Duration, spacing: Duration) -> u64 {
    u64::try_from(time.as_micros() / spacing.as_micros().max(1)).unwrap_or(u64::MAX)
}

/// Length of the windows of a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CounterWindow {
    /// The period of slots, one minute.
    Period,
    /// A day.
    Day,
}

impl CounterWindow {
    /// The length.
    #[must_use]
    pub const fn length(self) -> Duration {
        match self {
            Self::Period => PERIOD,
            Self::Day => DAY,
        }
    }

    /// The name of the counter.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Period => "api requests a minute",
            Self::Day => "api requests a day",
        }
    }
}

/// A request for numbers of a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CounterRequest {
    /// The window.
    pub window: CounterWindow,
    /// Most numbers that all clients may have been granted in the window.
    pub allowed: u64,
    /// The amount requested; less may be granted.
    pub wanted: u64,
}

/// The answer to a [`CounterRequest`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CounterGrant {
    /// The amount granted.
    pub granted: u64,
    /// The amount that is left of what is allowed.
    pub remaining: u64,
    /// Time to the end of the window.
    pub until_end: Duration,
}

/// Counters of requests by subject, shared by all programs that use the same keys. The calls block the thread.
pub trait RequestCounters: fmt::Debug + Send + Sync {
    /// Reserves numbers of several counters of a subject. The answers are in the order of the requests.
    ///
    /// # Errors
    ///
    /// Returns the reason if the counters cannot be reached.
    fn reserve(
        &self,
        subject: &str,
        requests: &[CounterRequest],
    ) -> Result<Vec<CounterGrant>, String>;
}

/// Counters within one program.
#[derive(Debug)]
pub struct LocalCounters {
    counters: Mutex<WindowCounters>,
    start: Instant,
}

impl Default for LocalCounters {
    fn default() -> Self {
        Self { counters: Mutex::default(), start: Instant::now() }
    }
}

impl RequestCounters for LocalCounters {
    fn reserve(
        &self,
        subject: &str,
        requests: &[CounterRequest],
    ) -> Result<Vec<CounterGrant>, String> {
        let now = self.start.elapsed();
        let mut counters = self.counters.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(requests.iter().map(|request| counters.reserve(subject, *request, now)).collect())
    }
}

/// Counts of windows. The time is passed in.
#[derive(Debug, Default)]
struct WindowCounters {
    /// Number of the window and granted amount, by subject and length of the window.
    granted: HashMap<(String, CounterWindow), (u128, u64)>,
}

impl WindowCounters {
    fn reserve(&mut self, subject: &str, request: CounterRequest, now: Duration) -> CounterGrant {
        let length = request.window.length().as_micros().max(1);
        let window = now.as_micros() / length;
        let counter = self.granted.entry((subject.to_owned(), request.window)).or_default();
        if counter.0 != window {
            *counter = (window, 0);
        }
        let granted = request.wanted.min(request.allowed.saturating_sub(counter.1));
        counter.1 += granted;
        let until_end = (window + 1) * length - now.as_micros();
        CounterGrant {
            granted,
            remaining: request.allowed.saturating_sub(counter.1),
            until_end: Duration::from_micros(u64::try_from(until_end).unwrap_or(u64::MAX)),
        }
    }
}

/// Time at which a request may be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// After this time, in which the slot is.
    Send(Duration),
    /// Slots were lost: the slots of this many are to be taken.
    Skip(u64),
    /// All slots up to the bound are taken; the period ends after this time.
    Full(Duration),
}

/// Decides on the answer to a request for one slot of a plan.
pub(super) fn turn(plan: ApiPlan, allowed: u64, grant: CounterGrant) -> Turn {
    if grant.granted == 0 {
        return Turn::Full(grant.until_end);
    }
    let slot = allowed.saturating_sub(grant.remaining).saturating_sub(1);
    let (start, now) = (plan.start_of(slot), PERIOD.saturating_sub(grant.until_end));
    let tolerance = plan.spacing() / 20;
    if start.saturating_add(tolerance) < now {
        return Turn::Skip(plan.slots_until(now).saturating_add(1).min(plan.slots()));
    }
    Turn::Send(start.saturating_sub(now))
}

/// Most slots that may be taken by a request that waits for at most `patience`. `elapsed` is the time since the period began.
pub(super) fn allowed(plan: ApiPlan, elapsed: Option<Duration>, patience: Duration) -> u64 {
    let all = plan.slots();
    elapsed.map_or(all, |elapsed| plan.slots_until(elapsed.saturating_add(patience)).min(all))
}

/// The counter of slots.
pub(super) const fn slot_request(allowed: u64, wanted: u64) -> CounterRequest {
    CounterRequest { window: CounterWindow::Period, allowed, wanted }
}

/// The counter of the day.
pub(super) fn day_request(plan: ApiPlan) -> CounterRequest {
    CounterRequest { window: CounterWindow::Day, allowed: plan.per_day.into(), wanted: 1 }
}

/// The time since the period began, from an answer `ago`.
pub(super) fn elapsed(until_end: Duration, ago: Duration) -> Duration {
    let micros = PERIOD.saturating_sub(until_end).saturating_add(ago).as_micros();
    let micros = micros % PERIOD.as_micros();
    Duration::from_micros(u64::try_from(micros).unwrap_or(0))
}

/// Circuit breaker: after failures in a row it refuses requests for some time, then admits one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct CircuitBreaker {
    failures: u32,
    /// Time at which one request is admitted; `None` while requests are admitted.
    probe_at: Option<Duration>,
}

impl CircuitBreaker {
    /// Admits a request.
    ///
    /// # Errors
    ///
    /// Returns the time until a request is admitted.
    pub(super) fn admit(&mut self, now: Duration) -> Result<(), Duration> {
        match self.probe_at {
            Some(at) if now < at => Err(at.saturating_sub(now)),
            Some(_) => {
                // One probe: others wait for its result.
                self.probe_at = Some(now.saturating_add(OPEN_TIME));
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Notes a success.
    pub(super) const fn succeed(&mut self) {
        *self = Self { failures: 0, probe_at: None };
    }

    /// Notes a failure.
    pub(super) fn fail(&mut self, now: Duration) {
        self.failures = self.failures.saturating_add(1);
        if self.failures >= MOST_FAILURES {
            self.probe_at = Some(now.saturating_add(OPEN_TIME));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    /// Sends as a client does, in simulated time, which passes while all slots are taken. Returns the time of sending.
    fn send(counters: &mut WindowCounters, plan: ApiPlan, now: &mut Duration) -> Duration {
        loop {
            let all = plan.slots();
            let grant = counters.reserve("key", slot_request(all, 1), *now);
            match turn(plan, all, grant) {
                Turn::Send(after) => return *now + after,
                Turn::Full(until) => *now += until,
                Turn::Skip(slots) => {
                    let grant = counters.reserve("key", slot_request(slots, slots), *now);
                    if let Turn::Send(after) = turn(plan, slots, grant) {
                        return *now + after;
                    }
                }
            }
        }
    }

    #[test]
    fn no_second_has_more_requests_than_the_plan_allows() {
        for plan in [ApiPlan::ETHERSCAN, ApiPlan::BLOCKSCOUT, ApiPlan::TRONGRID] {
            let mut counters = WindowCounters::default();
            let mut random = 7_u64;
            let mut sent: Vec<Duration> = Vec::new();
            let mut now = seconds(17);
            for _ in 0..3_000 {
                sent.push(send(&mut counters, plan, &mut now));
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                // Bursts, and pauses of up to two seconds.
                now += match random >> 62 {
                    0 => Duration::from_millis((random >> 33) % 2_000),
                    _ => Duration::from_millis((random >> 33) % 5),
                };
            }
            sent.sort_unstable();
            for window in sent.windows(usize::try_from(plan.per_second).unwrap() + 1) {
                let span = window.last().unwrap().saturating_sub(window[0]);
                assert!(span >= seconds(1), "{plan:?}: {window:?}");
            }
        }
    }

    #[test]
    fn a_client_that_was_idle_waits_for_one_slot_at_most() {
        let mut counters = WindowCounters::default();
        let plan = ApiPlan::ETHERSCAN;
        let mut now = seconds(41);
        let at = send(&mut counters, plan, &mut now);
        let waited = at.saturating_sub(now);
        assert!(waited <= plan.spacing() * 2, "{waited:?}");
    }

    #[test]
    fn slots_beyond_patience_are_not_taken() {
        let plan = ApiPlan::ETHERSCAN;
        let mut counters = WindowCounters::default();
        let mut turns = Vec::new();
        for _ in 0..20 {
            let all = allowed(plan, Some(Duration::ZERO), seconds(2));
            let grant = counters.reserve("key", slot_request(all, 1), Duration::ZERO);
            turns.push(turn(plan, all, grant));
        }
        assert_eq!(turns[0], Turn::Send(Duration::ZERO));
        let sent = turns.iter().filter(|turn| matches!(turn, Turn::Send(_))).count();
        assert!((5..=7).contains(&sent), "{turns:?}");
        assert_eq!(counters.reserve("key", slot_request(plan.slots(), 1), seconds(2)).granted, 1);
    }

    #[test]
    fn a_breaker_opens_after_failures_in_a_row_and_admits_one_probe() {
        let mut breaker = CircuitBreaker::default();
        for _ in 0..4 {
            breaker.fail(seconds(1));
        }
        breaker.succeed();
        for _ in 0..4 {
            breaker.fail(seconds(2));
            assert_eq!(breaker.admit(seconds(2)), Ok(()));
        }
        breaker.fail(seconds(2));
        assert_eq!(breaker.admit(seconds(3)), Err(seconds(29)));
        assert_eq!(breaker.admit(seconds(32)), Ok(()));
        assert_eq!(breaker.admit(seconds(32)), Err(seconds(30)));
        breaker.fail(seconds(33));
        assert_eq!(breaker.admit(seconds(62)), Err(seconds(1)));
        assert_eq!(breaker.admit(seconds(63)), Ok(()));
        breaker.succeed();
        assert_eq!(breaker.admit(seconds(64)), Ok(()));
    }
}
