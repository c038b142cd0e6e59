//! Transfers: the outputs of one transaction to one receiver, and histories of these outputs alone, by which a trace
//! follows only their funds.

use std::collections::BTreeMap;

use assay_address::{CanonicalAddress, ChainId};
use jiff::Timestamp;

use super::{OutPoint, ScriptOwner, SideEntry, TransactionKind, TransactionSide, TransactionView};
use crate::ledger::{OwnHistory, OwnTransaction, ReadLimits, Statistics, TransactionNumber};

/// The outputs of a transaction that a transfer consists of.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum OutputSelector {
    /// One output, by its index from 0.
    Index(u32),
    /// All outputs to an address.
    Address(CanonicalAddress),
}

/// The outputs of one transaction to one receiver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// The transaction with its largest inputs, as many as a trace reads; without outputs.
    pub transaction: TransactionView,
    /// Address of the receiver.
    pub receiver: CanonicalAddress,
    /// The outputs, in order.
    pub outputs: Vec<TransferOutput>,
    /// The receiver as the owner of the outputs.
    owner: ScriptOwner,
    /// Properties of a transaction that no block holds yet; `None` for a confirmed one.
    pub unconfirmed: Option<Unconfirmed>,
}

/// Properties of a transaction that no block holds yet. The height and time of such a transaction are those that a next
/// block would have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unconfirmed {
    /// Number of unconfirmed transactions whose outputs it spends, directly or through others.
    pub ancestors: u32,
    /// True if the transaction, or one of these, signals that it may be replaced (BIP 125).
    pub signals_replacement: bool,
}

/// An output of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransferOutput {
    /// Index among the transaction's outputs, from 0.
    pub index: u32,
    /// Amount in base units.
    pub value: u64,
}

/// Reason for which the requested outputs cannot be assessed as a transfer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidTransfer {
    /// The transaction has fewer outputs than the requested index needs.
    #[error(
        "the transaction has no output {index}: it has {count}, and the first output has the index 0"
    )]
    NoSuchOutput {
        /// The requested index.
        index: u32,
        /// The number of outputs.
        count: u64,
    },
    /// No output pays the address.
    #[error("the transaction has no output to {0}")]
    NotPaid(CanonicalAddress),
    /// The output has no address.
    #[error("output {0} pays no address, but a script or a pool without one")]
    NoAddress(u32),
    /// The outputs are worth nothing.
    #[error("the amount of the transfer is zero")]
    NoAmount,
    /// The transaction is a coinbase, whose new coins have no sender.
    #[error("the transaction is a coinbase: its coins are newly mined and have no sender")]
    Coinbase,
}

impl Transfer {
    /// The transfer of the selected outputs of a transaction whose inputs and outputs were all read. The transfer keeps
    /// as many inputs as a trace reads within `limits`.
    ///
    /// # Errors
    ///
    /// Returns an error if the transaction has no such outputs, or if they have no sender, no amount or no
    /// receiver with an address.
    pub fn select(
        chain: ChainId,
        mut transaction: TransactionView,
        selector: &OutputSelector,
        limits: ReadLimits,
    ) -> Result<Self, InvalidTransfer> {
        if transaction.kind == TransactionKind::Coinbase {
            return Err(InvalidTransfer::Coinbase);
        }
        let side = std::mem::take(&mut transaction.outputs);
        let (receiver, owner, selected) = match selector {
            OutputSelector::Index(index) => {
                let missing = || InvalidTransfer::NoSuchOutput { index: *index, count: side.count };
                let found = side.largest.iter().find(|output| output.index == *index);
                let found = found.ok_or_else(missing)?;
                let owner = found.output.owner.clone();
                let receiver = owner.address(chain).ok_or(InvalidTransfer::NoAddress(*index))?;
                (receiver, owner, vec![found])
            }
            OutputSelector::Address(address) => {
                let missing = || InvalidTransfer::NotPaid(address.clone());
                let owner = ScriptOwner::from_address(address).ok_or_else(missing)?;
                let paid = side.largest.iter().filter(|output| output.output.owner == owner);
                let paid: Vec<&SideEntry> = paid.collect();
                if paid.is_empty() {
                    return Err(missing());
                }
                (address.clone(), owner, paid)
            }
        };
        let mut outputs: Vec<TransferOutput> = selected
            .into_iter()
            .map(|entry| TransferOutput { index: entry.index, value: entry.output.value })
            .collect();
        outputs.sort_by_key(|output| output.index);
        if outputs.iter().all(|output| output.value == 0) {
            return Err(InvalidTransfer::NoAmount);
        }
        transaction.outputs = TransactionSide { largest: vec![], ..side };
        let most = usize::try_from(limits.max_entries_per_transaction()).unwrap_or(usize::MAX);
        transaction.inputs.largest.truncate(most);
        Ok(Self { transaction, receiver, outputs, owner, unconfirmed: None })
    }

    /// The transfer of these outputs to an address, from a transaction view without outputs; `None` if the address
    /// cannot own outputs.
    #[must_use]
    pub fn of_outputs(
        transaction: TransactionView,
        receiver: &CanonicalAddress,
        outputs: Vec<TransferOutput>,
    ) -> Option<Self> {
        let owner = ScriptOwner::from_address(receiver)?;
        let receiver = receiver.clone();
        Some(Self { transaction, receiver, outputs, owner, unconfirmed: None })
    }

    /// The transfer of a transaction that no block holds yet.
    #[must_use]
    pub const fn with_unconfirmed(mut self, unconfirmed: Option<Unconfirmed>) -> Self {
        self.unconfirmed = unconfirmed;
        self
    }

    /// The receiver as the owner of the outputs: the subject of a trace of a withdrawal.
    #[must_use]
    pub const fn owner(&self) -> &ScriptOwner {
        &self.owner
    }

    /// Total of the outputs in base units.
    #[must_use]
    pub fn amount(&self) -> u128 {
        self.outputs.iter().map(|output| u128::from(output.value)).sum()
    }

    /// The outpoints of the outputs, in order.
    #[must_use]
    pub fn outpoints(&self) -> Vec<OutPoint> {
        let txid = self.transaction.txid;
        self.outputs.iter().map(|output| OutPoint { txid, index: output.index }).collect()
    }

    /// The owners of the inputs that were read, each with its total in base units: the largest first, then
    /// in the order of their bytes.
    #[must_use]
    pub fn senders(&self) -> Vec<(&ScriptOwner, u128)> {
        let mut totals: BTreeMap<&ScriptOwner, u128> = BTreeMap::new();
        for input in &self.transaction.inputs.largest {
            *totals.entry(&input.output.owner).or_default() += u128::from(input.output.value);
        }
        let mut senders: Vec<_> = totals.into_iter().collect();
        senders.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(b.0)));
        senders
    }

    /// The history of [`OwnerNumber::NOBODY`], which received only these outputs, by the transaction of this number.
    ///
    /// All of the amount is income, even if the receiver is among the senders.
    #[must_use]
    pub fn deposit(&self, number: TransactionNumber) -> OwnHistory {
        let (time, amount) = (self.transaction.time, self.amount());
        let mut statistics = Statistics::new(time);
        statistics.count(time, 0, amount, self.transaction.inputs.total);
        let entry = OwnTransaction {
            number,
            time,
            inputs: self.transaction.inputs.total,
            received: amount,
            sent: 0,
            unspent: amount,
            is_passed_on: false,
        };
        OwnHistory { statistics, incoming: vec![entry], outgoing: vec![] }
    }

    /// The history of the receiver as if it had received only these outputs, for a trace of their destinations: the
    /// transactions in `spent_by`, which spend these outputs. Outputs without a spending transaction count as unspent.
    ///
    /// A trace of this history has no meaningful source direction: all its funds are unresolved (`trace_limit`).
    #[must_use]
    pub fn withdrawal(&self, spent_by: impl IntoIterator<Item = Spending>) -> OwnHistory {
        let values: BTreeMap<u32, u64> =
            self.outputs.iter().map(|output| (output.index, output.value)).collect();
        let mut spending: BTreeMap<u64, (OwnTransaction, Spending)> = BTreeMap::new();
        for found in spent_by {
            let Some(value) = values.get(&found.output) else { continue };
            let (entry, _) = spending.entry(found.position).or_insert_with(|| {
                let entry = OwnTransaction {
                    number: found.number,
                    time: found.time,
                    inputs: found.inputs,
                    received: found.received,
                    sent: 0,
                    unspent: 0,
                    is_passed_on: false,
                };
                (entry, found)
            });
            entry.sent += u128::from(*value);
        }
        let mut statistics = Statistics::new(self.transaction.time);
        statistics.count(self.transaction.time, 0, self.amount(), self.transaction.inputs.total);
        for (entry, found) in spending.values() {
            let expense = entry.spending(found.inputs);
            statistics.last_seen = statistics.last_seen.max(found.time);
            statistics.transactions_out += u64::from(expense > 0);
            statistics.sent += expense;
        }
        let outgoing = spending.into_values().map(|(entry, _)| entry).collect();
        OwnHistory { statistics, incoming: vec![], outgoing }
    }
}

/// The transaction that spends an output of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spending {
    /// Index of the output among the outputs of its transaction.
    pub output: u32,
    /// Number of the spending transaction.
    pub number: TransactionNumber,
    /// Position of the spending transaction in the chain.
    pub position: u64,
    /// Time of the spending transaction's block.
    pub time: Timestamp,
    /// Total of the spending transaction's inputs in base units.
    pub inputs: u128,
    /// Total of the spending transaction's outputs to the receiver in base units.
    pub received: u128,
}

#[cfg(test)]
mod tests;
