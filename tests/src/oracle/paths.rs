//! The path along which most of some money came (`docs/model/trace.md` T15).

use assay_engine::{
    chain::ChainId,
    evidence::{FlowPath, PathStep},
    utxo::{ScriptOwner, Txid},
};
use num_bigint::BigUint;

use super::ledger::Transaction;

/// A transaction with the owner at its other side; `None` if there is none. Ordered by the first two.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Step {
    /// Height and index in the block.
    pub(super) position: (u64, usize),
    /// The first entry of the owner among those that were read.
    pub(super) first: Option<usize>,
    pub(super) txid: Txid,
    pub(super) owner: Option<ScriptOwner>,
}

/// Steps from the subject on.
pub(super) type Steps = Vec<Step>;

/// A path and what came along it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Path {
    pub(super) steps: Steps,
    pub(super) amount: BigUint,
}

impl Path {
    /// The path with its share of the amount, rounded down.
    pub(super) fn share(&self, weight: u128, sum: u128) -> Self {
        let amount = if sum == 0 { BigUint::ZERO } else { &self.amount * weight / sum };
        Self { steps: self.steps.clone(), amount }
    }

    /// The path one step on.
    pub(super) fn step(
        &mut self,
        transaction: &Transaction<'_>,
        to: Option<(&ScriptOwner, usize)>,
    ) {
        self.steps.push(Step {
            position: transaction.position,
            first: to.map(|(_, first)| first),
            txid: transaction.txid,
            owner: to.map(|(owner, _)| owner.clone()),
        });
    }

    /// True if it is kept in preference to the other path.
    pub(super) fn stays(&self, other: &Self) -> bool {
        self.amount > other.amount || (self.amount == other.amount && self.steps <= other.steps)
    }
}

/// A path as it is shown.
pub(super) fn shown(steps: &Steps, amount: u128, chain: ChainId) -> FlowPath {
    let step = |step: &Step| PathStep {
        transaction: step.txid.to_string(),
        address: step.owner.as_ref().and_then(|owner| Some(owner.address(chain)?.to_string())),
    };
    FlowPath { amount, steps: steps.iter().map(step).collect() }
}
