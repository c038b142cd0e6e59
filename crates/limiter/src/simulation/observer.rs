//! Observer of a simulation: sees every event, and detects violations.

use std::collections::HashMap;

use assay_tenancy::{directory::Limit, manifest::Counts};

use crate::SpentTokens;

/// Observed tokens of one window of one limit.
#[derive(Clone, Debug, Default)]
struct Window {
    admitted: u64,
    /// Tokens granted by the token store, less those returned.
    granted: u64,
    /// Tokens that replicas received.
    received: u64,
}

/// Tokens of one window held by one replica.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Account {
    pub(super) received: u64,
    pub(super) spent: u64,
    pub(super) returned: u64,
}

/// Index of the limit in the scenario.
pub(super) type LimitIndex = usize;

#[derive(Debug, Default)]
pub(super) struct Observer {
    windows: HashMap<(LimitIndex, u64), Window>,
    /// Tokens held, by incarnation of a replica, limit and window.
    pub(super) accounts: HashMap<(u64, LimitIndex, u64), Account>,
    pub(super) admitted: u64,
    pub(super) fallbacks: u64,
    pub(super) granted: u64,
    pub(super) returned: u64,
    pub(super) unavailable: u64,
    /// Requests sent to token stores.
    pub(super) commands: u64,
    /// The first violation.
    pub(super) violation: Option<String>,
}

impl Observer {
    /// Records that a request was admitted in these windows.
    pub(super) fn admitted(
        &mut self,
        replica: u64,
        limits: &[Limit],
        spent: &[SpentTokens],
        fallback_window: impl Fn(&Limit) -> u64,
        is_current: impl Fn(&Limit, u64) -> bool,
        context: impl Fn() -> String,
    ) {
        self.admitted += 1;
        for spent in spent {
            let index = index(limits, spent);
            let limit = &limits[index];
            if spent.leased > 0 {
                if !is_current(limit, spent.window) {
                    self.violate(format!(
                        "{}: a lease of window {} was spent outside of it; {}",
                        limit.name,
                        spent.window,
                        context()
                    ));
                }
                let account = self.accounts.entry((replica, index, spent.window)).or_default();
                account.spent += spent.leased;
                if account.spent > account.received + account.returned {
                    let (spent, received) = (account.spent, account.received);
                    self.violate(format!("{}: {spent} spent of {received} received", limit.name));
                }
                self.count(index, limit, spent.window, spent.leased, &context);
            }
            if spent.fallback > 0 {
                self.fallbacks += spent.fallback;
                self.count(index, limit, fallback_window(limit), spent.fallback, &context);
            }
        }
    }

    fn count(
        &mut self,
        index: LimitIndex,
        limit: &Limit,
        window: u64,
        count: u64,
        context: &impl Fn() -> String,
    ) {
        let entry = self.windows.entry((index, window)).or_default();
        entry.admitted += count;
        let admitted = entry.admitted;
        if admitted > limit.requests {
            self.violate(format!(
                "{}: {admitted} of {} admitted in window {window}; {}",
                limit.name,
                limit.requests,
                context()
            ));
        }
    }

    /// Records that a charge for checks was refunded.
    pub(super) fn refunded(&mut self, replica: u64, limits: &[Limit], spent: &[SpentTokens]) {
        for spent in spent.iter().filter(|spent| spent.counts == Counts::Checks) {
            let index = index(limits, spent);
            let account = self.accounts.entry((replica, index, spent.window)).or_default();
            account.returned += spent.leased;
            if let Some(entry) = self.windows.get_mut(&(index, spent.window)) {
                entry.admitted -= spent.leased;
            }
        }
    }

    /// Records that a token store granted tokens and took other tokens back.
    pub(super) fn granted(&mut self, index: LimitIndex, window: u64, granted: u64, returned: u64) {
        self.granted += granted;
        self.returned += returned;
        let entry = self.windows.entry((index, window)).or_default();
        entry.granted += granted;
    }

    /// Records that a replica received tokens.
    pub(super) fn received(&mut self, replica: u64, index: LimitIndex, window: u64, tokens: u64) {
        self.accounts.entry((replica, index, window)).or_default().received += tokens;
        let entry = self.windows.entry((index, window)).or_default();
        entry.received += tokens;
        if entry.received > entry.granted {
            let (received, granted) = (entry.received, entry.granted);
            self.violate(format!("{received} received of {granted} granted"));
        }
    }

    pub(super) fn violate(&mut self, violation: String) {
        self.violation.get_or_insert(violation);
    }

    /// Returns the share of a limit that was used in whole windows from `first` to before `last`, in
    /// thousandths.
    pub(super) fn used(&self, limits: &[Limit], first: u64, last: u64) -> u64 {
        let admitted: u64 = (first..last)
            .filter_map(|window| self.windows.get(&(0, window)))
            .map(|window| window.admitted)
            .sum();
        admitted * 1000 / (limits[0].requests * (last - first)).max(1)
    }
}

pub(super) fn index(limits: &[Limit], spent: &SpentTokens) -> LimitIndex {
    limits.iter().position(|limit| limit.name == spent.limit).unwrap()
}
