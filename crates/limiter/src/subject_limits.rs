//! State of one replica for one subject: its window counters, and its connection to each token store.
//!
//! At most one request to each token store is in flight; all callers that wait share its response. After a failed
//! request, another request is sent at once if a caller waits, because one late response is no outage. A store that
//! fails twice in a row is unreachable: fallback allowances are spent, and it is retried after a backoff, in the
//! background. Callers without an allowance go on waiting until the store has failed for [`LimiterSettings::patience`],
//! because most stalls are shorter; from then on no caller waits.

use assay_tenancy::directory::Limit;

use crate::{
    DecisionContext, LimitStatus, LimitSubject, LimiterSettings, SpentTokens, StoreLossPolicy,
    TokenStoreKind,
    token_store::{LeaseGrant, LeaseRequest, WindowRequest},
    window_counter::WindowCounter,
};

/// Number of consecutive failures from which a store is unreachable.
pub(crate) const UNREACHABLE_FROM: u32 = 2;

/// State of one replica for one subject.
#[derive(Clone, Debug)]
pub struct SubjectLimits {
    subject: LimitSubject,
    counters: Vec<WindowCounter>,
    short: StoreConnection,
    long: StoreConnection,
    sequence: u64,
}

/// State of the requests to one token store.
#[derive(Clone, Debug, Default)]
struct StoreConnection {
    in_flight: Option<InFlightRequest>,
    /// Consecutive requests that failed.
    failures: u32,
    /// Local time of the first of the consecutive failures.
    failing_since: u64,
    /// Earliest local time of the next attempt to reach the store.
    retry_at: u64,
}

/// The request to the store that is in flight.
#[derive(Clone, Debug)]
struct InFlightRequest {
    request: LeaseRequest,
    sent: u64,
}

impl SubjectLimits {
    /// Creates the state of `subject`, without counters.
    #[must_use]
    pub fn new(subject: LimitSubject) -> Self {
        let (short, long) = (StoreConnection::default(), StoreConnection::default());
        Self { subject, counters: Vec::new(), short, long, sequence: 0 }
    }

    /// Returns the subject.
    #[must_use]
    pub const fn subject(&self) -> &LimitSubject {
        &self.subject
    }

    /// True if the last two requests to `store` failed.
    pub(crate) const fn is_unreachable(&self, store: TokenStoreKind) -> bool {
        self.connection(store).failures >= UNREACHABLE_FROM
    }

    /// True if `store` is unreachable, and has failed for so long that no caller waits for it. An old failure does
    /// not count: the next caller then waits for a new attempt.
    pub(crate) const fn is_given_up(
        &self,
        store: TokenStoreKind,
        context: &DecisionContext<'_>,
    ) -> bool {
        let connection = self.connection(store);
        let failing_for = context.now.saturating_sub(connection.failing_since);
        let idle_for = context.now.saturating_sub(connection.retry_at);
        self.is_unreachable(store)
            && failing_for >= context.settings.patience
            && idle_for <= context.settings.overdue(store)
    }

    /// True if a request to `store` is in flight.
    #[must_use]
    pub const fn is_waiting_for(&self, store: TokenStoreKind) -> bool {
        self.connection(store).in_flight.is_some()
    }

    /// Returns the counter of `limit`, updated to its present numbers.
    pub(crate) fn counter(
        &mut self,
        limit: &Limit,
        policy: StoreLossPolicy,
        settings: &LimiterSettings,
    ) -> &mut WindowCounter {
        // Plans have at most eight limits: a search is faster than a map.
        let index =
            self.counters.iter().position(|counter| counter.counts_limit(limit)).unwrap_or_else(
                || {
                    self.counters.push(WindowCounter::new(limit, policy, settings));
                    self.counters.len() - 1
                },
            );
        #[expect(clippy::indexing_slicing, reason = "the index was just found")]
        let counter = &mut self.counters[index];
        counter.update(limit, policy);
        counter
    }

    /// Returns the next request to `store`, if one is due. The caller must send it
    /// at once and report the outcome by [`Self::apply_grant`] or [`Self::request_failed`].
    pub fn due_request(
        &mut self,
        store: TokenStoreKind,
        context: &DecisionContext<'_>,
    ) -> Option<LeaseRequest> {
        let stuck = context.settings.overdue(store);
        let in_flight = self.connection(store).in_flight.as_ref();
        if in_flight.is_some_and(|in_flight| context.now.saturating_sub(in_flight.sent) > stuck) {
            // The task that sent it ended without reporting an outcome.
            self.connection_mut(store).in_flight = None;
            self.note_failure(store, context);
        }
        let connection = self.connection(store);
        if connection.in_flight.is_some() || context.now < connection.retry_at {
            return None;
        }
        let lost = self.is_unreachable(store);
        let of_store = || self.counters.iter().filter(|counter| counter.store == store);
        if !of_store().any(|counter| counter.is_low(lost, context)) {
            return None;
        }
        let windows = of_store().map(|counter| counter.lease_request(lost, context));
        let windows = windows.filter(|counter| counter.requested > 0).collect();
        self.send(store, windows, context.now)
    }

    /// Returns a request that gives back tokens without demand, if there are any.
    pub fn due_return(
        &mut self,
        store: TokenStoreKind,
        context: &DecisionContext<'_>,
    ) -> Option<LeaseRequest> {
        self.return_request(store, context.now, |counter| counter.release_idle(context))
    }

    /// Returns a request that gives back all tokens, because the replica stops.
    pub fn drain(
        &mut self,
        store: TokenStoreKind,
        context: &DecisionContext<'_>,
    ) -> Option<LeaseRequest> {
        self.return_request(store, context.now, |counter| counter.release(context))
    }

    fn return_request(
        &mut self,
        store: TokenStoreKind,
        now: u64,
        release: impl FnMut(&mut WindowCounter) -> Option<WindowRequest>,
    ) -> Option<LeaseRequest> {
        if self.is_waiting_for(store) || self.is_unreachable(store) {
            return None;
        }
        let of_store = self.counters.iter_mut().filter(|counter| counter.store == store);
        let windows = of_store.filter_map(release).collect();
        self.send(store, windows, now)
    }

    fn send(
        &mut self,
        store: TokenStoreKind,
        windows: Vec<WindowRequest>,
        now: u64,
    ) -> Option<LeaseRequest> {
        if windows.is_empty() {
            return None;
        }
        // Above every earlier number, also those of a state that was evicted in the meantime.
        self.sequence = now.max(self.sequence + 1);
        let request = LeaseRequest { sequence: self.sequence, windows };
        self.connection_mut(store).in_flight =
            Some(InFlightRequest { request: request.clone(), sent: now });
        Some(request)
    }

    /// Applies a response of `store` to the request with this sequence number. A response that is no
    /// longer awaited, or that is late, is dropped with all tokens that it grants.
    pub fn apply_grant(
        &mut self,
        store: TokenStoreKind,
        sequence: u64,
        answer: &LeaseGrant,
        context: &DecisionContext<'_>,
    ) {
        let Some(in_flight) = self.take_in_flight(store, sequence) else { return };
        let late =
            context.now.saturating_sub(in_flight.sent) > context.settings.timings(store).timeout;
        if late || answer.windows.len() != in_flight.request.windows.len() {
            self.note_failure(store, context);
            return;
        }
        *self.connection_mut(store) = StoreConnection::default();
        for (asked, grant) in in_flight.request.windows.iter().zip(&answer.windows) {
            let found = self.counters.iter_mut().find(|counter| {
                counter.limit == asked.limit && counter.window_seconds == asked.window_seconds
            });
            if let Some(counter) = found {
                counter.apply_grant(asked.requested, answer.epoch, grant, in_flight.sent, context);
            }
        }
        // Callers that wait for a counter outside this request ask once more.
        self.clear_waiting(store);
    }

    /// Records that `store` did not respond to the request with this sequence number, or not in time. The tokens that
    /// `store` granted for the request are lost.
    pub fn request_failed(
        &mut self,
        store: TokenStoreKind,
        sequence: u64,
        context: &DecisionContext<'_>,
    ) {
        if self.take_in_flight(store, sequence).is_some() {
            self.note_failure(store, context);
        }
    }

    fn note_failure(&mut self, store: TokenStoreKind, context: &DecisionContext<'_>) {
        let DecisionContext { now, settings, .. } = *context;
        let (shortest, longest) = settings.backoff;
        let overdue = settings.overdue(store);
        let connection = self.connection_mut(store);
        // A failure that nobody waited for is forgotten: it says nothing about a much later one.
        if connection.failures < UNREACHABLE_FROM
            && now.saturating_sub(connection.retry_at) > overdue
        {
            connection.failures = 0;
        }
        if connection.failures == 0 {
            connection.failing_since = now;
        }
        connection.failures = connection.failures.saturating_add(1);
        let pause = match connection.failures.checked_sub(UNREACHABLE_FROM) {
            // While callers wait, the end of the outage is not to be missed by much.
            Some(_) if now.saturating_sub(connection.failing_since) < settings.patience => {
                shortest.saturating_mul(2)
            }
            Some(more) => shortest.saturating_mul(1 << more.min(16)).min(longest),
            None => 0,
        };
        connection.retry_at = now.saturating_add(pause);
        self.clear_waiting(store);
    }

    fn clear_waiting(&mut self, store: TokenStoreKind) {
        for counter in self.counters.iter_mut().filter(|counter| counter.store == store) {
            counter.clear_waiting();
        }
    }

    fn take_in_flight(&mut self, store: TokenStoreKind, sequence: u64) -> Option<InFlightRequest> {
        self.connection_mut(store)
            .in_flight
            .take_if(|in_flight| in_flight.request.sequence == sequence)
    }

    /// Returns `count` spent tokens to a counter's lease; tokens of the fallback allowance stay spent.
    pub(crate) fn refund(&mut self, spent: &SpentTokens, count: u64) {
        let found = self.counters.iter_mut().find(|counter| {
            counter.limit == spent.limit && counter.window_seconds == spent.window_seconds
        });
        if let Some(counter) = found {
            counter.refund(spent, count);
        }
    }

    /// Returns the tokens of a limit's lease that belong to a window.
    pub(crate) fn held(
        &self,
        limit: &assay_tenancy::manifest::LimitName,
        window_seconds: u64,
        window: u64,
    ) -> u64 {
        let found = self.counters.iter().find(|counter| {
            counter.limit == *limit
                && counter.window_seconds == window_seconds
                && counter.window() == window
        });
        found.map_or(0, WindowCounter::tokens)
    }

    /// Returns the tokens of `limit` that can be spent now.
    pub(crate) fn room(
        &mut self,
        limit: &Limit,
        policy: StoreLossPolicy,
        context: &DecisionContext<'_>,
    ) -> u64 {
        let lost = self.is_unreachable(context.settings.store(limit.window.seconds()));
        self.counter(limit, policy, context.settings).room(lost, context)
    }

    /// Returns the status of `limit`.
    pub(crate) fn status(
        &mut self,
        limit: &Limit,
        policy: StoreLossPolicy,
        wall: u64,
        context: &DecisionContext<'_>,
    ) -> LimitStatus {
        let lost = self.is_unreachable(context.settings.store(limit.window.seconds()));
        self.counter(limit, policy, context.settings).status(lost, wall, context)
    }

    /// Drops counters that hold nothing and had no demand for longer than their window. Returns true if
    /// any counter or request is left.
    pub fn forget_idle(&mut self, context: &DecisionContext<'_>) -> bool {
        self.counters.retain(|counter| !counter.is_forgettable(context));
        !self.counters.is_empty()
            || TokenStoreKind::ALL.iter().any(|store| self.is_waiting_for(*store))
    }

    /// Returns the tokens of a limit's lease, if it belongs to this window.
    #[cfg(test)]
    pub(crate) fn tokens(
        &self,
        limit: &assay_tenancy::manifest::LimitName,
        window: u64,
    ) -> Option<u64> {
        let found = self.counters.iter().find(|counter| counter.limit == *limit);
        found.filter(|counter| counter.window() == window).map(WindowCounter::tokens)
    }

    /// Returns the sequence number, time of sending, and limits of the request in flight.
    #[cfg(test)]
    pub(crate) fn in_flight(
        &self,
        store: TokenStoreKind,
    ) -> Option<(u64, u64, Vec<assay_tenancy::manifest::LimitName>)> {
        let in_flight = self.connection(store).in_flight.as_ref()?;
        let limits =
            in_flight.request.windows.iter().map(|counter| counter.limit.clone()).collect();
        Some((in_flight.request.sequence, in_flight.sent, limits))
    }

    const fn connection(&self, store: TokenStoreKind) -> &StoreConnection {
        match store {
            TokenStoreKind::Short => &self.short,
            TokenStoreKind::Long => &self.long,
        }
    }

    const fn connection_mut(&mut self, store: TokenStoreKind) -> &mut StoreConnection {
        match store {
            TokenStoreKind::Short => &mut self.short,
            TokenStoreKind::Long => &mut self.long,
        }
    }
}
