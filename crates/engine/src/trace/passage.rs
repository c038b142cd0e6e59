//! A transaction that funds pass, and reusable memory to split flows over the inputs or outputs.

use jiff::Timestamp;

use super::{flow::Flow, path::Route};
use crate::{
    evidence::LabelDistance,
    ledger::{Mass, OwnerNumber, TransactionNumber, mass::SplitScratch},
    reading::TransactionRead,
    utxo::{TransactionKind, coinjoin::CoinjoinKind},
};

/// A transaction that funds pass.
#[derive(Clone, Copy, Debug)]
pub(super) struct Passage {
    pub(super) transaction: TransactionNumber,
    pub(super) position: u64,
    pub(super) time: Timestamp,
    pub(super) joint: Option<CoinjoinKind>,
    /// True for a joint transaction that pays the subject and that its owner takes no part in: it is used one hop away.
    pub(super) is_of_others: bool,
}

impl Passage {
    pub(super) const fn of(transaction: &TransactionRead) -> Self {
        let joint = match transaction.kind {
            TransactionKind::Coinjoin(kind) => Some(kind),
            TransactionKind::Coinbase | TransactionKind::Payment => None,
        };
        let TransactionRead { number, position, time, .. } = *transaction;
        Self { transaction: number, position, time, joint, is_of_others: false }
    }
}

/// Reusable memory for the passage of one transaction.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    split: SplitScratch,
    masses: Vec<Mass>,
    decayed: Vec<Mass>,
    /// The parts of each carried label's decayed amount.
    carried: Vec<Vec<Mass>>,
    /// Cluster of each entry.
    pub(super) clusters: Vec<OwnerNumber>,
    /// The clusters, sorted.
    pub(super) here: Vec<OwnerNumber>,
}

impl Scratch {
    /// Splits a flow by the weights of a side (inputs or outputs).
    pub(super) fn split(&mut self, flow: &Flow, weights: &[u128]) {
        let Self { split, masses, decayed, carried, .. } = self;
        flow.mass.split(weights, masses, split);
        if flow.decayed == flow.mass {
            decayed.clone_from(masses);
        } else {
            flow.decayed.split(weights, decayed, split);
        }
        carried.resize_with(flow.carried.len(), Vec::new);
        for (distance, parts) in flow.carried.iter().zip(carried) {
            distance.decayed.split(weights, parts, split);
        }
    }

    /// The part of a flow for the weight at an index, with the same share of the path's amount.
    pub(super) fn part(&self, flow: &Flow, index: usize, amount: u128) -> Option<Flow> {
        let mass = *self.masses.get(index)?;
        let carried =
            flow.carried.iter().zip(&self.carried).map(|(distance, parts)| LabelDistance {
                decayed: parts.get(index).copied().unwrap_or_default().at_most(mass),
                ..*distance
            });
        Some(Flow {
            mass,
            // Rounded apart, it must not exceed the mass.
            decayed: self.decayed.get(index)?.at_most(mass),
            hops: flow.hops,
            carried: carried.collect(),
            route: Route { amount, ..flow.route },
        })
    }
}
