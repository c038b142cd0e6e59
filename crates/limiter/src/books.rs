//! The purses of one replica, where many requests reach them at once.
//!
//! What a request needs lies behind at most two locks, taken in one order: first the one with the purses
//! of its tenant and key, then the one with those of all plans. Nothing waits while it holds them.

use std::{
    collections::HashMap,
    hash::{BuildHasher, RandomState},
    sync::{Mutex, MutexGuard, PoisonError, RwLock},
};

use assay_tenancy::{directory::Limit, manifest::Per};

use crate::{
    Account, BankKind, Charge, Payer, Purse, SeatView, Settings, Share, Standing, Terms,
    bank::{Draw, Drawn},
    standings,
};

/// Locks for tenants and their keys.
const SHARDS: usize = 64;
/// Length of a shard at which it is looked through for purses that nobody needs.
const TIDY_AT: usize = 256;

/// The purses of one replica.
#[derive(Debug)]
pub(crate) struct Books {
    pub(crate) settings: Settings,
    seats: RwLock<SeatView>,
    hasher: RandomState,
    tenants: Vec<Mutex<Shard>>,
    plans: Mutex<Shard>,
}

#[derive(Debug)]
struct Shard {
    purses: HashMap<Payer, Purse>,
    tidy_at: usize,
}

/// Where a purse is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Tenants(usize),
    Plans,
}

/// A draw that is to be sent.
#[derive(Clone, Debug)]
pub(crate) struct Due {
    pub(crate) place: Place,
    pub(crate) payer: Payer,
    pub(crate) bank: BankKind,
    pub(crate) draw: Draw,
}

impl Books {
    pub(crate) fn new(settings: Settings) -> Self {
        let shard = || Mutex::new(Shard { purses: HashMap::new(), tidy_at: TIDY_AT });
        Self {
            settings,
            seats: RwLock::default(),
            hasher: RandomState::new(),
            tenants: (0..SHARDS).map(|_| shard()).collect(),
            plans: shard(),
        }
    }

    /// What is known of the seats from now on.
    pub(crate) fn set_seats(&self, seats: SeatView) {
        *self.seats.write().unwrap_or_else(PoisonError::into_inner) = seats;
    }

    /// Acts on the purses that `limits` of `account` need, all at once. The local time is asked for once
    /// they are in hand: whoever waits for them must not take a lease for good that has run out meanwhile.
    pub(crate) fn with<T>(
        &self,
        account: Account<'_>,
        limits: &[Limit],
        now: impl FnOnce() -> u64,
        act: impl FnOnce(&mut [Share<'_>], u64, &SeatView) -> T,
    ) -> T {
        let seats = self.seats.read().unwrap_or_else(PoisonError::into_inner);
        let of = |per| limits.iter().filter(move |limit| limit.per == per).collect::<Vec<_>>();
        let mut tenants = self.tenants_of(account.tenant).map(lock);
        let mut plans = None;
        let mut shares = Vec::with_capacity(3);

        let (key, tenant) = (account.payer(Per::Key), account.payer(Per::Tenant));
        if let Some(shard) = tenants.as_deref_mut() {
            let wanted = [(&key, of(Per::Key)), (&tenant, of(Per::Tenant))];
            for (payer, limits) in &wanted {
                if !limits.is_empty() && !shard.purses.contains_key(*payer) {
                    shard.purses.insert((*payer).clone(), Purse::new((*payer).clone()));
                }
            }
            let found = shard.purses.get_disjoint_mut([&key, &tenant]);
            for (purse, (_, limits)) in found.into_iter().zip(wanted) {
                shares.extend(
                    purse.filter(|_| !limits.is_empty()).map(|purse| Share { purse, limits }),
                );
            }
        }
        let of_plan = of(Per::Plan);
        if !of_plan.is_empty() {
            let payer = account.payer(Per::Plan);
            let shard = plans.insert(lock(&self.plans));
            let purse = shard.purses.entry(payer.clone()).or_insert_with(|| Purse::new(payer));
            shares.push(Share { purse, limits: of_plan });
        }
        act(&mut shares, now(), &seats)
    }

    /// What is due after a request of `account` was looked at.
    pub(crate) fn due(
        &self,
        account: Account<'_>,
        shares: &mut [Share<'_>],
        now: u64,
        seats: &SeatView,
    ) -> Vec<Due> {
        let mut all = Vec::new();
        for share in shares {
            for bank in BankKind::ALL {
                if let Some(draw) = share.purse.due(bank, now, seats, &self.settings) {
                    let payer = share.purse.payer().clone();
                    all.push(Due { place: self.place(account, &payer), payer, bank, draw });
                }
            }
        }
        all
    }

    /// Notes the outcome of a draw: an answer, or none.
    pub(crate) fn settle(&self, due: &Due, answer: Option<&Drawn>, now: u64) {
        let seats = self.seats.read().unwrap_or_else(PoisonError::into_inner);
        let Some(mut shard) = self.shard(due.place) else { return };
        let Some(purse) = shard.purses.get_mut(&due.payer) else { return };
        let sequence = due.draw.sequence;
        match answer {
            Some(answer) => {
                purse.drawn(due.bank, sequence, answer, now, &seats, &self.settings);
            }
            None => purse.failed(due.bank, sequence, now, &self.settings),
        }
    }

    /// Takes back what was charged for checks that were not answered.
    pub(crate) fn give_back(&self, account: Account<'_>, charge: &Charge) {
        for spent in &charge.checks {
            let shard = self.shard(self.place(account, &spent.payer));
            if let Some(mut shard) = shard
                && let Some(purse) = shard.purses.get_mut(&spent.payer)
            {
                purse.unspend(spent, charge.count);
            }
        }
    }

    /// Where every limit of `account` stands.
    pub(crate) fn standings(
        &self,
        account: Account<'_>,
        limits: &[Limit],
        terms: Terms,
        wall: u64,
        now: u64,
    ) -> Vec<Standing> {
        let mut found = self.with(
            account,
            limits,
            || now,
            |shares, now, seats| standings(shares, terms, wall, now, seats, &self.settings),
        );
        // In the plan's order, whoever pays.
        let place = |standing: &Standing| limits.iter().position(|it| it.name == standing.name);
        found.sort_by_key(place);
        found
    }

    /// What is to be given back: what nobody asks for, or everything. Forgets payers that nobody needs.
    pub(crate) fn sweep(&self, everything: bool, now: u64) -> Vec<Due> {
        let seats = self.seats.read().unwrap_or_else(PoisonError::into_inner);
        let places = (0..SHARDS).map(Place::Tenants).chain([Place::Plans]);
        let mut all = Vec::new();
        for place in places {
            let Some(mut shard) = self.shard(place) else { continue };
            for (payer, purse) in &mut shard.purses {
                for bank in BankKind::ALL {
                    let draw = if everything {
                        purse.close(bank, now, &seats, &self.settings)
                    } else {
                        purse.due_back(bank, now, &seats, &self.settings)
                    };
                    all.extend(draw.map(|draw| Due { place, payer: payer.clone(), bank, draw }));
                }
            }
            shard.purses.retain(|_, purse| purse.forget_idle(now, &seats, &self.settings));
        }
        all
    }

    /// How many payers are known.
    pub(crate) fn payers(&self) -> usize {
        let places = (0..SHARDS).map(Place::Tenants).chain([Place::Plans]);
        places.filter_map(|place| self.shard(place)).map(|shard| shard.purses.len()).sum()
    }

    /// Whether any draw is on its way.
    pub(crate) fn is_asking(&self) -> bool {
        let places = (0..SHARDS).map(Place::Tenants).chain([Place::Plans]);
        places.filter_map(|place| self.shard(place)).any(|shard| {
            let mut purses = shard.purses.values();
            purses.any(|purse| BankKind::ALL.iter().any(|bank| purse.is_asking(*bank)))
        })
    }

    /// Forgets payers that nobody needs, where there are many.
    pub(crate) fn tidy(&self, account: Account<'_>, now: u64) {
        let seats = self.seats.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(mut shard) = self.tenants_of(account.tenant).map(lock) {
            shard.tidy(now, &seats, &self.settings);
        }
    }

    fn place(&self, account: Account<'_>, payer: &Payer) -> Place {
        match payer.per {
            Per::Plan => Place::Plans,
            Per::Key | Per::Tenant => Place::Tenants(self.index(account.tenant)),
        }
    }

    fn shard(&self, place: Place) -> Option<MutexGuard<'_, Shard>> {
        match place {
            Place::Tenants(index) => self.tenants.get(index).map(lock),
            Place::Plans => Some(lock(&self.plans)),
        }
    }

    fn tenants_of(&self, tenant: &str) -> Option<&Mutex<Shard>> {
        self.tenants.get(self.index(tenant))
    }

    #[expect(clippy::cast_possible_truncation, reason = "any bits of the hash will do")]
    fn index(&self, tenant: &str) -> usize {
        self.hasher.hash_one(tenant) as usize % SHARDS
    }
}

impl Shard {
    fn tidy(&mut self, now: u64, seats: &SeatView, settings: &Settings) {
        if self.purses.len() >= self.tidy_at {
            self.purses.retain(|_, purse| purse.forget_idle(now, seats, settings));
            self.tidy_at = (self.purses.len() * 2).max(TIDY_AT);
        }
    }
}

/// Purses cannot be left half changed, so that a poisoned lock is still sound.
fn lock(shard: &Mutex<Shard>) -> MutexGuard<'_, Shard> {
    shard.lock().unwrap_or_else(PoisonError::into_inner)
}
