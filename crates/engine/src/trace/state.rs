//! States of a trace: outputs that money passed through, and the paths to them.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::{attribution::CarriedLabel, mass::Mass};
use crate::coins::{Holder, OutPoint, Txid};

/// Names a path from the subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PathId(usize);

/// The steps of all paths, each with the one before it.
#[derive(Debug, Default)]
pub(super) struct Paths(Vec<Step>);

#[derive(Debug)]
struct Step {
    before: Option<PathId>,
    transaction: Txid,
    holder: Option<Holder>,
}

impl Paths {
    /// A path one transaction longer, that leads to `holder`; `None` where it leads to nobody (newly
    /// mined coins, a fee).
    pub(super) fn step(
        &mut self,
        before: Option<PathId>,
        transaction: Txid,
        holder: Option<Holder>,
    ) -> PathId {
        self.0.push(Step { before, transaction, holder });
        PathId(self.0.len() - 1)
    }

    /// The steps of a path, the subject's own transaction first.
    pub(super) fn steps(&self, path: PathId) -> Vec<(Txid, Option<&Holder>)> {
        let mut steps = Vec::new();
        let mut at = Some(path);
        while let Some(step) = at.and_then(|PathId(place)| self.0.get(place)) {
            steps.push((step.transaction, step.holder.as_ref()));
            at = step.before;
        }
        steps.reverse();
        steps
    }
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
    pub(super) holder: Holder,
    pub(super) mass: Mass,
    /// When it moved from there (source) or came there (destination).
    pub(super) moved_at: Timestamp,
    /// The path by which most of it came, and how much that was.
    pub(super) path: PathId,
    pub(super) by_path: u128,
}

/// All states at one distance from the subject.
#[derive(Debug, Default)]
pub(super) struct States(pub(super) BTreeMap<StateKey, State>);

impl States {
    /// Adds a state, or what it holds to the equal one.
    pub(super) fn add(&mut self, key: StateKey, state: State) {
        if state.mass.is_zero() {
            return;
        }
        match self.0.get_mut(&key) {
            Some(known) => {
                known.mass += state.mass;
                if state.by_path > known.by_path {
                    (known.path, known.by_path) = (state.path, state.by_path);
                }
            }
            None => {
                self.0.insert(key, state);
            }
        }
    }
}
