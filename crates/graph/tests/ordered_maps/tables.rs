//! The tables of a graph, and how a plan and a rollback change them.

use std::collections::{BTreeMap, BTreeSet};

use assay_engine::utxo::{ScriptOwner, Statistics, Txid};
use assay_graph::{
    GraphError,
    backend::{
        GraphState, WritePlan,
        cluster::RecordedLink,
        rows::{BlockRow, InputRow, InputSource, OutputRow, OwnerRow, TransactionRow},
    },
};

/// An input or output: the number of its transaction and its index.
pub(super) type EntryKey = (i64, u32);

#[derive(Clone, Debug)]
pub(super) struct Tables {
    pub(super) state: GraphState,
    pub(super) blocks: BTreeMap<u64, BlockRow>,
    pub(super) transactions: BTreeMap<i64, TransactionRow>,
    pub(super) inputs: BTreeMap<EntryKey, InputRow>,
    pub(super) outputs: BTreeMap<EntryKey, OutputRow>,
    pub(super) owners: BTreeMap<i64, OwnerRow>,
    /// Links of clusters by child.
    pub(super) links: BTreeMap<i64, RecordedLink>,
    undo: BTreeMap<(u64, i64), Statistics>,
    by_txid: BTreeMap<Txid, BTreeSet<i64>>,
    by_owner: BTreeMap<ScriptOwner, i64>,
    spenders: BTreeMap<EntryKey, BTreeSet<EntryKey>>,
}

impl Tables {
    pub(super) fn new(state: GraphState) -> Self {
        Self {
            state,
            blocks: BTreeMap::new(),
            transactions: BTreeMap::new(),
            inputs: BTreeMap::new(),
            outputs: BTreeMap::new(),
            owners: BTreeMap::new(),
            links: BTreeMap::new(),
            undo: BTreeMap::new(),
            by_txid: BTreeMap::new(),
            by_owner: BTreeMap::new(),
            spenders: BTreeMap::new(),
        }
    }

    /// The newest transaction with an identifier.
    pub(super) fn newest(&self, txid: &Txid) -> Option<i64> {
        self.by_txid.get(txid)?.last().copied()
    }

    pub(super) fn owner(&self, owner: &ScriptOwner) -> Option<&OwnerRow> {
        self.owners.get(self.by_owner.get(owner)?)
    }

    /// The transaction that spends an output.
    pub(super) fn spender(&self, output: EntryKey) -> Option<i64> {
        self.spenders.get(&output)?.first().map(|(transaction, _)| *transaction)
    }

    pub(super) fn record(
        &mut self,
        before: &GraphState,
        plan: &WritePlan,
    ) -> Result<(), GraphError> {
        if self.state != *before {
            return Err(GraphError::Conflict(before.chain));
        }
        self.blocks.extend(plan.blocks.iter().map(|row| (row.block.height, row.clone())));
        for row in &plan.transactions {
            self.by_txid.entry(row.txid).or_default().insert(row.number);
            self.transactions.insert(row.number, row.clone());
        }
        for row in &plan.inputs {
            let key = (row.transaction, row.index);
            if let InputSource::Recorded { transaction, index } = row.source {
                self.spenders.entry((transaction, index)).or_default().insert(key);
            }
            self.inputs.insert(key, row.clone());
        }
        self.outputs
            .extend(plan.outputs.iter().map(|row| ((row.transaction, row.index), row.clone())));
        for row in plan.new_owners.iter().chain(&plan.changed_owners) {
            self.by_owner.insert(row.owner.clone(), row.number);
            self.owners.insert(row.number, row.clone());
        }
        for link in &plan.links {
            self.links.insert(link.child, RecordedLink { link: *link, confirmation: None });
        }
        for row in &plan.confirmations {
            if let Some(found) = self.links.get_mut(&row.child) {
                found.confirmation = Some(*row);
            }
        }
        self.undo.extend(plan.undo.iter().map(|row| ((row.height, row.owner), row.before)));
        self.undo = self.undo.split_off(&(plan.after.reorganisable_from, i64::MIN));
        self.state = plan.after.clone();
        if self.state.indexed { self.expect_single_spends() } else { Ok(()) }
    }

    pub(super) fn roll_back(&mut self, before: &GraphState, height: u64) -> Result<(), GraphError> {
        if self.state != *before {
            return Err(GraphError::Conflict(before.chain));
        }
        let Some(first) = self.blocks.split_off(&(height + 1)).into_values().next() else {
            return Ok(());
        };
        // The newest entry first, so that the oldest one stays.
        for ((_, owner), before) in self.undo.split_off(&(height + 1, i64::MIN)).into_iter().rev() {
            if let Some(row) = self.owners.get_mut(&owner) {
                row.statistics = before;
            }
        }
        for row in self.owners.split_off(&first.first_owner).into_values() {
            self.by_owner.remove(&row.owner);
        }
        for row in self.transactions.split_off(&first.first_transaction).into_values() {
            if let Some(numbers) = self.by_txid.get_mut(&row.txid) {
                numbers.remove(&row.number);
            }
        }
        self.outputs.split_off(&(first.first_transaction, 0));
        for (key, row) in self.inputs.split_off(&(first.first_transaction, 0)) {
            if let InputSource::Recorded { transaction, index } = row.source
                && let Some(spenders) = self.spenders.get_mut(&(transaction, index))
            {
                spenders.remove(&key);
            }
        }
        let is_kept = |transaction: i64| transaction < first.first_transaction;
        self.links.retain(|_, found| is_kept(found.link.transaction));
        for found in self.links.values_mut() {
            found.confirmation = found.confirmation.filter(|row| is_kept(row.transaction));
        }
        self.state.next_transaction = first.first_transaction;
        self.state.next_owner = first.first_owner;
        let verified_at = self.state.tip.map(|(_, verified_at)| verified_at);
        let newest = self.blocks.values().next_back().map(|row| row.block);
        self.state.tip = newest.zip(verified_at);
        self.state.highest = self.state.highest_after_rollback(height);
        Ok(())
    }

    /// The links from owners up to their roots, and the newest one to each root.
    pub(super) fn links(&self, owners: &[i64]) -> Vec<RecordedLink> {
        let mut found = BTreeMap::new();
        for owner in owners {
            let mut at = *owner;
            while let Some(link) = self.links.get(&at) {
                found.insert(at, *link);
                at = link.link.parent;
            }
            let to_root = self.links.values().filter(|link| link.link.parent == at);
            let newest = to_root.max_by_key(|link| link.link.size);
            found.extend(newest.map(|link| (link.link.child, *link)));
        }
        found.into_values().collect()
    }

    pub(super) fn expect_single_spends(&self) -> Result<(), GraphError> {
        if self.spenders.values().any(|spenders| spenders.len() > 1) {
            return Err(GraphError::SpentTwice(self.state.chain));
        }
        Ok(())
    }
}
