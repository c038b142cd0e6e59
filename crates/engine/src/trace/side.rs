//! One side of a transaction, by which money is split.

use ruint::aliases::U256;

use super::mass::share;
use crate::{
    evidence::{Direction, FlowEnd, UnresolvedReason},
    utxo::{FeePayer, ScriptOwner, SideEntry, TransactionView},
};

/// The inputs (source) or outputs (destination) of a transaction with their weights.
pub(super) struct Side<'t> {
    /// The entries that were read, in their order.
    pub(super) entries: Vec<&'t SideEntry>,
    /// Who paid a coinbase its fees, as far as these are followed.
    pub(super) fee_payers: Vec<&'t FeePayer>,
    /// Ends of what is in no entry that was read.
    pub(super) rest: [FlowEnd; 2],
    /// The weight of each entry and of each fee, then those of the rest.
    pub(super) weights: Vec<u128>,
    sum: U256,
}

impl<'t> Side<'t> {
    /// The side that a direction follows, without the entries of `own` and their total.
    pub(super) fn new(
        direction: Direction,
        transaction: &'t TransactionView,
        own: Option<(&ScriptOwner, u128)>,
    ) -> Self {
        let side = match direction {
            Direction::Source => &transaction.inputs,
            Direction::Destination => &transaction.outputs,
        };
        let is_own = |entry: &SideEntry| own.is_some_and(|(owner, _)| entry.output.owner == *owner);
        let mut entries: Vec<_> = side.largest.iter().filter(|entry| !is_own(entry)).collect();
        entries.sort_by_key(|entry| entry.index);
        let mut weights: Vec<u128> =
            entries.iter().map(|entry| entry.output.value.into()).collect();
        let read =
            weights.iter().copied().fold(own.map_or(0, |(_, total)| total), u128::saturating_add);
        let unread = side.total.saturating_sub(read).saturating_sub(side.unknown);
        let limit = FlowEnd::Unresolved(UnresolvedReason::TraceLimit);
        let rest = match direction {
            Direction::Source => {
                weights.extend([side.unknown, unread]);
                [FlowEnd::Unresolved(UnresolvedReason::UnknownOrigin), limit]
            }
            Direction::Destination => {
                weights.extend([unread, transaction.fee()]);
                [limit, FlowEnd::Fee]
            }
        };
        let sum = sum(&weights);
        Self { entries, fee_payers: Vec::new(), rest, weights, sum }
    }

    /// Where the money of a coinbase comes from: fees of its block, and new coins. Of `amount`, the parts for fees
    /// that are too little to be followed end here.
    pub(super) fn of_coinbase(
        transaction: &'t TransactionView,
        amount: u128,
        is_little: impl Fn(u128) -> bool,
    ) -> Self {
        let fee = |payer: &FeePayer| u128::from(payer.fee);
        let fees: u128 = transaction.fee_payers.iter().map(fee).sum();
        let mined = match transaction.outputs.total.saturating_sub(fees) {
            0 if fees == 0 => 1,
            mined => mined,
        };
        let sum = sum(&[fees, mined]);
        let (little, followed): (Vec<_>, Vec<_>) = transaction
            .fee_payers
            .iter()
            .partition(|payer| is_little(share(amount, fee(payer), sum)));
        let little = little.into_iter().map(fee).sum();
        let weights = followed.iter().copied().map(fee).chain([little, mined]).collect();
        Self {
            entries: Vec::new(),
            fee_payers: followed,
            rest: [FlowEnd::Unresolved(UnresolvedReason::BelowThreshold), FlowEnd::Mining],
            weights,
            sum,
        }
    }

    /// Number of those to whom money goes on.
    pub(super) const fn count(&self) -> u64 {
        (self.entries.len() + self.fee_payers.len()) as u64
    }

    /// The part of an amount for a weight, rounded down.
    pub(super) fn share(&self, amount: u128, weight: u128) -> u128 {
        share(amount, weight, self.sum)
    }
}

fn sum(weights: &[u128]) -> U256 {
    weights.iter().fold(U256::ZERO, |sum, weight| sum + U256::from(*weight))
}
