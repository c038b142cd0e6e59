//! Numbers of outputs by their transactions, for backends that do not number outputs by themselves.

use assay_engine::reading::{OutputNumber, TransactionNumber};

/// Bits of an index: more than a block has room for outputs.
const INDEX_BITS: u32 = 24;

/// The number of an output, by the number of its transaction and its index.
#[must_use]
pub fn output_number(transaction: i64, index: u32) -> OutputNumber {
    OutputNumber(transaction.unsigned_abs() << INDEX_BITS | u64::from(index))
}

/// The transaction and the index of an output.
#[must_use]
pub fn transaction_and_index(output: OutputNumber) -> (TransactionNumber, u32) {
    let index = output.0 & ((1 << INDEX_BITS) - 1);
    (TransactionNumber(output.0 >> INDEX_BITS), u32::try_from(index).unwrap_or(u32::MAX))
}
