//! An address's statistics and largest transactions, as a trace reads them.

use jiff::Timestamp;
use ruint::aliases::U256;

use super::{ScriptOwner, TransactionView};

/// An address's statistics with its largest transactions in both directions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct History {
    /// Statistics over its lifetime.
    pub statistics: Statistics,
    /// The transactions that created its largest outputs, with their inputs, in any order.
    pub incoming: Vec<HistoryEntry>,
    /// The transactions that spent its largest outputs, with their outputs, in any order.
    pub outgoing: Vec<HistoryEntry>,
}

impl History {
    /// The owners of all inputs and outputs that were read, with repetitions.
    pub fn owners(&self) -> impl Iterator<Item = &ScriptOwner> {
        let inputs = self.incoming.iter().flat_map(|entry| &entry.transaction.inputs.largest);
        let outputs = self.outgoing.iter().flat_map(|entry| &entry.transaction.outputs.largest);
        inputs.chain(outputs).map(|entry| &entry.output.owner)
    }
}

/// A transaction with the amounts that it moved to and from one address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryEntry {
    /// The transaction.
    pub transaction: TransactionView,
    /// The total of its outputs to the address in base units, change included.
    pub received: u128,
    /// The total of its inputs from the address in base units.
    pub sent: u128,
    /// Its outputs to the address, for an incoming entry; none for an outgoing one.
    pub outputs: Vec<OwnOutput>,
}

/// An output to the address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnOutput {
    /// Index among the transaction's outputs, from 0.
    pub index: u32,
    /// Amount in base units.
    pub value: u64,
    /// True if the output was spent.
    pub spent: bool,
}

impl HistoryEntry {
    /// The address's change in base units ([`change`]).
    #[must_use]
    pub fn change(&self) -> u128 {
        change(self.sent, self.received, self.transaction.inputs.total)
    }
}

/// The change of an address in a transaction: the received part of the amount that it sent, in
/// proportion to its part of all inputs, `floor(sent x received / inputs)`. Both directions of a
/// trace use this one rounding.
#[must_use]
pub fn change(sent: u128, received: u128, inputs: u128) -> u128 {
    if inputs == 0 {
        return 0;
    }
    let product = U256::from(sent) * U256::from(received) / U256::from(inputs);
    u128::try_from(product).unwrap_or(u128::MAX).min(sent).min(received)
}

/// Statistics of an address over its lifetime. Amounts are in base units and net of change
/// ([`change`]), transaction by transaction: change is no income.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Statistics {
    /// Time of the first block with one of its transactions.
    pub first_seen: Timestamp,
    /// Time of the last one.
    pub last_seen: Timestamp,
    /// Number of transactions by which it received anything, net.
    pub transactions_in: u64,
    /// Number of transactions by which it sent anything, net.
    pub transactions_out: u64,
    /// Total received.
    pub received: u128,
    /// Total sent, fees included. `received - sent` is its balance.
    pub sent: u128,
}

impl Statistics {
    /// The statistics of an address that first appears in a block of this time, before any transaction
    /// is counted.
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
