//! The rule of `docs/scoring.md`, section 3, "How money is followed", a second time: sentence by
//! sentence, over a whole chain in memory, without any thought of speed.

use std::{cmp::Reverse, collections::BTreeMap};

use assay_engine::{
    evidence::{Direction, FlowEnd, Tier, UnresolvedReason},
    score::Confidence,
    taxonomy::Category,
    trace::attribution::CarriedLabel,
    utxo::{OutPoint, ScriptOwner},
};
use jiff::{Timestamp, ToSpan, tz::TimeZone};
use num_bigint::BigUint;

use super::{
    Case,
    amounts::{Arithmetic, Money},
    carried::carry,
    drive::Haste,
    ledger::{Ledger, Transaction},
    parts::{Key, Moved, Parts},
    paths::Path,
};

/// Money is at an output.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct State {
    pub(super) output: OutPoint,
    /// Owner of the output; the output determines it.
    pub(super) owner: ScriptOwner,
    pub(super) asked: bool,
    pub(super) carried: Vec<CarriedLabel>,
}

/// Money that is being followed, with the labels on its path.
#[derive(Clone, Debug)]
pub(super) struct Flow {
    pub(super) money: Money,
    pub(super) asked: bool,
    pub(super) carried: Vec<CarriedLabel>,
    pub(super) path: Path,
}

/// Outcome of a state at a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Cut,
    OverBudget,
    Followed,
}

/// Outcome of each state at each level.
pub(super) type Decisions = BTreeMap<(u8, State), Fate>;

/// One direction, followed to its end.
#[derive(Debug)]
pub(super) struct Followed {
    pub(super) parts: Parts,
    pub(super) decisions: Decisions,
    /// True if all requested data was read.
    pub(super) complete: bool,
}

/// Settings for following a direction.
#[derive(Clone, Debug)]
pub(super) struct Means {
    pub(super) arithmetic: Arithmetic,
    /// Earlier decisions to repeat; otherwise they are made during the trace.
    pub(super) decided: Option<Decisions>,
    pub(super) haste: Haste,
}

/// One direction under way.
pub(super) struct Walk<'a> {
    pub(super) case: &'a Case,
    pub(super) ledger: &'a Ledger<'a>,
    pub(super) direction: Direction,
    pub(super) means: Means,
    pub(super) decisions: Decisions,
    pub(super) complete: bool,
    pub(super) parts: Parts,
    pub(super) level: BTreeMap<State, (Money, Path)>,
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
    pub(super) fn largest(&self) -> usize {
        usize::try_from(self.case.rules.transfers_per_address).expect("a number of transfers")
    }

    /// Number of inputs or outputs of each of so many transactions that are read.
    pub(super) fn room(&self, among: usize) -> usize {
        let all = usize::try_from(self.case.rules.entries_per_level).expect("a number of legs");
        let room = all.checked_div(among).unwrap_or(all);
        room.clamp(1, self.largest())
    }

    pub(super) fn received(&self) -> u128 {
        let transactions = self.ledger.transactions.iter();
        transactions.map(|transaction| transaction.income(&self.case.subject)).sum()
    }

    pub(super) fn sent(&self) -> u128 {
        let transactions = self.ledger.transactions.iter();
        transactions.map(|transaction| transaction.spending(&self.case.subject)).sum()
    }

    /// Total that the subject received, amounts from before the first known block included.
    pub(super) fn whole(&self) -> u128 {
        self.received().max(self.sent())
    }

    pub(super) fn is_recent(&self, time: Timestamp) -> bool {
        let first_day = self.case.today - 90.days();
        time >= first_day.to_zoned(TimeZone::UTC).expect("midnight").timestamp()
    }

    /// 1: pools, and owners with a reliable attribution. Weaker labels are carried from here on.
    pub(super) fn recognise_ends(&mut self, hops: u8) {
        for (state, (money, path)) in std::mem::take(&mut self.level) {
            if let ScriptOwner::Pool(pool) = state.owner {
                let key = Key {
                    end: FlowEnd::Attributed(Category::PrivacyProtocol),
                    entity: Some(pool.as_str().to_owned()),
                    hops,
                    tier: Tier::OnChainProof,
                    confidence: Confidence::CERTAIN,
                    listed: false,
                    solicited: state.asked,
                    carried: state.carried,
                };
                self.parts.add(key, &money, Moved::NotListed, &path);
                continue;
            }
            if state.owner == self.case.subject {
                self.arrive(state, &money, path);
                continue;
            }
            let known = self.case.attribution(&state.owner);
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

    /// Time at which the owner of an output sent or received the money.
    pub(super) fn moved_at(&self, output: &OutPoint) -> Timestamp {
        let transaction = match self.direction {
            Direction::Source => self.ledger.spender(output),
            Direction::Destination => self.ledger.block_builder(output),
        };
        transaction.expect("money came this way").time
    }

    /// 2: the last level.
    pub(super) fn stop_everything(&mut self, hops: u8) {
        for (state, (money, path)) in std::mem::take(&mut self.level) {
            let flow = state.flow(money, path);
            self.end(FlowEnd::Unresolved(UnresolvedReason::DepthLimit), hops, &flow);
        }
    }

    /// 3 and 4: amounts below the threshold, and those beyond the budget.
    pub(super) fn decide(&mut self, hops: u8) -> BTreeMap<State, Fate> {
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
        for (owner, fate) in addresses {
            let states = self.level.iter().filter(|(state, _)| state.owner == owner);
            let mut states: Vec<(&State, BigUint)> =
                states.map(|(state, (money, _))| (state, money.total())).collect();
            // Sorting keeps the order of equals.
            states.sort_by_key(|(_, amount)| Reverse(amount.clone()));
            for (rank, (state, _)) in states.into_iter().enumerate() {
                let beyond = fate == Fate::Followed && rank >= self.largest();
                fates.insert(state.clone(), if beyond { Fate::OverBudget } else { fate });
            }
        }
        let followed = self.level.iter().filter(|(state, _)| fates[state] == Fate::Followed);
        let mut followed: Vec<(State, BigUint)> =
            followed.map(|(state, (money, _))| (state.clone(), money.total())).collect();
        followed.sort_by_key(|(_, amount)| Reverse(amount.clone()));
        let most = usize::try_from(self.case.rules.states_per_level).expect("a number of states");
        for (state, _) in followed.into_iter().skip(most) {
            fates.insert(state, Fate::OverBudget);
        }
        for (state, fate) in &fates {
            self.decisions.insert((hops, state.clone()), *fate);
        }
        fates
    }

    pub(super) fn decide_by_address(&self) -> BTreeMap<ScriptOwner, Fate> {
        let mut sums: BTreeMap<ScriptOwner, BigUint> = BTreeMap::new();
        for (state, (money, _)) in &self.level {
            *sums.entry(state.owner.clone()).or_default() += money.total();
        }
        let mut fates = BTreeMap::new();
        let rules = &self.case.rules;
        let whole = self.means.arithmetic.amount(self.whole());
        let mut left = Vec::new();
        for (owner, sum) in sums {
            let small_share = &sum * 1_000_000_u32 < &whole * rules.stop_below_share_millionths;
            let small_amount = sum < self.means.arithmetic.amount(rules.stop_trace_below);
            if small_share && small_amount {
                fates.insert(owner, Fate::Cut);
            } else {
                left.push((Reverse(sum), owner.to_bytes(), owner));
            }
        }
        left.sort();
        let budget = usize::try_from(rules.addresses_per_hop).expect("a number of addresses");
        for (rank, (_, _, owner)) in left.into_iter().enumerate() {
            fates.insert(owner, if rank < budget { Fate::Followed } else { Fate::OverBudget });
        }
        fates
    }

    /// 5: the next level.
    pub(super) fn go_on(&mut self, hops: u8, fates: &BTreeMap<State, Fate>) {
        let room = self.room(fates.values().filter(|fate| **fate == Fate::Followed).count());
        for (state, (money, path)) in std::mem::take(&mut self.level) {
            let (output, fate) = (state.output, fates[&state]);
            let flow = state.flow(money, path);
            let unresolved = |reason| FlowEnd::Unresolved(reason);
            match fate {
                Fate::Cut => self.end(unresolved(UnresolvedReason::BelowThreshold), hops, &flow),
                Fate::OverBudget => self.end(unresolved(UnresolvedReason::TraceLimit), hops, &flow),
                Fate::Followed if !self.means.haste.reads(&output.txid) => {
                    self.complete = false;
                    self.end(unresolved(UnresolvedReason::TraceLimit), hops, &flow);
                }
                Fate::Followed => match self.direction {
                    Direction::Source => match self.ledger.block_builder(&output) {
                        Some(block_builder) => self.back_through(block_builder, &flow, hops, room),
                        None => {
                            self.end(unresolved(UnresolvedReason::UnknownOrigin), hops, &flow);
                        }
                    },
                    Direction::Destination => match self.ledger.spender(&output) {
                        Some(spender) => self.on_through(spender, &flow, hops, room),
                        None => self.end(FlowEnd::Unspent, hops, &flow),
                    },
                },
            }
        }
    }

    /// Adds money to a state; equal states are merged. Without money no state is added.
    pub(super) fn arrive(&mut self, state: State, money: &Money, path: Path) {
        if money.is_nothing() {
            return;
        }
        let known = self.level.entry(state).or_insert_with(|| (Money::default(), path.clone()));
        known.0.add(money);
        if !known.1.stays(&path) {
            known.1 = path;
        }
    }

    /// Money ends in a transaction, without a party.
    pub(super) fn end_in(
        &mut self,
        transaction: &Transaction<'_>,
        end: FlowEnd,
        hops: u8,
        flow: &Flow,
    ) {
        let amount = if hops == 0 { flow.money.total() } else { flow.path.amount.clone() };
        let path = flow.path.on(transaction.txid, None, amount);
        self.end(end, hops + 1, &Flow { path, ..flow.clone() });
    }

    /// Money ends without a party.
    pub(super) fn end(&mut self, end: FlowEnd, hops: u8, flow: &Flow) {
        if flow.money.is_nothing() {
            return;
        }
        let (tier, confidence) = match end {
            FlowEnd::Coinjoin(kind) => (Tier::Heuristic, kind.confidence()),
            FlowEnd::Unresolved(_) => (Tier::Behavior, Confidence::CERTAIN),
            _ => (Tier::OnChainProof, Confidence::CERTAIN),
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
    pub(super) fn flow(self, money: Money, path: Path) -> Flow {
        Flow { money, asked: self.asked, carried: self.carried, path }
    }
}
