//! The rule of `docs/scoring.md`, section 3, "How money is followed", a second time: sentence by
//! sentence, over a whole chain in memory, without any thought of speed.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
};

use assay_engine::{
    coins::{Holder, OutPoint, TransactionKind},
    evidence::{Direction, FlowEnd, Tier, UnresolvedReason},
    score::Confidence,
    taxonomy::Category,
    trace::attribution::CarriedLabel,
};
use jiff::{Timestamp, ToSpan, tz::TimeZone};
use num_bigint::BigUint;

use super::{
    Case,
    amounts::{Arithmetic, Money},
    carried::carry,
    drive::Haste,
    ledger::{Ledger, Leg, Transaction},
    parts::{Key, Moved, Parts},
    paths::Path,
};

/// Money is at an output.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct State {
    output: OutPoint,
    /// Who can spend it: the output decides that.
    holder: Holder,
    asked: bool,
    carried: Vec<CarriedLabel>,
}

/// Money on its way, with what was seen of it.
#[derive(Clone, Debug)]
struct Flow {
    money: Money,
    asked: bool,
    carried: Vec<CarriedLabel>,
    path: Path,
}

/// What happens to a state at a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Cut,
    OverBudget,
    Followed,
}

/// What was decided of which state at each level.
pub(super) type Decisions = BTreeMap<(u8, State), Fate>;

/// One direction, followed to its end.
#[derive(Debug)]
pub(super) struct Followed {
    pub(super) parts: Parts,
    pub(super) decisions: Decisions,
    /// Whether everything was read that was wanted.
    pub(super) complete: bool,
}

/// What a direction is followed with.
#[derive(Clone, Debug)]
pub(super) struct Means {
    pub(super) arithmetic: Arithmetic,
    /// What was decided before; otherwise it is decided on the way.
    pub(super) decided: Option<Decisions>,
    pub(super) haste: Haste,
}

/// One direction under way.
struct Walk<'a> {
    case: &'a Case,
    ledger: &'a Ledger<'a>,
    direction: Direction,
    means: Means,
    decisions: Decisions,
    complete: bool,
    parts: Parts,
    level: BTreeMap<State, (Money, Path)>,
}

/// Follows the money of a case one way.
pub(super) fn follow(
    case: &Case,
    ledger: &Ledger<'_>,
    direction: Direction,
    means: Means,
) -> Followed {
    let mut walk = Walk {
        case,
        ledger,
        direction,
        means,
        decisions: Decisions::new(),
        complete: true,
        parts: Parts::default(),
        level: BTreeMap::new(),
    };
    match direction {
        Direction::Source => walk.begin_source(),
        Direction::Destination => walk.begin_destination(),
    }
    for hops in 1..=case.rules.hops {
        walk.recognise_ends(hops);
        if hops == case.rules.hops {
            walk.stop_everything(hops);
        } else {
            let fates = walk.decide(hops);
            walk.go_on(hops, &fates);
        }
    }
    Followed { parts: walk.parts, decisions: walk.decisions, complete: walk.complete }
}

impl Walk<'_> {
    fn largest(&self) -> usize {
        usize::try_from(self.case.rules.transfers_per_address).expect("a number of transfers")
    }

    fn received(&self) -> u128 {
        let transactions = self.ledger.transactions.iter();
        transactions.map(|transaction| transaction.income(&self.case.subject)).sum()
    }

    fn sent(&self) -> u128 {
        let transactions = self.ledger.transactions.iter();
        transactions.map(|transaction| transaction.spending(&self.case.subject)).sum()
    }

    /// What the subject received in all, what it had before the first block known here included.
    fn whole(&self) -> u128 {
        self.received().max(self.sent())
    }

    fn is_recent(&self, time: Timestamp) -> bool {
        let first_day = self.case.today - 90.days();
        time >= first_day.to_zoned(TimeZone::UTC).expect("midnight").timestamp()
    }

    /// Money of the subject itself, in base units.
    fn own(&self, base_units: u128, recent: bool, asked: bool) -> Flow {
        let money = Money::of(self.means.arithmetic.amount(base_units), recent);
        Flow { money, asked, carried: Vec::new(), path: Path::default() }
    }

    // The subject's own transactions.

    fn begin_source(&mut self) {
        let subject = &self.case.subject;
        let mut read = 0;
        for transaction in self.ledger.incoming(subject, self.largest()) {
            let income = transaction.income(subject);
            read += income;
            let recent = self.is_recent(transaction.time);
            let flow = self.own(income, recent, !self.is_unasked(transaction));
            self.back_through(transaction, &flow, 0);
        }
        let beyond = self.own(self.received() - read, false, true);
        self.end(FlowEnd::Unresolved(UnresolvedReason::Budget), 1, &beyond);
        let before = self.own(self.whole() - self.received(), false, true);
        self.end(FlowEnd::Unresolved(UnresolvedReason::UnknownOrigin), 1, &before);
    }

    fn begin_destination(&mut self) {
        let subject = &self.case.subject;
        let mut read = 0;
        for transaction in self.ledger.outgoing(subject, self.largest()) {
            let spending = transaction.spending(subject);
            read += spending;
            let flow = self.own(spending, self.is_recent(transaction.time), true);
            self.on_through(transaction, &flow, 0);
        }
        let beyond = self.own(self.sent() - read, false, true);
        self.end(FlowEnd::Unresolved(UnresolvedReason::Budget), 1, &beyond);

        let held = self.whole() - self.sent();
        let mut lately = 0;
        for transaction in self.ledger.incoming(subject, self.largest()) {
            if self.is_recent(transaction.time) {
                lately += transaction.income(subject).min(self.unspent(transaction));
            }
        }
        let lately = lately.min(held);
        for (amount, recent) in [(held - lately, false), (lately, true)] {
            let flow = self.own(amount, recent, true);
            self.end(FlowEnd::Held, 1, &flow);
        }
    }

    /// What a transaction paid the subject and the subject did not pass on.
    fn unspent(&self, transaction: &Transaction<'_>) -> u128 {
        let own = self.own_outputs(transaction).into_iter();
        let unspent = own.filter(|leg| self.ledger.spender(&leg.output).is_none());
        unspent.map(|leg| leg.value).sum()
    }

    fn own_outputs<'b>(&self, transaction: &Transaction<'b>) -> Vec<Leg<'b>> {
        let mut outputs = transaction.outputs(usize::MAX).read;
        outputs.retain(|leg| *leg.holder == self.case.subject);
        outputs
    }

    /// Whether a stranger sent it, for all that can be told, without being asked: nobody among the
    /// senders was ever paid by the subject, none of it was passed on, and it is little.
    fn is_unasked(&self, transaction: &Transaction<'_>) -> bool {
        let subject = &self.case.subject;
        if transaction.kind == TransactionKind::Coinbase
            || transaction
                .inputs
                .iter()
                .flat_map(|input| &input.coin)
                .any(|coin| coin.holder == *subject)
        {
            return false;
        }
        let inputs = transaction.inputs(self.largest());
        let outgoing = self.ledger.outgoing(subject, self.largest());
        let mut all_read = inputs.whole;
        let mut paid = BTreeSet::new();
        let mut spent = 0;
        for transaction in outgoing {
            let outputs = transaction.outputs(self.largest());
            all_read &= outputs.whole;
            spent += transaction.spending(subject);
            paid.extend(outputs.read.into_iter().map(|leg| leg.holder));
        }
        all_read &= spent == self.sent();
        let knows = inputs.read.iter().any(|leg| paid.contains(leg.holder));
        let passed_on = self
            .own_outputs(transaction)
            .iter()
            .any(|leg| self.ledger.spender(&leg.output).is_some());
        all_read
            && !knows
            && !passed_on
            && transaction.income(subject) < self.case.rules.unsolicited_below
    }

    // Ends.

    /// 1: pools, and whoever is known surely enough. Weaker labels are carried from here on.
    fn recognise_ends(&mut self, hops: u8) {
        for (state, (money, path)) in std::mem::take(&mut self.level) {
            if let Holder::Pool(pool) = state.holder {
                let key = Key {
                    end: FlowEnd::Attributed(Category::PrivacyProtocol),
                    entity: Some(pool.as_str().to_owned()),
                    hops,
                    tier: Tier::Cryptographic,
                    confidence: Confidence::CERTAIN,
                    listed: false,
                    solicited: state.asked,
                    carried: state.carried,
                };
                self.parts.add(key, &money, Moved::NotListed, &path);
                continue;
            }
            if state.holder == self.case.subject {
                self.arrive(state, &money, path);
                continue;
            }
            let known = self.case.attribution(&state.holder);
            let carried = carry(&state.carried, &known.carried, hops);
            let Some(end) = known.end else {
                self.arrive(State { carried, ..state }, &money, path);
                continue;
            };
            let key = Key {
                end: FlowEnd::Attributed(end.category),
                entity: end.entity.as_deref().map(str::to_owned),
                hops,
                tier: end.tier,
                confidence: end.confidence,
                listed: end.listed,
                solicited: state.asked,
                carried,
            };
            let moved = match (end.listed, end.listed_on) {
                (false, _) => Moved::NotListed,
                (true, None) => Moved::Undated,
                (true, Some(day)) => {
                    let listed = day.to_zoned(TimeZone::UTC).expect("midnight").timestamp();
                    if self.moved_at(&state.output) < listed { Moved::Before } else { Moved::Since }
                }
            };
            self.parts.add(key, &money, moved, &path);
        }
    }

    /// When the holder of an output gave the money, or got it.
    fn moved_at(&self, output: &OutPoint) -> Timestamp {
        let transaction = match self.direction {
            Direction::Source => self.ledger.spender(output),
            Direction::Destination => self.ledger.maker(output),
        };
        transaction.expect("money came this way").time
    }

    /// 2: the last level.
    fn stop_everything(&mut self, hops: u8) {
        for (state, (money, path)) in std::mem::take(&mut self.level) {
            let flow = state.flow(money, path);
            self.end(FlowEnd::Unresolved(UnresolvedReason::HopLimit), hops, &flow);
        }
    }

    /// 3 and 4: what is too little, and what is beyond the budget.
    fn decide(&mut self, hops: u8) -> BTreeMap<State, Fate> {
        let mut fates = BTreeMap::new();
        if let Some(decided) = &self.means.decided {
            for state in self.level.keys() {
                // Less than a unit came there when it was decided: nothing did.
                let fate = decided.get(&(hops, state.clone())).copied().unwrap_or(Fate::Cut);
                fates.insert(state.clone(), fate);
            }
            return fates;
        }
        let addresses = self.decide_by_address();
        for (holder, fate) in addresses {
            let states = self.level.iter().filter(|(state, _)| state.holder == holder);
            let mut states: Vec<(&State, BigUint)> =
                states.map(|(state, (money, _))| (state, money.total())).collect();
            // Sorting keeps the order of equals.
            states.sort_by_key(|(_, amount)| Reverse(amount.clone()));
            for (rank, (state, _)) in states.into_iter().enumerate() {
                let beyond = fate == Fate::Followed && rank >= self.largest();
                fates.insert(state.clone(), if beyond { Fate::OverBudget } else { fate });
            }
        }
        for (state, fate) in &fates {
            self.decisions.insert((hops, state.clone()), *fate);
        }
        fates
    }

    fn decide_by_address(&self) -> BTreeMap<Holder, Fate> {
        let mut sums: BTreeMap<Holder, BigUint> = BTreeMap::new();
        for (state, (money, _)) in &self.level {
            *sums.entry(state.holder.clone()).or_default() += money.total();
        }
        let mut fates = BTreeMap::new();
        let rules = &self.case.rules;
        let whole = self.means.arithmetic.amount(self.whole());
        let mut left = Vec::new();
        for (holder, sum) in sums {
            let small_share = &sum * 1_000_000_u32 < &whole * rules.cut_share;
            let small_amount = sum < self.means.arithmetic.amount(rules.cut_below);
            if small_share && small_amount {
                fates.insert(holder, Fate::Cut);
            } else {
                left.push((Reverse(sum), holder.to_bytes(), holder));
            }
        }
        left.sort();
        let budget = usize::try_from(rules.addresses_per_level).expect("a number of addresses");
        for (rank, (_, _, holder)) in left.into_iter().enumerate() {
            fates.insert(holder, if rank < budget { Fate::Followed } else { Fate::OverBudget });
        }
        fates
    }

    /// 5: the next level.
    fn go_on(&mut self, hops: u8, fates: &BTreeMap<State, Fate>) {
        for (state, (money, path)) in std::mem::take(&mut self.level) {
            let (output, fate) = (state.output, fates[&state]);
            let flow = state.flow(money, path);
            let unresolved = |reason| FlowEnd::Unresolved(reason);
            match fate {
                Fate::Cut => self.end(unresolved(UnresolvedReason::Cut), hops, &flow),
                Fate::OverBudget => self.end(unresolved(UnresolvedReason::Budget), hops, &flow),
                Fate::Followed if !self.means.haste.reads(&output.txid) => {
                    self.complete = false;
                    self.end(unresolved(UnresolvedReason::Budget), hops, &flow);
                }
                Fate::Followed => match self.direction {
                    Direction::Source => match self.ledger.maker(&output) {
                        Some(maker) => self.back_through(maker, &flow, hops),
                        None => {
                            self.end(unresolved(UnresolvedReason::UnknownOrigin), hops, &flow);
                        }
                    },
                    Direction::Destination => match self.ledger.spender(&output) {
                        Some(spender) => self.on_through(spender, &flow, hops),
                        None => self.end(FlowEnd::Held, hops, &flow),
                    },
                },
            }
        }
    }

    // Transactions.

    /// Money goes back over what a transaction spent. Of the subject's own transactions (no hops yet)
    /// the subject's side is out.
    fn back_through(&mut self, transaction: &Transaction<'_>, flow: &Flow, hops: u8) {
        match transaction.kind {
            TransactionKind::Coinbase => self.end_in(transaction, FlowEnd::Mining, hops, flow),
            TransactionKind::Coinjoin(kind) => {
                self.end_in(transaction, FlowEnd::Coinjoin(kind), hops, flow);
            }
            TransactionKind::Payment => {
                let mut legs = transaction.inputs(self.largest()).read;
                let mut all = transaction.total();
                if hops == 0 {
                    legs.retain(|leg| *leg.holder != self.case.subject);
                    all -= transaction.given_by(&self.case.subject);
                }
                let read: u128 = legs.iter().map(|leg| leg.value).sum();
                let rest = [
                    (FlowEnd::Unresolved(UnresolvedReason::UnknownOrigin), transaction.unknown),
                    (
                        FlowEnd::Unresolved(UnresolvedReason::Budget),
                        all - transaction.unknown - read,
                    ),
                ];
                self.split(transaction, flow, hops, &legs, rest);
            }
        }
    }

    /// Money goes on over what a transaction paid.
    fn on_through(&mut self, transaction: &Transaction<'_>, flow: &Flow, hops: u8) {
        if let TransactionKind::Coinjoin(kind) = transaction.kind {
            self.end_in(transaction, FlowEnd::Coinjoin(kind), hops, flow);
            return;
        }
        let mut legs = transaction.outputs(self.largest()).read;
        let mut all = transaction.paid();
        let fee = transaction.total() - all;
        if hops == 0 {
            legs.retain(|leg| *leg.holder != self.case.subject);
            all -= transaction.got_by(&self.case.subject);
        }
        let read: u128 = legs.iter().map(|leg| leg.value).sum();
        let rest =
            [(FlowEnd::Unresolved(UnresolvedReason::Budget), all - read), (FlowEnd::Fee, fee)];
        self.split(transaction, flow, hops, &legs, rest);
    }

    /// Puts shares of money at the outputs that `legs` name; the shares of `rest` end.
    fn split(
        &mut self,
        transaction: &Transaction<'_>,
        flow: &Flow,
        hops: u8,
        legs: &[Leg<'_>],
        rest: [(FlowEnd, u128); 2],
    ) {
        let weights: Vec<u128> = legs
            .iter()
            .map(|leg| leg.value)
            .chain(rest.iter().map(|(_, weight)| *weight))
            .collect();
        let sum: u128 = weights.iter().sum();
        let along = |share: &Money, weight: u128| {
            if hops == 0 || sum == 0 {
                return share.total();
            }
            (&flow.path.amount * weight / sum).min(share.total())
        };
        let mut shares = flow.money.split(&self.means.arithmetic, &weights);
        let ended = shares.split_off(legs.len());
        for (leg, share) in legs.iter().zip(shares) {
            let amount = along(&share, leg.value);
            let path = flow.path.on(transaction.txid, Some(leg.holder), amount);
            let (holder, carried) = (leg.holder.clone(), flow.carried.clone());
            let state = State { output: leg.output, holder, asked: flow.asked, carried };
            self.arrive(state, &share, path);
        }
        for ((end, weight), share) in rest.into_iter().zip(ended) {
            let path = flow.path.on(transaction.txid, None, along(&share, weight));
            let flow = Flow { money: share, path, ..flow.clone() };
            self.end(end, hops + 1, &flow);
        }
    }

    /// Equal states are one. Where there is no money there is no state.
    fn arrive(&mut self, state: State, money: &Money, path: Path) {
        if money.is_nothing() {
            return;
        }
        let known = self.level.entry(state).or_insert_with(|| (Money::default(), path.clone()));
        known.0.add(money);
        if !known.1.stays(&path) {
            known.1 = path;
        }
    }

    /// Money ends in a transaction, at nobody.
    fn end_in(&mut self, transaction: &Transaction<'_>, end: FlowEnd, hops: u8, flow: &Flow) {
        let amount = if hops == 0 { flow.money.total() } else { flow.path.amount.clone() };
        let path = flow.path.on(transaction.txid, None, amount);
        self.end(end, hops + 1, &Flow { path, ..flow.clone() });
    }

    /// Money ends, at nobody in particular.
    fn end(&mut self, end: FlowEnd, hops: u8, flow: &Flow) {
        if flow.money.is_nothing() {
            return;
        }
        let (tier, confidence) = match end {
            FlowEnd::Coinjoin(kind) => (Tier::Heuristic, kind.confidence()),
            FlowEnd::Unresolved(_) => (Tier::Behaviour, Confidence::CERTAIN),
            _ => (Tier::Cryptographic, Confidence::CERTAIN),
        };
        let key = Key {
            end,
            entity: None,
            hops,
            tier,
            confidence,
            listed: false,
            solicited: flow.asked,
            carried: flow.carried.clone(),
        };
        self.parts.add(key, &flow.money, Moved::NotListed, &flow.path);
    }
}

impl State {
    fn flow(self, money: Money, path: Path) -> Flow {
        Flow { money, asked: self.asked, carried: self.carried, path }
    }
}
