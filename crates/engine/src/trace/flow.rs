//! Money on its way: how much of it, whose it was last, and what it passed.

use std::{
    collections::{BTreeMap, btree_map::Entry},
    sync::Arc,
};

use super::{
    attribution::CarriedLabel,
    mass::Mass,
    path::{Paths, Route},
};
use crate::{evidence::Solicitation, fixed::Fraction, utxo::ScriptOwner};

/// The parts of money that a trace keeps apart at one transaction.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FlowKey {
    /// The cluster that held it last. `None` if its owner takes no part in what follows.
    pub(super) owner: Option<ScriptOwner>,
    /// True once it has changed its owner.
    pub(super) has_left: bool,
    pub(super) solicitation: Solicitation,
    /// The labels that it carries, in order.
    pub(super) carried: Arc<[CarriedLabel]>,
}

/// An amount with its decayed amount.
#[derive(Clone, Debug)]
pub(super) struct Flow {
    pub(super) mass: Mass,
    /// The mass, decayed by each hop but the first.
    pub(super) decayed: Mass,
    /// Fewest hops from the subject.
    pub(super) hops: u16,
    /// The distance of each carried label, in the order of the key's.
    pub(super) carried: Vec<Distance>,
    /// The path of the largest amount.
    pub(super) route: Route,
}

/// The distance at which money met a label.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Distance {
    /// Fewest hops from the subject.
    pub hops: u16,
    /// The mass as decayed when it met the label.
    pub decayed: Mass,
}

impl Distance {
    /// Adds the distance of other money with the same label.
    pub(crate) fn add(&mut self, other: Self) {
        self.hops = self.hops.min(other.hops);
        self.decayed += other.decayed;
    }
}

impl Flow {
    /// Money that is still with the subject.
    pub(super) const fn of(mass: Mass) -> Self {
        let route = Route { path: None, amount: mass.total() };
        Self { mass, decayed: mass, hops: 0, carried: Vec::new(), route }
    }

    /// Adds money of the same key.
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

    /// The parts of the flow by weights, in their order; their masses sum to the mass. Routes stay as they are.
    pub(super) fn split(&self, weights: &[u128]) -> Vec<Self> {
        let decayed = self.decayed.split(weights);
        let carried: Vec<Vec<Mass>> =
            self.carried.iter().map(|distance| distance.decayed.split(weights)).collect();
        let masses = self.mass.split(weights).into_iter().zip(decayed).enumerate();
        masses
            .map(|(index, (mass, decayed))| Self {
                mass,
                // Rounded apart, it must not exceed the mass.
                decayed: decayed.at_most(mass),
                carried: std::iter::zip(&self.carried, &carried)
                    .map(|(distance, parts)| Distance {
                        decayed: parts.get(index).copied().unwrap_or_default().at_most(mass),
                        ..*distance
                    })
                    .collect(),
                ..*self
            })
            .collect()
    }

    /// The flow one hop further.
    pub(super) fn hop(self, has_left: bool, decay: Fraction) -> Self {
        Self {
            decayed: if has_left { self.decayed.times(decay) } else { self.decayed },
            hops: self.hops.saturating_add(1),
            ..self
        }
    }
}

/// Flows by what keeps them apart.
#[derive(Clone, Debug, Default)]
pub(super) struct Flows(pub(super) BTreeMap<FlowKey, Flow>);

impl Flows {
    pub(super) fn add(&mut self, key: FlowKey, flow: Flow, paths: &Paths) {
        if flow.mass.is_zero() {
            return;
        }
        match self.0.entry(key) {
            Entry::Occupied(mut known) => known.get_mut().add(flow, paths),
            Entry::Vacant(place) => {
                place.insert(flow);
            }
        }
    }

    /// All masses together.
    pub(super) fn total(&self) -> u128 {
        self.0.values().fold(0, |total, flow| total.saturating_add(flow.mass.total()))
    }

    pub(super) fn one(key: FlowKey, flow: Flow) -> Self {
        Self(BTreeMap::from([(key, flow)]))
    }
}
