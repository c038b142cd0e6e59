//! Reading a graph in memory by numbers.

use std::{
    cmp::Reverse,
    collections::{BTreeSet, HashSet},
};

use assay_engine::{
    evidence::Direction,
    reading::{
        ChainView, Entry, FeePayer, LookUp, OutputNumber, OwnHistory, OwnTransaction, OwnerNumber,
        SideTotals, TransactionNumber, TransactionRead, ViewError, Waypoint,
    },
    trace::ReadLimits,
    utxo::{ScriptOwner, Statistics, TransactionKind, TxOut, Txid},
};
use async_trait::async_trait;

use super::{MemoryGraph, Recorded, length, stored};
use crate::{
    GraphError, GraphView,
    backend::numbers::{output_number, transaction_and_index},
    read_outputs,
};

impl MemoryGraph {
    fn at(&self, number: TransactionNumber) -> Result<(usize, &Recorded), ViewError> {
        let index = usize::try_from(number.0).ok();
        let found = index.and_then(|index| Some((index, self.transactions.get(index)?)));
        found.ok_or_else(|| GraphError::unreadable("transaction", number.0).into())
    }

    fn entry(&self, (index, output): (u32, &TxOut), leads_to: Option<Waypoint>) -> Option<Entry> {
        let owner = OwnerNumber(*self.numbers.get(&output.owner)? as u64);
        Some(Entry { index, value: output.value, owner, leads_to })
    }

    /// Who pays a coinbase.
    fn fee_payers(&self, height: u64) -> Vec<FeePayer> {
        let numbered = self.transactions.iter().zip(0..);
        let block = numbered.filter(|(other, _)| other.block.height == height);
        FeePayer::of_block(
            block.map(|(other, number)| (TransactionNumber(number), other.transaction.fee())),
        )
    }

    /// The transactions of the `limit` largest entries, each given by value, transaction and index.
    fn of_largest(mut entries: Vec<(u64, usize, u32)>, limit: u32) -> BTreeSet<usize> {
        entries.sort_unstable_by_key(|(value, number, index)| (Reverse(*value), *number, *index));
        entries.iter().take(length(limit)).map(|(_, number, _)| *number).collect()
    }

    fn own(&self, number: usize, owner: &ScriptOwner, is_incoming: bool) -> Option<OwnTransaction> {
        let recorded = self.transactions.get(number)?;
        let outputs = recorded.transaction.outputs.iter().zip(0..);
        let own = outputs.filter(|(output, _)| output.owner == *owner);
        let is_spent = |index| self.spenders.contains_key(&(number, index));
        let (spent, unspent): (Vec<_>, Vec<_>) = own.partition(|(_, index)| is_spent(*index));
        let total = |outputs: &[(&TxOut, u32)]| -> u128 {
            outputs.iter().map(|(output, _)| u128::from(output.value)).sum()
        };
        Some(OwnTransaction {
            number: TransactionNumber(number as u64),
            time: recorded.block.time,
            inputs: recorded.transaction.input_total(),
            received: total(&spent) + total(&unspent),
            sent: recorded.sent(owner),
            unspent: if is_incoming { total(&unspent) } else { 0 },
            is_passed_on: is_incoming && !spent.is_empty(),
        })
    }
}

impl ChainView for MemoryGraph {
    fn look_up(&self, waypoint: Waypoint) -> Result<LookUp, ViewError> {
        let number = match waypoint {
            Waypoint::Transaction(number) => number,
            Waypoint::Output(output) => {
                let (transaction, index) = transaction_and_index(output);
                let key = usize::try_from(transaction.0).map(|number| (number, index)).ok();
                match key.and_then(|key| self.spenders.get(&key)) {
                    Some(spender) => TransactionNumber(*spender as u64),
                    None => return Ok(LookUp::Nothing),
                }
            }
        };
        Ok(LookUp::Transaction { number, position: number.0 })
    }

    fn read(
        &self,
        number: TransactionNumber,
        direction: Direction,
        most: u32,
        into: &mut TransactionRead,
    ) -> Result<(), ViewError> {
        let (index, Recorded { block, transaction, previous }) = self.at(number)?;
        into.number = number;
        into.position = number.0;
        into.height = block.height;
        into.time = block.time;
        into.kind = transaction.kind;
        into.inputs = SideTotals {
            count: transaction.inputs.len() as u64,
            total: transaction.input_total(),
            unknown: transaction.unknown_value(),
        };
        into.outputs = SideTotals {
            count: transaction.outputs.len() as u64,
            total: transaction.output_total(),
            unknown: 0,
        };
        into.entries.clear();
        into.fee_payers.clear();
        match direction {
            Direction::Source => {
                let inputs = transaction.inputs.iter().zip(previous).zip(0..);
                into.entries.extend(inputs.filter_map(|((input, made), index)| {
                    let made = made.map(|made| TransactionNumber(made as u64));
                    self.entry((index, input.spent.as_ref()?), made.map(Waypoint::Transaction))
                }));
                if transaction.kind == TransactionKind::Coinbase {
                    into.fee_payers = self.fee_payers(block.height);
                }
            }
            Direction::Destination => {
                let outputs = transaction.outputs.iter().zip(0..);
                into.entries.extend(outputs.filter_map(|(output, place)| {
                    let number: OutputNumber = output_number(stored(index), place);
                    self.entry((place, output), Some(Waypoint::Output(number)))
                }));
            }
        }
        into.keep_largest(most);
        Ok(())
    }

    fn cluster_of(&self, owner: OwnerNumber) -> Result<OwnerNumber, ViewError> {
        let root = self.clusters.root(i64::try_from(owner.0).unwrap_or(i64::MAX));
        let members = self.clusters.members(root);
        Ok(members.first().map_or(owner, |first| OwnerNumber(first.unsigned_abs())))
    }

    fn owner(&self, number: OwnerNumber) -> Result<ScriptOwner, ViewError> {
        let found = usize::try_from(number.0).ok().and_then(|index| self.owners.get(index));
        let found = found.map(|found| found.owner.clone());
        found.ok_or_else(|| GraphError::unreadable("owner", number.0).into())
    }

    fn txid(&self, number: TransactionNumber) -> Result<Txid, ViewError> {
        Ok(self.at(number)?.1.transaction.txid)
    }

    fn statistics(&self, of: OwnerNumber) -> Result<Option<Statistics>, ViewError> {
        let found = usize::try_from(of.0).ok().and_then(|index| self.owners.get(index));
        Ok(found.and_then(|found| Self::statistics(self, found)))
    }

    fn first_new_owner(&self, of: TransactionNumber) -> Result<Option<OwnerNumber>, ViewError> {
        let height = self.at(of)?.1.block.height;
        let row = self.blocks.iter().find(|row| row.block.height == height);
        Ok(row.map(|row| OwnerNumber(row.first_owner.unsigned_abs())))
    }
}

#[async_trait]
impl GraphView for MemoryGraph {
    fn lend(&self, read: &mut dyn FnMut(&dyn ChainView)) {
        read(self);
    }

    async fn owner_number(&self, owner: &ScriptOwner) -> Result<Option<OwnerNumber>, GraphError> {
        Ok(self.numbers.get(owner).map(|number| OwnerNumber(*number as u64)))
    }

    async fn transaction_number(
        &self,
        txid: &Txid,
    ) -> Result<Option<TransactionNumber>, GraphError> {
        Ok(self.newest.get(txid).map(|number| TransactionNumber(*number as u64)))
    }

    async fn history(
        &self,
        owner: OwnerNumber,
        limits: ReadLimits,
    ) -> Result<OwnHistory, GraphError> {
        let index = usize::try_from(owner.0).unwrap_or(usize::MAX);
        let found = self.owners.get(index);
        let found = found.and_then(|found| Some((found, self.statistics(found)?)));
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
            let largest = Self::of_largest(entries, limits.transfers).into_iter();
            largest.filter_map(|number| self.own(number, &found.owner, is_incoming)).collect()
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
        for (number, recorded) in self.transactions.iter().enumerate() {
            let transaction = &recorded.transaction;
            let is_own = |output: &TxOut| output.owner == owner;
            if transaction.outputs.iter().any(is_own) && transaction.spent_outputs().any(is_other) {
                incoming.extend(self.own(number, &owner, true));
            }
            if transaction.spent_outputs().any(is_own) && transaction.outputs.iter().any(is_other) {
                outgoing.extend(self.own(number, &owner, false));
            }
        }
        history.add(Direction::Source, incoming);
        history.add(Direction::Destination, outgoing);
        Ok(())
    }

    async fn outputs_of(&self, transaction: TransactionNumber) -> Result<Vec<Entry>, GraphError> {
        Ok(read_outputs(self, transaction)?)
    }
}
