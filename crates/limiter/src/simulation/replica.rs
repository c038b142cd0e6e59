//! A simulated replica: purses, a clock, and what waits.

use assay_tenancy::manifest::{Counts, Per};

use super::scenario::Scenario;
use crate::{
    Account, Ask, BankKind, OwnSeat, Purse, SeatView, Share, Spent, Verdict, admit, bank::Draw,
    bank::Drawn, note, seats::HELD,
};

const ACCOUNT: Account<'_> = Account { plan: "p", tenant: "t", key: "k" };

/// A clock that does not run quite right.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    pub(super) offset: i64,
    /// Parts per million.
    pub(super) drift: i64,
}

impl Clock {
    /// What it shows at a true time.
    pub(super) fn at(&self, now: u64) -> u64 {
        let now = i64::try_from(now).unwrap();
        u64::try_from(now + now * self.drift / 1_000_000 + self.offset).unwrap()
    }
}

#[derive(Debug)]
pub(super) struct Replica {
    /// Another one after each start.
    pub(super) incarnation: u64,
    pub(super) alive: bool,
    pub(super) clock: Clock,
    pub(super) purses: [Purse; 2],
    pub(super) seats: SeatView,
    /// Which claim the own seat stems from.
    pub(super) claim: u64,
    pub(super) waiting: Vec<(Ask, u64)>,
    /// True times until which a bank cannot be reached.
    pub(super) cut_off: [u64; 2],
}

/// What the keeper of seats answers to a replica.
#[derive(Clone, Debug)]
pub(super) struct SeatAnswer {
    pub(super) asked_at: u64,
    /// The claim that gave the replica its seat.
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
            purses: [Purse::new(ACCOUNT.payer(Per::Tenant)), Purse::new(ACCOUNT.payer(Per::Plan))],
            seats: SeatView::default(),
            claim: 0,
            waiting: Vec::new(),
            cut_off: [0; 2],
        }
    }

    /// A new request.
    pub(super) fn ask(&mut self, ask: Ask, scenario: &Scenario, now: u64) -> Verdict {
        let (local, seats) = (self.clock.at(now), self.seats.clone());
        let mut shares = shares(&mut self.purses, scenario);
        note(&mut shares, scenario.terms, ask, 1, local, &seats, &scenario.settings);
        self.decide(ask, scenario, now)
    }

    pub(super) fn decide(&mut self, ask: Ask, scenario: &Scenario, now: u64) -> Verdict {
        let local = self.clock.at(now);
        let mut shares = shares(&mut self.purses, scenario);
        admit(&mut shares, scenario.terms, ask, local, &self.seats, &scenario.settings)
    }

    pub(super) fn due(&mut self, scenario: &Scenario, now: u64) -> Vec<(usize, BankKind, Draw)> {
        let (local, seats) = (self.clock.at(now), &self.seats.clone());
        self.draws(|purse, bank| purse.due(bank, local, seats, &scenario.settings))
    }

    pub(super) fn due_back(
        &mut self,
        everything: bool,
        scenario: &Scenario,
        now: u64,
    ) -> Vec<(usize, BankKind, Draw)> {
        let (local, seats) = (self.clock.at(now), &self.seats.clone());
        let settings = &scenario.settings;
        let draws = self.draws(|purse, bank| {
            if everything {
                purse.close(bank, local, seats, settings)
            } else {
                purse.due_back(bank, local, seats, settings)
            }
        });
        for purse in &mut self.purses {
            purse.forget_idle(local, seats, settings);
        }
        draws
    }

    fn draws(
        &mut self,
        mut draw: impl FnMut(&mut Purse, BankKind) -> Option<Draw>,
    ) -> Vec<(usize, BankKind, Draw)> {
        let mut all = Vec::new();
        for (index, purse) in self.purses.iter_mut().enumerate() {
            for bank in BankKind::ALL {
                all.extend(draw(purse, bank).map(|draw| (index, bank, draw)));
            }
        }
        all
    }

    /// An answer of a bank, or none in time.
    pub(super) fn settle(
        &mut self,
        purse: usize,
        bank: BankKind,
        sequence: u64,
        answer: Option<&Drawn>,
        scenario: &Scenario,
        now: u64,
    ) {
        let (local, settings) = (self.clock.at(now), &scenario.settings);
        let purse = &mut self.purses[purse];
        match answer {
            Some(answer) => purse.drawn(bank, sequence, answer, local, &self.seats, settings),
            None => purse.failed(bank, sequence, local, settings),
        }
    }

    pub(super) fn take_back(&mut self, spent: &[Spent]) {
        for spent in spent.iter().filter(|spent| spent.counts == Counts::Checks) {
            self.purses[usize::from(spent.payer.per == Per::Plan)].unspend(spent, 1);
        }
    }

    /// What the keeper of seats says.
    pub(super) fn seated(&mut self, answer: &SeatAnswer, scenario: &Scenario, now: u64) {
        if answer.asked_at < self.seats.asked_at {
            return;
        }
        let before = self.seats.own.filter(|_| answer.claim == Some(self.claim));
        let until = answer.asked_at + scenario.settings.shrunk(HELD);
        let claimed_at = before.map_or(self.clock.at(now), |own| own.claimed_at);
        self.claim = answer.claim.unwrap_or(0);
        self.seats = SeatView {
            total: answer.total,
            held: answer.held,
            ended: answer.ended.clone(),
            asked_at: answer.asked_at,
            own: answer.claim.map(|_| OwnSeat { claimed_at, until }),
        };
    }
}

fn shares<'a>(purses: &'a mut [Purse; 2], scenario: &'a Scenario) -> Vec<Share<'a>> {
    let [tenant, plan] = purses;
    let of = |per| scenario.limits.iter().filter(|limit| limit.per == per).collect();
    vec![
        Share { purse: tenant, limits: of(Per::Tenant) },
        Share { purse: plan, limits: of(Per::Plan) },
    ]
}
