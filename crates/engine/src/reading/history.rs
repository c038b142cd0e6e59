//! The transactions of one owner, by number.

use jiff::Timestamp;

use super::TransactionNumber;
use crate::utxo::{Statistics, history::change};

/// An owner's statistics with its largest transactions in both directions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnHistory {
    /// Statistics over its lifetime.
    pub statistics: Statistics,
    /// The transactions that created its largest outputs, in the order of the chain.
    pub incoming: Vec<OwnTransaction>,
    /// The transactions that spent its largest outputs, in the order of the chain.
    pub outgoing: Vec<OwnTransaction>,
}

/// A transaction with the amounts that it moved to and from one owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnTransaction {
    /// The transaction.
    pub number: TransactionNumber,
    /// Time of its block.
    pub time: Timestamp,
    /// The total of all its inputs in base units, those of unknown value included.
    pub inputs: u128,
    /// The total of its outputs to the owner in base units, change included.
    pub received: u128,
    /// The total of its inputs from the owner in base units.
    pub sent: u128,
    /// The part of `received` that is not spent, for an incoming transaction; 0 for an outgoing one.
    pub unspent: u128,
    /// True if any of its outputs to the owner is spent, for an incoming transaction.
    pub is_passed_on: bool,
}

impl OwnTransaction {
    /// What the owner paid itself ([`change`]), in a transaction whose inputs are worth `inputs` together.
    #[must_use]
    pub fn change(&self, inputs: u128) -> u128 {
        change(self.sent, self.received, inputs)
    }

    /// What it received net of change.
    #[must_use]
    pub fn income(&self, inputs: u128) -> u128 {
        self.received - self.change(inputs)
    }

    /// What it sent net of change.
    #[must_use]
    pub fn spending(&self, inputs: u128) -> u128 {
        self.sent - self.change(inputs)
    }
}
