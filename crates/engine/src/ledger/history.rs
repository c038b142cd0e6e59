//! Histories: an owner's statistics over its lifetime, and its transactions by number.

use jiff::Timestamp;
use ruint::aliases::U256;

use super::TransactionNumber;

/// The change of an address in a transaction: the amount that the address sent to itself, in proportion to the
/// address's share of all inputs, `floor(sent x received / inputs)`. Both directions of a trace use this rounding.
#[must_use]
pub fn change(sent: u128, received: u128, inputs: u128) -> u128 {
    if inputs == 0 || sent == 0 || received == 0 {
        return 0;
    }
    let product = U256::from(sent) * U256::from(received) / U256::from(inputs);
    u128::try_from(product).unwrap_or(u128::MAX).min(sent).min(received)
}

/// Statistics of an address over its lifetime. Amounts are in base units and net of change ([`change`]) in each
/// transaction, because change is not income.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Statistics {
    /// Time of the first block with a transaction of the address.
    pub first_seen: Timestamp,
    /// Time of the last block with a transaction of the address.
    pub last_seen: Timestamp,
    /// Number of transactions by which the address received an amount, net of change.
    pub transactions_in: u64,
    /// Number of transactions by which the address sent an amount, net of change.
    pub transactions_out: u64,
    /// Total received.
    pub received: u128,
    /// Total sent, fees included. `received - sent` is the address's balance.
    pub sent: u128,
}

impl Statistics {
    /// Empty statistics of an address that first appears in a block of this time.
    #[must_use]
    pub const fn new(time: Timestamp) -> Self {
        Self {
            first_seen: time,
            last_seen: time,
            transactions_in: 0,
            transactions_out: 0,
            received: 0,
            sent: 0,
        }
    }

    /// Counts a transaction in a block of this time: `sent` and `received` are the totals of the
    /// address's inputs and outputs, `inputs` is the total of all inputs.
    pub fn count(&mut self, time: Timestamp, sent: u128, received: u128, inputs: u128) {
        let change = change(sent, received, inputs);
        let (income, expense) = (received - change, sent - change);
        self.last_seen = time;
        self.transactions_in += u64::from(income > 0);
        self.transactions_out += u64::from(expense > 0);
        self.received += income;
        self.sent += expense;
    }
}

/// An owner's statistics with the owner's largest transactions in both directions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnHistory {
    /// Statistics over the owner's lifetime.
    pub statistics: Statistics,
    /// The transactions that created the owner's largest outputs, in the order of the chain.
    pub incoming: Vec<OwnTransaction>,
    /// The transactions that spent the owner's largest outputs, in the order of the chain.
    pub outgoing: Vec<OwnTransaction>,
}

/// A transaction with the amounts that the transaction moved to and from one owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnTransaction {
    /// The transaction.
    pub number: TransactionNumber,
    /// Time of the transaction's block.
    pub time: Timestamp,
    /// The total of all the transaction's inputs in base units, inputs of unknown value included.
    pub inputs: u128,
    /// The total of the transaction's outputs to the owner in base units, change included.
    pub received: u128,
    /// The total of the transaction's inputs from the owner in base units.
    pub sent: u128,
    /// Unspent part of `received`, for an incoming transaction; 0 for an outgoing one.
    pub unspent: u128,
    /// True if any of the transaction's outputs to the owner is spent, for an incoming transaction.
    pub is_passed_on: bool,
}

impl OwnTransaction {
    /// Amount that the owner paid to itself ([`change`]), in a transaction with inputs of `inputs` in total.
    #[must_use]
    pub fn change(&self, inputs: u128) -> u128 {
        change(self.sent, self.received, inputs)
    }

    /// Amount that the owner received, net of change.
    #[must_use]
    pub fn income(&self, inputs: u128) -> u128 {
        self.received - self.change(inputs)
    }

    /// Amount that the owner sent, net of change.
    #[must_use]
    pub fn spending(&self, inputs: u128) -> u128 {
        self.sent - self.change(inputs)
    }
}
