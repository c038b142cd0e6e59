//! Window counter of one replica for one limit: its lease, the store's last response, and the fallback
//! allowance.

use assay_tenancy::{
    directory::Limit,
    manifest::{Counts, LimitName, OnTokenStoreLoss},
};

use crate::{
    LimitStatus, LimiterSettings, SECOND, SlotView, SpentTokens, StoreLossPolicy, TokenStoreKind,
    demand::DemandEstimate,
    fallback::FallbackAllowance,
    lease::Lease,
    token_store::{ReturnedTokens, WindowGrant, WindowRequest},
};

/// State of one replica for one limit of one subject.
#[derive(Clone, Debug)]
pub(crate) struct WindowCounter {
    pub(crate) limit: LimitName,
    pub(crate) window_seconds: u64,
    pub(crate) counts: Counts,
    pub(crate) store: TokenStoreKind,
    requests: u64,
    policy: StoreLossPolicy,
    lease: Lease,
    exhausted: Option<Exhausted>,
    /// Window with the highest number that the store reported.
    newest_window: u64,
    fallback: FallbackAllowance,
    demand: DemandEstimate,
    /// Number of tokens that requests wait for.
    waiting: u64,
    asked_at: u64,
}

/// State of an exhausted window: the store has no tokens left.
#[derive(Clone, Copy, Debug)]
struct Exhausted {
    /// Local time from which the next window may have begun.
    until: u64,
    /// Local time of the next request to the store.
    recheck: u64,
    recovering: bool,
}

/// Reason why a counter has no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shortage {
    /// The store may have more tokens for the counter.
    Refillable,
    /// The window is exhausted.
    Exhausted,
    /// The store has been unreachable for a while, or has lost its record of grants.
    Unknown,
}

/// Context of a decision, common to all counters.
#[derive(Clone, Copy, Debug)]
pub struct DecisionContext<'a> {
    /// Local time.
    pub now: u64,
    /// The share that the replica may spend without a token store.
    pub slots: &'a SlotView,
    /// The settings.
    pub settings: &'a LimiterSettings,
}

impl WindowCounter {
    pub(crate) fn new(limit: &Limit, policy: StoreLossPolicy, settings: &LimiterSettings) -> Self {
        let window_seconds = limit.window.seconds().max(1);
        Self {
            limit: limit.name.clone(),
            window_seconds,
            counts: limit.counts,
            store: settings.store(window_seconds),
            requests: limit.requests,
            policy,
            lease: Lease::default(),
            exhausted: None,
            newest_window: 0,
            fallback: FallbackAllowance::default(),
            demand: DemandEstimate::default(),
            waiting: 0,
            asked_at: 0,
        }
    }

    pub(crate) fn counts_limit(&self, limit: &Limit) -> bool {
        self.limit == limit.name && self.window_seconds == limit.window.seconds().max(1)
    }

    /// Updates the counter to the limit's present numbers. Spent tokens stay spent.
    pub(crate) fn update(&mut self, limit: &Limit, policy: StoreLossPolicy) {
        if (self.requests, self.policy) != (limit.requests, policy) {
            // The window may have room again.
            self.exhausted = None;
            (self.requests, self.policy) = (limit.requests, policy);
        }
        self.counts = limit.counts;
    }

    /// Records a demand of `count` more tokens.
    pub(crate) fn note(&mut self, count: u64, context: &DecisionContext<'_>) {
        self.asked_at = context.now;
        if self.timings(context.settings).recheck == 0 {
            // A store in memory is cheap to ask: exhaustion need not be remembered.
            self.exhausted = None;
        }
        self.demand.note(count, self.horizon(context.settings), context.now);
    }

    /// Returns the tokens that can be spent now; `lost` if the store is unreachable.
    pub(crate) fn room(&self, lost: bool, context: &DecisionContext<'_>) -> u64 {
        let leased = self.leased(context.now);
        if lost || self.is_exhausted(context.now) {
            leased.saturating_add(self.fallback_left(context))
        } else {
            leased
        }
    }

    /// Returns the reason why the counter has no room; `given_up` if no caller waits for the store any more.
    pub(crate) fn shortage(&self, given_up: bool, context: &DecisionContext<'_>) -> Shortage {
        match self.exhausted.filter(|exhausted| context.now < exhausted.until) {
            Some(exhausted) if exhausted.recovering => Shortage::Unknown,
            Some(_) => Shortage::Exhausted,
            None if given_up => Shortage::Unknown,
            None => Shortage::Refillable,
        }
    }

    /// Records that a request waits for `count` more tokens than there is room for.
    pub(crate) const fn wait(&mut self, count: u64) {
        self.waiting = self.waiting.saturating_add(count);
    }

    /// Spends `count` tokens for which there is room: first those of the lease, then those of the fallback allowance.
    /// Returns the tokens of the lease and of the fallback allowance.
    pub(crate) fn spend(&mut self, count: u64, context: &DecisionContext<'_>) -> (u64, u64) {
        let leased = self.lease.spend(count, context.now);
        let fallback = count - leased;
        if fallback > 0 {
            self.fallback.spend(fallback, self.length(), context.now, context.settings);
        }
        (leased, fallback)
    }

    /// Returns the window of the lease.
    pub(crate) const fn window(&self) -> u64 {
        self.lease.window()
    }

    /// Takes back spent tokens of the lease.
    pub(crate) fn refund(&mut self, spent: &SpentTokens, count: u64) {
        self.lease.refund(spent.window, count.min(spent.leased));
    }

    /// True if the store should be asked for more tokens; `lost` if it is unreachable.
    pub(crate) fn is_low(&self, lost: bool, context: &DecisionContext<'_>) -> bool {
        let held = self.leased(context.now);
        if self.is_exhausted(context.now) {
            let due = self.exhausted.is_none_or(|exhausted| context.now >= exhausted.recheck);
            return due && held == 0;
        }
        let target = self.target(context);
        self.waiting > 0 || (lost && held == 0) || (target >= 2 && held < target.div_ceil(2))
    }

    /// Returns the request for this window, as part of a request that is sent anyway; `lost` if the
    /// store is unreachable.
    pub(crate) fn lease_request(&self, lost: bool, context: &DecisionContext<'_>) -> WindowRequest {
        let held = self.leased(context.now);
        let early = self.is_exhausted(context.now)
            && self
                .exhausted
                .is_some_and(|exhausted| context.now < exhausted.recheck && self.waiting == 0);
        let target = self.target(context);
        // A low lease is filled by a whole target, so that requests are half as frequent.
        let more = if held < target.div_ceil(2) { target } else { target.saturating_sub(held) };
        let more = more.min(self.max_held(context).saturating_sub(held));
        let requested = match (early, lost) {
            (true, _) => 0,
            // Tokens granted by an unreachable store are lost: one token shows whether it responds
            // again.
            (false, true) => more.min(1),
            (false, false) => more.max(self.waiting).min(self.fair_share(context)),
        };
        self.window_request(requested, None, context)
    }

    /// Returns the request that gives back tokens without demand.
    pub(crate) fn release_idle(&mut self, context: &DecisionContext<'_>) -> Option<WindowRequest> {
        let idle = context.now.saturating_sub(self.asked_at) >= self.timings(context.settings).idle;
        if idle { self.release(context) } else { None }
    }

    /// Returns the request that gives back all tokens, because the replica stops.
    pub(crate) fn release(&mut self, context: &DecisionContext<'_>) -> Option<WindowRequest> {
        let returned = self.lease.release(context.now)?;
        Some(self.window_request(0, Some(returned), context))
    }

    /// Applies the grant of a request that was sent at local time `sent`.
    pub(crate) fn apply_grant(
        &mut self,
        requested: u64,
        epoch: u64,
        answer: &WindowGrant,
        sent: u64,
        context: &DecisionContext<'_>,
    ) {
        self.waiting = 0;
        if answer.window < self.newest_window && answer.recovering {
            // The store lost its memory and its clock is behind: its response concerns a past window.
            self.set_exhausted(answer, sent, true, context);
            return;
        }
        self.newest_window = answer.window;
        #[cfg(test)]
        let sent = match context.settings.flaw {
            Some(crate::simulation::Flaw::ExpiryFromArrival) => context.now,
            _ => sent,
        };
        self.lease.add(epoch, answer, sent, context.settings);
        if answer.granted == 0 && (answer.recovering || requested > 0) {
            self.set_exhausted(answer, sent, answer.recovering, context);
        } else if answer.granted > 0 {
            self.exhausted = None;
        }
    }

    /// Clears the tokens that requests wait for, after a response.
    pub(crate) const fn clear_waiting(&mut self) {
        self.waiting = 0;
    }

    /// True if the plan refuses all requests while the store is unreachable.
    pub(crate) fn is_closed(&self) -> bool {
        self.policy.on_token_store_loss == OnTokenStoreLoss::Refuse
    }

    /// Returns the seconds until the next window, at least 1.
    pub(crate) const fn resets_in(&self, now: u64) -> u64 {
        let left = self.lease.ends().saturating_sub(now).div_ceil(SECOND);
        if left == 0 { 1 } else { left }
    }

    /// Returns the status of the limit. `wall` is the time since 1970 by the replica's own clock: it
    /// gives the end of a window that no store was asked about.
    pub(crate) fn status(
        &self,
        lost: bool,
        wall: u64,
        context: &DecisionContext<'_>,
    ) -> LimitStatus {
        let known = context.now < self.lease.ends();
        let remaining = if known {
            let grantable = match self.lease.remaining(context.now) {
                Some(remaining) if !lost && !self.is_exhausted(context.now) => remaining,
                _ => 0,
            };
            let own = self.leased(context.now).saturating_add(self.fallback_left(context));
            grantable.saturating_add(own)
        } else if lost {
            self.fallback_left(context)
        } else {
            self.requests
        };
        LimitStatus {
            name: self.limit.clone(),
            requests: self.requests,
            window_seconds: self.window_seconds,
            remaining: remaining.min(self.requests),
            resets_in: if known {
                self.resets_in(context.now)
            } else {
                (self.length() - wall % self.length()).div_ceil(SECOND)
            },
        }
    }

    /// True if the counter can be dropped: no request waits, no token is leased, and recent spending has expired.
    pub(crate) fn is_forgettable(&self, context: &DecisionContext<'_>) -> bool {
        let quiet = context.settings.stretched(self.length());
        self.waiting == 0
            && self.leased(context.now) == 0
            && context.now.saturating_sub(self.asked_at) > quiet
            && self.fallback.is_idle(self.length(), context.now, context.settings)
    }

    /// Returns the tokens of the lease that may be spent.
    pub(crate) const fn leased(&self, now: u64) -> u64 {
        self.lease.spendable(now)
    }

    /// Returns the tokens of the lease, spendable or not.
    pub(crate) const fn tokens(&self) -> u64 {
        self.lease.tokens()
    }

    fn set_exhausted(
        &mut self,
        answer: &WindowGrant,
        sent: u64,
        recovering: bool,
        context: &DecisionContext<'_>,
    ) {
        let until = sent.saturating_add(context.settings.shrunk(answer.ends_in));
        let recheck = context.now.saturating_add(self.timings(context.settings).recheck);
        self.exhausted = Some(Exhausted { until, recheck, recovering });
    }

    fn is_exhausted(&self, now: u64) -> bool {
        self.exhausted.is_some_and(|exhausted| now < exhausted.until)
    }

    fn fallback_left(&self, context: &DecisionContext<'_>) -> u64 {
        if self.store == TokenStoreKind::Long {
            return 0;
        }
        let DecisionContext { now, slots, settings } = *context;
        let share = slots.own_allowance(self.requests, self.policy, self.length(), now, settings);
        self.fallback.remaining(share, self.length(), now, settings)
    }

    /// Returns the tokens that the store may grant in a window: those that no slot may spend.
    fn allowed(&self, context: &DecisionContext<'_>) -> u64 {
        if self.store == TokenStoreKind::Long {
            return self.requests;
        }
        let DecisionContext { now, slots, settings } = *context;
        let withheld = slots.withheld(self.requests, self.policy, self.length(), now, settings);
        self.requests.saturating_sub(withheld)
    }

    /// Returns the tokens to hold for the present demand.
    fn target(&self, context: &DecisionContext<'_>) -> u64 {
        if context.now.saturating_sub(self.asked_at) >= self.timings(context.settings).idle {
            return 0;
        }
        self.demand.within(self.horizon(context.settings), context.now).min(self.max_held(context))
    }

    /// Returns the most tokens to hold unspent: tokens of a replica that is killed are lost for the window, which is
    /// long for the store of long windows. All replicas together hold a hundredth of the limit, and each replica at
    /// least one token.
    fn max_held(&self, context: &DecisionContext<'_>) -> u64 {
        if self.store == TokenStoreKind::Short {
            return u64::MAX;
        }
        (self.requests / 100 / context.slots.replicas()).max(1)
    }

    /// Returns the most tokens to take at once near exhaustion, as far as known: other replicas need some tokens too.
    fn fair_share(&self, context: &DecisionContext<'_>) -> u64 {
        if self.store == TokenStoreKind::Short {
            // The store of short windows knows the number of replicas better.
            return u64::MAX;
        }
        let known = self.lease.remaining(context.now);
        let remaining = known.unwrap_or_else(|| self.allowed(context));
        (remaining / (2 * u64::from(context.slots.held).max(1))).max(1)
    }

    fn window_request(
        &self,
        requested: u64,
        returned: Option<ReturnedTokens>,
        context: &DecisionContext<'_>,
    ) -> WindowRequest {
        WindowRequest {
            limit: self.limit.clone(),
            window_seconds: self.window_seconds,
            allowed: self.allowed(context),
            requested,
            newest_window: self.newest_window,
            returned,
        }
    }

    fn horizon(&self, settings: &LimiterSettings) -> u64 {
        let horizon = self.timings(settings).horizon;
        match self.store {
            TokenStoreKind::Short => horizon,
            TokenStoreKind::Long => horizon.min(self.length() / 144),
        }
    }

    const fn timings<'a>(&self, settings: &'a LimiterSettings) -> &'a crate::StoreTimings {
        settings.timings(self.store)
    }

    const fn length(&self) -> u64 {
        self.window_seconds.saturating_mul(SECOND)
    }
}
