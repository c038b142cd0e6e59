//! Sees everything, and says what must never be.

use std::collections::HashMap;

use assay_tenancy::{directory::Limit, manifest::Counts};

use crate::SpentTokens;

/// What was seen of one window of one limit.
#[derive(Clone, Debug, Default)]
struct Window {
    admitted: u64,
    /// Given out by the bank, less what was given back.
    granted: u64,
    /// What replicas received of it.
    received: u64,
}

/// What one replica did with the tokens of one window.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Account {
    pub(super) received: u64,
    pub(super) spent: u64,
    pub(super) returned: u64,
}

/// A limit, by its place in the scenario.
pub(super) type LimitIndex = usize;

#[derive(Debug, Default)]
pub(super) struct Observer {
    windows: HashMap<(LimitIndex, u64), Window>,
    /// By incarnation of a replica, limit and window.
    pub(super) accounts: HashMap<(u64, LimitIndex, u64), Account>,
    pub(super) admitted: u64,
    pub(super) fallbacks: u64,
    pub(super) granted: u64,
    pub(super) returned: u64,
    pub(super) unavailable: u64,
    /// How often a bank was asked.
    pub(super) commands: u64,
    /// The first thing that must never be.
    pub(super) violation: Option<String>,
}

impl Observer {
    /// One request, or part of it, passed in these windows.
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
        let seen = self.windows.entry((index, window)).or_default();
        seen.admitted += count;
        let admitted = seen.admitted;
        if admitted > limit.requests {
            self.violate(format!(
                "{}: {admitted} of {} admitted in window {window}; {}",
                limit.name,
                limit.requests,
                context()
            ));
        }
    }

    /// Part of a charge for checks was taken back.
    pub(super) fn refunded(&mut self, replica: u64, limits: &[Limit], spent: &[SpentTokens]) {
        for spent in spent.iter().filter(|spent| spent.counts == Counts::Checks) {
            let index = index(limits, spent);
            let account = self.accounts.entry((replica, index, spent.window)).or_default();
            account.returned += spent.leased;
            if let Some(seen) = self.windows.get_mut(&(index, spent.window)) {
                seen.admitted -= spent.leased;
            }
        }
    }

    /// The bank gave out tokens, and took others back.
    pub(super) fn granted(&mut self, index: LimitIndex, window: u64, granted: u64, returned: u64) {
        self.granted += granted;
        self.returned += returned;
        let seen = self.windows.entry((index, window)).or_default();
        seen.granted += granted;
    }

    /// A replica received tokens.
    pub(super) fn received(&mut self, replica: u64, index: LimitIndex, window: u64, tokens: u64) {
        self.accounts.entry((replica, index, window)).or_default().received += tokens;
        let seen = self.windows.entry((index, window)).or_default();
        seen.received += tokens;
        if seen.received > seen.granted {
            let (received, granted) = (seen.received, seen.granted);
            self.violate(format!("{received} received of {granted} granted"));
        }
    }

    pub(super) fn violate(&mut self, violation: String) {
        self.violation.get_or_insert(violation);
    }

    /// The share of a limit that was used in whole windows from `first` to before `last`, in thousandths.
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
