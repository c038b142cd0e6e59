//! Reading: answers assembled from the tables.

use std::{
    collections::HashMap,
    ops::ControlFlow,
    sync::{Arc, RwLock, RwLockReadGuard, atomic::AtomicBool},
};

use assay_engine::utxo::{
    BlockRef, OutPoint, ResolvedBlock, ScriptOwner, SideEntry, TransactionView, TxInput, TxOut,
    Txid,
};
use assay_graph::{
    Cluster, ClusterEvidence, ClusterRef, Graph, GraphError, GraphTip, GraphView, Membership,
    TransactionPlace,
    backend::{
        Fingerprint, SideEntries, TouchedOwners, TransactionHead, WorkSum, answer,
        blocks::{self, BlockEntries, BlockSpan},
        cluster::{self, ClusterRows, RecordedLink},
        rows::{InputRow, InputSource, OutputRow, OwnerRow, TxOutRow},
    },
};
use async_trait::async_trait;

use super::{MapGraph, poisoned, tables::Tables};

impl Tables {
    /// An output, with its owner.
    pub(super) fn output(&self, row: &TxOutRow) -> Option<TxOut> {
        let owner = self.owners.get(&row.owner)?.owner.clone();
        Some(TxOut { owner, value: row.value.unsigned_abs() })
    }

    fn input(&self, row: &InputRow) -> Option<TxInput> {
        let spent = row.spent.as_ref().and_then(|spent| self.output(spent));
        Some(match row.source {
            InputSource::Recorded { transaction, index } => {
                let txid = self.transactions.get(&transaction)?.txid;
                TxInput::new(OutPoint { txid, index }, spent)
            }
            InputSource::Unrecorded(outpoint) => TxInput::new(outpoint, spent),
            InputSource::Pool => {
                TxInput::from_pool(self.transactions.get(&row.transaction)?.txid, spent)
            }
        })
    }

    pub(super) fn head(&self, number: i64) -> Option<TransactionHead> {
        let row = self.transactions.get(&number)?.clone();
        let time = self.blocks.get(&row.height)?.block.time;
        Some(TransactionHead { row, time })
    }

    /// The inputs of a transaction.
    pub(super) fn inputs_of(&self, number: i64) -> impl Iterator<Item = &InputRow> {
        self.inputs.range((number, 0)..=(number, u32::MAX)).map(|(_, row)| row)
    }

    /// The outputs of a transaction.
    pub(super) fn outputs_of(&self, number: i64) -> impl Iterator<Item = &OutputRow> {
        self.outputs.range((number, 0)..=(number, u32::MAX)).map(|(_, row)| row)
    }

    /// A transaction with the largest entries of both sides.
    fn both_sides(&self, head: &TransactionHead, largest: u32) -> TransactionView {
        let (number, txid) = (head.row.number, head.row.txid);
        let inputs = self.inputs_of(number).filter_map(|row| {
            let TxInput { outpoint, spent, .. } = self.input(row)?;
            Some(SideEntry { index: row.index, outpoint, output: spent? })
        });
        let outputs = self.outputs_of(number).filter_map(|row| {
            let outpoint = OutPoint { txid, index: row.index };
            Some(SideEntry { index: row.index, outpoint, output: self.output(&row.output)? })
        });
        let mut inputs = SideEntries::from([(number, inputs.collect())]);
        let mut outputs = SideEntries::from([(number, outputs.collect())]);
        answer::keep_largest(&mut inputs, largest);
        answer::keep_largest(&mut outputs, largest);
        head.with(&inputs, &outputs)
    }

    fn touched_above(&self, height: u64, most: u32) -> Vec<ScriptOwner> {
        let Some(first) = self.blocks.range(height + 1..).next() else { return Vec::new() };
        let mut touched = TouchedOwners::new(most);
        for number in
            self.transactions.range(first.1.first_transaction..).map(|(number, _)| *number)
        {
            let inputs = self.inputs.range((number, 0)..=(number, u32::MAX));
            for (_, row) in inputs {
                row.spent.iter().for_each(|spent| touched.add(spent.owner));
            }
            let outputs = self.outputs.range((number, 0)..=(number, u32::MAX));
            outputs.for_each(|(_, row)| touched.add(row.output.owner));
        }
        let rows = touched.numbers().into_iter().filter_map(|number| self.owners.get(&number));
        rows.map(|row| row.owner.clone()).collect()
    }

    fn each_block(&self, from: u64, to: u64, each: &mut (dyn FnMut(ResolvedBlock) + Send)) {
        let rows = self.blocks.values().filter(|row| (from..=to).contains(&row.block.height));
        let spans: Vec<BlockSpan> = rows
            .map(|row| {
                let next = self.blocks.get(&(row.block.height + 1));
                let end = next.map_or(self.state.next_transaction, |next| next.first_transaction);
                BlockSpan { row: row.clone(), end }
            })
            .collect();
        for part in blocks::parts(&spans) {
            let (Some(first), Some(last)) = (part.first(), part.last()) else { continue };
            let numbers = first.row.first_transaction..last.end;
            let entries = (numbers.start, 0)..(numbers.end, 0);
            let inputs = self.inputs.range(entries.clone());
            let inputs = inputs.filter_map(|((number, _), row)| Some((*number, self.input(row)?)));
            let outputs = self.outputs.range(entries);
            let outputs =
                outputs.filter_map(|((number, _), row)| Some((*number, self.output(&row.output)?)));
            let entries = BlockEntries { inputs: inputs.collect(), outputs: outputs.collect() };
            let transactions = self.transactions.range(numbers).map(|(_, row)| row.clone());
            blocks::assemble(part, transactions.collect(), entries, each);
        }
    }

    fn fingerprint(&self) -> [u8; 32] {
        let mut fingerprint = Fingerprint::default();
        self.blocks.values().for_each(|row| fingerprint.block(row));
        self.transactions.values().for_each(|row| fingerprint.transaction(row));
        self.inputs.values().for_each(|row| fingerprint.input(row));
        self.outputs.values().for_each(|row| fingerprint.output(row));
        self.owners.values().for_each(|row| fingerprint.owner(row));
        self.links.values().for_each(|row| fingerprint.link(row));
        fingerprint.finish(self.state.chain, self.state.start, self.state.sample)
    }
}

#[async_trait]
impl ClusterRows for Tables {
    async fn next_owner(&mut self) -> Result<i64, GraphError> {
        Ok(self.state.next_owner)
    }

    async fn numbers(
        &mut self,
        owners: &[ScriptOwner],
    ) -> Result<HashMap<ScriptOwner, i64>, GraphError> {
        let number = |owner: &ScriptOwner| Some((owner.clone(), self.owner(owner)?.number));
        Ok(owners.iter().filter_map(number).collect())
    }

    async fn owners(&mut self, numbers: &[i64]) -> Result<Vec<OwnerRow>, GraphError> {
        Ok(numbers.iter().filter_map(|number| self.owners.get(number).cloned()).collect())
    }

    async fn links(&mut self, owners: &[i64]) -> Result<Vec<RecordedLink>, GraphError> {
        Ok(Self::links(self, owners))
    }

    async fn links_to(
        &mut self,
        parents: &[i64],
        most: u32,
    ) -> Result<Vec<RecordedLink>, GraphError> {
        let mut found = Vec::new();
        for parent in parents {
            let links = self.links.values().filter(|found| found.link.parent == *parent);
            let mut links: Vec<_> = links.copied().collect();
            links.sort_by_key(|found| found.link.size);
            found.extend(links);
        }
        found.truncate(usize::try_from(most).unwrap_or(usize::MAX));
        Ok(found)
    }

    async fn changed_above(&mut self, height: u64, most: u32) -> Result<Vec<[i64; 2]>, GraphError> {
        let Some((_, first)) = self.blocks.range(height + 1..).next() else { return Ok(vec![]) };
        let (first, links) = (first.first_transaction, || self.links.values());
        let joined = links()
            .filter(|found| found.link.transaction >= first)
            .map(|found| [found.link.child, found.link.parent]);
        let confirmed = links()
            .filter(|found| found.confirmation.is_some_and(|row| row.transaction >= first))
            .map(|found| [found.link.child; 2]);
        Ok(joined.chain(confirmed).take(usize::try_from(most).unwrap_or(usize::MAX)).collect())
    }

    async fn places(
        &mut self,
        transactions: &[i64],
    ) -> Result<HashMap<i64, TransactionPlace>, GraphError> {
        let place = |number: &i64| {
            let head = self.head(*number)?;
            let (txid, height, time) = (head.row.txid, head.row.height, head.time);
            Some((*number, TransactionPlace { txid, height, time }))
        };
        Ok(transactions.iter().filter_map(place).collect())
    }
}

impl MapGraph {
    pub(super) fn read(&self) -> Result<RwLockReadGuard<'_, Tables>, GraphError> {
        self.tables.read().map_err(poisoned)
    }
}

#[async_trait]
impl Graph for MapGraph {
    async fn view(self: Arc<Self>) -> Result<Option<Arc<dyn GraphView>>, GraphError> {
        let tables = self.read()?.clone();
        Ok(tables.state.tip.is_some().then(|| {
            let (tables, has_writer) = (RwLock::new(tables), AtomicBool::new(false));
            Arc::new(Self { tables, has_writer }) as Arc<dyn GraphView>
        }))
    }

    async fn tip(&self) -> Result<Option<GraphTip>, GraphError> {
        Ok(self.read()?.state.graph_tip())
    }

    async fn blocks(&self, from: u64, to: u64) -> Result<Vec<BlockRef>, GraphError> {
        let tables = self.read()?;
        let blocks = tables.blocks.values().map(|row| row.block);
        Ok(blocks.filter(|block| (from..=to).contains(&block.height)).collect())
    }

    async fn work(&self, above: u64, to: u64) -> Result<Option<u128>, GraphError> {
        let tables = self.read()?;
        let mut sum = WorkSum::above(above, to);
        for row in tables.blocks.values().filter(|row| row.block.height > above) {
            if !sum.add(row.block.height, row.work) {
                break;
            }
        }
        Ok(sum.total())
    }

    async fn transaction(
        &self,
        txid: &Txid,
        largest: u32,
    ) -> Result<Option<TransactionView>, GraphError> {
        let tables = self.read()?;
        let head = tables.newest(txid).and_then(|number| tables.head(number));
        Ok(head.map(|head| tables.both_sides(&head, largest)))
    }

    async fn touched_above(&self, height: u64, most: u32) -> Result<Vec<ScriptOwner>, GraphError> {
        Ok(self.read()?.touched_above(height, most))
    }

    async fn each_block(
        &self,
        from: u64,
        to: u64,
        each: &mut (dyn FnMut(ResolvedBlock) + Send),
    ) -> Result<(), GraphError> {
        self.read()?.each_block(from, to, each);
        Ok(())
    }

    async fn clusters(
        &self,
        owners: &[ScriptOwner],
    ) -> Result<Vec<Option<ClusterRef>>, GraphError> {
        let mut state = self.read()?.clone();
        cluster::clusters(&mut state, owners).await
    }

    async fn cluster(&self, owner: &ScriptOwner, most: u32) -> Result<Option<Cluster>, GraphError> {
        let mut state = self.read()?.clone();
        cluster::cluster(&mut state, owner, most).await
    }

    async fn connections(
        &self,
        owner: &ScriptOwner,
        others: &[ScriptOwner],
        most: u32,
    ) -> Result<Vec<Option<Vec<ClusterEvidence>>>, GraphError> {
        let mut state = self.read()?.clone();
        cluster::connections(&mut state, owner, others, most).await
    }

    async fn clusters_changed_above(
        &self,
        height: u64,
        most: u32,
    ) -> Result<Option<Vec<ScriptOwner>>, GraphError> {
        let mut state = self.read()?.clone();
        cluster::changed_above(&mut state, height, most).await
    }

    async fn each_member(
        &self,
        each: &mut (dyn FnMut(Membership) -> ControlFlow<()> + Send),
    ) -> Result<(), GraphError> {
        let mut state = self.read()?.clone();
        cluster::each_member(&mut state, each).await
    }

    async fn fingerprint(&self) -> Result<[u8; 32], GraphError> {
        Ok(self.read()?.fingerprint())
    }
}
