//! The implementation of [`Graph`] by the graph in memory.

use std::{
    collections::{BTreeSet, HashSet},
    ops::ControlFlow,
    sync::Arc,
};

use assay_engine::{
    ledger::BlockRef,
    utxo::{
        Block, ResolvedBlock, ScriptOwner, SideLimits, Transaction, TransactionView, TxOut, Txid,
    },
};
use async_trait::async_trait;

use super::{
    super::{
        entry_limit,
        fingerprint::Fingerprint,
        link::ClusterLink,
        record::{InputEntry, InputOrigin, OutputEntry, OutputValue, TransactionHead},
    },
    MemoryGraph, RecordedTransaction,
};
use crate::{
    ClusterEvidence, ClusterRef, Graph, GraphError, GraphTip, GraphView, Membership, StoredCluster,
    StoredClusterMember, TransactionRef, work::WorkSum,
};

impl MemoryGraph {
    fn transaction_ref(&self, number: u64) -> Option<TransactionRef> {
        let RecordedTransaction { block, transaction, .. } = self.recorded(number)?;
        let (height, time) = (block.height, block.time);
        Some(TransactionRef { txid: transaction.txid, height, time })
    }

    fn evidence(&self, link: &ClusterLink) -> Option<ClusterEvidence> {
        Some(ClusterEvidence {
            member: self.name(link.child_member)?,
            with: self.name(link.parent_member)?,
            transaction: self.transaction_ref(link.transaction)?,
            is_conclusive: link.is_conclusive,
            confirmed_by: link.confirmation.and_then(|by| self.transaction_ref(by.transaction)),
        })
    }

    fn member(
        &self,
        number: u64,
        evidence: Option<ClusterEvidence>,
    ) -> Option<StoredClusterMember> {
        let (found, statistics) = self.owner_of(number)?;
        Some(StoredClusterMember { owner: found.owner.clone(), statistics, evidence })
    }

    /// The first `most` members of the cluster of an owner.
    fn cluster_of(&self, owner: &ScriptOwner, most: usize) -> Option<StoredCluster> {
        let number = *self.numbers.get(owner)?;
        let root = self.clusters.root(number);
        let all = self.clusters.members(root);
        let mut links = self.clusters.path(number);
        links.reverse();
        let most = most.max(links.len() + 1);
        for link in self.clusters.below(root, most - 1) {
            if !links.contains(&link) {
                links.push(link);
            }
        }
        let mut members: Vec<StoredClusterMember> = self.member(root, None).into_iter().collect();
        for link in links.iter().take(most - 1) {
            members.push(self.member(link.child, Some(self.evidence(link)?))?);
        }
        let (first, statistics) = self.owner_of(*all.first()?)?;
        let (id, first_seen) = (first.owner.clone(), statistics.first_seen);
        Some(StoredCluster { id, size: all.len() as u64, first_seen, members })
    }

    fn value(&self, output: &TxOut) -> OutputValue {
        let owner = self.numbers.get(&output.owner).copied().unwrap_or_default();
        OutputValue { value: output.value, owner }
    }

    /// The blocks between two heights.
    fn between(&self, from: u64, to: u64) -> impl Iterator<Item = &super::RecordedBlock> {
        self.blocks.iter().filter(move |it| (from..=to).contains(&it.block.height))
    }
}

/// Converts a total, which no chain's amounts exceed.
fn total(sum: u128) -> u64 {
    u64::try_from(sum).unwrap_or(u64::MAX)
}

#[async_trait]
impl Graph for MemoryGraph {
    async fn view(self: Arc<Self>) -> Result<Option<Arc<dyn GraphView>>, GraphError> {
        Ok(if self.blocks.is_empty() { None } else { Some(self) })
    }

    async fn tip(&self) -> Result<Option<GraphTip>, GraphError> {
        Ok(self.blocks.last().map(|last| GraphTip {
            start: self.start,
            block: last.block,
            verified_at: self.verified_at,
            sample: self.sample,
        }))
    }

    async fn blocks(&self, from: u64, to: u64) -> Result<Vec<BlockRef>, GraphError> {
        Ok(self.between(from, to).map(|it| it.block).collect())
    }

    async fn work(&self, above: u64, to: u64) -> Result<Option<u128>, GraphError> {
        let mut sum = WorkSum::above(above, to);
        for it in self.between(above.saturating_add(1), to) {
            sum.add(it.block.height, it.work);
        }
        Ok(sum.total())
    }

    async fn transaction(
        &self,
        txid: &Txid,
        largest: u32,
    ) -> Result<Option<TransactionView>, GraphError> {
        let limits = SideLimits { inputs: largest, outputs: largest };
        let found = self.newest.get(txid).and_then(|number| self.recorded(*number));
        Ok(found.map(|it| it.transaction.view(it.block.height, it.block.time, limits)))
    }

    async fn owners_in_blocks_above(
        &self,
        height: u64,
        most: u32,
    ) -> Result<Vec<ScriptOwner>, GraphError> {
        let above = self.transactions.iter().filter(|recorded| recorded.block.height > height);
        let mut seen = HashSet::new();
        let owners = above.flat_map(|recorded| recorded.transaction.all_outputs());
        let owners = owners.map(|output| &output.owner);
        Ok(owners.filter(|owner| seen.insert(*owner)).take(entry_limit(most)).cloned().collect())
    }

    async fn each_block(
        &self,
        from: u64,
        to: u64,
        each: &mut (dyn FnMut(ResolvedBlock) + Send),
    ) -> Result<(), GraphError> {
        for it in self.between(from, to) {
            let own = self.transactions.iter().filter(|own| own.block.height == it.block.height);
            let transactions = own.map(|own| own.transaction.clone()).collect();
            each(ResolvedBlock::assume(Block { reference: it.block, work: it.work, transactions }));
        }
        Ok(())
    }

    async fn clusters(
        &self,
        owners: &[ScriptOwner],
    ) -> Result<Vec<Option<ClusterRef>>, GraphError> {
        let cluster = |owner| {
            let root = self.clusters.root(*self.numbers.get(owner)?);
            let members = self.clusters.members(root);
            let (id, root) = (self.name(*members.first()?)?, self.name(root)?);
            Some(ClusterRef { id, root, size: members.len() as u64 })
        };
        Ok(owners.iter().map(cluster).collect())
    }

    async fn cluster(
        &self,
        owner: &ScriptOwner,
        most: u32,
    ) -> Result<Option<StoredCluster>, GraphError> {
        Ok(self.cluster_of(owner, entry_limit(most)))
    }

    async fn connections(
        &self,
        owner: &ScriptOwner,
        others: &[ScriptOwner],
        most: u32,
    ) -> Result<Vec<Option<Vec<ClusterEvidence>>>, GraphError> {
        let connection = |other: &ScriptOwner| {
            let (from, to) = (self.numbers.get(owner)?, self.numbers.get(other)?);
            let links = self.clusters.between(*from, *to)?;
            let links = Some(links).filter(|links| links.len() <= entry_limit(most))?;
            links.iter().map(|link| self.evidence(link)).collect()
        };
        Ok(others.iter().map(connection).collect())
    }

    async fn clusters_changed_above(
        &self,
        height: u64,
        most: u32,
    ) -> Result<Option<Vec<ScriptOwner>>, GraphError> {
        let is_above = |number| self.recorded(number).is_some_and(|it| it.block.height > height);
        let (mut changes, mut roots) = (0, BTreeSet::new());
        for link in self.clusters.links.values() {
            if is_above(link.transaction) {
                changes += 1;
                roots.extend([link.child, link.parent, self.clusters.root(link.child)]);
            }
            if link.confirmation.is_some_and(|by| is_above(by.transaction)) {
                changes += 1;
                roots.extend([link.child, self.clusters.root(link.child)]);
            }
        }
        let names = roots.into_iter().filter_map(|number| self.name(number));
        Ok((changes <= entry_limit(most)).then(|| names.collect()))
    }

    async fn each_member(
        &self,
        each: &mut (dyn FnMut(Membership) -> ControlFlow<()> + Send),
    ) -> Result<(), GraphError> {
        for (found, number) in self.owners.iter().zip(0..) {
            let members = self.clusters.members(self.clusters.root(number));
            let id = members.first().filter(|_| members.len() > 1);
            if let Some(cluster) = id.and_then(|first| self.name(*first))
                && each(Membership { owner: found.owner.clone(), cluster }).is_break()
            {
                break;
            }
        }
        Ok(())
    }

    async fn fingerprint(&self) -> Result<[u8; 32], GraphError> {
        let mut fingerprint = Fingerprint::default();
        for it in &self.blocks {
            fingerprint.block(&it.block, it.first_transaction, it.first_owner);
        }
        for (recorded, number) in self.transactions.iter().zip(0..) {
            let transaction = &recorded.transaction;
            let Transaction { txid, kind, inputs, outputs } = transaction;
            let head = TransactionHead {
                height: recorded.block.height,
                kind: *kind,
                first_output: 0,
                inputs: inputs.len() as u64,
                outputs: outputs.len() as u64,
                input_total: total(transaction.input_total()),
                output_total: total(transaction.output_total()),
                unknown: total(transaction.unknown_value()),
            };
            fingerprint.transaction(number, *txid, &head);
            for ((input, previous), index) in inputs.iter().zip(&recorded.previous).zip(0..) {
                let origin = match *previous {
                    _ if input.is_from_pool(*txid) => InputOrigin::Pool,
                    Some(transaction) => {
                        InputOrigin::Recorded { transaction, index: input.outpoint.index }
                    }
                    None => InputOrigin::Unrecorded(input.outpoint),
                };
                let spent = input.spent.as_ref().map(|output| self.value(output));
                fingerprint.input(number, &InputEntry { index, origin, spent });
            }
            for (output, index) in outputs.iter().zip(0..) {
                fingerprint.output(number, &OutputEntry { index, output: self.value(output) });
            }
        }
        for number in 0..self.owners.len() as u64 {
            if let Some((found, statistics)) = self.owner_of(number) {
                fingerprint.owner(number, &found.owner, statistics);
            }
        }
        self.clusters.links.values().for_each(|link| fingerprint.link(link));
        Ok(fingerprint.finish(self.chain, self.start, self.sample))
    }
}
