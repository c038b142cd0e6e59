//! The path along which most of some money came.

use assay_engine::{
    chain::ChainId,
    evidence::{FlowPath, PathStep},
    utxo::{ScriptOwner, Txid},
};
use num_bigint::BigUint;

/// Transactions, each with the owner at its other side; `None` if there is none.
pub(super) type Steps = Vec<(Txid, Option<ScriptOwner>)>;

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
    pub(super) fn step(&mut self, txid: Txid, owner: Option<&ScriptOwner>) {
        self.steps.push((txid, owner.cloned()));
    }

    /// True if it is kept in preference to the other path.
    pub(super) fn stays(&self, other: &Self) -> bool {
        self.amount > other.amount || (self.amount == other.amount && self.steps <= other.steps)
    }
}

/// A path as it is shown.
pub(super) fn shown(steps: &Steps, amount: u128, chain: ChainId) -> FlowPath {
    let step = |(txid, owner): &(Txid, Option<ScriptOwner>)| PathStep {
        transaction: txid.to_string(),
        address: owner.as_ref().and_then(|owner| Some(owner.address(chain)?.to_string())),
    };
    FlowPath { amount, steps: steps.iter().map(step).collect() }
}
