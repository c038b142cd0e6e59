//! Transactions of Bitcoin-like chains, as a trace reads them.

use std::{fmt, str::FromStr};

use jiff::Timestamp;

use super::ScriptOwner;
use crate::coinjoin::CoinjoinKind;

/// Identifies a transaction; written as explorers write it, last byte first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Txid([u8; 32]);

impl Txid {
    /// From the bytes in the order in which they are written.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// From a hash as it comes out of SHA-256 and stands in blocks: the other way round.
    #[must_use]
    pub fn from_hash(mut hash: [u8; 32]) -> Self {
        hash.reverse();
        Self(hash)
    }

    /// The bytes in the order in which they are written.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

/// A text that is no transaction identifier.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a transaction identifier: it has 64 hexadecimal digits")]
pub struct InvalidTxid(String);

impl FromStr for Txid {
    type Err = InvalidTxid;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut bytes = [0; 32];
        match hex::decode_to_slice(text, &mut bytes) {
            Ok(()) => Ok(Self(bytes)),
            Err(_) => Err(InvalidTxid(text.chars().take(80).collect())),
        }
    }
}

impl fmt::Display for Txid {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&hex::encode(self.0))
    }
}

impl fmt::Debug for Txid {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

/// Names an output: the transaction that made it, and its place there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OutPoint {
    /// The transaction.
    pub txid: Txid,
    /// Its place among the transaction's outputs, from 0.
    pub index: u32,
}

impl fmt::Display for OutPoint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}", self.txid, self.index)
    }
}

/// What a transaction is, as far as it decides where a trace ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransactionKind {
    /// Somebody pays somebody.
    Payment,
    /// Makes new coins.
    Coinbase,
    /// Several people hide who pays whom.
    Coinjoin(CoinjoinKind),
}

/// A transaction, or the side of it that was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CoinTransaction {
    /// Its identifier.
    pub txid: Txid,
    /// The height of its block.
    pub height: u64,
    /// The time of its block.
    pub time: Timestamp,
    /// What it is.
    pub kind: TransactionKind,
    /// The outputs that it spends. Empty, with its totals, where it was not asked for.
    pub inputs: Legs,
    /// The outputs that it makes. Empty, with its totals, where it was not asked for.
    pub outputs: Legs,
}

impl CoinTransaction {
    /// What was left to whoever mined it; nothing for a coinbase.
    #[must_use]
    pub const fn fee(&self) -> u128 {
        match self.kind {
            TransactionKind::Coinbase => 0,
            TransactionKind::Payment | TransactionKind::Coinjoin(_) => {
                self.inputs.total.saturating_sub(self.outputs.total)
            }
        }
    }
}

/// One side of a transaction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Legs {
    /// The largest ones, by value, then by place; all of them unless there are more than were asked
    /// for.
    pub legs: Vec<Leg>,
    /// How many there are.
    pub count: u64,
    /// What all of them are worth together, in base units, `unknown` included.
    pub total: u128,
    /// What those are worth together whose value and owner are not known because they were made
    /// before the first block known here. Never more than `total`; nothing for outputs.
    pub unknown: u128,
}

/// An output, on either side of a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leg {
    /// Its place on this side, from 0: an input's place among the inputs.
    pub place: u32,
    /// The output.
    pub output: OutPoint,
    /// Who can spend it.
    pub owner: ScriptOwner,
    /// Its value in base units.
    pub value: u64,
}

/// What an address did, with its largest transactions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct History {
    /// Over its lifetime.
    pub statistics: Statistics,
    /// The transactions that made its largest outputs, with their inputs, in any order.
    pub incoming: Vec<HistoryEntry>,
    /// The transactions that spent its largest outputs, with their outputs, in any order.
    pub outgoing: Vec<HistoryEntry>,
}

/// A transaction from an address's point of view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryEntry {
    /// The transaction.
    pub transaction: CoinTransaction,
    /// What the address got by it in base units, change included: all of its outputs to the address.
    pub received: u128,
    /// What the address gave: all of its inputs from the address.
    pub sent: u128,
    /// The outputs to the address, where the entry is an incoming one.
    pub outputs: Vec<OwnOutput>,
}

/// An output to the address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnOutput {
    /// Its place among the transaction's outputs.
    pub index: u32,
    /// Its value in base units.
    pub value: u64,
    /// Whether it was spent.
    pub spent: bool,
}

impl HistoryEntry {
    /// What came back to the address as change: what it paid itself, in proportion to its part of the
    /// inputs. `floor(sent x received / all inputs)`; the one rounding on which both directions agree.
    #[must_use]
    pub fn returned(&self) -> u128 {
        returned(self.sent, self.received, self.transaction.inputs.total)
    }
}

/// What an address paid itself in a transaction: `floor(sent x received / inputs)`.
#[must_use]
pub fn returned(sent: u128, received: u128, inputs: u128) -> u128 {
    use ruint::aliases::U256;
    if inputs == 0 {
        return 0;
    }
    let product = U256::from(sent) * U256::from(received) / U256::from(inputs);
    u128::try_from(product).unwrap_or(u128::MAX).min(sent).min(received)
}

/// An address over its lifetime. Amounts are in base units and net of what it paid itself, transaction
/// by transaction ([`returned`]): change is no income.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Statistics {
    /// Time of the first block it appears in.
    pub first_seen: Timestamp,
    /// Time of the last.
    pub last_seen: Timestamp,
    /// Transactions that paid it anything, net.
    pub transactions_in: u64,
    /// Transactions in which it paid anything, net.
    pub transactions_out: u64,
    /// Received in all.
    pub received: u128,
    /// Sent in all, fees included. `received - sent` is what it holds.
    pub sent: u128,
}
