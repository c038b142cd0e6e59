//! Reading by numbers.

use std::{cmp::Reverse, collections::BTreeSet};

use assay_engine::{
    evidence::Direction,
    reading::{
        ChainView, Entry, FeePayer, LookUp, OwnHistory, OwnTransaction, OwnerNumber, SideTotals,
        TransactionNumber, TransactionRead, ViewError, Waypoint,
    },
    trace::ReadLimits,
    utxo::{ScriptOwner, Statistics, TransactionKind, Txid},
};
use assay_graph::{
    GraphError, GraphView,
    backend::{
        TransactionHead,
        numbers::{output_number, transaction_and_index},
        rows::{InputSource, OwnerRow, TransactionRow},
    },
    read_outputs,
};
use async_trait::async_trait;

use super::{MapGraph, tables::Tables};

impl Tables {
    fn numbered(&self, number: TransactionNumber) -> Result<TransactionHead, ViewError> {
        let found = self.head(number.0.cast_signed());
        found.ok_or_else(|| GraphError::unreadable("transaction", number.0).into())
    }

    fn fee_payers(&self, height: u64) -> Vec<FeePayer> {
        let block = self.transactions.values().filter(|row| row.height == height);
        let paid = |row: &TransactionRow| {
            let fee = (row.input_total - row.output_total).max(0).unsigned_abs();
            (TransactionNumber(row.number.unsigned_abs()), u128::from(fee))
        };
        FeePayer::of_block(block.map(paid))
    }

    /// The transactions of the largest entries, each given by value, transaction and index.
    fn of_largest(mut entries: Vec<(i64, i64, u32)>, limits: ReadLimits) -> BTreeSet<i64> {
        entries.sort_unstable_by_key(|(value, number, index)| (Reverse(*value), *number, *index));
        entries.truncate(usize::try_from(limits.transfers).unwrap_or(usize::MAX));
        entries.into_iter().map(|(_, number, _)| number).collect()
    }

    fn own(&self, number: i64, owner: i64, is_incoming: bool) -> Option<OwnTransaction> {
        let head = self.head(number)?;
        let own = self.outputs_of(number).filter(|row| row.output.owner == owner);
        let is_spent = |index: u32| self.spender((number, index)).is_some();
        let (spent, unspent): (Vec<_>, Vec<_>) = own.partition(|row| is_spent(row.index));
        let total = |rows: &[&_]| -> u128 {
            rows.iter()
                .map(|row: &&assay_graph::backend::rows::OutputRow| {
                    u128::from(row.output.value.unsigned_abs())
                })
                .sum()
        };
        let given =
            self.inputs_of(number).filter_map(|row| row.spent.filter(|it| it.owner == owner));
        Some(OwnTransaction {
            number: TransactionNumber(number.unsigned_abs()),
            time: head.time,
            inputs: head.row.bare(head.time).inputs.total,
            received: total(&spent) + total(&unspent),
            sent: given.map(|spent| u128::from(spent.value.unsigned_abs())).sum(),
            unspent: if is_incoming { total(&unspent) } else { 0 },
            is_passed_on: is_incoming && !spent.is_empty(),
        })
    }
}

impl ChainView for Tables {
    fn look_up(&self, waypoint: Waypoint) -> Result<LookUp, ViewError> {
        let number = match waypoint {
            Waypoint::Transaction(number) => number,
            Waypoint::Output(output) => {
                let (made, index) = transaction_and_index(output);
                match self.spender((made.0.cast_signed(), index)) {
                    Some(spender) => TransactionNumber(spender.unsigned_abs()),
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
        let head = self.numbered(number)?;
        let (row, bare) = (&head.row, head.row.bare(head.time));
        (into.number, into.height, into.time, into.kind) =
            (number, bare.height, bare.time, bare.kind);
        let totals = |count, total, unknown| SideTotals { count, total, unknown };
        let (inputs, outputs) = (&bare.inputs, &bare.outputs);
        into.inputs = totals(inputs.count, inputs.total, inputs.unknown);
        into.outputs = totals(outputs.count, outputs.total, 0);
        into.position = number.0;
        into.fee_payers.clear();
        into.entries = match direction {
            Direction::Source => {
                if row.kind == TransactionKind::Coinbase {
                    into.fee_payers = self.fee_payers(row.height);
                }
                let entry = |input: &assay_graph::backend::rows::InputRow| {
                    let spent = input.spent?;
                    let leads_to = match input.source {
                        InputSource::Recorded { transaction, .. } => Some(Waypoint::Transaction(
                            TransactionNumber(transaction.unsigned_abs()),
                        )),
                        InputSource::Unrecorded(_) | InputSource::Pool => None,
                    };
                    let owner = OwnerNumber(spent.owner.unsigned_abs());
                    let value = spent.value.unsigned_abs();
                    Some(Entry { index: input.index, value, owner, leads_to })
                };
                self.inputs_of(row.number).filter_map(entry).collect()
            }
            Direction::Destination => {
                let outputs = self.outputs_of(row.number).map(|output| Entry {
                    index: output.index,
                    value: output.output.value.unsigned_abs(),
                    owner: OwnerNumber(output.output.owner.unsigned_abs()),
                    leads_to: Some(Waypoint::Output(output_number(row.number, output.index))),
                });
                outputs.collect()
            }
        };
        into.keep_largest(most);
        Ok(())
    }

    fn statistics(&self, of: OwnerNumber) -> Result<Option<Statistics>, ViewError> {
        let found = self.owners.values().find(|row| row.number == of.0.cast_signed());
        Ok(found.map(|row| row.statistics))
    }

    fn cluster_of(&self, owner: OwnerNumber) -> Result<OwnerNumber, ViewError> {
        let mut at = owner.0.cast_signed();
        while let Some(found) = self.links.get(&at) {
            at = found.link.parent;
        }
        let joined = self.links.values().filter(|found| found.link.parent == at);
        let newest = joined.max_by_key(|found| found.link.size);
        let smallest = newest.map_or(at, |found| found.link.smallest);
        Ok(OwnerNumber(smallest.unsigned_abs()))
    }

    fn owner(&self, number: OwnerNumber) -> Result<ScriptOwner, ViewError> {
        let found = self.owners.get(&number.0.cast_signed()).map(|row| row.owner.clone());
        found.ok_or_else(|| GraphError::unreadable("owner", number.0).into())
    }

    fn txid(&self, number: TransactionNumber) -> Result<Txid, ViewError> {
        Ok(self.numbered(number)?.row.txid)
    }
}

#[async_trait]
impl GraphView for MapGraph {
    fn lend(&self, read: &mut dyn FnMut(&dyn ChainView)) {
        if let Ok(tables) = self.read() {
            read(&*tables);
        }
    }

    async fn owner_number(&self, owner: &ScriptOwner) -> Result<Option<OwnerNumber>, GraphError> {
        Ok(self.read()?.owner(owner).map(|row| OwnerNumber(row.number.unsigned_abs())))
    }

    async fn transaction_number(
        &self,
        txid: &Txid,
    ) -> Result<Option<TransactionNumber>, GraphError> {
        let found = self.read()?.newest(txid);
        Ok(found.map(|number| TransactionNumber(number.unsigned_abs())))
    }

    async fn history(
        &self,
        owner: OwnerNumber,
        limits: ReadLimits,
    ) -> Result<OwnHistory, GraphError> {
        let tables = self.read()?;
        let found = tables.owners.get(&owner.0.cast_signed());
        let Some(OwnerRow { number: owner, statistics, .. }) = found else {
            return Err(GraphError::unreadable("owner", owner.0));
        };
        let received = tables.outputs.values().filter(|row| row.output.owner == *owner);
        let received = received.map(|row| (row.output.value, row.transaction, row.index));
        let given = tables.inputs.values().filter_map(|row| {
            let spent = row.spent.filter(|spent| spent.owner == *owner)?;
            Some((spent.value, row.transaction, row.index))
        });
        let own = |entries, is_incoming| {
            let largest = Tables::of_largest(entries, limits).into_iter();
            largest.filter_map(|number| tables.own(number, *owner, is_incoming)).collect()
        };
        let (incoming, outgoing) = (own(received.collect(), true), own(given.collect(), false));
        Ok(OwnHistory { statistics: *statistics, incoming, outgoing })
    }

    async fn add_dealings(
        &self,
        owner: OwnerNumber,
        _limits: ReadLimits,
        others: &[ScriptOwner],
        history: &mut OwnHistory,
    ) -> Result<(), GraphError> {
        let tables = self.read()?;
        let owner = owner.0.cast_signed();
        let others: BTreeSet<i64> =
            others.iter().filter_map(|other| Some(tables.owner(other)?.number)).collect();
        let given = |is_of: &dyn Fn(i64) -> bool| -> BTreeSet<i64> {
            let inputs = tables.inputs.values();
            let of = inputs.filter(|row| row.spent.is_some_and(|spent| is_of(spent.owner)));
            of.map(|row| row.transaction).collect()
        };
        let got = |is_of: &dyn Fn(i64) -> bool| -> BTreeSet<i64> {
            let of = tables.outputs.values().filter(|row| is_of(row.output.owner));
            of.map(|row| row.transaction).collect()
        };
        let is_other = |number| others.contains(&number);
        let is_own = |number| number == owner;
        let own = |numbers: &BTreeSet<i64>, more: &BTreeSet<i64>, is_incoming| -> Vec<_> {
            let both = numbers.intersection(more);
            both.filter_map(|number| tables.own(*number, owner, is_incoming)).collect()
        };
        history.add(Direction::Source, own(&got(&is_own), &given(&is_other), true));
        history.add(Direction::Destination, own(&given(&is_own), &got(&is_other), false));
        Ok(())
    }

    async fn outputs_of(&self, transaction: TransactionNumber) -> Result<Vec<Entry>, GraphError> {
        Ok(read_outputs(&*self.read()?, transaction)?)
    }
}
