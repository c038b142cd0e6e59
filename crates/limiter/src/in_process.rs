//! The limiter of a single process.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use assay_tenancy::{Name, directory::Limit};

use crate::{Ask, Charge, Counters, Decision, Standing, Taken};

/// Counters of every tenant, in memory: a restart starts them anew.
#[derive(Debug, Default)]
pub struct InProcess {
    tenants: Mutex<HashMap<Name, Counters>>,
}

impl InProcess {
    /// Asks for one request of `tenant` at `now` (seconds since 1970).
    pub fn admit(&self, tenant: &Name, ask: Ask, limits: &[Limit], now: u64) -> Decision {
        self.with(tenant, |counters| counters.admit(ask, limits, now))
    }

    /// Takes as many of `wanted` checks of `tenant` as there is room for.
    pub fn take_checks(&self, tenant: &Name, wanted: u64, limits: &[Limit], now: u64) -> Taken {
        self.with(tenant, |counters| counters.take_checks(wanted, limits, now))
    }

    /// Gives back what was charged as a check, because it was not answered.
    pub fn give_back(&self, tenant: &Name, charge: &Charge) {
        self.with(tenant, |counters| counters.give_back(charge));
    }

    /// Where every limit of `tenant` stands at `now`.
    pub fn standings(&self, tenant: &Name, limits: &[Limit], now: u64) -> Vec<Standing> {
        self.with(tenant, |counters| counters.standings(limits, now))
    }

    fn with<T>(&self, tenant: &Name, act: impl FnOnce(&mut Counters) -> T) -> T {
        // Counting cannot leave counters half changed, so that a poisoned lock is still sound.
        let mut tenants = self.tenants.lock().unwrap_or_else(PoisonError::into_inner);
        act(tenants.entry(tenant.clone()).or_default())
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::atomic::{AtomicU64, Ordering},
        thread,
    };

    use assay_tenancy::{Period, manifest::Counts};

    use super::*;

    #[test]
    fn many_threads_together_get_exactly_the_limit() {
        let limits = [Limit {
            name: "burst".parse().unwrap(),
            requests: 1000,
            ceiling: 1000,
            window: Period::from_seconds(60),
            counts: Counts::Requests,
        }];
        let (limiter, tenant) = (InProcess::default(), "acme".parse::<Name>().unwrap());
        let admitted = AtomicU64::new(0);
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..500 {
                        if matches!(
                            limiter.admit(&tenant, Ask::Check, &limits, 7),
                            Decision::Admitted { .. }
                        ) {
                            admitted.fetch_add(1, Ordering::Relaxed);
                        }
                    }
                });
            }
        });
        assert_eq!(admitted.into_inner(), 1000);
        let other = "other".parse().unwrap();
        assert!(matches!(limiter.admit(&other, Ask::Check, &limits, 7), Decision::Admitted { .. }));
    }
}
