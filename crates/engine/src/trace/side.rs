//! One side of a transaction, by which money is split.

use ruint::aliases::U256;

use super::mass::share;
use crate::{
    evidence::{Direction, FlowEnd, UnresolvedReason},
    utxo::{ScriptOwner, SideEntry, TransactionView},
};

/// The inputs (source) or outputs (destination) of a transaction with their weights.
pub(super) struct Side<'t> {
    /// The entries that were read, in their order.
    pub(super) entries: Vec<&'t SideEntry>,
    /// Ends of what is in no entry that was read.
    pub(super) rest: [FlowEnd; 2],
    /// The weight of each entry, then those of the rest.
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
        let sum = weights.iter().fold(U256::ZERO, |sum, weight| sum + U256::from(*weight));
        Self { entries, rest, weights, sum }
    }

    /// The part of an amount for a weight, rounded down.
    pub(super) fn share(&self, amount: u128, weight: u128) -> u128 {
        share(amount, weight, self.sum)
    }
}
