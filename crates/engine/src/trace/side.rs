//! One side of a transaction, over which funds are split.

use crate::{
    composition::Composition,
    evidence::{Direction, FlowEnd, UnresolvedReason},
    ledger::{OwnerNumber, mass::share},
    reading::{FeePayer, TransactionEntry, TransactionRead},
};

/// The inputs (source) or outputs (destination) of a transaction with their weights.
#[derive(Debug, Default)]
pub(super) struct Side {
    /// The inputs or outputs that were read, in the order of the transaction.
    pub(super) entries: Vec<TransactionEntry>,
    /// Payers of a coinbase's fees, as far as the fees are followed.
    pub(super) fee_payers: Vec<FeePayer>,
    /// Endpoints of amounts that are in no input or output that was read.
    pub(super) rest: [Option<FlowEnd>; 2],
    /// The composition (breakdown by origin) of the funds that are not followed: of fees that are too small, or of
    /// inputs that were not read. `None` if it is not known.
    pub(super) made_of: Option<Composition>,
    /// Weights of the inputs or outputs that were read, of the fees, and of the rest, in this order.
    pub(super) weights: Vec<u128>,
    sum: u128,
}

impl Side {
    /// Sets the content to the side that a direction follows, without the inputs or outputs of `own` and their total.
    pub(super) fn fill(
        &mut self,
        direction: Direction,
        transaction: &TransactionRead,
        own: Option<(OwnerNumber, u128)>,
    ) {
        self.fee_payers.clear();
        self.entries.clear();
        self.made_of = None;
        let is_own = |entry: &TransactionEntry| own.is_some_and(|(owner, _)| entry.owner == owner);
        self.entries.extend(transaction.entries.iter().filter(|entry| !is_own(entry)));
        self.weights.clear();
        self.weights.extend(self.entries.iter().map(|entry| u128::from(entry.value)));
        let own = own.map_or(0, |(_, total)| total);
        let read = self.weights.iter().copied().fold(own, u128::saturating_add);
        let side = transaction.side(direction);
        let unread = side.total.saturating_sub(read).saturating_sub(side.unknown);
        let limit = FlowEnd::Unresolved(UnresolvedReason::TraceLimit);
        self.rest = match direction {
            Direction::Source => {
                self.weights.extend([side.unknown, unread]);
                [Some(FlowEnd::Unresolved(UnresolvedReason::UnknownOrigin)), Some(limit)]
            }
            Direction::Destination => {
                self.weights.extend([unread, transaction.fee()]);
                [Some(limit), Some(FlowEnd::Fee)]
            }
        };
        self.add_up();
    }

    /// Sets the content to the origins of a coinbase: the fees of its block, and new coins. Parts of `amount` for fees
    /// that are too small to be followed end at this transaction. If one fee is too small, all smaller fees are too.
    pub(super) fn fill_of_coinbase(
        &mut self,
        transaction: &TransactionRead,
        amount: u128,
        is_little: impl Fn(u128) -> bool,
    ) {
        self.entries.clear();
        self.fee_payers.clear();
        self.weights.clear();
        self.made_of = None;
        let fee = |payer: &FeePayer| u128::from(payer.fee);
        let fees: u128 = transaction.fee_payers.iter().map(fee).sum();
        let mined = match transaction.outputs.total.saturating_sub(fees) {
            0 if fees == 0 => 1,
            mined => mined,
        };
        // The largest fees come first.
        let all = fees.saturating_add(mined);
        let is_followed = |payer: &FeePayer| !is_little(share(amount, fee(payer), all));
        let followed = transaction.fee_payers.partition_point(is_followed);
        self.fee_payers.extend(transaction.fee_payers.iter().take(followed));
        self.weights.extend(self.fee_payers.iter().map(fee));
        let little = fees.saturating_sub(self.weights.iter().sum());
        self.weights.extend([little, mined]);
        let below = FlowEnd::Unresolved(UnresolvedReason::BelowThreshold);
        self.rest = [Some(below), Some(FlowEnd::Mining)];
        self.add_up();
    }

    fn add_up(&mut self) {
        self.sum = self.weights.iter().copied().fold(0, u128::saturating_add);
    }

    /// Number of entries and fees to which funds are passed on.
    pub(super) const fn count(&self) -> u64 {
        (self.entries.len() + self.fee_payers.len()) as u64
    }

    /// True for the endpoint of funds that are not followed because they are too little or were not read.
    pub(super) const fn is_not_followed(end: FlowEnd) -> bool {
        use UnresolvedReason::{BelowThreshold, TraceLimit};
        matches!(end, FlowEnd::Unresolved(BelowThreshold | TraceLimit))
    }

    /// The weight of the funds that are not followed because they are too little or were not read.
    pub(super) fn not_followed(&self) -> u128 {
        let weights = self.weights.iter().skip(self.entries.len() + self.fee_payers.len());
        let rest = self.rest.iter().flatten().zip(weights);
        rest.filter(|(end, _)| Self::is_not_followed(**end)).map(|(_, weight)| *weight).sum()
    }

    /// The new coins of a coinbase, in base units; 0 for other transactions.
    pub(super) fn mined(&self) -> u64 {
        let weights = self.weights.iter().skip(self.entries.len() + self.fee_payers.len());
        let rest = self.rest.iter().flatten().zip(weights);
        let mined = rest.filter(|(end, _)| **end == FlowEnd::Mining).map(|(_, weight)| *weight);
        u64::try_from(mined.sum::<u128>()).unwrap_or(u64::MAX)
    }

    /// Sum of all weights.
    pub(super) const fn sum(&self) -> u128 {
        self.sum
    }

    /// The part of an amount for a weight, rounded down.
    pub(super) fn share(&self, amount: u128, weight: u128) -> u128 {
        share(amount, weight, self.sum)
    }
}
