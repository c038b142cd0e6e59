//! A graph's answers.

use std::{
    cmp::Reverse,
    ops::ControlFlow,
    sync::{Arc, Mutex},
};

use assay_engine::utxo::{
    Block, BlockRef, OutPoint, ResolvedBlock, ScriptOwner, SideEntry, Transaction, TransactionView,
    TxInput, TxOut, Txid,
};
use async_trait::async_trait;

use super::{
    Snapshot,
    bytes::number,
    compositions::{CompositionReader, CompositionsBeside},
    error::{damaged, table_error},
    links::EmbeddedClusterRows,
    reader::Reader,
    record::{InputEntry, InputOrigin, OutputValue, StoredBlock, TransactionRecord},
    snapshot::SharedSnapshot,
    tables::Tables,
};
use crate::{
    Cluster, ClusterEvidence, ClusterRef, Graph, GraphError, GraphTip, GraphView, Membership,
    backend::{
        Fingerprint, TouchedOwners, WorkSum, cluster,
        rows::{BlockRow, InputRow, InputSource, OutputRow, OwnerRow, TxOutRow},
    },
    blocking, value,
};

/// A chain's graph, to be read; or one state of it.
#[derive(Debug)]
pub struct EmbeddedGraph {
    pub(super) tables: Arc<Tables>,
    /// The state of a view.
    pub(super) state: Option<SharedSnapshot>,
    pub(super) compositions: CompositionsBeside,
    /// What the transactions of a view are made of, if that is known.
    pub(super) made_of: Option<Mutex<CompositionReader>>,
}

impl EmbeddedGraph {
    /// The graph of these tables, with the compositions beside it.
    pub(super) const fn new(tables: Arc<Tables>, compositions: CompositionsBeside) -> Self {
        Self { tables, state: None, compositions, made_of: None }
    }

    /// Its newest state.
    ///
    /// # Errors
    ///
    /// Returns an error if the store fails.
    pub fn snapshot(&self) -> Result<Snapshot, GraphError> {
        Snapshot::new(&self.tables)
    }

    pub(super) fn read<T>(
        &self,
        read: impl FnOnce(&Reader<'_>) -> Result<T, GraphError>,
    ) -> Result<T, GraphError> {
        blocking(|| match &self.state {
            Some(state) => read(&state.lock().reader()),
            None => read(&self.snapshot()?.reader()),
        })
    }

    fn cluster_rows(&self) -> Result<EmbeddedClusterRows, GraphError> {
        Ok(EmbeddedClusterRows(match &self.state {
            Some(state) => state.clone(),
            None => SharedSnapshot::new(self.snapshot()?),
        }))
    }
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
    pub(super) fn end_of(&self, block: &StoredBlock) -> Result<u64, GraphError> {
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
        largest: u32,
    ) -> Result<TransactionView, GraphError> {
        let txid = self.txid(record.number())?;
        let height = record.head().height;
        let block = self.block(height)?.ok_or_else(|| damaged("block", height))?;
        let mut view = record.row(txid).bare(block.block.time);
        let mut entries: Vec<(OutputValue, InputEntry)> = Vec::new();
        record.inputs(|entry| entries.extend(entry.spent.map(|spent| (spent, entry))))?;
        entries.sort_unstable_by_key(|(spent, entry)| (Reverse(spent.value), entry.index));
        for (spent, entry) in entries.into_iter().take(length(largest)) {
            let outpoint = self.outpoint(txid, entry.origin)?;
            let output = self.tx_out(spent)?;
            view.inputs.largest.push(SideEntry { index: entry.index, outpoint, output });
        }
        let mut entries = Vec::new();
        record.outputs(|entry| entries.push(entry))?;
        entries.sort_unstable_by_key(|entry| (Reverse(entry.output.value), entry.index));
        for entry in entries.into_iter().take(length(largest)) {
            let (index, output) = (entry.index, self.tx_out(entry.output)?);
            let outpoint = OutPoint { txid, index };
            view.outputs.largest.push(SideEntry { index, outpoint, output });
        }
        Ok(view)
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
            Ok(TxInput::new(self.outpoint(txid, entry.origin)?, spent))
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
            each(ResolvedBlock::assume(Block {
                reference: stored.block,
                work: stored.work,
                transactions,
            }));
            Ok(true)
        })
    }

    /// Adds everything to a fingerprint.
    pub(super) fn print(&self) -> Result<[u8; 32], GraphError> {
        let state = self.state()?.state;
        let mut print = Fingerprint::default();
        self.each_stored_block(0, u64::MAX, |stored| {
            print.block(&BlockRow {
                block: stored.block,
                work: stored.work,
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
impl Graph for EmbeddedGraph {
    async fn view(self: Arc<Self>) -> Result<Option<Arc<dyn GraphView>>, GraphError> {
        if self.state.is_some() {
            return Ok(Some(self));
        }
        // Before the graph's own state, which then knows the blocks that they are of. Damaged ones are no reason
        // to answer nothing: whoever computes them says so.
        let made_of = self.compositions.reader().unwrap_or_default();
        let snapshot = self.snapshot()?;
        if snapshot.tip()?.is_none() {
            return Ok(None);
        }
        let made_of = match made_of {
            Some(made_of) if made_of.is_of(&snapshot.reader())? => Some(Mutex::new(made_of)),
            _ => None,
        };
        let (tables, compositions) = (Arc::clone(&self.tables), self.compositions.clone());
        let state = Some(SharedSnapshot::new(snapshot));
        Ok(Some(Arc::new(Self { tables, state, compositions, made_of })))
    }

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

    async fn work(&self, above: u64, to: u64) -> Result<Option<u128>, GraphError> {
        self.read(|reader| {
            let mut sum = WorkSum::above(above, to);
            reader.each_stored_block(above.saturating_add(1), to, |stored| {
                Ok(sum.add(stored.block.height, stored.work))
            })?;
            Ok(sum.total())
        })
    }

    async fn transaction(
        &self,
        txid: &Txid,
        largest: u32,
    ) -> Result<Option<TransactionView>, GraphError> {
        self.read(|reader| {
            let Some(tx) = reader.find_transaction(txid)? else { return Ok(None) };
            reader.view(&reader.known_transaction(tx)?, largest).map(Some)
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
