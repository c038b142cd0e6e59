//! States of a trace: outputs that money passed through, and the paths to them.

use std::{
    cmp::Ordering,
    collections::{BTreeMap, HashMap},
};

use jiff::Timestamp;

use super::{attribution::CarriedLabel, mass::Mass};
use crate::utxo::{OutPoint, ScriptOwner, Txid};

/// Names a path from the subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct PathId(usize);

/// The steps of all paths, each with the one before it. Paths of equal steps are one.
#[derive(Debug, Default)]
pub(super) struct Paths {
    steps: Vec<Step>,
    known: HashMap<Step, PathId>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Step {
    before: Option<PathId>,
    transaction: Txid,
    owner: Option<ScriptOwner>,
}

impl Paths {
    /// A path one transaction longer, that leads to `owner`; `None` where it leads to nobody (newly
    /// mined coins, a fee).
    pub(super) fn step(
        &mut self,
        before: Option<PathId>,
        transaction: Txid,
        owner: Option<&ScriptOwner>,
    ) -> PathId {
        let step = Step { before, transaction, owner: owner.cloned() };
        let steps = &mut self.steps;
        *self.known.entry(step).or_insert_with_key(|step| {
            steps.push(step.clone());
            PathId(steps.len() - 1)
        })
    }

    /// The steps of a path, the subject's own transaction first.
    pub(super) fn steps(&self, path: PathId) -> Vec<(Txid, Option<&ScriptOwner>)> {
        let mut steps = Vec::new();
        let mut at = Some(path);
        while let Some(step) = at.and_then(|PathId(place)| self.steps.get(place)) {
            steps.push((step.transaction, step.owner.as_ref()));
            at = step.before;
        }
        steps.reverse();
        steps
    }

    /// The larger amount first; between equals the path whose steps come first, so that no order in
    /// which anything was read shows.
    pub(super) fn order(&self, a: &Route, b: &Route) -> Ordering {
        b.amount.cmp(&a.amount).then_with(|| {
            if a.path == b.path {
                Ordering::Equal
            } else {
                self.steps(a.path).cmp(&self.steps(b.path))
            }
        })
    }
}

/// A path and how much took it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Route {
    pub(super) path: PathId,
    pub(super) amount: u128,
}

/// What tells states apart: two flows that are at the same output and carry the same are one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct StateKey {
    pub(super) output: OutPoint,
    pub(super) solicited: bool,
    pub(super) carried: Vec<CarriedLabel>,
}

/// Money at an output.
#[derive(Clone, Debug)]
pub(super) struct State {
    /// Who could spend the output.
    pub(super) owner: ScriptOwner,
    pub(super) mass: Mass,
    /// When it moved from there (source) or came there (destination).
    pub(super) moved_at: Timestamp,
    /// How most of it came.
    pub(super) route: Route,
}

/// All states at one distance from the subject.
#[derive(Debug, Default)]
pub(super) struct States(pub(super) BTreeMap<StateKey, State>);

impl States {
    /// Adds a state, or what it holds to the equal one.
    pub(super) fn add(&mut self, key: StateKey, state: State, paths: &Paths) {
        if state.mass.is_zero() {
            return;
        }
        match self.0.get_mut(&key) {
            Some(known) => {
                known.mass += state.mass;
                if paths.order(&state.route, &known.route).is_lt() {
                    known.route = state.route;
                }
            }
            None => {
                self.0.insert(key, state);
            }
        }
    }
}
