//! Answers assembled from rows.

use std::collections::HashMap;

use assay_engine::utxo::{
    FeePayer, History, HistoryEntry, OwnOutput, SideEntry, Statistics, TransactionView,
};
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

/// The inputs of transactions, and who paid the fees of those that are coinbases.
#[derive(Clone, Debug, Default)]
pub struct Inputs {
    /// The inputs.
    pub entries: SideEntries,
    /// The payers of coinbases ([`FeePayer::of_block`]), by the number of the coinbase.
    pub fee_payers: HashMap<i64, Vec<FeePayer>>,
}

impl TransactionHead {
    /// The transaction with the entries of one side or of both.
    #[must_use]
    pub fn with(&self, inputs: Option<&Inputs>, outputs: Option<&SideEntries>) -> TransactionView {
        let mut transaction = self.row.bare(self.time);
        let entries = |side: Option<&SideEntries>| {
            side.and_then(|side| side.get(&self.row.number)).cloned().unwrap_or_default()
        };
        transaction.inputs.largest = entries(inputs.map(|inputs| &inputs.entries));
        transaction.outputs.largest = entries(outputs);
        let payers = inputs.and_then(|inputs| inputs.fee_payers.get(&self.row.number));
        transaction.fee_payers = payers.cloned().unwrap_or_default();
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

/// An owner's own inputs and outputs of a transaction.
#[derive(Clone, Debug, Default)]
pub struct OwnEntries {
    /// Total of its inputs.
    pub sent: u128,
    /// Its outputs, by index.
    pub outputs: Vec<OwnOutput>,
}

/// The rows of an owner's history.
#[derive(Debug)]
pub struct HistoryRows {
    /// Statistics of the owner.
    pub statistics: Statistics,
    /// The transactions that created its largest outputs, by number.
    pub incoming: Vec<TransactionHead>,
    /// The transactions that spent its largest outputs, by number.
    pub outgoing: Vec<TransactionHead>,
    /// The largest inputs of the incoming transactions.
    pub inputs: Inputs,
    /// The largest outputs of the outgoing transactions.
    pub outputs: SideEntries,
    /// The owner's own entries of both, by the number of the transaction.
    pub own: HashMap<i64, OwnEntries>,
}

impl HistoryRows {
    /// The history.
    #[must_use]
    pub fn history(self) -> History {
        let Self { statistics, incoming, outgoing, inputs, outputs, own } = self;
        let entry = |head: &TransactionHead, transaction: TransactionView, incoming: bool| {
            let OwnEntries { sent, outputs } =
                own.get(&head.row.number).cloned().unwrap_or_default();
            HistoryEntry {
                transaction,
                received: outputs.iter().map(|output| u128::from(output.value)).sum(),
                sent,
                outputs: if incoming { outputs } else { Vec::new() },
            }
        };
        History {
            statistics,
            incoming: incoming
                .iter()
                .map(|head| entry(head, head.with(Some(&inputs), None), true))
                .collect(),
            outgoing: outgoing
                .iter()
                .map(|head| entry(head, head.with(None, Some(&outputs)), false))
                .collect(),
        }
    }
}
