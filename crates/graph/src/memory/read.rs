//! The answers of a graph in memory.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    ops::ControlFlow,
    sync::Arc,
};

use assay_engine::utxo::{
    Block, BlockRef, ResolvedBlock, ScriptOwner, SideLimits, Transaction, TransactionView, TxOut,
    Txid,
};
use async_trait::async_trait;

use super::{Appearances, MemoryGraph, Recorded, amount, length, stored};
use crate::{
    Cluster, ClusterEvidence, ClusterMember, ClusterRef, Graph, GraphError, GraphTip, GraphView,
    Membership, TransactionPlace,
    backend::{
        Fingerprint, WorkSum,
        cluster::RecordedLink,
        rows::{BlockRow, InputRow, InputSource, OutputRow, OwnerRow, TransactionRow, TxOutRow},
    },
};

impl MemoryGraph {
    fn number(&self, owner: &ScriptOwner) -> Option<i64> {
        self.numbers.get(owner).map(|number| stored(*number))
    }

    fn owner(&self, number: i64) -> Option<&Appearances> {
        self.owners.get(usize::try_from(number).ok()?)
    }

    fn recorded(&self, number: i64) -> Option<&Recorded> {
        self.transactions.get(usize::try_from(number).ok()?)
    }

    fn place(&self, number: i64) -> Option<TransactionPlace> {
        let Recorded { block, transaction, .. } = self.recorded(number)?;
        let (height, time) = (block.height, block.time);
        Some(TransactionPlace { txid: transaction.txid, height, time })
    }

    fn evidence(&self, found: &RecordedLink) -> Option<ClusterEvidence> {
        let link = found.link;
        Some(ClusterEvidence {
            member: self.owner(link.child_member)?.owner.clone(),
            with: self.owner(link.parent_member)?.owner.clone(),
            transaction: self.place(link.transaction)?,
            is_conclusive: link.is_conclusive,
            confirmed_by: found.confirmation.and_then(|row| self.place(row.transaction)),
        })
    }
}

#[async_trait]
impl Graph for MemoryGraph {
    async fn view(self: Arc<Self>) -> Result<Option<Arc<dyn GraphView>>, GraphError> {
        Ok(if self.blocks.is_empty() { None } else { Some(self) })
    }

    async fn tip(&self) -> Result<Option<GraphTip>, GraphError> {
        Ok(self.blocks.last().map(|row| GraphTip {
            start: self.start,
            block: row.block,
            verified_at: self.verified_at,
            sample: self.sample,
        }))
    }

    async fn blocks(&self, from: u64, to: u64) -> Result<Vec<BlockRef>, GraphError> {
        let blocks = self.blocks.iter().map(|row| row.block);
        Ok(blocks.filter(|block| (from..=to).contains(&block.height)).collect())
    }

    async fn work(&self, above: u64, to: u64) -> Result<Option<u128>, GraphError> {
        let mut sum = WorkSum::above(above, to);
        for row in self.blocks.iter().filter(|row| row.block.height > above) {
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
        let limits = SideLimits { inputs: largest, outputs: largest };
        Ok(self.find(txid).map(|recorded| recorded.view(limits)))
    }

    async fn touched_above(&self, height: u64, most: u32) -> Result<Vec<ScriptOwner>, GraphError> {
        let above = self.transactions.iter().filter(|recorded| recorded.block.height > height);
        let mut seen = HashSet::new();
        let owners = above.flat_map(|recorded| recorded.transaction.all_outputs());
        let owners = owners.map(|output| &output.owner);
        Ok(owners.filter(|owner| seen.insert(*owner)).take(length(most)).cloned().collect())
    }

    async fn each_block(
        &self,
        from: u64,
        to: u64,
        each: &mut (dyn FnMut(ResolvedBlock) + Send),
    ) -> Result<(), GraphError> {
        let mut transactions: BTreeMap<u64, Vec<Transaction>> = BTreeMap::new();
        for recorded in &self.transactions {
            let block = transactions.entry(recorded.block.height).or_default();
            block.push(recorded.transaction.clone());
        }
        for row in self.blocks.iter().filter(|row| (from..=to).contains(&row.block.height)) {
            let transactions = transactions.remove(&row.block.height).unwrap_or_default();
            let BlockRow { block: reference, work, .. } = *row;
            each(ResolvedBlock::assume(Block { reference, work, transactions }));
        }
        Ok(())
    }

    async fn clusters(
        &self,
        owners: &[ScriptOwner],
    ) -> Result<Vec<Option<ClusterRef>>, GraphError> {
        let cluster = |owner| {
            let root = self.clusters.root(self.number(owner)?);
            let members = self.clusters.members(root);
            let id = self.owner(*members.first()?)?.owner.clone();
            let root = self.owner(root)?.owner.clone();
            Some(ClusterRef { id, root, size: u64::try_from(members.len()).ok()? })
        };
        Ok(owners.iter().map(cluster).collect())
    }

    async fn cluster(&self, owner: &ScriptOwner, most: u32) -> Result<Option<Cluster>, GraphError> {
        let Some(number) = self.number(owner) else { return Ok(None) };
        let root = self.clusters.root(number);
        let all = self.clusters.members(root);
        let member = |number: i64, evidence| {
            let found = self.owner(number)?;
            let statistics = self.statistics(found)?;
            Some(ClusterMember { owner: found.owner.clone(), statistics, evidence })
        };
        let mut members: Vec<_> = member(root, None).into_iter().collect();
        let mut path = self.clusters.path(number);
        path.reverse();
        let others = self.clusters.below(root, length(most).saturating_sub(1));
        let is_on_path =
            |found: &RecordedLink| path.iter().any(|on| on.link.child == found.link.child);
        let others = others.into_iter().filter(|found| !is_on_path(found));
        let most = length(most).max(path.len() + 1);
        for found in path.iter().copied().chain(others).take(most - 1) {
            let Some(evidence) = self.evidence(&found) else { continue };
            members.extend(member(found.link.child, Some(evidence)));
        }
        let first = all.first().and_then(|first| self.owner(*first));
        let Some((first, statistics)) =
            first.and_then(|first| Some((first, self.statistics(first)?)))
        else {
            return Ok(None);
        };
        Ok(Some(Cluster {
            id: first.owner.clone(),
            size: u64::try_from(all.len()).unwrap_or(u64::MAX),
            first_seen: statistics.first_seen,
            members,
        }))
    }

    async fn connections(
        &self,
        owner: &ScriptOwner,
        others: &[ScriptOwner],
        most: u32,
    ) -> Result<Vec<Option<Vec<ClusterEvidence>>>, GraphError> {
        let number = self.number(owner);
        let connection = |other: &ScriptOwner| {
            let links = self.clusters.between(number?, self.number(other)?)?;
            let links = Some(links).filter(|links| links.len() <= length(most))?;
            links.iter().map(|link| self.evidence(link)).collect()
        };
        Ok(others.iter().map(connection).collect())
    }

    async fn clusters_changed_above(
        &self,
        height: u64,
        most: u32,
    ) -> Result<Option<Vec<ScriptOwner>>, GraphError> {
        let is_above = |transaction: i64| {
            self.recorded(transaction).is_some_and(|recorded| recorded.block.height > height)
        };
        let (mut changes, mut roots) = (0, BTreeSet::new());
        for RecordedLink { link, confirmation } in self.clusters.links.values() {
            if is_above(link.transaction) {
                changes += 1;
                roots.extend([link.child, link.parent, self.clusters.root(link.child)]);
            }
            if confirmation.is_some_and(|row| is_above(row.transaction)) {
                changes += 1;
                roots.extend([link.child, self.clusters.root(link.child)]);
            }
        }
        let owner = |number| Some(self.owner(number)?.owner.clone());
        Ok((changes <= length(most)).then(|| roots.into_iter().filter_map(owner).collect()))
    }

    async fn each_member(
        &self,
        each: &mut (dyn FnMut(Membership) -> ControlFlow<()> + Send),
    ) -> Result<(), GraphError> {
        for (found, number) in self.owners.iter().zip(0..) {
            let members = self.clusters.members(self.clusters.root(number));
            let id = members.first().and_then(|first| self.owner(*first));
            if let Some(id) = id.filter(|_| members.len() > 1) {
                let member = Membership { owner: found.owner.clone(), cluster: id.owner.clone() };
                if each(member).is_break() {
                    break;
                }
            }
        }
        Ok(())
    }

    async fn fingerprint(&self) -> Result<[u8; 32], GraphError> {
        let mut fingerprint = Fingerprint::default();
        for block in &self.blocks {
            fingerprint.block(block);
        }
        let row = |output: &TxOut| TxOutRow {
            owner: self.numbers.get(&output.owner).map_or(0, |number| stored(*number)),
            value: amount(output.value),
        };
        for (recorded, number) in self.transactions.iter().zip(0..) {
            let transaction = &recorded.transaction;
            let Transaction { txid, kind, inputs, outputs } = transaction;
            fingerprint.transaction(&TransactionRow {
                number,
                height: recorded.block.height,
                txid: *txid,
                kind: *kind,
                inputs: stored(inputs.len()),
                outputs: stored(outputs.len()),
                input_total: amount(transaction.input_total()),
                output_total: amount(transaction.output_total()),
                unknown: amount(transaction.unknown_value()),
            });
            for ((input, previous), index) in inputs.iter().zip(&recorded.previous).zip(0..) {
                let source = match previous {
                    _ if input.is_from_pool(*txid) => InputSource::Pool,
                    Some(made) => InputSource::Recorded {
                        transaction: stored(*made),
                        index: input.outpoint.index,
                    },
                    None => InputSource::Unrecorded(input.outpoint),
                };
                let spent = input.spent.as_ref().map(row);
                fingerprint.input(&InputRow { transaction: number, index, source, spent });
            }
            for (output, index) in outputs.iter().zip(0..) {
                let output = row(output);
                fingerprint.output(&OutputRow { transaction: number, index, output });
            }
        }
        for (found, number) in self.owners.iter().zip(0..) {
            if let Some(statistics) = self.statistics(found) {
                let owner = found.owner.clone();
                fingerprint.owner(&OwnerRow { number, owner, statistics });
            }
        }
        for found in self.clusters.links.values() {
            fingerprint.link(found);
        }
        Ok(fingerprint.finish(self.chain, self.start, self.sample))
    }
}
