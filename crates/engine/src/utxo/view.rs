//! A view of a transaction for traces: totals, and only the largest inputs and outputs.

use std::cmp::Reverse;

use jiff::Timestamp;

use super::{OutPoint, Transaction, TransactionKind, TxOut, Txid};

/// A transaction with the totals of both sides and the largest entries of the requested sides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransactionView {
    /// Identifier.
    pub txid: Txid,
    /// Height of the transaction's block.
    pub height: u64,
    /// Time of the transaction's block.
    pub time: Timestamp,
    /// Kind.
    pub kind: TransactionKind,
    /// The outputs that the transaction spends.
    pub inputs: TransactionSide,
    /// The outputs that the transaction creates.
    pub outputs: TransactionSide,
}

impl TransactionView {
    /// The fee in base units: the inputs' total less the outputs'; 0 for a coinbase.
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

impl Transaction {
    /// The view of the transaction in a block of this height and time.
    #[must_use]
    pub fn view(&self, height: u64, time: Timestamp, limits: SideLimits) -> TransactionView {
        let inputs = self.inputs.iter().zip(0..).filter_map(|(input, index)| {
            let output = input.spent.clone()?;
            Some(SideEntry { index, outpoint: input.outpoint, output })
        });
        let outputs = self.outputs.iter().zip(0..).map(|(output, index)| {
            let outpoint = OutPoint { txid: self.txid, index };
            SideEntry { index, outpoint, output: output.clone() }
        });
        TransactionView {
            txid: self.txid,
            height,
            time,
            kind: self.kind,
            inputs: TransactionSide {
                count: count(self.inputs.len()),
                total: self.input_total(),
                unknown: self.unknown_value(),
                ..TransactionSide::largest_of(inputs, limits.inputs)
            },
            outputs: TransactionSide {
                count: count(self.outputs.len()),
                total: self.output_total(),
                unknown: 0,
                ..TransactionSide::largest_of(outputs, limits.outputs)
            },
        }
    }
}

/// One side of a transaction: the inputs, or the outputs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TransactionSide {
    /// The largest entries, by value, then by index: at most the requested number of known entries; empty if the side
    /// was not requested.
    pub largest: Vec<SideEntry>,
    /// The number of entries, known or not.
    pub count: u64,
    /// Total of all entries in base units, including `unknown`.
    pub total: u128,
    /// Smallest possible total of inputs of unknown value, in base units: inputs that spend outputs from before the
    /// first recorded block. At most `total`; 0 for outputs.
    pub unknown: u128,
}

impl TransactionSide {
    /// A side with the `limit` largest of these entries, without counts and totals.
    #[must_use]
    pub fn largest_of(entries: impl Iterator<Item = SideEntry>, limit: u32) -> Self {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        if limit == 0 {
            return Self::default();
        }
        let mut largest: Vec<SideEntry> = entries.collect();
        largest.sort_by_key(|entry| (Reverse(entry.output.value), entry.index));
        largest.truncate(limit);
        Self { largest, ..Self::default() }
    }
}

/// An entry on one side of a transaction: an output that the transaction spends or creates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SideEntry {
    /// Index on this side, from 0; for a spent output the index of the input.
    pub index: u32,
    /// The output's outpoint.
    pub outpoint: OutPoint,
    /// The output.
    pub output: TxOut,
}

/// Maximum number of entries of each side in a view; 0 leaves a side out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SideLimits {
    /// Inputs.
    pub inputs: u32,
    /// Outputs.
    pub outputs: u32,
}

fn count(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::utxo::{
        TxInput,
        testing::{input, output, transaction},
    };

    const TXID: Txid = Txid::from_bytes([7; 32]);

    fn view(made: &Transaction, inputs: u32, outputs: u32) -> TransactionView {
        made.view(5, Timestamp::UNIX_EPOCH, SideLimits { inputs, outputs })
    }

    #[test]
    fn a_view_holds_the_largest_entries_and_counts_all() {
        let inputs = vec![
            input(1, Some(output(1, 5))),
            input(2, None),
            input(3, Some(output(1, 9))),
            TxInput::from_pool(TXID, Some(output(2, 9))),
        ];
        let view = view(&transaction(7, inputs, vec![output(3, 1), output(3, 20)]), 2, 0);
        let largest: Vec<_> =
            view.inputs.largest.iter().map(|entry| (entry.index, entry.output.value)).collect();
        assert_eq!(largest, [(2, 9), (3, 9)], "by value, then by index");
        assert_eq!((view.inputs.count, view.inputs.total, view.inputs.unknown), (4, 23, 0));
        assert_eq!((view.outputs.count, view.outputs.total), (2, 21));
        assert!(view.outputs.largest.is_empty(), "none of this side was asked for");
        assert_eq!(view.fee(), 2);
    }
}
