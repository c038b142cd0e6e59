//! A simulated replica: limits by subject, a clock, and waiting requests.

use assay_tenancy::manifest::{Counts, Per};

use super::scenario::Scenario;
use crate::{
    Account, Admission, ApplicableLimits, DecisionContext, ReplicaSlot, RequestKind, SlotView,
    SpentTokens, SubjectLimits, TokenStoreKind, admit, note,
    slots::SLOT_TTL,
    token_store::{LeaseGrant, LeaseRequest},
};

const ACCOUNT: Account<'_> = Account { plan: "p", tenant: "t", key: "k" };

/// A clock with an offset and a drift.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    pub(super) offset: i64,
    /// Parts per million.
    pub(super) drift: i64,
}

impl Clock {
    /// Returns the time that the clock shows at a true time.
    pub(super) fn at(&self, now: u64) -> u64 {
        let now = i64::try_from(now).unwrap();
        u64::try_from(now + now * self.drift / 1_000_000 + self.offset).unwrap()
    }
}

#[derive(Debug)]
pub(super) struct Replica {
    /// Number of the replica's run, different after each start.
    pub(super) incarnation: u64,
    pub(super) alive: bool,
    pub(super) clock: Clock,
    pub(super) subjects: [SubjectLimits; 2],
    pub(super) slots: SlotView,
    /// The claim of the replica's own slot.
    pub(super) claim: u64,
    pub(super) waiting: Vec<(RequestKind, u64)>,
    /// True times until which each token store is unreachable.
    pub(super) cut_off: [u64; 2],
}

/// Response of the slot registry to a replica.
#[derive(Clone, Debug)]
pub(super) struct SlotAnswer {
    pub(super) asked_at: u64,
    /// The claim of the replica's slot.
    pub(super) claim: Option<u64>,
    pub(super) total: u32,
    pub(super) held: u32,
    pub(super) ended: Vec<u64>,
}

impl Replica {
    pub(super) fn new(incarnation: u64, clock: Clock) -> Self {
        Self {
            incarnation,
            alive: true,
            clock,
            subjects: [
                SubjectLimits::new(ACCOUNT.subject(Per::Tenant)),
                SubjectLimits::new(ACCOUNT.subject(Per::Plan)),
            ],
            slots: SlotView::default(),
            claim: 0,
            waiting: Vec::new(),
            cut_off: [0; 2],
        }
    }

    /// Submits a new request.
    pub(super) fn submit(&mut self, kind: RequestKind, scenario: &Scenario, now: u64) -> Admission {
        let context = context(self.clock.at(now), &self.slots, scenario);
        let mut applicable = applicable(&mut self.subjects, scenario);
        note(&mut applicable, scenario.policy, kind, 1, &context);
        self.decide(kind, scenario, now)
    }

    pub(super) fn decide(&mut self, kind: RequestKind, scenario: &Scenario, now: u64) -> Admission {
        let context = context(self.clock.at(now), &self.slots, scenario);
        let mut applicable = applicable(&mut self.subjects, scenario);
        admit(&mut applicable, scenario.policy, kind, &context)
    }

    pub(super) fn due_requests(
        &mut self,
        scenario: &Scenario,
        now: u64,
    ) -> Vec<(usize, TokenStoreKind, LeaseRequest)> {
        let slots = self.slots.clone();
        let context = context(self.clock.at(now), &slots, scenario);
        self.lease_requests(|state, store| state.due_request(store, &context))
    }

    pub(super) fn due_return(
        &mut self,
        everything: bool,
        scenario: &Scenario,
        now: u64,
    ) -> Vec<(usize, TokenStoreKind, LeaseRequest)> {
        let slots = self.slots.clone();
        let context = context(self.clock.at(now), &slots, scenario);
        let lease_requests = self.lease_requests(|state, store| {
            if everything {
                state.drain(store, &context)
            } else {
                state.due_return(store, &context)
            }
        });
        for state in &mut self.subjects {
            state.forget_idle(&context);
        }
        lease_requests
    }

    fn lease_requests(
        &mut self,
        mut request: impl FnMut(&mut SubjectLimits, TokenStoreKind) -> Option<LeaseRequest>,
    ) -> Vec<(usize, TokenStoreKind, LeaseRequest)> {
        let mut all = Vec::new();
        for (index, state) in self.subjects.iter_mut().enumerate() {
            for store in TokenStoreKind::ALL {
                all.extend(request(state, store).map(|request| (index, store, request)));
            }
        }
        all
    }

    /// Applies a token store's grant, or `None` after a timeout.
    pub(super) fn apply_outcome(
        &mut self,
        subject: usize,
        store: TokenStoreKind,
        sequence: u64,
        answer: Option<&LeaseGrant>,
        scenario: &Scenario,
        now: u64,
    ) {
        let context = context(self.clock.at(now), &self.slots, scenario);
        let state = &mut self.subjects[subject];
        match answer {
            Some(answer) => state.apply_grant(store, sequence, answer, &context),
            None => state.request_failed(store, sequence, &context),
        }
    }

    pub(super) fn refund(&mut self, spent: &[SpentTokens]) {
        for spent in spent.iter().filter(|spent| spent.counts == Counts::Checks) {
            self.subjects[usize::from(spent.subject.per == Per::Plan)].refund(spent, 1);
        }
    }

    /// Applies a response of the slot registry.
    pub(super) fn slot_answered(&mut self, answer: &SlotAnswer, scenario: &Scenario, now: u64) {
        if answer.asked_at < self.slots.asked_at {
            return;
        }
        let before = self.slots.own.filter(|_| answer.claim == Some(self.claim));
        let until = answer.asked_at + scenario.settings.shrunk(SLOT_TTL);
        let claimed_at = before.map_or(self.clock.at(now), |own| own.claimed_at);
        self.claim = answer.claim.unwrap_or(0);
        self.slots = SlotView {
            total: answer.total,
            held: answer.held,
            ended: answer.ended.clone(),
            asked_at: answer.asked_at,
            own: answer.claim.map(|_| ReplicaSlot { claimed_at, until }),
        };
    }
}

const fn context<'a>(now: u64, slots: &'a SlotView, scenario: &'a Scenario) -> DecisionContext<'a> {
    DecisionContext { now, slots, settings: &scenario.settings }
}

fn applicable<'a>(
    subjects: &'a mut [SubjectLimits; 2],
    scenario: &'a Scenario,
) -> Vec<ApplicableLimits<'a>> {
    let [tenant, plan] = subjects;
    let limits = &scenario.limits;
    vec![ApplicableLimits { state: tenant, limits }, ApplicableLimits { state: plan, limits }]
}
