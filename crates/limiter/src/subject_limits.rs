//! What one replica knows of one payer: its cells, and how it gets on with each bank.
//!
//! At most one draw is on its way to each bank; whoever waits shares its answer. A bank that fails is
//! asked again after a while, in the background; meanwhile nobody waits for it.

use assay_tenancy::directory::Limit;

use crate::{
    LimitStatus, LimitSubject, LimiterSettings, SlotView, SpentTokens, StoreLossPolicy,
    TokenStoreKind,
    token_store::{LeaseGrant, LeaseRequest, WindowRequest},
    window_counter::{DecisionContext, WindowCounter},
};

/// What one replica knows of one payer.
#[derive(Clone, Debug)]
pub struct SubjectLimits {
    subject: LimitSubject,
    counters: Vec<WindowCounter>,
    short: StoreConnection,
    long: StoreConnection,
    sequence: u64,
}

/// How the replica gets on with one bank.
#[derive(Clone, Debug, Default)]
struct StoreConnection {
    in_flight: Option<InFlightRequest>,
    /// How often in a row the bank did not answer.
    failures: u32,
    /// The local time before which it is not asked again.
    retry_at: u64,
}

/// A draw that is on its way.
#[derive(Clone, Debug)]
struct InFlightRequest {
    request: LeaseRequest,
    sent: u64,
}

impl SubjectLimits {
    /// Knows nothing of `payer` yet.
    #[must_use]
    pub fn new(subject: LimitSubject) -> Self {
        let (short, long) = (StoreConnection::default(), StoreConnection::default());
        Self { subject, counters: Vec::new(), short, long, sequence: 0 }
    }

    /// Whose it is.
    #[must_use]
    pub const fn subject(&self) -> &LimitSubject {
        &self.subject
    }

    /// Whether a bank could not be reached when it was asked last.
    pub(crate) const fn is_unreachable(&self, store: TokenStoreKind) -> bool {
        self.link(store).failures > 0
    }

    /// Whether somebody waits for the bank's answer.
    #[must_use]
    pub const fn is_waiting_for(&self, store: TokenStoreKind) -> bool {
        self.link(store).in_flight.is_some()
    }

    /// The cell of `limit`, with the numbers as they are now.
    pub(crate) fn counter(
        &mut self,
        limit: &Limit,
        policy: StoreLossPolicy,
        settings: &LimiterSettings,
    ) -> &mut WindowCounter {
        // Plans have at most eight limits: a search is faster than a map.
        let index =
            self.counters.iter().position(|counter| counter.is_of(limit)).unwrap_or_else(|| {
                self.counters.push(WindowCounter::new(limit, policy, settings));
                self.counters.len() - 1
            });
        #[expect(clippy::indexing_slicing, reason = "the index was just found")]
        let counter = &mut self.counters[index];
        counter.update(limit, policy);
        counter
    }

    /// The next draw from `bank`, if one is due at local time `now`: to be sent at once, and settled by
    /// [`Self::drawn`] or [`Self::failed`].
    pub fn due_request(
        &mut self,
        store: TokenStoreKind,
        now: u64,
        slots: &SlotView,
        settings: &LimiterSettings,
    ) -> Option<LeaseRequest> {
        let stuck = settings.timings(store).timeout.saturating_mul(4);
        let in_flight = self.link(store).in_flight.as_ref();
        if in_flight.is_some_and(|in_flight| now.saturating_sub(in_flight.sent) > stuck) {
            // Whoever carried it is gone without a word.
            self.link_mut(store).in_flight = None;
            self.note_failure(store, now, settings);
        }
        let link = self.link(store);
        if link.in_flight.is_some() || now < link.retry_at {
            return None;
        }
        let (lost, context) = (link.failures > 0, DecisionContext { now, slots, settings });
        let of_store = || self.counters.iter().filter(|counter| counter.store == store);
        if !of_store().any(|counter| counter.is_low(lost, &context)) {
            return None;
        }
        let windows = of_store().map(|counter| counter.lease_request(lost, &context));
        let windows = windows.filter(|counter| counter.requested > 0).collect();
        self.send(store, windows, now)
    }

    /// A draw that gives back what nobody asks for, if there is such.
    pub fn due_return(
        &mut self,
        store: TokenStoreKind,
        now: u64,
        slots: &SlotView,
        settings: &LimiterSettings,
    ) -> Option<LeaseRequest> {
        self.return_request(store, now, |counter| {
            counter.release_idle(&DecisionContext { now, slots, settings })
        })
    }

    /// A draw that gives back everything, because the replica stops.
    pub fn drain(
        &mut self,
        store: TokenStoreKind,
        now: u64,
        slots: &SlotView,
        settings: &LimiterSettings,
    ) -> Option<LeaseRequest> {
        self.return_request(store, now, |counter| {
            counter.release(&DecisionContext { now, slots, settings })
        })
    }

    fn return_request(
        &mut self,
        store: TokenStoreKind,
        now: u64,
        release: impl FnMut(&mut WindowCounter) -> Option<WindowRequest>,
    ) -> Option<LeaseRequest> {
        let link = self.link(store);
        if link.in_flight.is_some() || link.failures > 0 {
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
        // Above every number before, also of a state that was dropped in the meantime.
        self.sequence = now.max(self.sequence + 1);
        let request = LeaseRequest { sequence: self.sequence, windows };
        self.link_mut(store).in_flight =
            Some(InFlightRequest { request: request.clone(), sent: now });
        Some(request)
    }

    /// Notes an answer of `bank` to the draw with this number. An answer that nobody waits for any more,
    /// or that took too long, is dropped with all that it grants.
    pub fn apply_grant(
        &mut self,
        store: TokenStoreKind,
        sequence: u64,
        answer: &LeaseGrant,
        now: u64,
        slots: &SlotView,
        settings: &LimiterSettings,
    ) {
        let Some(in_flight) = self.take_in_flight(store, sequence) else { return };
        let late = now.saturating_sub(in_flight.sent) > settings.timings(store).timeout;
        if late || answer.windows.len() != in_flight.request.windows.len() {
            self.note_failure(store, now, settings);
            return;
        }
        *self.link_mut(store) = StoreConnection::default();
        let context = DecisionContext { now, slots, settings };
        for (asked, grant) in in_flight.request.windows.iter().zip(&answer.windows) {
            let found = self.counters.iter_mut().find(|counter| {
                counter.limit == asked.limit && counter.window_seconds == asked.window_seconds
            });
            if let Some(counter) = found {
                counter.apply_grant(asked.requested, answer.epoch, grant, in_flight.sent, &context);
            }
        }
        // Whoever waits for a cell that was not asked about asks once more.
        self.clear_waiting(store);
    }

    /// Notes that `bank` did not answer the draw with this number, or not in time. What it granted is
    /// lost.
    pub fn request_failed(
        &mut self,
        store: TokenStoreKind,
        sequence: u64,
        now: u64,
        settings: &LimiterSettings,
    ) {
        if self.take_in_flight(store, sequence).is_some() {
            self.note_failure(store, now, settings);
        }
    }

    fn note_failure(&mut self, store: TokenStoreKind, now: u64, settings: &LimiterSettings) {
        let (shortest, longest) = settings.backoff;
        let link = self.link_mut(store);
        let pause = shortest.saturating_mul(1 << link.failures.min(16)).min(longest);
        link.failures = link.failures.saturating_add(1);
        link.retry_at = now.saturating_add(pause);
        self.clear_waiting(store);
    }

    fn clear_waiting(&mut self, store: TokenStoreKind) {
        for counter in self.counters.iter_mut().filter(|counter| counter.store == store) {
            counter.clear_waiting();
        }
    }

    fn take_in_flight(&mut self, store: TokenStoreKind, sequence: u64) -> Option<InFlightRequest> {
        self.link_mut(store).in_flight.take_if(|in_flight| in_flight.request.sequence == sequence)
    }

    /// Takes back `count` of what was spent of a cell's lease; what was spent of the floor stays spent.
    pub(crate) fn refund(&mut self, spent: &SpentTokens, count: u64) {
        let found = self.counters.iter_mut().find(|counter| {
            counter.limit == spent.limit && counter.window_seconds == spent.window_seconds
        });
        if let Some(counter) = found {
            counter.refund(spent, count);
        }
    }

    /// Where `limit` stands.
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

    /// Forgets cells that nobody asked for, holding nothing, for longer than their window. Returns
    /// whether any are left.
    pub fn forget_idle(&mut self, now: u64, slots: &SlotView, settings: &LimiterSettings) -> bool {
        let context = DecisionContext { now, slots, settings };
        self.counters.retain(|counter| !counter.is_forgettable(&context));
        !self.counters.is_empty()
            || TokenStoreKind::ALL.iter().any(|store| self.is_waiting_for(*store))
    }

    /// Tokens of a limit's lease, if it is of this window.
    #[cfg(test)]
    pub(crate) fn tokens(
        &self,
        limit: &assay_tenancy::manifest::LimitName,
        window: u64,
    ) -> Option<u64> {
        let found = self.counters.iter().find(|counter| counter.limit == *limit);
        found.filter(|counter| counter.window() == window).map(WindowCounter::tokens)
    }

    /// The number of the draw that is on its way, when it was sent, and its limits.
    #[cfg(test)]
    pub(crate) fn in_flight(
        &self,
        store: TokenStoreKind,
    ) -> Option<(u64, u64, Vec<assay_tenancy::manifest::LimitName>)> {
        let in_flight = self.link(store).in_flight.as_ref()?;
        let limits =
            in_flight.request.windows.iter().map(|counter| counter.limit.clone()).collect();
        Some((in_flight.request.sequence, in_flight.sent, limits))
    }

    const fn link(&self, store: TokenStoreKind) -> &StoreConnection {
        match store {
            TokenStoreKind::Short => &self.short,
            TokenStoreKind::Long => &self.long,
        }
    }

    const fn link_mut(&mut self, store: TokenStoreKind) -> &mut StoreConnection {
        match store {
            TokenStoreKind::Short => &mut self.short,
            TokenStoreKind::Long => &mut self.long,
        }
    }
}
