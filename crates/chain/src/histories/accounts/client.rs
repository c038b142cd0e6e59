//! Client of an API with its limits: it waits for its turn, sends again what may succeed soon, and stops after failures in a row.

use std::{
    cell::Cell,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use serde::Deserialize;

use super::{
    limits::{
        ApiPlan, CircuitBreaker, CounterGrant, CounterRequest, CounterWindow, RequestCounters,
        Turn, allowed, day_request, elapsed, slot_request, turn,
    },
    refusal::ApiRefusal,
};
use crate::{
    SourceError,
    http::{ExchangeError, Http, Request, Response, shortened},
};

/// Most bytes of an answer: 1,000 rows with the input of their transactions.
const MAX_BYTES: u64 = 64 * 1024 * 1024;
/// First delay before a request is sent again.
const FIRST_DELAY: Duration = Duration::from_millis(500);

/// Settings of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ApiOptions {
    /// Limits of the plan.
    pub plan: ApiPlan,
    /// Most time for which one call waits for its turn and for its repetitions.
    pub patience: Duration,
}

/// Client of an API.
#[derive(Debug)]
pub(super) struct ApiClient {
    http: Arc<dyn Http>,
    counters: Arc<dyn RequestCounters>,
    options: ApiOptions,
    /// Meaning of status 403 without a known text.
    forbidden: ApiRefusal,
    breaker: Mutex<CircuitBreaker>,
    start: Instant,
    /// The last statement of the time to the end of the period.
    phase: Mutex<Option<(Instant, Duration)>>,
}

/// Refusal with the words of the API.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum AnswerError {
    /// The API refuses the request.
    Refused(ApiRefusal, String),
    /// The answer cannot be parsed.
    Unreadable(String),
    /// The answer contradicts itself or the request.
    Invalid(String),
}

impl AnswerError {
    /// The refusal of a text.
    pub(super) fn of_text(text: &str) -> Self {
        Self::Refused(ApiRefusal::of_text(text), shortened(text))
    }
}

impl ApiClient {
    pub(super) fn new(
        http: Arc<dyn Http>,
        counters: Arc<dyn RequestCounters>,
        options: ApiOptions,
        forbidden: ApiRefusal,
    ) -> Self {
        let breaker = Mutex::default();
        let (start, phase) = (Instant::now(), Mutex::default());
        Self { http, counters, options, forbidden, breaker, start, phase }
    }

    /// Sends a request until `read` accepts its answer. `what` names the request in messages.
    pub(super) fn ask<T>(
        &self,
        path: &str,
        what: &str,
        read: impl Fn(&[u8]) -> Result<T, AnswerError>,
    ) -> Result<T, SourceError> {
        let deadline = deadline_of_thread(Instant::now() + self.options.patience);
        let mut delay = FIRST_DELAY;
        loop {
            self.admit(what)?;
            self.wait_for_turn(what, deadline)?;
            let (error, after) = match self.exchange(path, what, &read) {
                Ok(answer) => {
                    self.breaker().succeed();
                    return Ok(answer);
                }
                Err(failed) => failed,
            };
            if is_of_api(&error) {
                self.breaker().fail(self.start.elapsed());
            } else {
                // The API answers; another request may succeed.
                self.breaker().succeed();
            }
            let is_passing = matches!(&error, SourceError::Unreachable { .. })
                || matches!(&error, SourceError::Api { refusal, .. } if refusal.is_passing());
            let after = after.unwrap_or(delay);
            if !is_passing || Instant::now() + after >= deadline {
                return Err(error);
            }
            std::thread::sleep(after);
            delay = delay.saturating_mul(2);
        }
    }

    /// The error of an answer.
    pub(super) fn error(&self, what: &str, error: AnswerError) -> SourceError {
        let (url, what) = (self.http.url().to_owned(), what.to_owned());
        match error {
            AnswerError::Refused(refusal, message) => {
                let message = shortened(&self.http.quoted(&message));
                SourceError::Api { url, what, refusal, message }
            }
            AnswerError::Unreadable(reason) => SourceError::Unreadable { url, what, reason },
            AnswerError::Invalid(reason) => SourceError::InvalidData { url, what, reason },
        }
    }

    fn exchange<T>(
        &self,
        path: &str,
        what: &str,
        read: &impl Fn(&[u8]) -> Result<T, AnswerError>,
    ) -> Result<T, (SourceError, Option<Duration>)> {
        let request = Request { most: MAX_BYTES, ..Request::get(path) };
        let url = self.http.url().to_owned();
        let response = self.http.exchange(request).map_err(|error| match error {
            ExchangeError::Transient(reason) | ExchangeError::Permanent(reason) => {
                SourceError::Unreachable { url, reason }
            }
            ExchangeError::NotSent(reason) => SourceError::NotSent { url, reason },
            ExchangeError::TooLarge(most) => SourceError::TooLarge { url, most },
        });
        let response = response.map_err(|error| (error, None))?;
        let read = match refused(&response, self.forbidden) {
            Some(refused) => Err(refused),
            None => read(&response.body),
        };
        read.map_err(|error| (self.error(what, error), response.retry_after))
    }

    fn admit(&self, what: &str) -> Result<(), SourceError> {
        self.breaker().admit(self.start.elapsed()).map_err(|left| {
            let seconds = left.as_secs().saturating_add(1);
            let message = format!("requests failed in a row, the next one is in {seconds} s");
            self.error(what, AnswerError::Refused(ApiRefusal::Unavailable, message))
        })
    }

    /// Waits for a slot of the plan.
    fn wait_for_turn(&self, what: &str, deadline: Instant) -> Result<(), SourceError> {
        let (plan, subject) = (self.options.plan, self.http.subject());
        let refused = |refusal, message: &str| {
            self.error(what, AnswerError::Refused(refusal, message.to_owned()))
        };
        loop {
            let patience = deadline.saturating_duration_since(Instant::now());
            let limit = allowed(plan, self.elapsed(), patience);
            let Some(first) = self.reserve(&subject, slot_request(limit, 1))? else { continue };
            let mut next = turn(plan, limit, first);
            if let Turn::Skip(slots) = next {
                let grant = self.reserve(&subject, slot_request(slots, slots))?;
                let Some(grant) = grant.filter(|grant| grant.granted > 0) else { continue };
                next = turn(plan, slots, grant);
            }
            let wait = match next {
                Turn::Send(after) if after <= patience => {
                    // The day counts requests that are sent: those that get no slot are none.
                    let day = self.reserve(&subject, day_request(plan))?;
                    if day.is_none_or(|day| day.granted == 0) {
                        let message = "the limit of the plan is reached, no request was sent";
                        return Err(refused(ApiRefusal::DailyLimit, message));
                    }
                    std::thread::sleep(after);
                    return Ok(());
                }
                Turn::Skip(_) => continue,
                Turn::Send(after) | Turn::Full(after) => after,
            };
            if wait >= patience {
                let message = "other checks use all requests of the plan, no request was sent";
                return Err(refused(ApiRefusal::TooManyRequests, message));
            }
            std::thread::sleep(wait);
        }
    }

    fn reserve(
        &self,
        subject: &str,
        request: CounterRequest,
    ) -> Result<Option<CounterGrant>, SourceError> {
        let asked_at = Instant::now();
        let grants = self.counters.reserve(subject, &[request]).map_err(|reason| {
            let reason = format!("its limits cannot be counted: {reason}");
            SourceError::Unreachable { url: self.http.url().to_owned(), reason }
        })?;
        let grant = grants.first().copied();
        if let Some(grant) = grant.filter(|_| request.window == CounterWindow::Period) {
            *self.phase.lock().unwrap_or_else(PoisonError::into_inner) =
                Some((asked_at, grant.until_end));
        }
        Ok(grant)
    }

    fn elapsed(&self) -> Option<Duration> {
        let phase = *self.phase.lock().unwrap_or_else(PoisonError::into_inner);
        phase.map(|(at, until_end)| elapsed(until_end, at.elapsed()))
    }

    fn breaker(&self) -> MutexGuard<'_, CircuitBreaker> {
        self.breaker.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

thread_local! {
    /// Deadline of the calls of this thread.
    static DEADLINE: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// Makes calls to sources, none of which waits for its turn or its repetitions after a deadline.
pub fn until<T>(deadline: Instant, call: impl FnOnce() -> T) -> T {
    /// Restores the deadline before.
    struct Restored(Option<Instant>);

    impl Drop for Restored {
        fn drop(&mut self) {
            DEADLINE.set(self.0);
        }
    }

    let _restored = Restored(DEADLINE.replace(Some(deadline)));
    call()
}

/// The earlier one of a deadline and that of the thread.
fn deadline_of_thread(deadline: Instant) -> Instant {
    DEADLINE.get().map_or(deadline, |of_thread| deadline.min(of_thread))
}

/// True for an error that other requests have, too: the API is out of reach, refuses the key, or answers no JSON. Errors of one
/// account's list say nothing about the lists of others.
const fn is_of_api(error: &SourceError) -> bool {
    match error {
        SourceError::Api { refusal, .. } => {
            refusal.is_passing() || refusal.ends_the_day() || refusal.needs_other_key()
        }
        SourceError::InvalidData { .. } | SourceError::TooLarge { .. } => false,
        _ => true,
    }
}

/// The refusal of a status of HTTP; `None` for success.
fn refused(response: &Response, forbidden: ApiRefusal) -> Option<AnswerError> {
    if (200..300).contains(&response.status) {
        return None;
    }
    let text = String::from_utf8_lossy(&response.body);
    let known = ApiRefusal::of_text(&text);
    let refusal = match (response.status, known) {
        (429, ApiRefusal::DailyLimit) => ApiRefusal::DailyLimit,
        (429, _) => ApiRefusal::TooManyRequests,
        (401 | 403, known) if known != ApiRefusal::Other => known,
        (401, _) => ApiRefusal::InvalidKey,
        (403, _) => forbidden,
        (404, ApiRefusal::Other) => ApiRefusal::NotOffered,
        (500.., _) => ApiRefusal::Unavailable,
        (_, known) => known,
    };
    let message = format!("HTTP status {}: {}", response.status, shortened(&text));
    Some(AnswerError::Refused(refusal, message))
}

/// Parses an answer.
pub(super) fn json<'a, T: Deserialize<'a>>(body: &'a [u8]) -> Result<T, AnswerError> {
    serde_json::from_slice(body).map_err(|error| AnswerError::Unreadable(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(refusal: ApiRefusal) -> SourceError {
        SourceError::Api {
            url: "https://api.example".to_owned(),
            what: "a list".to_owned(),
            refusal,
            message: String::new(),
        }
    }

    #[test]
    fn errors_of_one_account_are_none_of_the_api() {
        use ApiRefusal::{
            DailyLimit, DataMissing, InvalidKey, NotOffered, Other, QueryTimeout, TooManyRequests,
            Unavailable, WindowFull,
        };
        for of_api in [TooManyRequests, DailyLimit, InvalidKey, Unavailable] {
            assert!(is_of_api(&refusal(of_api)), "{of_api:?}");
        }
        for of_account in [DataMissing, NotOffered, Other, QueryTimeout, WindowFull] {
            assert!(!is_of_api(&refusal(of_account)), "{of_account:?}");
        }
    }

    #[test]
    fn a_deadline_of_the_thread_holds_for_its_calls_only() {
        let now = Instant::now();
        let (early, late) = (now + Duration::from_secs(1), now + Duration::from_secs(9));
        let within =
            until(early, || (deadline_of_thread(late), until(late, || deadline_of_thread(now))));
        assert_eq!(within, (early, now));
        assert_eq!(deadline_of_thread(late), late);
    }
}
