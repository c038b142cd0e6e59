//! Flows: amounts that a trace follows, with their last owner and the labels that they passed (`docs/model/trace.md`
//! T5).

use rustc_hash::{FxHashMap, FxHashSet};

use super::{
    label_sets::LabelSet,
    path::{Paths, Route},
};
use crate::{
    evidence::{LabelDistance, Solicitation},
    fixed::Fraction,
    ledger::{Mass, OwnerNumber},
};

/// The key by which a trace separates flows at one transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct FlowKey {
    /// The cluster that held the funds last; `None` where flows of several owners are split together.
    pub(super) owner: Option<OwnerNumber>,
    /// True once the funds have changed their owner.
    pub(super) has_left: bool,
    pub(super) solicitation: Solicitation,
    /// The labels that the funds carry.
    pub(super) carried: LabelSet,
}

/// An amount that a trace follows, with the amount that remains after decay by hops.
#[derive(Clone, Debug)]
pub(super) struct Flow {
    pub(super) mass: Mass,
    /// The amount, decayed by each hop but the first.
    pub(super) decayed: Mass,
    /// Fewest hops from the subject.
    pub(super) hops: u16,
    /// Distance of each carried label, in the order of the key's labels.
    pub(super) carried: Vec<LabelDistance>,
    /// Path of the largest amount.
    pub(super) route: Route,
}

impl Flow {
    /// Funds that are still with the subject.
    pub(super) const fn of(mass: Mass) -> Self {
        let route = Route { path: None, amount: mass.total() };
        Self { mass, decayed: mass, hops: 0, carried: Vec::new(), route }
    }

    /// Adds funds of the same key.
    pub(super) fn add(&mut self, other: Self, paths: &Paths) {
        self.mass += other.mass;
        self.decayed += other.decayed;
        self.hops = self.hops.min(other.hops);
        for (distance, other) in self.carried.iter_mut().zip(other.carried) {
            distance.add(other);
        }
        if paths.order(&other.route, &self.route).is_lt() {
            self.route = other.route;
        }
    }

    /// The flow after one more hop.
    pub(super) fn hop(self, has_left: bool, decay: Fraction) -> Self {
        Self {
            decayed: if has_left { self.decayed.times(decay) } else { self.decayed },
            hops: self.hops.saturating_add(1),
            ..self
        }
    }
}

/// Flows by key, in the order in which they were added.
#[derive(Debug, Default)]
pub(super) struct Flows {
    entries: Vec<(FlowKey, Flow)>,
    /// Index by key, for many flows; few flows are searched linearly.
    indexes: FxHashMap<FlowKey, usize>,
}

/// Number of flows from which on an index is used.
const MANY: usize = 16;

impl Flows {
    pub(super) fn one(key: FlowKey, flow: Flow) -> Self {
        Self { entries: vec![(key, flow)], indexes: FxHashMap::default() }
    }

    pub(super) fn add(&mut self, key: FlowKey, flow: Flow, paths: &Paths) {
        if flow.mass.is_zero() {
            return;
        }
        if self.entries.len() >= MANY && self.indexes.is_empty() {
            let keys = self.entries.iter().map(|(key, _)| *key);
            self.indexes = keys.enumerate().map(|(index, key)| (key, index)).collect();
        }
        let known = self.index_of(&key);
        if let Some((_, known)) = known.and_then(|index| self.entries.get_mut(index)) {
            known.add(flow, paths);
        } else {
            if self.entries.len() >= MANY {
                self.indexes.insert(key, self.entries.len());
            }
            self.entries.push((key, flow));
        }
    }

    /// The flow of a key.
    pub(super) fn get(&self, key: &FlowKey) -> Option<&Flow> {
        let known = self.index_of(key).and_then(|index| self.entries.get(index));
        known.map(|(_, flow)| flow)
    }

    fn index_of(&self, key: &FlowKey) -> Option<usize> {
        if self.indexes.is_empty() {
            self.entries.iter().position(|(known, _)| known == key)
        } else {
            self.indexes.get(key).copied()
        }
    }

    /// Total of all masses.
    pub(super) fn total(&self) -> u128 {
        self.iter().fold(0, |total, (_, flow)| total.saturating_add(flow.mass.total()))
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &(FlowKey, Flow)> {
        self.entries.iter()
    }

    /// Number of flows that differ in more than their owner.
    pub(super) fn kinds(&self) -> u64 {
        let kind = |key: &FlowKey| FlowKey { owner: None, ..*key };
        match &self.entries[..] {
            [(first, _), rest @ ..] if rest.iter().all(|(key, _)| kind(key) == kind(first)) => 1,
            entries => {
                let kinds: FxHashSet<FlowKey> = entries.iter().map(|(key, _)| kind(key)).collect();
                kinds.len() as u64
            }
        }
    }
}

impl IntoIterator for Flows {
    type Item = (FlowKey, Flow);
    type IntoIter = std::vec::IntoIter<(FlowKey, Flow)>;

    fn into_iter(self) -> Self::IntoIter {
        self.entries.into_iter()
    }
}
