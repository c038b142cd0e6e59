//! States of a trace: outputs that flows reached, and the paths to them.

use std::{
    cmp::Ordering,
    collections::{BTreeMap, HashMap},
};

use jiff::Timestamp;

use super::{attribution::CarriedLabel, mass::Mass};
use crate::utxo::{OutPoint, ScriptOwner, Txid};

/// The identifier of a path from the subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct PathId(usize);

/// The steps of all paths, each with the previous one. Paths of equal steps are one path.
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
    /// A path that is one transaction longer and leads to `owner`; `None` for newly mined coins and fees.
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

    /// The steps of a path, from the subject's own transaction on.
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

    /// The order of routes: by amount, largest first, then by steps, so that it does not depend on how
    /// transactions were read.
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

/// A path and the amount that took it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Route {
    pub(super) path: PathId,
    pub(super) amount: u128,
}

/// The key of a state: two flows at the same output that carry the same labels are one state.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct StateKey {
    pub(super) output: OutPoint,
    pub(super) solicited: bool,
    pub(super) carried: Vec<CarriedLabel>,
}

/// An amount at an output.
#[derive(Clone, Debug)]
pub(super) struct State {
    /// Owner of the output.
    pub(super) owner: ScriptOwner,
    pub(super) mass: Mass,
    /// Time at which it left the output (source) or arrived (destination).
    pub(super) moved_at: Timestamp,
    /// The path of the largest amount.
    pub(super) route: Route,
}

/// All states at one distance from the subject.
#[derive(Debug, Default)]
pub(super) struct States(pub(super) BTreeMap<StateKey, State>);

impl States {
    /// Adds a state, or its amount to the state with the same key.
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
