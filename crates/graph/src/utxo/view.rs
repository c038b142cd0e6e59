//! Reads of queries, directly from the tables.

use std::{collections::BTreeSet, sync::PoisonError};

use assay_columns::bytes::number;
use assay_engine::{
    composition::Composition,
    evidence::Direction,
    ledger::{OwnHistory, OwnTransaction, OwnerNumber, ReadLimits, Statistics, TransactionNumber},
    reading::{
        ChainView, FeePayer, LookupResult, SideTotals, TransactionEntry, TransactionRead,
        ViewError, Waypoint,
    },
    utxo::{OutputNumber, ScriptOwner, TransactionKind, Txid},
};
use async_trait::async_trait;

use super::{
    compositions::{CompositionReader, TraceEndsRevision},
    graph::{EmbeddedGraph, lock_snapshot},
    index::{OwnerEntry, Side},
    reader::Reader,
    record::{InputOrigin, StoredBlock, read_payers},
};
use crate::{GraphError, GraphView, error::damaged, read_outputs};

impl Reader<'_> {
    /// The transactions that paid fees to the coinbase of a block.
    pub(super) fn fee_payers(
        &self,
        block: &StoredBlock,
        into: &mut Vec<FeePayer>,
    ) -> Result<(), GraphError> {
        let height = block.block.height;
        let Some(bytes) = self.tables.payers.get(self.txn, &number(height))? else {
            return Ok(());
        };
        read_payers(block.first_transaction, bytes, into).ok_or_else(|| damaged("payers", height))
    }

    /// The transactions of an owner's largest inputs or outputs.
    fn largest_transactions(
        &self,
        owner: u64,
        side: Side,
        most: u32,
    ) -> Result<Vec<u64>, GraphError> {
        let (mut transactions, mut count) = (Vec::new(), 0);
        if most == 0 {
            return Ok(transactions);
        }
        self.each_owner_entry(owner, side, |moved| {
            transactions.push(moved.transaction);
            count += 1;
            count < most
        })?;
        transactions.sort_unstable();
        transactions.dedup();
        Ok(transactions)
    }

    /// The history of an owner that never spent an output; `None` for other owners, and for owners with further
    /// valuable outputs besides the transactions of the `most` largest outputs.
    fn unspent_history_of(&self, owner: u64, most: u32) -> Result<Option<OwnHistory>, GraphError> {
        let (mut shown, mut worthless) = (BTreeSet::new(), BTreeSet::new());
        let (mut count, mut is_unspent) = (0, Ok(true));
        self.each_owner_entry(owner, Side::Outputs, |moved| {
            if count < most {
                shown.insert(moved.transaction);
            } else if moved.value == 0 {
                worthless.insert(moved.transaction);
            }
            count = count.saturating_add(1);
            let is_whole = moved.value == 0 || shown.contains(&moved.transaction);
            is_unspent = if is_whole { self.is_unspent(&moved) } else { Ok(false) };
            matches!(is_unspent, Ok(true))
        })?;
        // The owner may also have spent unrecorded outputs.
        if !is_unspent? || !self.largest_transactions(owner, Side::Inputs, 1)?.is_empty() {
            return Ok(None);
        }
        let all: BTreeSet<u64> = shown.union(&worthless).copied().collect();
        let mut incoming = Vec::with_capacity(all.len());
        for transaction in all {
            incoming.push(self.own_transaction(transaction, owner, Side::Outputs)?);
        }
        let Some(first) = incoming.first() else { return Ok(None) };
        let mut statistics = Statistics::new(first.time);
        for own in &incoming {
            statistics.count(own.time, own.sent, own.received, own.inputs);
        }
        incoming.retain(|own| shown.contains(&own.number.0));
        Ok(Some(OwnHistory { statistics, incoming, outgoing: Vec::new() }))
    }

    /// True if no transaction spends an output.
    fn is_unspent(&self, made: &OwnerEntry) -> Result<bool, GraphError> {
        let record = self.known_transaction(made.transaction)?;
        Ok(self.spender(record.head().first_output + u64::from(made.index))?.is_none())
    }

    /// The amounts that a transaction moved for an owner.
    fn own_transaction(
        &self,
        tx: u64,
        owner: u64,
        side: Side,
    ) -> Result<OwnTransaction, GraphError> {
        let record = self.known_transaction(tx)?;
        let head = record.head();
        let mut own = OwnTransaction {
            number: TransactionNumber(tx),
            time: self.known_block(head.height)?.block.time,
            inputs: head.input_total.into(),
            received: 0,
            sent: 0,
            unspent: 0,
            is_passed_on: false,
        };
        record.inputs(|entry| {
            let spent = entry.spent.filter(|spent| spent.owner == owner);
            own.sent += spent.map_or(0, |spent| u128::from(spent.value));
        })?;
        let mut failed = None;
        record.outputs(|entry| {
            if entry.output.owner != owner {
                return;
            }
            let value = u128::from(entry.output.value);
            own.received += value;
            if side == Side::Outputs {
                match self.spender(head.first_output + u64::from(entry.index)) {
                    Ok(Some(_)) => own.is_passed_on = true,
                    Ok(None) => own.unspent += value,
                    Err(error) => failed = Some(error),
                }
            }
        })?;
        match failed {
            Some(error) => Err(error),
            None => Ok(own),
        }
    }

    /// The transactions in which an owner received from `others` (`Side::Outputs`) or sent to them (`Side::Inputs`).
    fn dealings(
        &self,
        owner: u64,
        others: &[u64],
        side: Side,
    ) -> Result<Vec<OwnTransaction>, GraphError> {
        let other_side = match side {
            Side::Inputs => Side::Outputs,
            Side::Outputs => Side::Inputs,
        };
        let mut transactions = Vec::new();
        for other in others {
            self.each_owner_entry(*other, other_side, |moved| {
                transactions.push(moved.transaction);
                true
            })?;
        }
        transactions.sort_unstable();
        transactions.dedup();
        let mut dealings = Vec::new();
        for tx in transactions {
            let record = self.known_transaction(tx)?;
            let mut is_own = false;
            match side {
                Side::Inputs => record.inputs(|input| {
                    is_own |= input.spent.is_some_and(|spent| spent.owner == owner);
                })?,
                Side::Outputs => record.outputs(|output| is_own |= output.output.owner == owner)?,
            }
            if is_own {
                dealings.push(self.own_transaction(tx, owner, side)?);
            }
        }
        Ok(dealings)
    }

    /// All transactions in which an owner received an output, in the order of the chain.
    pub(super) fn incoming(&self, owner: u64) -> Result<Vec<OwnTransaction>, GraphError> {
        self.own_transactions(owner, Side::Outputs, u32::MAX)
    }

    fn own_transactions(
        &self,
        owner: u64,
        side: Side,
        most: u32,
    ) -> Result<Vec<OwnTransaction>, GraphError> {
        let transactions = self.largest_transactions(owner, side, most)?;
        transactions.into_iter().map(|tx| self.own_transaction(tx, owner, side)).collect()
    }
}

/// A state of a graph, with the compositions (origin breakdowns) of its transactions if known.
struct SnapshotView<'v> {
    reader: Reader<'v>,
    composition_reader: Option<&'v CompositionReader>,
}

impl ChainView for SnapshotView<'_> {
    fn look_up(&self, waypoint: Waypoint) -> Result<LookupResult, ViewError> {
        let number = match waypoint {
            Waypoint::Transaction(number) => number,
            Waypoint::Output(output) => match self.reader.spender(output.0)? {
                Some(spender) => TransactionNumber(spender),
                None => return Ok(LookupResult::Nothing),
            },
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
        let record = self.reader.known_transaction(number.0)?;
        let head = record.head();
        let block = self.reader.known_block(head.height)?;
        into.number = number;
        into.position = number.0;
        into.height = head.height;
        into.time = block.block.time;
        into.kind = head.kind;
        into.inputs = SideTotals {
            count: head.inputs,
            total: head.input_total.into(),
            unknown: head.unknown.into(),
        };
        into.outputs =
            SideTotals { count: head.outputs, total: head.output_total.into(), unknown: 0 };
        into.entries.clear();
        into.fee_payers.clear();
        if direction == Direction::Source && head.kind == TransactionKind::Coinbase {
            self.reader.fee_payers(&block, &mut into.fee_payers)?;
        }
        if most == 0 {
            return Ok(());
        }
        let entries = &mut into.entries;
        match direction {
            Direction::Source => record.inputs(|input| {
                let leads_to = match input.origin {
                    InputOrigin::Recorded { transaction, .. } => {
                        Some(Waypoint::Transaction(TransactionNumber(transaction)))
                    }
                    InputOrigin::Unrecorded(_) | InputOrigin::Pool => None,
                };
                entries.extend(input.spent.map(|spent| TransactionEntry {
                    index: input.index,
                    value: spent.value,
                    owner: OwnerNumber(spent.owner),
                    leads_to,
                }));
            })?,
            Direction::Destination => record.outputs(|output| {
                let number = OutputNumber(head.first_output + u64::from(output.index));
                entries.push(TransactionEntry {
                    index: output.index,
                    value: output.output.value,
                    owner: OwnerNumber(output.output.owner),
                    leads_to: Some(Waypoint::Output(number)),
                });
            })?,
        }
        into.keep_largest(most);
        Ok(())
    }

    fn cluster_of(&self, owner: OwnerNumber) -> Result<OwnerNumber, ViewError> {
        Ok(OwnerNumber(self.reader.cluster(owner.0)?))
    }

    fn owner(&self, number: OwnerNumber) -> Result<ScriptOwner, ViewError> {
        Ok(self.reader.owner(number.0)?)
    }

    fn txid(&self, number: TransactionNumber) -> Result<Txid, ViewError> {
        Ok(self.reader.txid(number.0)?)
    }

    fn statistics(&self, of: OwnerNumber) -> Result<Option<Statistics>, ViewError> {
        Ok(Some(self.reader.statistics(of.0)?))
    }

    fn first_new_owner(&self, of: TransactionNumber) -> Result<Option<OwnerNumber>, ViewError> {
        let height = self.reader.known_transaction(of.0)?.head().height;
        Ok(Some(OwnerNumber(self.reader.known_block(height)?.first_owner)))
    }

    fn composition(&self, of: TransactionNumber) -> Result<Option<Composition>, ViewError> {
        Ok(self
            .composition_reader
            .map(|composition_reader| composition_reader.composition(of))
            .transpose()?
            .flatten())
    }
}

#[async_trait]
impl GraphView for EmbeddedGraph {
    fn with_view(&self, read: &mut dyn FnMut(&dyn ChainView)) {
        let Some(state) = &self.state else { return };
        let state = lock_snapshot(state);
        let composition_reader = self.composition_reader.as_ref();
        let composition_reader =
            composition_reader.map(|it| it.lock().unwrap_or_else(PoisonError::into_inner));
        read(&SnapshotView {
            reader: state.reader(),
            composition_reader: composition_reader.as_deref(),
        });
    }

    fn compositions(&self) -> Option<TraceEndsRevision> {
        let composition_reader =
            self.composition_reader.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner);
        Some(composition_reader.state().ends)
    }

    async fn owner_number(&self, owner: &ScriptOwner) -> Result<Option<OwnerNumber>, GraphError> {
        self.read(|reader| Ok(reader.find_owner(owner)?.map(OwnerNumber)))
    }

    async fn transaction_number(
        &self,
        txid: &Txid,
    ) -> Result<Option<TransactionNumber>, GraphError> {
        self.read(|reader| Ok(reader.find_transaction(txid)?.map(TransactionNumber)))
    }

    async fn history(
        &self,
        owner: OwnerNumber,
        limits: ReadLimits,
    ) -> Result<OwnHistory, GraphError> {
        self.read(|reader| {
            Ok(OwnHistory {
                statistics: reader.statistics(owner.0)?,
                incoming: reader.own_transactions(owner.0, Side::Outputs, limits.transfers)?,
                outgoing: reader.own_transactions(owner.0, Side::Inputs, limits.transfers)?,
            })
        })
    }

    async fn unspent_history(
        &self,
        owner: OwnerNumber,
        limits: ReadLimits,
    ) -> Result<Option<OwnHistory>, GraphError> {
        self.read(|reader| reader.unspent_history_of(owner.0, limits.transfers))
    }

    async fn add_dealings(
        &self,
        owner: OwnerNumber,
        _limits: ReadLimits,
        others: &[ScriptOwner],
        history: &mut OwnHistory,
    ) -> Result<(), GraphError> {
        self.read(|reader| {
            let mut numbers = Vec::new();
            for other in others {
                numbers.extend(reader.find_owner(other)?);
            }
            let incoming = reader.dealings(owner.0, &numbers, Side::Outputs)?;
            let outgoing = reader.dealings(owner.0, &numbers, Side::Inputs)?;
            history.add(Direction::Source, incoming);
            history.add(Direction::Destination, outgoing);
            Ok(())
        })
    }

    async fn finalized_owners(&self) -> Result<u64, GraphError> {
        self.read(|reader| Ok(reader.finalized()?.owners))
    }

    async fn outputs_of(
        &self,
        transaction: TransactionNumber,
    ) -> Result<Vec<TransactionEntry>, GraphError> {
        (self as &dyn GraphView).read(|view| read_outputs(view, transaction))
    }
}
