//! A transaction as a trace reads it: totals, and the largest inputs and outputs only.

use std::cmp::Reverse;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{OutPoint, TransactionKind, TxOut, Txid};

/// A transaction with the totals of both sides and the largest entries of those that were asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TransactionView {
    /// Identifier.
    pub txid: Txid,
    /// Height of its block.
    pub height: u64,
    /// Time of its block.
    pub time: Timestamp,
    /// Kind.
    pub kind: TransactionKind,
    /// The outputs that it spends.
    pub inputs: TransactionSide,
    /// The outputs that it creates.
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

/// One side of a transaction: its inputs, or its outputs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TransactionSide {
    /// The largest entries, by value, then by index: all known ones unless there are more than were
    /// asked for; none where the side was not asked for.
    pub largest: Vec<SideEntry>,
    /// The number of entries, known or not.
    pub count: u64,
    /// All entries' total in base units, `unknown` included.
    pub total: u128,
    /// The least that inputs of unknown value are worth together, in base units: those that spend outputs
    /// from before the first recorded block. At most `total`; 0 for outputs.
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

/// An entry on one side of a transaction: an output that it spends or creates.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SideEntry {
    /// Index on this side, from 0: for a spent output the index of the input.
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
