//! The embedded graph, and its implementation of [`Graph`].

use std::{
    cmp::Reverse,
    collections::HashSet,
    ops::{Bound, ControlFlow},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use assay_columns::bytes::{ByteReader, LARGEST_NUMBER, number};
use assay_engine::{
    ledger::BlockRef,
    utxo::{
        Block, OutPoint, ResolvedBlock, ScriptOwner, SideEntry, Transaction, TransactionView,
        TxInput, TxOut, Txid,
    },
};
use async_trait::async_trait;

use super::{
    Snapshot,
    compositions::{CompositionReader, GraphCompositions, TraceEndsRevision},
    entry_limit,
    fingerprint::Fingerprint,
    reader::Reader,
    record::{InputEntry, InputOrigin, OutputValue, StoredBlock, TransactionRecord},
    tables::Tables,
};
use crate::{
    ClusterEvidence, ClusterRef, Graph, GraphError, GraphTip, GraphView, Membership, StoredCluster,
    blocking, work::WorkSum,
};

/// A chain's graph for reading, or a view of one state of the graph.
#[derive(Debug)]
pub struct EmbeddedGraph {
    pub(crate) tables: Arc<Tables>,
    /// The state of a view, which one thread at a time reads; `None` for a graph that always reads the newest state.
    pub(super) state: Option<Mutex<Snapshot>>,
    pub(crate) compositions: GraphCompositions,
    /// The compositions (origin breakdowns) of a view's transactions, if known.
    pub(super) composition_reader: Option<Mutex<CompositionReader>>,
}

impl EmbeddedGraph {
    /// The graph in `tables`, with its compositions (origin breakdowns).
    pub(crate) const fn new(tables: Arc<Tables>, compositions: GraphCompositions) -> Self {
        Self { tables, state: None, compositions, composition_reader: None }
    }

    /// Opens the graph's newest state.
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
            Some(state) => read(&lock_snapshot(state).reader()),
            None => read(&self.snapshot()?.reader()),
        })
    }
}

impl Reader<'_> {
    /// The first recorded block above a height.
    pub(super) fn first_above(&self, height: u64) -> Result<Option<StoredBlock>, GraphError> {
        let Some(next) = height.checked_add(1) else { return Ok(None) };
        let mut found = None;
        self.each_stored_block(next, u64::MAX, |block| {
            found = Some(block);
            Ok(false)
        })?;
        Ok(found)
    }

    /// Passes blocks to `each`, in order, until `each` returns false.
    fn each_stored_block(
        &self,
        from: u64,
        to: u64,
        mut each: impl FnMut(StoredBlock) -> Result<bool, GraphError>,
    ) -> Result<(), GraphError> {
        if from > to || from > LARGEST_NUMBER {
            return Ok(());
        }
        let (from, to) = (number(from), number(to.min(LARGEST_NUMBER)));
        let table = self.tables.block;
        for row in table.range(self.txn, Bound::Included(&from), Bound::Included(&to))? {
            let (key, bytes) = row?;
            let height = ByteReader(key).number();
            let height = height.ok_or_else(|| table.damaged(hex::encode(key)))?;
            if !each(StoredBlock::read(height, bytes)?)? {
                break;
            }
        }
        Ok(())
    }

    /// The number of the first transaction after a block.
    pub(super) fn end_of(&self, block: &StoredBlock) -> Result<u64, GraphError> {
        match self.block(block.block.height + 1)? {
            Some(next) => Ok(next.first_transaction),
            None => Ok(self.state()?.next_transaction),
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

    /// A transaction with its largest inputs and outputs.
    fn view(
        &self,
        record: &TransactionRecord<'_>,
        largest: u32,
    ) -> Result<TransactionView, GraphError> {
        let txid = self.txid(record.number())?;
        let head = record.head();
        let mut view = head.without_entries(txid, self.known_block(head.height)?.block.time);
        let mut entries: Vec<(OutputValue, InputEntry)> = Vec::new();
        record.inputs(|entry| entries.extend(entry.spent.map(|spent| (spent, entry))))?;
        entries.sort_unstable_by_key(|(spent, entry)| (Reverse(spent.value), entry.index));
        for (spent, entry) in entries.into_iter().take(entry_limit(largest)) {
            let outpoint = self.outpoint(txid, entry.origin)?;
            let output = self.tx_out(spent)?;
            view.inputs.largest.push(SideEntry { index: entry.index, outpoint, output });
        }
        let mut entries = Vec::new();
        record.outputs(|entry| entries.push(entry))?;
        entries.sort_unstable_by_key(|entry| (Reverse(entry.output.value), entry.index));
        for entry in entries.into_iter().take(entry_limit(largest)) {
            let (index, output) = (entry.index, self.tx_out(entry.output)?);
            let outpoint = OutPoint { txid, index };
            view.outputs.largest.push(SideEntry { index, outpoint, output });
        }
        Ok(view)
    }

    fn owners_in_blocks_above(
        &self,
        height: u64,
        most: u32,
    ) -> Result<Vec<ScriptOwner>, GraphError> {
        let Some(first) = self.first_above(height)? else { return Ok(Vec::new()) };
        let (mut seen, mut order) = (HashSet::new(), Vec::new());
        for tx in first.first_transaction..self.state()?.next_transaction {
            if order.len() >= entry_limit(most) {
                break;
            }
            let record = self.known_transaction(tx)?;
            let mut add = |output: OutputValue| {
                if seen.insert(output.owner) {
                    order.push(output.owner);
                }
            };
            record.inputs(|entry| entry.spent.into_iter().for_each(&mut add))?;
            record.outputs(|entry| add(entry.output))?;
        }
        order.into_iter().take(entry_limit(most)).map(|owner| self.owner(owner)).collect()
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

    /// Computes the fingerprint of the graph.
    pub(crate) fn fingerprint(&self) -> Result<[u8; 32], GraphError> {
        let state = self.state()?;
        let mut print = Fingerprint::default();
        self.each_stored_block(0, u64::MAX, |stored| {
            print.block(&stored.block, stored.first_transaction, stored.first_owner);
            Ok(true)
        })?;
        for tx in 0..state.next_transaction {
            let record = self.known_transaction(tx)?;
            print.transaction(tx, self.txid(tx)?, record.head());
            record.inputs(|entry| print.input(tx, &entry))?;
            record.outputs(|entry| print.output(tx, &entry))?;
        }
        for owner in 0..state.next_owner {
            print.owner(owner, &self.owner(owner)?, self.statistics(owner)?);
        }
        self.each_link(state.next_owner, |link| print.link(link))?;
        Ok(print.finish(state.chain, state.start, state.sample))
    }
}

fn fingerprint(reader: &Reader<'_>) -> Result<[u8; 32], GraphError> {
    reader.fingerprint()
}

/// Locks the state of a view.
pub(super) fn lock_snapshot(state: &Mutex<Snapshot>) -> MutexGuard<'_, Snapshot> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

#[async_trait]
impl Graph for EmbeddedGraph {
    fn newest_compositions(&self) -> Option<TraceEndsRevision> {
        // Errors of compositions are ignored here, because their writer reports them.
        let reader = self.compositions.reader().unwrap_or_default()?;
        Some(reader.state().ends)
    }

    async fn view(self: Arc<Self>) -> Result<Option<Arc<dyn GraphView>>, GraphError> {
        if self.state.is_some() {
            return Ok(Some(self));
        }
        // The compositions are read before the graph's state, which then has all their blocks. Errors of compositions
        // are ignored here, because their writer reports them.
        let composition_reader = self.compositions.reader().unwrap_or_default();
        let snapshot = self.snapshot()?;
        if snapshot.tip()?.is_none() {
            return Ok(None);
        }
        let composition_reader = match composition_reader {
            Some(composition_reader) if composition_reader.belongs_to(&snapshot.reader())? => {
                Some(Mutex::new(composition_reader))
            }
            _ => None,
        };
        let (tables, compositions) = (Arc::clone(&self.tables), self.compositions.clone());
        let state = Some(Mutex::new(snapshot));
        Ok(Some(Arc::new(Self { tables, state, compositions, composition_reader })))
    }

    async fn tip(&self) -> Result<Option<GraphTip>, GraphError> {
        self.read(|reader| Ok(reader.state()?.graph_tip()))
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

    async fn owners_in_blocks_above(
        &self,
        height: u64,
        most: u32,
    ) -> Result<Vec<ScriptOwner>, GraphError> {
        self.read(|reader| reader.owners_in_blocks_above(height, most))
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
        self.read(|reader| reader.clusters(owners))
    }

    async fn cluster(
        &self,
        owner: &ScriptOwner,
        most: u32,
    ) -> Result<Option<StoredCluster>, GraphError> {
        self.read(|reader| reader.cluster_members(owner, most))
    }

    async fn connections(
        &self,
        owner: &ScriptOwner,
        others: &[ScriptOwner],
        most: u32,
    ) -> Result<Vec<Option<Vec<ClusterEvidence>>>, GraphError> {
        self.read(|reader| reader.connections(owner, others, most))
    }

    async fn clusters_changed_above(
        &self,
        height: u64,
        most: u32,
    ) -> Result<Option<Vec<ScriptOwner>>, GraphError> {
        self.read(|reader| reader.clusters_changed_above(height, most))
    }

    async fn each_member(
        &self,
        each: &mut (dyn FnMut(Membership) -> ControlFlow<()> + Send),
    ) -> Result<(), GraphError> {
        self.read(|reader| reader.each_member(each))
    }

    async fn fingerprint(&self) -> Result<[u8; 32], GraphError> {
        self.read(fingerprint)
    }
}
