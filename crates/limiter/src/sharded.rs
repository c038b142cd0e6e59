//! Limits of one replica by subject, sharded for concurrent requests.
//!
//! A request needs at most two locks, always in the same order: first the lock of its tenant and key, then the lock of
//! all plans. No code blocks while it holds a lock.

use std::{
    collections::HashMap,
    hash::{BuildHasher, RandomState},
    sync::{Mutex, MutexGuard, PoisonError, RwLock},
};

use assay_tenancy::{directory::Limit, manifest::Per};

use crate::{
    Account, ApplicableLimits, Charge, CounterId, DecisionContext, LimitStatus, LimitSubject,
    LimiterSettings, SlotView, StoreLossPolicy, SubjectLimits, TokenStoreKind, statuses,
    token_store::{LeaseGrant, LeaseRequest},
};

/// Number of shards for tenants and their keys.
pub(crate) const SHARDS: usize = 64;
/// Size of a shard from which idle subjects are evicted.
const EVICT_AT: usize = 256;

/// Limits of one replica by subject.
#[derive(Debug)]
pub(crate) struct ShardedLimits {
    pub(crate) settings: LimiterSettings,
    slots: RwLock<SlotView>,
    hasher: RandomState,
    tenants: Vec<Mutex<Shard>>,
    plans: Mutex<Shard>,
}

#[derive(Debug)]
struct Shard {
    subjects: HashMap<LimitSubject, SubjectLimits>,
    evict_at: usize,
}

/// Shard of a subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ShardId {
    Tenants(usize),
    Plans,
}

/// A request that is due.
#[derive(Clone, Debug)]
pub(crate) struct DueRequest {
    pub(crate) shard: ShardId,
    pub(crate) subject: LimitSubject,
    pub(crate) store: TokenStoreKind,
    pub(crate) request: LeaseRequest,
}

impl ShardedLimits {
    pub(crate) fn new(settings: LimiterSettings) -> Self {
        let shard = || Mutex::new(Shard { subjects: HashMap::new(), evict_at: EVICT_AT });
        Self {
            settings,
            slots: RwLock::default(),
            hasher: RandomState::new(),
            tenants: (0..SHARDS).map(|_| shard()).collect(),
            plans: shard(),
        }
    }

    /// Replaces the view of the slots.
    pub(crate) fn set_slots(&self, slots: SlotView) {
        *self.slots.write().unwrap_or_else(PoisonError::into_inner) = slots;
    }

    /// Calls `act` on all state that `limits` of `account` need. `now` is evaluated under the locks: a
    /// caller that waited for them must not use a lease that expired meanwhile.
    pub(crate) fn with_applicable<T>(
        &self,
        account: Account<'_>,
        limits: &[Limit],
        now: impl FnOnce() -> u64,
        act: impl FnOnce(&mut [ApplicableLimits<'_>], &DecisionContext<'_>) -> T,
    ) -> T {
        let slots = self.slots.read().unwrap_or_else(PoisonError::into_inner);
        let of = |per| limits.iter().filter(move |limit| limit.per == per).collect::<Vec<_>>();
        let mut tenants = self.tenant_shard(account.tenant).map(lock);
        let mut plans = None;
        let mut applicable = Vec::with_capacity(3);

        let (key, tenant) = (account.subject(Per::Key), account.subject(Per::Tenant));
        if let Some(shard) = tenants.as_deref_mut() {
            let wanted = [(&key, of(Per::Key)), (&tenant, of(Per::Tenant))];
            for (subject, limits) in &wanted {
                if !limits.is_empty() && !shard.subjects.contains_key(*subject) {
                    shard
                        .subjects
                        .insert((*subject).clone(), SubjectLimits::new((*subject).clone()));
                }
            }
            let found = shard.subjects.get_disjoint_mut([&key, &tenant]);
            for (state, (_, limits)) in found.into_iter().zip(wanted) {
                applicable.extend(
                    state
                        .filter(|_| !limits.is_empty())
                        .map(|state| ApplicableLimits { state, limits }),
                );
            }
        }
        let of_plan = of(Per::Plan);
        if !of_plan.is_empty() {
            let subject = account.subject(Per::Plan);
            let shard = plans.insert(lock(&self.plans));
            let state = shard
                .subjects
                .entry(subject.clone())
                .or_insert_with(|| SubjectLimits::new(subject));
            applicable.push(ApplicableLimits { state, limits: of_plan });
        }
        act(&mut applicable, &self.context(now(), &slots))
    }

    /// Returns the requests that are due after a request of `account`.
    pub(crate) fn due_requests(
        &self,
        account: Account<'_>,
        applicable: &mut [ApplicableLimits<'_>],
        context: &DecisionContext<'_>,
    ) -> Vec<DueRequest> {
        let mut all = Vec::new();
        for entry in applicable {
            for store in TokenStoreKind::ALL {
                if let Some(request) = entry.state.due_request(store, context) {
                    let subject = entry.state.subject().clone();
                    all.push(DueRequest {
                        shard: self.shard_of(account, &subject),
                        subject,
                        store,
                        request,
                    });
                }
            }
        }
        all
    }

    /// Applies the outcome of a request: a grant, or `None` if it failed.
    pub(crate) fn apply_outcome(&self, due: &DueRequest, answer: Option<&LeaseGrant>, now: u64) {
        let slots = self.slots.read().unwrap_or_else(PoisonError::into_inner);
        let context = self.context(now, &slots);
        let Some(mut shard) = self.lock_shard(due.shard) else { return };
        let Some(state) = shard.subjects.get_mut(&due.subject) else { return };
        let sequence = due.request.sequence;
        match answer {
            Some(answer) => state.apply_grant(due.store, sequence, answer, &context),
            None => state.request_failed(due.store, sequence, &context),
        }
    }

    /// Refunds a charge for checks that were not answered.
    pub(crate) fn refund(&self, account: Account<'_>, charge: &Charge) {
        for spent in &charge.checks {
            let shard = self.lock_shard(self.shard_of(account, &spent.subject));
            if let Some(mut shard) = shard
                && let Some(state) = shard.subjects.get_mut(&spent.subject)
            {
                state.refund(spent, charge.count);
            }
        }
    }

    /// Returns the tokens that a counter of a subject in `shard` holds unspent in a window.
    pub(crate) fn held(&self, shard: ShardId, counter: &CounterId, window: u64) -> u64 {
        let Some(shard) = self.lock_shard(shard) else { return 0 };
        let state = shard.subjects.get(&counter.subject);
        state.map_or(0, |state| state.held(&counter.limit, counter.window_seconds, window))
    }

    /// Returns the status of every limit that applies to `account`.
    pub(crate) fn statuses(
        &self,
        account: Account<'_>,
        limits: &[Limit],
        policy: StoreLossPolicy,
        wall: u64,
        now: u64,
    ) -> Vec<LimitStatus> {
        let mut found = self.with_applicable(
            account,
            limits,
            || now,
            |applicable, context| statuses(applicable, policy, wall, context),
        );
        // In the plan's order, for every subject.
        let index = |status: &LimitStatus| limits.iter().position(|it| it.name == status.name);
        found.sort_by_key(index);
        found
    }

    /// Returns the requests that give back tokens: tokens without demand, or all tokens. Drops idle subjects.
    pub(crate) fn sweep(&self, everything: bool, now: u64) -> Vec<DueRequest> {
        let slots = self.slots.read().unwrap_or_else(PoisonError::into_inner);
        let context = self.context(now, &slots);
        let shards = (0..SHARDS).map(ShardId::Tenants).chain([ShardId::Plans]);
        let mut all = Vec::new();
        for id in shards {
            let Some(mut shard) = self.lock_shard(id) else { continue };
            for (subject, state) in &mut shard.subjects {
                for store in TokenStoreKind::ALL {
                    let request = if everything {
                        state.drain(store, &context)
                    } else {
                        state.due_return(store, &context)
                    };
                    all.extend(request.map(|request| DueRequest {
                        shard: id,
                        subject: subject.clone(),
                        store,
                        request,
                    }));
                }
            }
            shard.subjects.retain(|_, state| state.forget_idle(&context));
        }
        all
    }

    /// Returns the number of subjects in memory.
    pub(crate) fn subjects(&self) -> usize {
        let shards = (0..SHARDS).map(ShardId::Tenants).chain([ShardId::Plans]);
        shards.filter_map(|shard| self.lock_shard(shard)).map(|shard| shard.subjects.len()).sum()
    }

    /// True if any request is in flight.
    pub(crate) fn is_waiting_for(&self) -> bool {
        let shards = (0..SHARDS).map(ShardId::Tenants).chain([ShardId::Plans]);
        shards.filter_map(|shard| self.lock_shard(shard)).any(|shard| {
            let mut subjects = shard.subjects.values();
            subjects
                .any(|state| TokenStoreKind::ALL.iter().any(|store| state.is_waiting_for(*store)))
        })
    }

    /// Drops idle subjects if the account's shard has grown large.
    pub(crate) fn evict_idle(&self, account: Account<'_>, now: u64) {
        let slots = self.slots.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(mut shard) = self.tenant_shard(account.tenant).map(lock) {
            shard.evict_idle(&self.context(now, &slots));
        }
    }

    const fn context<'a>(&'a self, now: u64, slots: &'a SlotView) -> DecisionContext<'a> {
        DecisionContext { now, slots, settings: &self.settings }
    }

    pub(crate) fn shard_of(&self, account: Account<'_>, subject: &LimitSubject) -> ShardId {
        match subject.per {
            Per::Plan => ShardId::Plans,
            Per::Key | Per::Tenant => ShardId::Tenants(self.index(account.tenant)),
        }
    }

    fn lock_shard(&self, id: ShardId) -> Option<MutexGuard<'_, Shard>> {
        match id {
            ShardId::Tenants(index) => self.tenants.get(index).map(lock),
            ShardId::Plans => Some(lock(&self.plans)),
        }
    }

    fn tenant_shard(&self, tenant: &str) -> Option<&Mutex<Shard>> {
        self.tenants.get(self.index(tenant))
    }

    /// Returns the index of a tenant's shard, below [`SHARDS`].
    #[expect(clippy::cast_possible_truncation, reason = "any bits of the hash will do")]
    pub(crate) fn index(&self, tenant: &str) -> usize {
        self.hasher.hash_one(tenant) as usize % SHARDS
    }
}

impl Shard {
    fn evict_idle(&mut self, context: &DecisionContext<'_>) {
        if self.subjects.len() >= self.evict_at {
            self.subjects.retain(|_, state| state.forget_idle(context));
            self.evict_at = (self.subjects.len() * 2).max(EVICT_AT);
        }
    }
}

/// Locks a shard. Subjects cannot be left half changed, so that a poisoned lock is still sound.
fn lock(shard: &Mutex<Shard>) -> MutexGuard<'_, Shard> {
    shard.lock().unwrap_or_else(PoisonError::into_inner)
}
