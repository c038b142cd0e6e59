//! What a graph's tables hold, row by row, whatever the backend.
//!
//! Transactions and owners are numbered from 0 in the order of the chain; within a transaction,
//! owners appear in the order of its inputs, then of its outputs.

use assay_engine::{
    coinjoin::CoinjoinKind,
    utxo::{
        BlockRef, OutPoint, ScriptOwner, Statistics, TransactionKind, TransactionSide,
        TransactionView, Txid,
    },
};
use jiff::Timestamp;

use crate::GraphError;

/// A block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BlockRow {
    pub(crate) block: BlockRef,
    /// The number that its first transaction has, or would have.
    pub(crate) first_transaction: i64,
    /// The number that the first owner has who appears in it first, or would have.
    pub(crate) first_owner: i64,
}

/// A transaction without its legs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TransactionRow {
    pub(crate) number: i64,
    pub(crate) height: u64,
    pub(crate) txid: Txid,
    pub(crate) kind: TransactionKind,
    pub(crate) inputs: i64,
    pub(crate) outputs: i64,
    /// What the inputs are worth, those that are not known included.
    pub(crate) input_total: i64,
    pub(crate) output_total: i64,
    pub(crate) unknown: i64,
}

/// An input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct InputRow {
    pub(crate) transaction: i64,
    pub(crate) index: u32,
    pub(crate) spends: Spends,
    pub(crate) spent: Option<TxOutRow>,
}

/// What an input spends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spends {
    /// An output that is recorded.
    Recorded { transaction: i64, index: u32 },
    /// An output that is not.
    Elsewhere(OutPoint),
    /// Nothing: it came out of a pool.
    Pool,
}

/// An output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OutputRow {
    pub(crate) transaction: i64,
    pub(crate) index: u32,
    pub(crate) output: TxOutRow,
}

/// What an output is worth and the number of who can spend it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TxOutRow {
    pub(crate) owner: i64,
    pub(crate) value: i64,
}

/// An owner with what it did so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OwnerRow {
    pub(crate) number: i64,
    pub(crate) owner: ScriptOwner,
    pub(crate) statistics: Statistics,
}

/// What an owner had done before a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UndoRow {
    pub(crate) height: u64,
    pub(crate) owner: i64,
    pub(crate) before: Statistics,
}

impl TransactionRow {
    /// The transaction without any legs.
    pub(crate) fn bare(&self, time: Timestamp) -> TransactionView {
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
pub(crate) const fn kind_number(kind: TransactionKind) -> i16 {
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
pub(crate) fn kind(number: i16) -> Result<TransactionKind, GraphError> {
    let coinjoins = CoinjoinKind::ALL.map(TransactionKind::Coinjoin);
    [TransactionKind::Payment, TransactionKind::Coinbase]
        .into_iter()
        .chain(coinjoins)
        .find(|kind| kind_number(*kind) == number)
        .ok_or_else(|| GraphError::unreadable("tx.kind", number))
}

/// The owner that is stored as `key`.
pub(crate) fn owner(key: &[u8]) -> Result<ScriptOwner, GraphError> {
    ScriptOwner::from_bytes(key)
        .ok_or_else(|| GraphError::unreadable("holder.key", hex::encode(key)))
}

/// The identifier that is stored as `bytes`.
pub(crate) fn txid(bytes: &[u8]) -> Result<Txid, GraphError> {
    Ok(Txid::from_bytes(hash("tx.txid", bytes)?))
}

/// The hash that is stored as `bytes`.
pub(crate) fn hash(what: &'static str, bytes: &[u8]) -> Result<[u8; 32], GraphError> {
    bytes.try_into().map_err(|_| GraphError::unreadable(what, hex::encode(bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_read_back() {
        for number in 0..8 {
            assert_eq!(kind_number(kind(number).unwrap()), number);
        }
        assert!(kind(8).is_err() && kind(-1).is_err());
    }
}
