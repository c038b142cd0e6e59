//! The paths that funds took, step by step (`docs/model/trace.md` T15).

use std::cmp::Ordering;

use rustc_hash::FxHashMap;

use crate::ledger::{OwnerNumber, TransactionNumber};

/// Identifier of a path that begins at the subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct PathId(u32);

/// The steps of all paths, each with a reference to the previous one. Paths with equal steps share an identifier.
#[derive(Debug, Default)]
pub(super) struct Paths {
    steps: Vec<Step>,
    known: FxHashMap<(Option<PathId>, TransactionNumber, Option<OwnerNumber>), PathId>,
}

/// A transaction that funds passed, with the owner to whom the funds went.
#[derive(Clone, Copy, Debug)]
struct Step {
    before: Option<PathId>,
    /// Number of previous steps.
    depth: u32,
    transaction: TransactionNumber,
    /// Position of the transaction in the chain.
    position: u64,
    owner: Option<OwnerNumber>,
    /// Index of the owner's first entry.
    index: Option<u32>,
}

/// A transaction on a path.
#[derive(Clone, Copy, Debug)]
pub(super) struct PathTransaction {
    pub(super) transaction: TransactionNumber,
    pub(super) position: u64,
}

impl Paths {
    /// Extends a path by one transaction that leads to an owner by the input or output at an index; `None` for newly
    /// mined coins and fees. Callers pass the inputs or outputs of a transaction in the order of their indexes.
    pub(super) fn step(
        &mut self,
        before: Option<PathId>,
        passed: PathTransaction,
        to: Option<(OwnerNumber, u32)>,
    ) -> PathId {
        let (owner, index) = to.unzip();
        let Self { steps, known } = self;
        *known.entry((before, passed.transaction, owner)).or_insert_with(|| {
            let depth = before.map_or(0, |PathId(number)| {
                steps.get(number as usize).map_or(0, |step| step.depth.saturating_add(1))
            });
            let PathTransaction { transaction, position } = passed;
            steps.push(Step { before, depth, transaction, position, owner, index });
            PathId(u32::try_from(steps.len() - 1).unwrap_or(u32::MAX))
        })
    }

    /// Updates the positions of all transactions on paths with the positions that `position_of` returns.
    pub(super) fn set_positions<E>(
        &mut self,
        mut position_of: impl FnMut(TransactionNumber) -> Result<Option<u64>, E>,
    ) -> Result<(), E> {
        for step in &mut self.steps {
            step.position = position_of(step.transaction)?.unwrap_or(step.position);
        }
        Ok(())
    }

    fn get(&self, path: PathId) -> Option<&Step> {
        self.steps.get(path.0 as usize)
    }

    /// The steps of a path, from the subject's own transaction on.
    pub(super) fn steps(&self, path: PathId) -> Vec<(TransactionNumber, Option<OwnerNumber>)> {
        let mut steps = Vec::new();
        let mut at = Some(path);
        while let Some(step) = at.and_then(|path| self.get(path)) {
            steps.push((step.transaction, step.owner));
            at = step.before;
        }
        steps.reverse();
        steps
    }

    /// Compares routes by amount, largest first, then by their steps: by the positions of the transactions in the
    /// chain, then by the first entries of the owners to which they lead. If one route is the beginning of the other,
    /// the shorter route comes first.
    pub(super) fn order(&self, a: &Route, b: &Route) -> Ordering {
        b.amount.cmp(&a.amount).then_with(|| self.order_of_steps(a.path, b.path))
    }

    fn order_of_steps(&self, a: Option<PathId>, b: Option<PathId>) -> Ordering {
        let step = |path: Option<PathId>| path.and_then(|path| self.get(path));
        let depth = |path| step(path).map_or(-1, |step: &Step| i64::from(step.depth));
        let (mut up_a, mut up_b) = (a, b);
        while depth(up_a) > depth(up_b) {
            up_a = step(up_a).and_then(|step| step.before);
        }
        while depth(up_b) > depth(up_a) {
            up_b = step(up_b).and_then(|step| step.before);
        }
        // The last two that differ on the way up are the first ones that differ on the way down.
        let mut order = depth(a).cmp(&depth(b));
        while up_a != up_b {
            let (Some(one), Some(other)) = (step(up_a), step(up_b)) else { break };
            order = (one.position, one.index).cmp(&(other.position, other.index));
            (up_a, up_b) = (one.before, other.before);
        }
        order
    }
}

/// A path and the amount that took the path.
#[derive(Clone, Copy, Debug)]
pub(super) struct Route {
    /// The path; `None` for funds that are still with the subject.
    pub(super) path: Option<PathId>,
    pub(super) amount: u128,
}
