//! What reading answers, put together from rows.

use std::collections::HashMap;

use assay_engine::utxo::{
    History, HistoryEntry, OwnOutput, SideEntry, Statistics, TransactionView,
};
use jiff::Timestamp;

use super::rows::TransactionRow;

/// A transaction's row and the time of its block.
#[derive(Clone, Debug)]
pub(crate) struct Head {
    pub(crate) row: TransactionRow,
    pub(crate) time: Timestamp,
}

/// Entries of one side, by the number of their transaction.
pub(crate) type Side = HashMap<i64, Vec<SideEntry>>;

impl Head {
    /// The transaction with the legs of one side or of both.
    pub(crate) fn with(&self, inputs: Option<&Side>, outputs: Option<&Side>) -> TransactionView {
        let mut transaction = self.row.bare(self.time);
        let legs = |side: Option<&Side>| {
            side.and_then(|side| side.get(&self.row.number)).cloned().unwrap_or_default()
        };
        transaction.inputs.largest = legs(inputs);
        transaction.outputs.largest = legs(outputs);
        transaction
    }
}

/// Leaves the `most` largest legs of each transaction, by value, then by place.
pub(crate) fn keep_largest(side: &mut Side, most: u32) {
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    for legs in side.values_mut() {
        legs.sort_unstable_by_key(|leg| (std::cmp::Reverse(leg.output.value), leg.index));
        legs.truncate(most);
    }
}

/// What an owner moved by a transaction.
#[derive(Clone, Debug, Default)]
pub(crate) struct Own {
    pub(crate) sent: u128,
    pub(crate) outputs: Vec<OwnOutput>,
}

/// What an owner did, from what was read of it.
#[derive(Debug)]
pub(crate) struct Read {
    pub(crate) statistics: Statistics,
    pub(crate) incoming: Vec<Head>,
    pub(crate) outgoing: Vec<Head>,
    /// Inputs of the incoming transactions.
    pub(crate) inputs: Side,
    /// Outputs of the outgoing ones.
    pub(crate) outputs: Side,
    /// By the number of the transaction.
    pub(crate) own: HashMap<i64, Own>,
}

impl Read {
    pub(crate) fn history(self) -> History {
        let Self { statistics, incoming, outgoing, inputs, outputs, own } = self;
        let entry = |head: &Head, transaction: TransactionView, incoming: bool| {
            let Own { sent, outputs } = own.get(&head.row.number).cloned().unwrap_or_default();
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
