//! Limits of one replica by subject, sharded for concurrent requests.
//!
//! A request needs at most two locks, always in the same order: first the lock of its tenant and key, then the lock of
//! all plans. No code blocks while it holds a lock.

use std::{
    collections::HashMap,
    hash::{BuildHasher, RandomState},
    sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock},
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
    subjects: Subjects,
    evict_at: usize,
}

/// Limits by subject, of each kind by name, so that a request finds them without a copy of a name.
#[derive(Debug, Default)]
struct Subjects {
    keys: HashMap<Arc<str>, SubjectLimits>,
    tenants: HashMap<Arc<str>, SubjectLimits>,
    plans: HashMap<Arc<str>, SubjectLimits>,
}

impl Subjects {
    const fn of_kind(&self, per: Per) -> &HashMap<Arc<str>, SubjectLimits> {
        match per {
            Per::Key => &self.keys,
            Per::Tenant => &self.tenants,
            Per::Plan => &self.plans,
        }
    }

    const fn of_kind_mut(&mut self, per: Per) -> &mut HashMap<Arc<str>, SubjectLimits> {
        match per {
            Per::Key => &mut self.keys,
            Per::Tenant => &mut self.tenants,
            Per::Plan => &mut self.plans,
        }
    }

    fn get(&self, subject: &LimitSubject) -> Option<&SubjectLimits> {
        self.of_kind(subject.per).get(&subject.name)
    }

    fn get_mut(&mut self, subject: &LimitSubject) -> Option<&mut SubjectLimits> {
        self.of_kind_mut(subject.per).get_mut(&subject.name)
    }

    /// Returns the limits of a key and of a tenant, each of which is created if it is wanted.
    fn of_key_and_tenant(
        &mut self,
        account: Account<'_>,
        is_wanted: impl Fn(Per) -> bool,
    ) -> [Option<&mut SubjectLimits>; 2] {
        let Self { keys, tenants, .. } = self;
        [(keys, Per::Key, account.key), (tenants, Per::Tenant, account.tenant)].map(
            |(subjects, per, name)| {
                is_wanted(per)
                    .then(|| find_or_insert(subjects, name, || account.subject(per)))
                    .flatten()
            },
        )
    }

    fn all(&self) -> impl Iterator<Item = &SubjectLimits> {
        [&self.keys, &self.tenants, &self.plans].into_iter().flat_map(HashMap::values)
    }

    fn all_mut(&mut self) -> impl Iterator<Item = &mut SubjectLimits> {
        let Self { keys, tenants, plans } = self;
        [keys, tenants, plans].into_iter().flat_map(HashMap::values_mut)
    }

    fn retain(&mut self, mut keep: impl FnMut(&mut SubjectLimits) -> bool) {
        for subjects in [&mut self.keys, &mut self.tenants, &mut self.plans] {
            subjects.retain(|_, state| keep(state));
        }
    }

    fn len(&self) -> usize {
        self.keys.len() + self.tenants.len() + self.plans.len()
    }
}

/// Returns the limits of the subject with a name, created if there are none.
fn find_or_insert<'a>(
    subjects: &'a mut HashMap<Arc<str>, SubjectLimits>,
    name: &str,
    subject: impl FnOnce() -> LimitSubject,
) -> Option<&'a mut SubjectLimits> {
    if !subjects.contains_key(name) {
        let subject = subject();
        subjects.insert(Arc::clone(&subject.name), SubjectLimits::new(subject));
    }
    subjects.get_mut(name)
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
        let shard = || Mutex::new(Shard { subjects: Subjects::default(), evict_at: EVICT_AT });
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
        let mut tenants = self.tenant_shard(account.tenant).map(lock);
        let mut plans = None;
        let mut applicable = Vec::with_capacity(3);

        let is_wanted = |per| limits.iter().any(|limit| limit.per == per);
        if let Some(shard) = tenants.as_deref_mut() {
            let found = shard.subjects.of_key_and_tenant(account, is_wanted);
            applicable.extend(
                found.into_iter().flatten().map(|state| ApplicableLimits { state, limits }),
            );
        }
        if is_wanted(Per::Plan) {
            let shard = plans.insert(lock(&self.plans));
            let subjects = shard.subjects.of_kind_mut(Per::Plan);
            let state = find_or_insert(subjects, account.plan, || account.subject(Per::Plan));
            applicable.extend(state.map(|state| ApplicableLimits { state, limits }));
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
            for state in shard.subjects.all_mut() {
                for store in TokenStoreKind::ALL {
                    let request = if everything {
                        state.drain(store, &context)
                    } else {
                        state.due_return(store, &context)
                    };
                    all.extend(request.map(|request| DueRequest {
                        shard: id,
                        subject: state.subject().clone(),
                        store,
                        request,
                    }));
                }
            }
            shard.subjects.retain(|state| state.forget_idle(&context));
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
            let mut subjects = shard.subjects.all();
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
            self.subjects.retain(|state| state.forget_idle(context));
            self.evict_at = (self.subjects.len() * 2).max(EVICT_AT);
        }
    }
}

/// Locks a shard. Subjects cannot be left half changed, so that a poisoned lock is still sound.
fn lock(shard: &Mutex<Shard>) -> MutexGuard<'_, Shard> {
    shard.lock().unwrap_or_else(PoisonError::into_inner)
}
