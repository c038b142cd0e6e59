//! The implementation of [`GraphView`] by the graph in memory.

use std::{
    cmp::Reverse,
    collections::{BTreeSet, HashSet},
};

use assay_engine::{
    evidence::Direction,
    ledger::{OwnHistory, OwnTransaction, OwnerNumber, ReadLimits, Statistics, TransactionNumber},
    reading::{
        ChainView, FeePayer, LookupResult, SideTotals, TransactionEntry, TransactionRead,
        ViewError, Waypoint,
    },
    utxo::{OutputNumber, ScriptOwner, TransactionKind, TxOut, Txid},
};
use async_trait::async_trait;

use super::{super::entry_limit, MemoryGraph, RecordedTransaction, total_of};
use crate::{GraphError, GraphView, read_outputs};

/// Bits of an output's index: no block has room for more outputs.
const INDEX_BITS: u32 = 24;

/// The number of an output, by the number of its transaction and its index.
fn output_number(transaction: u64, index: u32) -> OutputNumber {
    OutputNumber(transaction << INDEX_BITS | u64::from(index))
}

/// The transaction and the index of an output of a graph in memory.
#[must_use]
pub fn transaction_and_index(output: OutputNumber) -> (TransactionNumber, u32) {
    let index = output.0 & ((1 << INDEX_BITS) - 1);
    (TransactionNumber(output.0 >> INDEX_BITS), u32::try_from(index).unwrap_or(u32::MAX))
}

impl MemoryGraph {
    fn at(&self, number: TransactionNumber) -> Result<&RecordedTransaction, ViewError> {
        let found = self.recorded(number.0);
        found.ok_or_else(|| GraphError::unreadable("transaction", number.0).into())
    }

    fn entry(
        &self,
        (index, output): (u32, &TxOut),
        leads_to: Option<Waypoint>,
    ) -> Option<TransactionEntry> {
        let owner = OwnerNumber(*self.numbers.get(&output.owner)?);
        Some(TransactionEntry { index, value: output.value, owner, leads_to })
    }

    /// The transactions of a block that pay fees to its coinbase.
    fn fee_payers(&self, height: u64) -> Vec<FeePayer> {
        let numbered = self.transactions.iter().zip(0..);
        let block = numbered.filter(|(other, _)| other.block.height == height);
        FeePayer::of_block(
            block.map(|(other, number)| (TransactionNumber(number), other.transaction.fee())),
        )
    }

    /// The transactions of the `limit` largest entries, each given by value, transaction and index.
    fn largest_transactions(mut entries: Vec<(u64, u64, u32)>, limit: u32) -> BTreeSet<u64> {
        entries.sort_unstable_by_key(|(value, number, index)| (Reverse(*value), *number, *index));
        entries.iter().take(entry_limit(limit)).map(|(_, number, _)| *number).collect()
    }

    fn own_transaction(
        &self,
        number: u64,
        owner: &ScriptOwner,
        is_incoming: bool,
    ) -> Option<OwnTransaction> {
        let RecordedTransaction { block, transaction, .. } = self.recorded(number)?;
        let outputs = transaction.outputs.iter().zip(0..);
        let is_spent = |index| self.spenders.contains_key(&(number, index));
        let (spent, unspent): (Vec<_>, Vec<_>) = outputs
            .filter(|(output, _)| output.owner == *owner)
            .partition(|(_, index)| is_spent(*index));
        let total = |outputs: &[(&TxOut, u32)]| -> u128 {
            outputs.iter().map(|(output, _)| u128::from(output.value)).sum()
        };
        Some(OwnTransaction {
            number: TransactionNumber(number),
            time: block.time,
            inputs: transaction.input_total(),
            received: total(&spent) + total(&unspent),
            sent: total_of(transaction.spent_outputs(), owner),
            unspent: if is_incoming { total(&unspent) } else { 0 },
            is_passed_on: is_incoming && !spent.is_empty(),
        })
    }
}

impl ChainView for MemoryGraph {
    fn look_up(&self, waypoint: Waypoint) -> Result<LookupResult, ViewError> {
        let number = match waypoint {
            Waypoint::Transaction(number) => number,
            Waypoint::Output(output) => {
                let (transaction, index) = transaction_and_index(output);
                match self.spenders.get(&(transaction.0, index)) {
                    Some(spender) => TransactionNumber(*spender),
                    None => return Ok(LookupResult::Nothing),
                }
            }
        };
        Ok(LookupResult::Transaction { number, position: number.0 })
    }

    fn read(
        &self,
        number: TransactionNumber,
        direction: Direction,
        most: u32,
        into: &mut TransactionRead,
    ) -> Result<(), ViewError> {
        let RecordedTransaction { block, transaction, previous } = self.at(number)?;
        let side =
            |count: usize, total, unknown| SideTotals { count: count as u64, total, unknown };
        let (inputs, outputs) = (transaction.inputs.iter(), transaction.outputs.iter().zip(0..));
        let entries = match direction {
            Direction::Source => inputs
                .zip(previous)
                .zip(0..)
                .filter_map(|((input, made), index)| {
                    let leads_to = made.map(|made| Waypoint::Transaction(TransactionNumber(made)));
                    self.entry((index, input.spent.as_ref()?), leads_to)
                })
                .collect(),
            Direction::Destination => outputs
                .filter_map(|(output, index)| {
                    let leads_to = Waypoint::Output(output_number(number.0, index));
                    self.entry((index, output), Some(leads_to))
                })
                .collect(),
        };
        let has_payers =
            direction == Direction::Source && transaction.kind == TransactionKind::Coinbase;
        *into = TransactionRead {
            number,
            position: number.0,
            height: block.height,
            time: block.time,
            kind: transaction.kind,
            inputs: side(
                transaction.inputs.len(),
                transaction.input_total(),
                transaction.unknown_value(),
            ),
            outputs: side(transaction.outputs.len(), transaction.output_total(), 0),
            entries,
            fee_payers: if has_payers { self.fee_payers(block.height) } else { Vec::new() },
        };
        into.keep_largest(most);
        Ok(())
    }

    fn cluster_of(&self, owner: OwnerNumber) -> Result<OwnerNumber, ViewError> {
        let members = self.clusters.members(self.clusters.root(owner.0));
        Ok(members.first().map_or(owner, |first| OwnerNumber(*first)))
    }

    fn owner(&self, number: OwnerNumber) -> Result<ScriptOwner, ViewError> {
        self.name(number.0).ok_or_else(|| GraphError::unreadable("owner", number.0).into())
    }

    fn txid(&self, number: TransactionNumber) -> Result<Txid, ViewError> {
        Ok(self.at(number)?.transaction.txid)
    }

    fn statistics(&self, of: OwnerNumber) -> Result<Option<Statistics>, ViewError> {
        Ok(self.owner_of(of.0).map(|(_, statistics)| statistics))
    }

    fn first_new_owner(&self, of: TransactionNumber) -> Result<Option<OwnerNumber>, ViewError> {
        let height = self.at(of)?.block.height;
        let found = self.blocks.iter().find(|it| it.block.height == height);
        Ok(found.map(|it| OwnerNumber(it.first_owner)))
    }
}

#[async_trait]
impl GraphView for MemoryGraph {
    fn with_view(&self, read: &mut dyn FnMut(&dyn ChainView)) {
        read(self);
    }

    async fn owner_number(&self, owner: &ScriptOwner) -> Result<Option<OwnerNumber>, GraphError> {
        Ok(self.numbers.get(owner).map(|number| OwnerNumber(*number)))
    }

    async fn transaction_number(
        &self,
        txid: &Txid,
    ) -> Result<Option<TransactionNumber>, GraphError> {
        Ok(self.newest.get(txid).map(|number| TransactionNumber(*number)))
    }

    async fn history(
        &self,
        owner: OwnerNumber,
        limits: ReadLimits,
    ) -> Result<OwnHistory, GraphError> {
        let found = self.owner_of(owner.0);
        let (found, statistics) = found.ok_or_else(|| GraphError::unreadable("owner", owner.0))?;
        let (mut received, mut sent) = (Vec::new(), Vec::new());
        for (number, recorded) in self.appearances(found) {
            for (output, index) in recorded.transaction.outputs.iter().zip(0..) {
                if output.owner == found.owner {
                    received.push((output.value, number, index));
                }
            }
            for (input, index) in recorded.transaction.inputs.iter().zip(0..) {
                if let Some(spent) = input.spent.as_ref().filter(|it| it.owner == found.owner) {
                    sent.push((spent.value, number, index));
                }
            }
        }
        let entries = |entries, is_incoming| {
            let largest = Self::largest_transactions(entries, limits.transfers).into_iter();
            largest
                .filter_map(|number| self.own_transaction(number, &found.owner, is_incoming))
                .collect()
        };
        let (incoming, outgoing) = (entries(received, true), entries(sent, false));
        Ok(OwnHistory { statistics, incoming, outgoing })
    }

    async fn add_dealings(
        &self,
        owner: OwnerNumber,
        _limits: ReadLimits,
        others: &[ScriptOwner],
        history: &mut OwnHistory,
    ) -> Result<(), GraphError> {
        let owner = ChainView::owner(self, owner)?;
        let others: HashSet<&ScriptOwner> = others.iter().collect();
        let is_other = |output: &TxOut| others.contains(&output.owner);
        let (mut incoming, mut outgoing) = (Vec::new(), Vec::new());
        for (recorded, number) in self.transactions.iter().zip(0..) {
            let transaction = &recorded.transaction;
            let is_own = |output: &TxOut| output.owner == owner;
            if transaction.outputs.iter().any(is_own) && transaction.spent_outputs().any(is_other) {
                incoming.extend(self.own_transaction(number, &owner, true));
            }
            if transaction.spent_outputs().any(is_own) && transaction.outputs.iter().any(is_other) {
                outgoing.extend(self.own_transaction(number, &owner, false));
            }
        }
        history.add(Direction::Source, incoming);
        history.add(Direction::Destination, outgoing);
        Ok(())
    }

    async fn outputs_of(
        &self,
        transaction: TransactionNumber,
    ) -> Result<Vec<TransactionEntry>, GraphError> {
        Ok(read_outputs(self, transaction)?)
    }
}
