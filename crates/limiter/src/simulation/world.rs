//! The simulated system: replicas, token stores, the slot registry and a network, in true time.

use std::{
    cmp::Reverse,
    collections::{HashMap, VecDeque},
};

use assay_test_random::Random;

use super::{
    Flaw,
    observer::{Observer, index},
    replica::{Clock, Replica, SlotAnswer},
    scenario::{Fault, Scenario},
    slots::SlotRegistry,
};
use crate::{
    Admission, RequestKind, SECOND, ServerClock, SpentTokens, TokenLedger, TokenStoreKind,
    token_store::{LeaseGrant, LeaseRequest},
};

/// True time of the start, large enough that no clock shows a negative time.
const START: u64 = 1000 * SECOND;
/// Largest difference between the clocks of a server and its successor.
const MARGIN: u64 = 400_000;
/// Interval of requests to the slot registry.
const HEARTBEAT: u64 = 2 * SECOND;
/// Longest time that a request waits for token stores.
const LEASE_WAIT: u64 = SECOND;
/// Interval of copies of the short token store's memory.
const COPY_EVERY: u64 = 200_000;

#[derive(Clone, Debug)]
enum Event {
    Arrival { replica: usize },
    LeaseRequest { from: Address, request: LeaseRequest },
    Answer { to: Address, sequence: u64, answer: LeaseGrant },
    TimeOut { to: Address, sequence: u64 },
    Heartbeat { replica: usize },
    SlotQuestion { replica: usize, incarnation: u64, asked_at: u64 },
    SlotAnswer { replica: usize, incarnation: u64, answer: SlotAnswer },
    NotAnswered { replica: usize, incarnation: u64, spent: Vec<SpentTokens> },
    Sweep { replica: usize },
    Start { replica: usize },
    Fault(Fault),
    Copy,
}

/// Address of a replica's state for one subject and token store.
#[derive(Clone, Copy, Debug)]
struct Address {
    replica: usize,
    incarnation: u64,
    subject: usize,
    store: TokenStoreKind,
}

#[derive(Debug)]
pub(super) struct World {
    pub(super) scenario: Scenario,
    pub(super) observer: Observer,
    random: Random,
    now: u64,
    events: std::collections::BinaryHeap<Reverse<(u64, u64)>>,
    payloads: HashMap<u64, Event>,
    order: u64,
    replicas: Vec<Replica>,
    incarnations: u64,
    short: TokenLedger,
    /// Servers of the short token store, in order of succession; the first server's clock is the reference.
    servers: Vec<Clock>,
    /// Latest time that each server's clock showed; used instead of the clock while the clock is behind it.
    latest: Vec<u64>,
    run: u64,
    copies: VecDeque<TokenLedger>,
    paused_until: u64,
    long: TokenLedger,
    long_lost_until: u64,
    long_clock: Clock,
    slots: SlotRegistry,
    end: u64,
    busy: Vec<(u64, u64)>,
}

fn new_ledger(scenario: &Scenario) -> TokenLedger {
    let mut ledger = TokenLedger::new(MARGIN);
    ledger.flaw = scenario.settings.flaw;
    ledger
}

impl World {
    pub(super) fn new(scenario: Scenario, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let drift = scenario.drift;
        let offset = random.signed(-500..500) * 1_000_000 + random.signed(0..1_000_000);
        let first = Clock { offset, drift: random.signed(-drift..drift + 1) };
        let long_clock = Clock {
            offset: random.signed(-400_000_000..400_000_000),
            drift: random.signed(-drift..drift + 1),
        };
        let mut short = new_ledger(&scenario);
        let run = ServerClock { run: "0".into(), now: first.at(START) };
        let (epoch, _) = short.open(&run);
        if scenario.first_epoch_known {
            short.confirm_first_epoch(epoch);
        }
        let mut long = TokenLedger::new(0);
        let (id, _) = long.open(&ServerClock { run: String::new(), now: long_clock.at(START) });
        long.confirm_first_epoch(id);
        let end = START + scenario.length;
        let quiet = random.number(START..end);
        let busy = if scenario.faults.is_empty() {
            vec![(START, end)]
        } else {
            vec![(START, quiet), (quiet + random.number(0..4) * SECOND, end)]
        };
        let mut world = Self {
            observer: Observer::default(),
            now: START,
            events: std::collections::BinaryHeap::new(),
            payloads: HashMap::new(),
            order: 0,
            replicas: Vec::new(),
            incarnations: 0,
            short,
            servers: vec![first],
            run: 0,
            latest: vec![0],
            copies: VecDeque::new(),
            paused_until: 0,
            long,
            long_lost_until: 0,
            long_clock,
            slots: SlotRegistry::new(scenario.slots),
            end,
            busy,
            scenario,
            random,
        };
        world.set_up();
        world
    }

    fn set_up(&mut self) {
        for replica in 0..self.scenario.replicas {
            let new = self.new_replica();
            self.replicas.push(new);
            if self.scenario.joining && replica > 0 {
                self.replicas[replica].alive = false;
                let later = self.random.number(0..self.scenario.length / 2) + SECOND;
                self.at(self.now + later, Event::Start { replica });
            } else {
                self.begin(replica);
            }
        }
        if self.scenario.stranded {
            self.at(self.now + 4 * SECOND, Event::Fault(Fault::Strand));
        }
        for fault in self.scenario.faults.clone() {
            let at = self.random.number(START..self.end);
            self.at(at, Event::Fault(fault));
        }
        let copied = [Fault::Revert, Fault::Failover];
        if self.scenario.faults.iter().any(|fault| copied.contains(fault)) {
            self.at(self.now, Event::Copy);
        }
    }

    fn new_replica(&mut self) -> Replica {
        self.incarnations += 1;
        let (random, drift) = (&mut self.random, self.scenario.drift);
        let offset = random.signed(-900..900) * 1_000_000 + random.signed(0..1_000_000);
        let drift = random.signed(-drift..drift + 1);
        Replica::new(self.incarnations, Clock { offset, drift })
    }

    fn begin(&mut self, replica: usize) {
        let soon = self.now + self.random.number(0..100_000);
        self.at(soon, Event::Heartbeat { replica });
        self.at(soon, Event::Arrival { replica });
        self.at(soon + SECOND / 2, Event::Sweep { replica });
    }

    fn at(&mut self, at: u64, event: Event) {
        self.order += 1;
        self.events.push(Reverse((at, self.order)));
        self.payloads.insert(self.order, event);
    }

    /// Runs to the end, or to the first violation.
    pub(super) fn run(&mut self) {
        while let Some(Reverse((at, order))) = self.events.pop() {
            if at > self.end || self.observer.violation.is_some() {
                return;
            }
            self.now = at;
            let event = self.payloads.remove(&order).unwrap();
            self.step(event);
        }
    }

    fn step(&mut self, event: Event) {
        match event {
            Event::Arrival { replica } => self.arrival(replica),
            Event::LeaseRequest { from, request } => self.lease(from, request),
            Event::Answer { to, sequence, answer } => self.answer(to, sequence, Some(&answer)),
            Event::TimeOut { to, sequence } => self.answer(to, sequence, None),
            Event::Heartbeat { replica } => self.heartbeat(replica),
            Event::SlotQuestion { replica, incarnation, asked_at } => {
                self.slot_question(replica, incarnation, asked_at);
            }
            Event::SlotAnswer { replica, incarnation, answer } => {
                if self.lives(replica, incarnation) {
                    self.replicas[replica].slot_answered(&answer, &self.scenario, self.now);
                }
            }
            Event::NotAnswered { replica, incarnation, spent } => {
                if self.lives(replica, incarnation) {
                    self.replicas[replica].refund(&spent);
                    self.observer.refunded(incarnation, &self.scenario.limits, &spent);
                }
            }
            Event::Sweep { replica } => self.sweep(replica),
            Event::Start { replica } => {
                let new = self.new_replica();
                self.replicas[replica] = new;
                self.begin(replica);
            }
            Event::Fault(fault) => self.fault(fault),
            Event::Copy => {
                self.copies.push_back(self.short.clone());
                if self.copies.len() > 8 {
                    self.copies.pop_front();
                }
                self.at(self.now + COPY_EVERY, Event::Copy);
            }
        }
    }

    fn lives(&self, replica: usize, incarnation: u64) -> bool {
        let replica = &self.replicas[replica];
        replica.alive && replica.incarnation == incarnation
    }

    fn arrival(&mut self, replica: usize) {
        if !self.replicas[replica].alive {
            return;
        }
        let pause = match self.scenario.skew {
            0 => self.scenario.pause,
            skew if replica == 0 => {
                self.scenario.pause * 1000 / (skew * self.scenario.replicas as u64)
            }
            skew => self.scenario.pause * 1000 / (1000 - skew),
        };
        let next = self.now + self.random.number(0..2 * pause.max(1)) + 1;
        self.at(next, Event::Arrival { replica });
        if !self.busy.iter().any(|(from, to)| (*from..*to).contains(&self.now)) {
            return;
        }
        let kind =
            if self.random.per_mille(700) { RequestKind::Check } else { RequestKind::Request };
        let verdict = self.replicas[replica].submit(kind, &self.scenario, self.now);
        self.verdict(replica, kind, self.now, verdict);
        self.send_due(replica);
    }

    fn verdict(&mut self, replica: usize, kind: RequestKind, since: u64, verdict: Admission) {
        match verdict {
            Admission::Wait => {
                if self.now - since < LEASE_WAIT {
                    self.replicas[replica].waiting.push((kind, since));
                }
            }
            Admission::Admitted { spent } => self.admitted(replica, spent),
            Admission::Unavailable { .. } => self.observer.unavailable += 1,
            Admission::Refused { .. } => {}
        }
    }

    fn admitted(&mut self, replica: usize, spent: Vec<SpentTokens>) {
        let incarnation = self.replicas[replica].incarnation;
        let (now, long) = (self.now, self.long_clock.at(self.now));
        let reference = self.servers[0].at(now);
        let servers = self.servers.iter().zip(&self.latest);
        let clocks: Vec<u64> = servers.map(|(clock, latest)| clock.at(now).max(*latest)).collect();
        let scenario = &self.scenario;
        let length = |window_seconds: u64| window_seconds * SECOND;
        self.observer.admitted(
            incarnation,
            &scenario.limits,
            &spent,
            |limit| reference / length(limit.window.seconds()),
            |limit, window| {
                let seconds = limit.window.seconds();
                if seconds >= scenario.settings.long_from_seconds {
                    return long / length(seconds) == window;
                }
                clocks.iter().any(|clock| clock / length(seconds) == window)
            },
            || format!("at {now} by replica {replica} ({incarnation})"),
        );
        self.check_leases(replica, &spent);
        if self.random.per_mille(150) {
            let later = now + self.random.number(1_000..3 * SECOND);
            self.at(later, Event::NotAnswered { replica, incarnation, spent });
        }
    }

    /// Checks that a replica holds at most the tokens that it received and neither spent nor returned;
    /// fewer if a request was refused by a limit on checks, but counted as a request.
    fn check_leases(&mut self, replica: usize, spent: &[SpentTokens]) {
        let seen = &self.replicas[replica];
        for spent in spent {
            let limit = index(&self.scenario.limits, spent);
            let key = (seen.incarnation, limit, spent.window);
            let account = self.observer.accounts.get(&key).copied().unwrap_or_default();
            let owner = usize::from(spent.subject.per == assay_tenancy::manifest::Per::Plan);
            let held = seen.subjects[owner].tokens(&spent.limit, spent.window);
            // A lease that was replaced by the next window's holds no tokens.
            let expected = account.received + account.returned - account.spent;
            if held.is_some_and(|held| held > expected) {
                self.observer.violate(format!("{} held, {expected} owned", held.unwrap_or(0)));
            }
        }
    }

    fn send_due(&mut self, replica: usize) {
        let due = self.replicas[replica].due_requests(&self.scenario, self.now);
        self.send(replica, due);
    }

    fn send(&mut self, replica: usize, due: Vec<(usize, TokenStoreKind, LeaseRequest)>) {
        let incarnation = self.replicas[replica].incarnation;
        for (subject, store, request) in due {
            let from = Address { replica, incarnation, subject, store };
            self.observer.commands += 1;
            for window in &request.windows {
                if let Some(returned) = &window.returned {
                    let limits = &self.scenario.limits;
                    let limit = limits.iter().position(|limit| limit.name == window.limit).unwrap();
                    let key = (incarnation, limit, returned.window);
                    let account = self.observer.accounts.entry(key).or_default();
                    account.spent += returned.tokens;
                }
            }
            let timeout = self.scenario.settings.timings(store).timeout;
            let to = from;
            self.at(self.now + timeout, Event::TimeOut { to, sequence: request.sequence });
            for delay in self.delivery_delays() {
                self.at(self.now + delay, Event::LeaseRequest { from, request: request.clone() });
            }
        }
    }

    /// Returns the delay of each copy of a message.
    fn delivery_delays(&mut self) -> Vec<u64> {
        let mut delivery_delays = Vec::new();
        let copies = 1 + u64::from(self.random.per_mille(self.scenario.doubled));
        for _ in 0..copies {
            if !self.random.per_mille(self.scenario.lost) {
                let late = if self.random.per_mille(self.scenario.late) { 2 * SECOND } else { 0 };
                delivery_delays.push(self.random.number(50..self.scenario.delay + late + 51));
            }
        }
        delivery_delays
    }

    fn lease(&mut self, from: Address, mut request: LeaseRequest) {
        let cut_off = self.replicas[from.replica].cut_off[from.store as usize];
        let lost = from.store == TokenStoreKind::Long && self.now < self.long_lost_until;
        if lost || self.now < cut_off {
            return;
        }
        if from.store == TokenStoreKind::Short && self.now < self.paused_until {
            self.at(self.paused_until, Event::LeaseRequest { from, request });
            return;
        }
        let subject = self.replicas[from.replica].subjects[from.subject].subject().clone();
        let (ledger, server) = match from.store {
            TokenStoreKind::Short => {
                let clock = self.servers.last().unwrap();
                (
                    &mut self.short,
                    ServerClock { run: self.run.to_string(), now: clock.at(self.now) },
                )
            }
            TokenStoreKind::Long => {
                let now = self.long_clock.at(self.now);
                (&mut self.long, ServerClock { run: String::new(), now })
            }
        };
        let held = |ledger: &TokenLedger, request: &LeaseRequest| -> Vec<_> {
            let windows = request.windows.iter();
            windows
                .map(|window| ledger.granted(&subject, &window.limit, window.window_seconds))
                .collect()
        };
        let before = held(ledger, &request);
        let sequence = request.sequence;
        if self.scenario.settings.flaw == Some(Flaw::DuplicatesProcessed) {
            request.sequence = u64::MAX - 1_000_000_000 + self.order;
        }
        let answer = ledger.lease(&server, from.incarnation, &subject, &request);
        let after = held(ledger, &request);
        if from.store == TokenStoreKind::Short {
            *self.latest.last_mut().unwrap() = ledger.latest();
        }
        for (index, (window, grant)) in request.windows.iter().zip(&answer.windows).enumerate() {
            let limits = &self.scenario.limits;
            let limit = limits.iter().position(|limit| limit.name == window.limit).unwrap();
            let returned = if before[index].0 == after[index].0 {
                before[index].1 + grant.granted - after[index].1
            } else {
                0
            };
            self.observer.granted(limit, grant.window, grant.granted, returned);
        }
        for delay in self.delivery_delays() {
            let to = from;
            self.at(self.now + delay, Event::Answer { to, sequence, answer: answer.clone() });
        }
    }

    fn answer(&mut self, to: Address, sequence: u64, answer: Option<&LeaseGrant>) {
        let Address { replica, incarnation, subject, store } = to;
        if !self.lives(replica, incarnation)
            || (answer.is_some() && self.now < self.replicas[replica].cut_off[store as usize])
        {
            return;
        }
        let expected = self.replicas[replica].subjects[subject].in_flight(store);
        let Some((_, sent, windows)) = expected.filter(|(expected, ..)| *expected == sequence)
        else {
            return;
        };
        if let Some(answer) = answer {
            let local = self.replicas[replica].clock.at(self.now);
            let late = local - sent > self.scenario.settings.timings(store).timeout;
            for (limit, grant) in windows.iter().zip(&answer.windows).filter(|_| !late) {
                let limits = &self.scenario.limits;
                let limit = limits.iter().position(|it| it.name == *limit).unwrap();
                self.observer.received(incarnation, limit, grant.window, grant.granted);
            }
        }
        self.replicas[replica].apply_outcome(
            subject,
            store,
            sequence,
            answer,
            &self.scenario,
            self.now,
        );
        let waiting = std::mem::take(&mut self.replicas[replica].waiting);
        for (kind, since) in waiting {
            let verdict = self.replicas[replica].decide(kind, &self.scenario, self.now);
            self.verdict(replica, kind, since, verdict);
        }
        self.send_due(replica);
    }

    fn sweep(&mut self, replica: usize) {
        if self.replicas[replica].alive {
            let due = self.replicas[replica].due_return(false, &self.scenario, self.now);
            self.send(replica, due);
            self.at(self.now + SECOND / 2, Event::Sweep { replica });
        }
    }

    fn heartbeat(&mut self, replica: usize) {
        if !self.replicas[replica].alive {
            return;
        }
        let asked_at = self.replicas[replica].clock.at(self.now);
        let incarnation = self.replicas[replica].incarnation;
        for delay in self.delivery_delays() {
            let question = Event::SlotQuestion { replica, incarnation, asked_at };
            self.at(self.now + delay, question);
        }
        self.at(self.now + HEARTBEAT, Event::Heartbeat { replica });
    }

    /// Renews the replica's slot, or claims the first free slot.
    fn slot_question(&mut self, replica: usize, incarnation: u64, asked_at: u64) {
        let cut_off = self.replicas[replica].cut_off[TokenStoreKind::Long as usize];
        if self.now < self.long_lost_until.max(cut_off) {
            return;
        }
        let now = self.long_clock.at(self.now);
        let answer = self.slots.renew_or_claim(incarnation, asked_at, now);
        for delay in self.delivery_delays() {
            let answer = answer.clone();
            self.at(self.now + delay, Event::SlotAnswer { replica, incarnation, answer });
        }
    }

    fn fault(&mut self, fault: Fault) {
        let replica = self.random.index(self.replicas.len());
        let duration = self.random.number(50_000..4 * SECOND);
        match fault {
            Fault::Crash | Fault::Restart if self.replicas[replica].alive => {
                if fault == Fault::Restart {
                    let due = self.replicas[replica].due_return(true, &self.scenario, self.now);
                    self.send(replica, due);
                    let now = self.long_clock.at(self.now);
                    self.slots.release(self.replicas[replica].incarnation, now);
                }
                self.replicas[replica].alive = false;
                self.at(self.now + duration, Event::Start { replica });
            }
            Fault::Crash | Fault::Restart => {}
            Fault::CutOff => {
                let duration = self.random.number(50_000..30 * SECOND);
                let stores = self.random.number(1..4);
                for store in TokenStoreKind::ALL {
                    if stores & (1 << store as u64) != 0 {
                        self.replicas[replica].cut_off[store as usize] = self.now + duration;
                    }
                }
            }
            Fault::Strand => self.replicas[0].cut_off[TokenStoreKind::Long as usize] = self.end,
            Fault::Pause => self.paused_until = self.now + duration,
            Fault::Flush => self.short = new_ledger(&self.scenario),
            Fault::Revert => {
                self.run += 1;
                self.short = self.copy();
                if self.random.per_mille(500) {
                    self.paused_until = self.now + duration;
                }
            }
            Fault::Failover => {
                self.run += 1;
                self.short = self.copy();
                let reference = self.servers[0];
                let apart = i64::try_from(MARGIN / 2).unwrap();
                let offset = reference.offset + self.random.signed(-apart..apart);
                self.servers.push(Clock { offset, ..reference });
                self.latest.push(0);
            }
            Fault::StepBack => {
                let step = self.random.signed(1_000..3_000_000);
                for clock in &mut self.servers {
                    clock.offset -= step;
                }
            }
            Fault::LongLost => {
                self.long_lost_until = self.now + self.random.number(SECOND..20 * SECOND);
            }
        }
    }

    fn copy(&mut self) -> TokenLedger {
        if self.copies.is_empty() || self.random.per_mille(300) {
            return new_ledger(&self.scenario);
        }
        let age = self.random.index(self.copies.len());
        self.copies[age].clone()
    }
}

impl World {
    /// Returns the share of the first limit that was used in whole windows after the slots' claim
    /// delay, in thousandths.
    pub(super) fn used(&self) -> u64 {
        let limits = &self.scenario.limits;
        let length = limits[0].window.seconds() * SECOND;
        let first = self.servers[0].at(START + 18 * SECOND) / length + 1;
        let last = self.servers[0].at(self.end) / length;
        self.observer.used(limits, first, last)
    }
}
