//! Answers assembled from rows.

use std::collections::HashMap;

use assay_engine::utxo::{SideEntry, TransactionView};
use jiff::Timestamp;

use super::rows::TransactionRow;

/// A transaction's row with the time of its block.
#[derive(Clone, Debug)]
pub struct TransactionHead {
    /// The row.
    pub row: TransactionRow,
    /// Time of its block.
    pub time: Timestamp,
}

/// Entries of one side, by the number of their transaction.
pub type SideEntries = HashMap<i64, Vec<SideEntry>>;

impl TransactionHead {
    /// The transaction with the entries of both sides.
    #[must_use]
    pub fn with(&self, inputs: &SideEntries, outputs: &SideEntries) -> TransactionView {
        let mut transaction = self.row.bare(self.time);
        let entries = |side: &SideEntries| side.get(&self.row.number).cloned().unwrap_or_default();
        transaction.inputs.largest = entries(inputs);
        transaction.outputs.largest = entries(outputs);
        transaction
    }
}

/// Truncates each transaction's entries to the `most` largest, by value, then by index.
pub fn keep_largest(side: &mut SideEntries, most: u32) {
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    for entries in side.values_mut() {
        entries.sort_unstable_by_key(|entry| (std::cmp::Reverse(entry.output.value), entry.index));
        entries.truncate(most);
    }
}
