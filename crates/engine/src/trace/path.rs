//! The ways that money took, step by step.

use std::{cmp::Ordering, collections::HashMap};

use crate::utxo::{ScriptOwner, Txid};

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
                return Ordering::Equal;
            }
            let steps = |route: &Route| route.path.map(|path| self.steps(path));
            steps(a).cmp(&steps(b))
        })
    }
}

/// A path and the amount that took it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Route {
    /// The steps; `None` for money that is still with the subject.
    pub(super) path: Option<PathId>,
    pub(super) amount: u128,
}
