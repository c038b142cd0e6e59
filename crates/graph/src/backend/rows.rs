//! Rows of a graph's tables, the same in every backend.
//!
//! Transactions and owners are numbered from 0 in the order of the chain; within a transaction, owners
//! are numbered in the order of its inputs, then of its outputs. Amounts are in base units.

use assay_engine::{
    coinjoin::CoinjoinKind,
    utxo::{
        BlockRef, OutPoint, ScriptOwner, Statistics, TransactionKind, TransactionSide,
        TransactionView, Txid,
    },
};
use jiff::Timestamp;

use crate::GraphError;

/// A block. Key: its height.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockRow {
    /// The block.
    pub block: BlockRef,
    /// Work of its header; `None` where the source did not state it.
    pub work: Option<u128>,
    /// The number of its first transaction: the next number if it has none.
    pub first_transaction: i64,
    /// The number of the first owner that appears in no earlier block: the next number if there is none.
    pub first_owner: i64,
}

/// A transaction without its inputs and outputs. Key: its number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransactionRow {
    /// Number.
    pub number: i64,
    /// Height of its block.
    pub height: u64,
    /// Identifier. Not unique (BIP 30): the largest number counts.
    pub txid: Txid,
    /// Kind; stored as [`kind_number`].
    pub kind: TransactionKind,
    /// Number of inputs.
    pub inputs: i64,
    /// Number of outputs.
    pub outputs: i64,
    /// The inputs' total, those of unknown value included.
    pub input_total: i64,
    /// The outputs' total.
    pub output_total: i64,
    /// The least that inputs of unknown value are worth together.
    pub unknown: i64,
}

/// An input. Key: the transaction's number and the index. Unique: a recorded source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputRow {
    /// Number of its transaction.
    pub transaction: i64,
    /// Index among the transaction's inputs, from 0.
    pub index: u32,
    /// The output that it spends, or the pool.
    pub source: InputSource,
    /// Owner and value of the spent output; `None` where they are not known.
    pub spent: Option<TxOutRow>,
}

/// Source of an input's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputSource {
    /// A recorded output.
    Recorded {
        /// Number of the output's transaction.
        transaction: i64,
        /// Index among that transaction's outputs.
        index: u32,
    },
    /// An output from before the first recorded block.
    Unrecorded(OutPoint),
    /// A shielded pool.
    Pool,
}

/// An output. Key: the transaction's number and the index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputRow {
    /// Number of its transaction.
    pub transaction: i64,
    /// Index among the transaction's outputs, from 0.
    pub index: u32,
    /// Owner and value.
    pub output: TxOutRow,
}

/// Owner and value of an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TxOutRow {
    /// Number of the owner.
    pub owner: i64,
    /// Value in base units.
    pub value: i64,
}

/// An owner with its statistics. Key: its number. Unique: the owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnerRow {
    /// Number.
    pub number: i64,
    /// The owner; stored as [`ScriptOwner::to_bytes`].
    pub owner: ScriptOwner,
    /// Statistics over all recorded blocks.
    pub statistics: Statistics,
}

/// An entry of the undo log: an owner's statistics before a block changed them. Key: height and owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UndoRow {
    /// Height of the block.
    pub height: u64,
    /// Number of the owner.
    pub owner: i64,
    /// Statistics before the block.
    pub before: Statistics,
}

impl TransactionRow {
    /// The transaction with its totals and without entries, in a block of this time.
    #[must_use]
    pub fn bare(&self, time: Timestamp) -> TransactionView {
        let side = |count: i64, total: i64, unknown: i64| TransactionSide {
            largest: Vec::new(),
            count: count.unsigned_abs(),
            total: total.unsigned_abs().into(),
            unknown: unknown.unsigned_abs().into(),
        };
        TransactionView {
            txid: self.txid,
            height: self.height,
            time,
            kind: self.kind,
            inputs: side(self.inputs, self.input_total, self.unknown),
            outputs: side(self.outputs, self.output_total, 0),
        }
    }
}

/// The number by which a kind is stored. Numbers are only ever appended.
#[must_use]
pub const fn kind_number(kind: TransactionKind) -> i16 {
    match kind {
        TransactionKind::Payment => 0,
        TransactionKind::Coinbase => 1,
        TransactionKind::Coinjoin(CoinjoinKind::Generic) => 2,
        TransactionKind::Coinjoin(CoinjoinKind::Wasabi1) => 3,
        TransactionKind::Coinjoin(CoinjoinKind::Wasabi2) => 4,
        TransactionKind::Coinjoin(CoinjoinKind::Whirlpool) => 5,
        TransactionKind::Coinjoin(CoinjoinKind::JoinMarket) => 6,
        TransactionKind::Coinjoin(CoinjoinKind::PrivateSend) => 7,
    }
}

/// The kind that is stored as `number`.
///
/// # Errors
///
/// Returns an error if no kind has the number.
pub fn kind_from_number(number: i16) -> Result<TransactionKind, GraphError> {
    let coinjoins = CoinjoinKind::ALL.map(TransactionKind::Coinjoin);
    [TransactionKind::Payment, TransactionKind::Coinbase]
        .into_iter()
        .chain(coinjoins)
        .find(|kind| kind_number(*kind) == number)
        .ok_or_else(|| GraphError::unreadable("tx.kind", number))
}

/// The owner that is stored as `key`.
///
/// # Errors
///
/// Returns an error if the bytes are no owner.
pub fn owner_from_key(key: &[u8]) -> Result<ScriptOwner, GraphError> {
    ScriptOwner::from_bytes(key)
        .ok_or_else(|| GraphError::unreadable("holder.key", hex::encode(key)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_read_back() {
        for number in 0..8 {
            assert_eq!(kind_number(kind_from_number(number).unwrap()), number);
        }
        assert!(kind_from_number(8).is_err() && kind_from_number(-1).is_err());
    }
}
