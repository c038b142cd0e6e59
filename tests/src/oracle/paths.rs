//! The path along which most of the money of an exposure part came (`docs/model/trace.md` T15).

use std::sync::Arc;

use assay_engine::{
    evidence::{CarriedLabel, Direction, FlowPath, PathStep, StepLabel, Tier},
    ledger::ENTRIES_PER_TRANSACTION,
    score::Confidence,
    taxonomy::Category,
    utxo::{ScriptOwner, Txid},
};
use num_bigint::BigUint;

use super::{
    Case,
    ledger::{Ledger, Transaction},
    trace::OwnEntries,
};

/// A step of a path: a transaction, with the owner on its other side. Ordered by the first two fields.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Step {
    /// Height and index in the block.
    pub(super) position: (u64, usize),
    /// Index of the owner's first input or output that was read.
    pub(super) first: Option<usize>,
    pub(super) txid: Txid,
    pub(super) owner: Option<ScriptOwner>,
}

/// Steps of a path, beginning at the subject.
pub(super) type Steps = Vec<Step>;

/// A path with the amount that came along it.
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

    /// The path extended by one step.
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

    /// True if this path is preferred to the other one.
    pub(super) fn is_preferred_to(&self, other: &Self) -> bool {
        self.amount > other.amount || (self.amount == other.amount && self.steps <= other.steps)
    }
}

/// Converts a path to the engine's type. `own_entries` limits the entries of the first step, the subject's own
/// transaction.
pub(super) fn to_flow_path(
    steps: &Steps,
    amount: u128,
    (case, ledger, (direction, own_entries)): (&Case, &Ledger<'_>, (Direction, &OwnEntries)),
) -> FlowPath {
    let all = usize::try_from(ENTRIES_PER_TRANSACTION).expect("a number of entries");
    let step = |(index, step): (usize, &Step)| {
        let is_listed =
            |owner: &ScriptOwner| case.attribution(owner).end.is_some_and(|it| it.listed);
        let largest = match own_entries.get(&step.txid) {
            // All entries of a listed party are read.
            Some(_) if index == 0 && step.owner.as_ref().is_some_and(is_listed) => usize::MAX,
            Some(most_entries) if index == 0 => *most_entries,
            _ => all,
        };
        let number = ledger.number(&step.txid).expect("money passed it");
        let transaction = &ledger.transactions[number];
        let side = match direction {
            Direction::Source => transaction.inputs(largest),
            Direction::Destination => transaction.outputs(largest),
        };
        let moved = |owner: &ScriptOwner| -> u128 {
            side.read.iter().filter(|leg| leg.owner == owner).map(|leg| leg.value).sum()
        };
        let owner = step.owner.as_ref();
        PathStep {
            blockchain: None,
            via: Vec::new(),
            transaction: step.txid.to_string(),
            address: owner.and_then(|owner| Some(owner.address(case.chain)?.to_string())),
            time: transaction.time,
            amount: owner.map(|owner| moved(owner).to_string()),
            asset: None,
            place: None,
            label: owner
                .filter(|owner| **owner != case.subject)
                .and_then(|owner| label(owner, case)),
        }
    };
    FlowPath { amount, steps: steps.iter().enumerate().map(step).collect() }
}

/// The label of an owner: the party at which traces end, or else the riskiest label.
fn label(owner: &ScriptOwner, case: &Case) -> Option<StepLabel> {
    if let ScriptOwner::Pool(pool) = owner {
        return Some(StepLabel {
            category: Category::PrivacyProtocol,
            entity: Some(pool.as_str().to_owned()),
            tier: Tier::OnChainProof,
            confidence: Confidence::CERTAIN,
            listed: false,
        });
    }
    let known = case.attribution(owner);
    let label = |category, entity: Option<Arc<str>>, tier, confidence, listed| StepLabel {
        category,
        entity: entity.map(|name| name.to_string()),
        tier,
        confidence,
        listed,
    };
    if let Some(end) = known.end {
        return Some(label(end.category, end.entity, end.tier, end.confidence, end.listed));
    }
    let risk =
        |label: &CarriedLabel| u32::from(label.severity) * u32::from(label.confidence.percent());
    let most = known.carried.iter().map(risk).max()?;
    let first = known.carried.into_iter().find(|label| risk(label) == most)?;
    Some(label(first.category, first.entity, first.tier, first.confidence, false))
}
