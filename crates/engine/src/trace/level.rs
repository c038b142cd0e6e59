//! One level of a trace: attributed flows end, small flows are cut, the largest addresses are followed
//! within the budget, and their transactions lead to the next level.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use ruint::aliases::U256;

use super::{
    Attribution, DirectionalTrace, TraceRules,
    attribution::{AttributedEnd, carry},
    mass::{Mass, scaled, share},
    state::{Paths, Route, State, StateKey, States},
};
use crate::{
    evidence::{Direction, FlowEnd, Tier, UnresolvedReason},
    score::Confidence,
    taxonomy::Category,
    utxo::{OutPoint, ScriptOwner, TransactionKind, TransactionView},
};

/// Millionths in one.
const MILLION: u128 = 1_000_000;

/// The states at one distance from the subject.
#[derive(Debug)]
pub(super) struct Level {
    /// Hops from the subject.
    pub(super) hop: u8,
    pub(super) states: States,
}

impl Level {
    /// The level of direct counterparties, empty.
    pub(super) fn first() -> Self {
        Self { hop: 1, states: States::default() }
    }

    /// The outputs of the states.
    pub(super) fn outputs(&self) -> impl Iterator<Item = OutPoint> {
        self.states.0.keys().map(|key| key.output)
    }
}

impl DirectionalTrace<'_> {
    /// Applies attributions, cuts and the budget: the remaining states are to be followed.
    pub(super) fn apply_rules(&mut self, subject: &ScriptOwner, rules: &TraceRules) {
        let remaining = self.end_attributed(subject);
        if self.level.hop >= rules.hops {
            self.unresolved(remaining, UnresolvedReason::DepthLimit);
            return;
        }
        self.level.states = self.within_budget(remaining, rules);
    }

    /// Ends the flows that reached an attributed address; the others continue and carry its weaker labels.
    fn end_attributed(&mut self, subject: &ScriptOwner) -> States {
        let hop = self.level.hop;
        let mut known: BTreeMap<ScriptOwner, Arc<Attribution>> = BTreeMap::new();
        let mut remaining = States::default();
        for (key, state) in std::mem::take(&mut self.level.states.0) {
            if state.owner == *subject {
                remaining.add(key, state, &self.paths);
                continue;
            }
            let attribution = if let Some(known) = known.get(&state.owner) {
                Arc::clone(known)
            } else {
                let found = Arc::new(self.attribution_of(&state.owner));
                known.insert(state.owner.clone(), Arc::clone(&found));
                found
            };
            let carried = if attribution.carried.is_empty() {
                key.carried
            } else {
                carry(&key.carried, &attribution.carried, hop)
            };
            match &attribution.end {
                Some(end) => {
                    self.ends.attributed(end, hop, key.solicited, &carried, &state);
                }
                None => remaining.add(StateKey { carried, ..key }, state, &self.paths),
            }
        }
        remaining
    }

    fn attribution_of(&self, owner: &ScriptOwner) -> Attribution {
        let ScriptOwner::Pool(pool) = owner else {
            return (self.attribute)(owner);
        };
        Attribution {
            end: Some(AttributedEnd {
                category: Category::PrivacyProtocol,
                entity: Some(pool.as_str().into()),
                tier: Tier::OnChainProof,
                confidence: Confidence::CERTAIN,
                listed: false,
                listed_by: None,
                listed_on: None,
            }),
            carried: vec![],
        }
    }

    /// Cuts small flows and keeps within the budget. Both count addresses: all states of an address are
    /// followed, or none. Of a followed address, no more outputs are followed than transfers are read of it;
    /// and of all together no more than a level may have.
    fn within_budget(&mut self, states: States, rules: &TraceRules) -> States {
        let mut amounts: BTreeMap<&ScriptOwner, Mass> = BTreeMap::new();
        for state in states.0.values() {
            *amounts.entry(&state.owner).or_default() += state.mass;
        }
        let whole = scaled(self.whole);
        let is_small = |mass: Mass| {
            mass.total() < scaled(rules.stop_trace_below)
                && mass.total().saturating_mul(MILLION)
                    < whole.saturating_mul(u128::from(rules.stop_below_share_millionths))
        };
        let mut ranked: Vec<(u128, &ScriptOwner)> = amounts
            .iter()
            .filter(|(_, mass)| !is_small(**mass))
            .map(|(owner, mass)| (mass.total(), *owner))
            .collect();
        ranked.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(b.1)));
        let budget = usize::try_from(rules.addresses_per_hop).unwrap_or(usize::MAX);
        let over: BTreeSet<ScriptOwner> =
            ranked.iter().skip(budget).map(|(_, owner)| (*owner).clone()).collect();
        let followed: BTreeSet<ScriptOwner> =
            ranked.into_iter().take(budget).map(|(_, owner)| owner.clone()).collect();

        let mut next: BTreeMap<ScriptOwner, Vec<(StateKey, State)>> = BTreeMap::new();
        let (mut cut, mut beyond) = (States::default(), States::default());
        for (key, state) in states.0 {
            if followed.contains(&state.owner) {
                next.entry(state.owner.clone()).or_default().push((key, state));
            } else if over.contains(&state.owner) {
                beyond.0.insert(key, state);
            } else {
                cut.0.insert(key, state);
            }
        }
        let transfers = usize::try_from(rules.transfers_per_address).unwrap_or(usize::MAX);
        let mut remaining = Vec::new();
        for (_, mut states) in next {
            beyond.0.extend(smallest_beyond(&mut states, transfers));
            remaining.extend(states);
        }
        let most = usize::try_from(rules.states_per_level).unwrap_or(usize::MAX);
        remaining.sort_by(|a, b| a.0.cmp(&b.0));
        beyond.0.extend(smallest_beyond(&mut remaining, most));
        self.unresolved(cut, UnresolvedReason::BelowThreshold);
        self.unresolved(beyond, UnresolvedReason::TraceLimit);
        States(remaining.into_iter().collect())
    }

    /// Ends all states as unresolved.
    fn unresolved(&mut self, states: States, reason: UnresolvedReason) {
        let hop = self.level.hop;
        for (key, state) in states.0 {
            let end = FlowEnd::Unresolved(reason);
            self.ends.plain(end, hop, key.solicited, &key.carried, state.mass, state.route);
        }
    }

    /// Ends all open states; returns whether there were any.
    pub(super) fn end_open(&mut self, reason: UnresolvedReason) -> bool {
        let open = std::mem::take(&mut self.level.states);
        let any = !open.0.is_empty();
        self.unresolved(open, reason);
        any
    }

    /// Proceeds to the next level over the transactions that were read; returns whether all of them were.
    pub(super) fn expand<'s>(
        &mut self,
        read: impl Fn(&OutPoint) -> Option<&'s Option<TransactionView>>,
    ) -> bool {
        let mut complete = true;
        let states = std::mem::take(&mut self.level.states);
        let hop = self.level.hop;
        let mut next = States::default();
        for (key, state) in states.0 {
            let end = match (read(&key.output), self.direction) {
                (None, _) => {
                    complete = false;
                    FlowEnd::Unresolved(UnresolvedReason::TraceLimit)
                }
                (Some(None), Direction::Source) => {
                    FlowEnd::Unresolved(UnresolvedReason::UnknownOrigin)
                }
                (Some(None), Direction::Destination) => FlowEnd::Unspent,
                (Some(Some(transaction)), _) => {
                    self.follow(&key, &state, transaction, &mut next);
                    continue;
                }
            };
            self.ends.plain(end, hop, key.solicited, &key.carried, state.mass, state.route);
        }
        self.level = Level { hop: hop.saturating_add(1), states: next };
        complete
    }

    /// Follows one state through `transaction`.
    fn follow(
        &mut self,
        key: &StateKey,
        state: &State,
        transaction: &TransactionView,
        next: &mut States,
    ) {
        let hop = self.level.hop.saturating_add(1);
        let ended = match transaction.kind {
            TransactionKind::Payment => None,
            TransactionKind::Coinbase => Some(FlowEnd::Mining),
            TransactionKind::Coinjoin(kind) => Some(FlowEnd::Coinjoin(kind)),
        };
        let txid = transaction.txid;
        if let Some(end) = ended {
            let path = self.paths.step(Some(state.route.path), txid, None);
            let route = Route { path, ..state.route };
            self.ends.plain(end, hop, key.solicited, &key.carried, state.mass, route);
            return;
        }
        let side = match self.direction {
            Direction::Source => &transaction.inputs,
            Direction::Destination => &transaction.outputs,
        };
        let mut entries: Vec<_> = side.largest.iter().collect();
        entries.sort_by_key(|entry| entry.index);
        let listed: u128 = entries.iter().map(|entry| u128::from(entry.output.value)).sum();
        let unread = side.total.saturating_sub(listed).saturating_sub(side.unknown);
        let mut weights: Vec<u128> =
            entries.iter().map(|entry| entry.output.value.into()).collect();
        let budget = FlowEnd::Unresolved(UnresolvedReason::TraceLimit);
        let rest = match self.direction {
            Direction::Source => {
                weights.extend([side.unknown, unread]);
                [FlowEnd::Unresolved(UnresolvedReason::UnknownOrigin), budget]
            }
            Direction::Destination => {
                weights.extend([unread, transaction.fee()]);
                [budget, FlowEnd::Fee]
            }
        };
        let sum = weights.iter().fold(U256::ZERO, |sum, weight| sum + U256::from(*weight));
        let mut shares = state.mass.split(&weights).into_iter().zip(weights);
        let route = |paths: &mut Paths, weight, owner| Route {
            path: paths.step(Some(state.route.path), txid, owner),
            amount: share(state.route.amount, weight, sum),
        };
        for (entry, (mass, weight)) in entries.into_iter().zip(&mut shares) {
            if mass.is_zero() {
                continue;
            }
            let route = route(&mut self.paths, weight, Some(&entry.output.owner));
            let key = StateKey { output: entry.outpoint, ..key.clone() };
            let owner = entry.output.owner.clone();
            next.add(key, State { owner, mass, moved_at: transaction.time, route }, &self.paths);
        }
        for ((mass, weight), end) in shares.zip(rest) {
            if mass.is_zero() {
                continue;
            }
            let route = route(&mut self.paths, weight, None);
            self.ends.plain(end, hop, key.solicited, &key.carried, mass, route);
        }
    }
}

/// Removes and returns the smallest of sorted states, so that `most` remain.
fn smallest_beyond(states: &mut Vec<(StateKey, State)>, most: usize) -> Vec<(StateKey, State)> {
    if states.len() <= most {
        return Vec::new();
    }
    // Stable: equal states keep their order.
    states.sort_by_key(|(_, state)| Reverse(state.mass.total()));
    states.split_off(most)
}
