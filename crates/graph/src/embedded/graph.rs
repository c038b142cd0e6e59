//! A graph's answers.

use std::{cmp::Reverse, collections::BTreeSet, ops::ControlFlow, sync::Arc};

use assay_database::value;
use assay_engine::{
    trace::ReadLimits,
    utxo::{
        Block, BlockRef, FeePayer, History, HistoryEntry, OutPoint, OwnOutput, ResolvedBlock,
        ScriptOwner, SideEntry, Transaction, TransactionKind, TransactionView, TxInput, TxOut,
        Txid,
    },
};
use async_trait::async_trait;

use super::{
    Snapshot,
    blocking::blocking,
    bytes::number,
    error::{damaged, table_error},
    links::EmbeddedClusterRows,
    reader::{Reader, Side},
    record::{InputEntry, InputOrigin, OutputValue, StoredBlock, TransactionRecord},
    tables::Tables,
};
use crate::{
    Cluster, ClusterEvidence, ClusterRef, FlowSource, Graph, GraphError, GraphTip, Membership,
    backend::{
        Fingerprint, TouchedOwners, cluster,
        rows::{BlockRow, InputRow, InputSource, OutputRow, OwnerRow, TxOutRow},
    },
};

/// A chain's graph, to be read.
#[derive(Debug)]
pub struct EmbeddedGraph {
    pub(super) tables: Arc<Tables>,
}

impl EmbeddedGraph {
    /// Its newest state.
    ///
    /// # Errors
    ///
    /// Returns an error if the store fails.
    pub fn snapshot(&self) -> Result<Snapshot, GraphError> {
        Snapshot::new(&self.tables)
    }

    fn read<T>(
        &self,
        read: impl FnOnce(&Reader<'_>) -> Result<T, GraphError>,
    ) -> Result<T, GraphError> {
        blocking(|| read(&self.snapshot()?.reader()))
    }

    fn cluster_rows(&self) -> Result<EmbeddedClusterRows, GraphError> {
        self.snapshot().map(EmbeddedClusterRows)
    }
}

/// The largest entries of both sides to be read; `None` leaves a side out.
#[derive(Clone, Copy)]
struct Largest {
    inputs: Option<u32>,
    outputs: Option<u32>,
}

fn length(limit: u32) -> usize {
    usize::try_from(limit).unwrap_or(usize::MAX)
}

impl Reader<'_> {
    /// The first block above a height.
    pub(super) fn first_above(&self, height: u64) -> Result<Option<StoredBlock>, GraphError> {
        let Some(next) = height.checked_add(1) else { return Ok(None) };
        let mut found = None;
        self.each_stored_block(next, u64::MAX, |block| {
            found = Some(block);
            Ok(false)
        })?;
        Ok(found)
    }

    /// Passes blocks to `each`, in order, until it answers false.
    fn each_stored_block(
        &self,
        from: u64,
        to: u64,
        mut each: impl FnMut(StoredBlock) -> Result<bool, GraphError>,
    ) -> Result<(), GraphError> {
        let most = super::bytes::LARGEST;
        if from > to || from > most {
            return Ok(());
        }
        let (from, to) = (number(from), number(to.min(most)));
        let failed = |error| table_error("block", error);
        let range = (std::ops::Bound::Included(&from[..]), std::ops::Bound::Included(&to[..]));
        for found in self.tables.block.range(self.txn, &range).map_err(failed)? {
            let (key, bytes) = found.map_err(failed)?;
            let height = super::bytes::Reading(key).number();
            let height = height.ok_or_else(|| damaged("block", hex::encode(key)))?;
            if !each(StoredBlock::read(height, bytes)?)? {
                break;
            }
        }
        Ok(())
    }

    /// The number after that of the last transaction of a block.
    fn end_of(&self, block: &StoredBlock) -> Result<u64, GraphError> {
        match self.block(block.block.height + 1)? {
            Some(next) => Ok(next.first_transaction),
            None => Ok(self.state()?.state.next_transaction.unsigned_abs()),
        }
    }

    fn tx_out(&self, output: OutputValue) -> Result<TxOut, GraphError> {
        Ok(TxOut { owner: self.owner(output.owner)?, value: output.value })
    }

    fn outpoint(&self, itself: Txid, origin: InputOrigin) -> Result<OutPoint, GraphError> {
        Ok(match origin {
            InputOrigin::Pool => TxInput::from_pool(itself, None).outpoint,
            InputOrigin::Unrecorded(outpoint) => outpoint,
            InputOrigin::Recorded { transaction, index } => {
                OutPoint { txid: self.txid(transaction)?, index }
            }
        })
    }

    /// A transaction with its largest entries.
    fn view(
        &self,
        record: &TransactionRecord<'_>,
        largest: Largest,
    ) -> Result<TransactionView, GraphError> {
        let txid = self.txid(record.number())?;
        let height = record.head().height;
        let block = self.block(height)?.ok_or_else(|| damaged("block", height))?;
        let mut view = record.row(txid).bare(block.block.time);
        if let Some(most) = largest.inputs {
            let mut entries: Vec<(OutputValue, InputEntry)> = Vec::new();
            record.inputs(|entry| entries.extend(entry.spent.map(|spent| (spent, entry))))?;
            entries.sort_unstable_by_key(|(spent, entry)| (Reverse(spent.value), entry.index));
            for (spent, entry) in entries.into_iter().take(length(most)) {
                let outpoint = self.outpoint(txid, entry.origin)?;
                let output = self.tx_out(spent)?;
                view.inputs.largest.push(SideEntry { index: entry.index, outpoint, output });
            }
            if view.kind == TransactionKind::Coinbase {
                view.fee_payers = self.fee_payers(&block)?;
            }
        }
        if let Some(most) = largest.outputs {
            let mut entries = Vec::new();
            record.outputs(|entry| entries.push(entry))?;
            entries.sort_unstable_by_key(|entry| (Reverse(entry.output.value), entry.index));
            for entry in entries.into_iter().take(length(most)) {
                let (index, output) = (entry.index, self.tx_out(entry.output)?);
                let outpoint = OutPoint { txid, index };
                view.outputs.largest.push(SideEntry { index, outpoint, output });
            }
        }
        Ok(view)
    }

    /// Those who paid the coinbase of a block.
    fn fee_payers(&self, block: &StoredBlock) -> Result<Vec<FeePayer>, GraphError> {
        let mut fees = Vec::new();
        for tx in block.first_transaction..self.end_of(block)? {
            let head = *self.known_transaction(tx)?.head();
            let fee = head.input_total.saturating_sub(head.output_total);
            if fee > 0 {
                fees.push((self.txid(tx)?, u128::from(fee)));
            }
        }
        Ok(FeePayer::of_block(fees.into_iter()))
    }

    fn with_inputs(&self, txid: &Txid, most: u32) -> Result<Option<TransactionView>, GraphError> {
        let largest = Largest { inputs: Some(most), outputs: None };
        let Some(tx) = self.find_transaction(txid)? else { return Ok(None) };
        self.view(&self.known_transaction(tx)?, largest).map(Some)
    }

    /// The transaction that spends an output.
    fn destination(
        &self,
        output: &OutPoint,
        most: u32,
    ) -> Result<Option<TransactionView>, GraphError> {
        let largest = Largest { inputs: None, outputs: Some(most) };
        let Some(tx) = self.find_transaction(&output.txid)? else { return Ok(None) };
        let head = *self.known_transaction(tx)?.head();
        if u64::from(output.index) >= head.outputs {
            return Ok(None);
        }
        let Some(spender) = self.spender(head.first_output + u64::from(output.index))? else {
            return Ok(None);
        };
        self.view(&self.known_transaction(spender)?, largest).map(Some)
    }

    /// The transactions of an owner's largest inputs or outputs.
    fn of_largest(&self, owner: u64, side: Side, most: u32) -> Result<BTreeSet<u64>, GraphError> {
        let (mut transactions, mut count) = (BTreeSet::new(), 0);
        if most == 0 {
            return Ok(transactions);
        }
        self.moved(owner, side, |moved| {
            transactions.insert(moved.transaction);
            count += 1;
            count < most
        })?;
        Ok(transactions)
    }

    fn entries(
        &self,
        owner: u64,
        side: Side,
        limits: ReadLimits,
    ) -> Result<Vec<HistoryEntry>, GraphError> {
        let transactions = self.of_largest(owner, side, limits.transfers)?;
        let most = limits.entries_per_transaction(transactions.len());
        let incoming = side == Side::Outputs;
        let largest =
            Largest { inputs: incoming.then_some(most), outputs: (!incoming).then_some(most) };
        let mut entries = Vec::with_capacity(transactions.len());
        for tx in transactions {
            let record = self.known_transaction(tx)?;
            let (mut sent, mut received, mut outputs) = (0_u128, 0_u128, Vec::new());
            record.inputs(|entry| {
                let own = entry.spent.filter(|spent| spent.owner == owner);
                sent += own.map_or(0, |own| u128::from(own.value));
            })?;
            record.outputs(|entry| {
                if entry.output.owner == owner {
                    received += u128::from(entry.output.value);
                    let (index, value) = (entry.index, entry.output.value);
                    outputs.push(OwnOutput { index, value, spent: false });
                }
            })?;
            for output in &mut outputs {
                let number = record.head().first_output + u64::from(output.index);
                output.spent = self.spender(number)?.is_some();
            }
            entries.push(HistoryEntry {
                transaction: self.view(&record, largest)?,
                received,
                sent,
                outputs: if incoming { outputs } else { Vec::new() },
            });
        }
        Ok(entries)
    }

    fn history(
        &self,
        owner: &ScriptOwner,
        limits: ReadLimits,
    ) -> Result<Option<History>, GraphError> {
        let Some(owner) = self.find_owner(owner)? else { return Ok(None) };
        Ok(Some(History {
            statistics: self.statistics(owner)?,
            incoming: self.entries(owner, Side::Outputs, limits)?,
            outgoing: self.entries(owner, Side::Inputs, limits)?,
        }))
    }

    fn touched_above(&self, height: u64, most: u32) -> Result<Vec<ScriptOwner>, GraphError> {
        let mut touched = TouchedOwners::new(most);
        let Some(first) = self.first_above(height)? else { return Ok(Vec::new()) };
        let end = self.state()?.state.next_transaction.unsigned_abs();
        for tx in first.first_transaction..end {
            if !touched.wants_more() {
                break;
            }
            let record = self.known_transaction(tx)?;
            record.inputs(|entry| {
                entry.spent.iter().for_each(|spent| touched.add(value::signed(spent.owner)));
            })?;
            record.outputs(|entry| touched.add(value::signed(entry.output.owner)))?;
        }
        touched.numbers().into_iter().map(|owner| self.owner(owner.unsigned_abs())).collect()
    }

    fn whole_transaction(&self, tx: u64) -> Result<Transaction, GraphError> {
        let (record, txid) = (self.known_transaction(tx)?, self.txid(tx)?);
        let (mut inputs, mut outputs) = (Vec::new(), Vec::new());
        record.inputs(|entry| inputs.push(entry))?;
        record.outputs(|entry| outputs.push(entry))?;
        let input = |entry: InputEntry| {
            let spent = entry.spent.map(|spent| self.tx_out(spent)).transpose()?;
            Ok(TxInput { outpoint: self.outpoint(txid, entry.origin)?, spent })
        };
        Ok(Transaction {
            txid,
            kind: record.head().kind,
            inputs: inputs.into_iter().map(input).collect::<Result<_, GraphError>>()?,
            outputs: outputs
                .into_iter()
                .map(|entry| self.tx_out(entry.output))
                .collect::<Result<_, _>>()?,
        })
    }

    fn each_block(
        &self,
        from: u64,
        to: u64,
        each: &mut (dyn FnMut(ResolvedBlock) + Send),
    ) -> Result<(), GraphError> {
        self.each_stored_block(from, to, |stored| {
            let numbers = stored.first_transaction..self.end_of(&stored)?;
            let transactions =
                numbers.map(|tx| self.whole_transaction(tx)).collect::<Result<_, _>>()?;
            each(ResolvedBlock::assume(Block { reference: stored.block, transactions }));
            Ok(true)
        })
    }

    /// Adds everything to a fingerprint.
    fn print(&self) -> Result<[u8; 32], GraphError> {
        let state = self.state()?.state;
        let mut print = Fingerprint::default();
        self.each_stored_block(0, u64::MAX, |stored| {
            print.block(&BlockRow {
                block: stored.block,
                first_transaction: value::signed(stored.first_transaction),
                first_owner: value::signed(stored.first_owner),
            });
            Ok(true)
        })?;
        let row = |output: OutputValue| TxOutRow {
            owner: value::signed(output.owner),
            value: value::signed(output.value),
        };
        for tx in 0..state.next_transaction.unsigned_abs() {
            let (record, transaction) = (self.known_transaction(tx)?, value::signed(tx));
            print.transaction(&record.row(self.txid(tx)?));
            record.inputs(|entry| {
                let source = match entry.origin {
                    InputOrigin::Pool => InputSource::Pool,
                    InputOrigin::Unrecorded(outpoint) => InputSource::Unrecorded(outpoint),
                    InputOrigin::Recorded { transaction, index } => {
                        InputSource::Recorded { transaction: value::signed(transaction), index }
                    }
                };
                let (index, spent) = (entry.index, entry.spent.map(row));
                print.input(&InputRow { transaction, index, source, spent });
            })?;
            record.outputs(|entry| {
                let (index, output) = (entry.index, row(entry.output));
                print.output(&OutputRow { transaction, index, output });
            })?;
        }
        for owner in 0..state.next_owner.unsigned_abs() {
            let (number, statistics) = (value::signed(owner), self.statistics(owner)?);
            print.owner(&OwnerRow { number, owner: self.owner(owner)?, statistics });
        }
        self.each_link(state.next_owner.unsigned_abs(), |found| print.link(&found))?;
        Ok(print.finish(state.chain, state.start, state.sample))
    }
}

fn fingerprint(reader: &Reader<'_>) -> Result<[u8; 32], GraphError> {
    reader.print()
}

#[async_trait]
impl FlowSource for EmbeddedGraph {
    async fn history(
        &self,
        owner: &ScriptOwner,
        limits: ReadLimits,
    ) -> Result<Option<History>, GraphError> {
        self.read(|reader| reader.history(owner, limits))
    }

    async fn origins(
        &self,
        transactions: &[Txid],
        largest: u32,
    ) -> Result<Vec<Option<TransactionView>>, GraphError> {
        self.read(|reader| {
            transactions.iter().map(|txid| reader.with_inputs(txid, largest)).collect()
        })
    }

    async fn destinations(
        &self,
        outputs: &[OutPoint],
        largest: u32,
    ) -> Result<Vec<Option<TransactionView>>, GraphError> {
        self.read(|reader| {
            outputs.iter().map(|output| reader.destination(output, largest)).collect()
        })
    }
}

#[async_trait]
impl Graph for EmbeddedGraph {
    async fn tip(&self) -> Result<Option<GraphTip>, GraphError> {
        self.read(|reader| Ok(reader.state()?.state.graph_tip()))
    }

    async fn blocks(&self, from: u64, to: u64) -> Result<Vec<BlockRef>, GraphError> {
        self.read(|reader| {
            let mut blocks = Vec::new();
            reader.each_stored_block(from, to, |stored| {
                blocks.push(stored.block);
                Ok(true)
            })?;
            Ok(blocks)
        })
    }

    async fn transaction(
        &self,
        txid: &Txid,
        largest: u32,
    ) -> Result<Option<TransactionView>, GraphError> {
        let both = Largest { inputs: Some(largest), outputs: Some(largest) };
        self.read(|reader| {
            let Some(tx) = reader.find_transaction(txid)? else { return Ok(None) };
            reader.view(&reader.known_transaction(tx)?, both).map(Some)
        })
    }

    async fn touched_above(&self, height: u64, most: u32) -> Result<Vec<ScriptOwner>, GraphError> {
        self.read(|reader| reader.touched_above(height, most))
    }

    async fn each_block(
        &self,
        from: u64,
        to: u64,
        each: &mut (dyn FnMut(ResolvedBlock) + Send),
    ) -> Result<(), GraphError> {
        self.read(|reader| reader.each_block(from, to, each))
    }

    async fn clusters(
        &self,
        owners: &[ScriptOwner],
    ) -> Result<Vec<Option<ClusterRef>>, GraphError> {
        cluster::clusters(&mut self.cluster_rows()?, owners).await
    }

    async fn cluster(&self, owner: &ScriptOwner, most: u32) -> Result<Option<Cluster>, GraphError> {
        cluster::cluster(&mut self.cluster_rows()?, owner, most).await
    }

    async fn connections(
        &self,
        owner: &ScriptOwner,
        others: &[ScriptOwner],
        most: u32,
    ) -> Result<Vec<Option<Vec<ClusterEvidence>>>, GraphError> {
        cluster::connections(&mut self.cluster_rows()?, owner, others, most).await
    }

    async fn clusters_changed_above(
        &self,
        height: u64,
        most: u32,
    ) -> Result<Option<Vec<ScriptOwner>>, GraphError> {
        cluster::changed_above(&mut self.cluster_rows()?, height, most).await
    }

    async fn each_member(
        &self,
        each: &mut (dyn FnMut(Membership) -> ControlFlow<()> + Send),
    ) -> Result<(), GraphError> {
        cluster::each_member(&mut self.cluster_rows()?, each).await
    }

    async fn fingerprint(&self) -> Result<[u8; 32], GraphError> {
        self.read(fingerprint)
    }
}
