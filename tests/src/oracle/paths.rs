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
    /// The path one step on, along which `amount` came.
    pub(super) fn on(&self, txid: Txid, owner: Option<&ScriptOwner>, amount: BigUint) -> Self {
        let mut steps = self.steps.clone();
        steps.push((txid, owner.cloned()));
        Self { steps, amount }
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
