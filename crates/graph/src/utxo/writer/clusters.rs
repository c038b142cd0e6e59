//! Joins of clusters in a batch, computed over the nodes in the column of parents.

use std::collections::{BTreeMap, HashSet};

use assay_columns::bytes::{NumberMap, NumberSet};

use super::super::{
    link::{ClusterLink, Confirmation, ForestNode, RootPath, newest_between},
    reader::Reader,
};
use crate::GraphError;

/// Maximum number of nodes, and of links, kept between batches.
const MAX_CACHED: usize = 1 << 20;

/// The nodes and links of the forest of clusters that were read or changed.
#[derive(Debug, Default)]
pub(super) struct Clusters {
    slots: NumberMap<ForestNode>,
    links: NumberMap<ClusterLink>,
    /// Owners below this number are recorded.
    recorded: u64,
    pub(super) changes: Changes,
}

/// The changes of a batch.
#[derive(Debug, Default)]
pub(super) struct Changes {
    /// Owners whose nodes were changed.
    pub(super) slots: NumberSet,
    /// Former nodes for the undo log, each with the height of the changing block and the owner.
    pub(super) undo: Vec<(u64, u64, ForestNode)>,
    /// Heights and owners that are in `undo`.
    noted: HashSet<(u64, u64)>,
    /// New links, without their confirmations.
    pub(super) links: Vec<ClusterLink>,
    /// The children of newly confirmed links, each with the confirming transaction.
    pub(super) confirmations: Vec<(u64, u64)>,
}

/// The block and transaction of a join.
#[derive(Clone, Copy)]
pub(super) struct JoinBlock {
    pub(super) height: u64,
    pub(super) transaction: u64,
    /// The first owner that is new in the block.
    pub(super) first_owner: u64,
    /// True if the block can be rolled back.
    pub(super) is_reversible: bool,
}

/// A cluster that a transaction joins with other clusters.
#[derive(Clone, Copy)]
struct JoinedCluster {
    root: u64,
    /// The lowest number of the transaction's owners in the cluster.
    member: u64,
    smallest: u64,
    size: u64,
}

impl Clusters {
    /// Begins a batch. `recorded` is the number of owners recorded before the batch.
    pub(super) fn begin(&mut self, recorded: u64) {
        if self.slots.len() > MAX_CACHED {
            self.slots = NumberMap::default();
        }
        if self.links.len() > MAX_CACHED {
            self.links = NumberMap::default();
        }
        self.recorded = recorded;
        self.changes = Changes::default();
    }

    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    pub(super) fn forest_node(
        &mut self,
        reader: &Reader<'_>,
        owner: u64,
    ) -> Result<ForestNode, GraphError> {
        if let Some(known) = self.slots.get(&owner) {
            return Ok(*known);
        }
        if owner >= self.recorded {
            return Ok(ForestNode::single(owner));
        }
        let slot = reader.forest_node(owner)?;
        self.slots.insert(owner, slot);
        Ok(slot)
    }

    pub(super) fn link(
        &mut self,
        reader: &Reader<'_>,
        child: u64,
        transaction: u64,
    ) -> Result<ClusterLink, GraphError> {
        if let Some(known) = self.links.get(&child) {
            return Ok(*known);
        }
        let found = reader.link_by(transaction, child)?;
        self.links.insert(child, found);
        Ok(found)
    }

    /// The root of an owner's cluster.
    fn root(&mut self, reader: &Reader<'_>, owner: u64) -> Result<u64, GraphError> {
        let mut at = owner;
        while let ForestNode::Child { parent, .. } = self.forest_node(reader, at)? {
            at = parent;
        }
        Ok(at)
    }

    /// Joins the clusters of the owners that a transaction spends together. `owners` is sorted, without duplicates.
    pub(super) fn join(
        &mut self,
        reader: &Reader<'_>,
        owners: &[u64],
        joined_in: JoinBlock,
        is_conclusive: bool,
    ) -> Result<(), GraphError> {
        let mut by_root: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
        for owner in owners {
            by_root.entry(self.root(reader, *owner)?).or_default().push(*owner);
        }
        for connected in by_root.values() {
            self.confirm(reader, connected, joined_in.transaction)?;
        }
        let mut joined: Option<JoinedCluster> = None;
        for (root, owners) in by_root {
            let Some(member) = owners.first().copied() else { continue };
            let (smallest, size) = match self.forest_node(reader, root)? {
                ForestNode::Root { smallest, size } => (smallest, size),
                ForestNode::Child { .. } => (root, 1),
            };
            let found = JoinedCluster { root, member, smallest, size };
            joined = Some(match joined {
                None => found,
                Some(before) => self.link_sides(reader, before, found, joined_in, is_conclusive)?,
            });
        }
        Ok(())
    }

    /// Links two clusters: the larger cluster's root becomes the parent, or, of clusters of equal size, the root with
    /// the lower number.
    fn link_sides(
        &mut self,
        reader: &Reader<'_>,
        one: JoinedCluster,
        other: JoinedCluster,
        joined_in: JoinBlock,
        is_conclusive: bool,
    ) -> Result<JoinedCluster, GraphError> {
        let one_is_larger =
            one.size > other.size || (one.size == other.size && one.root < other.root);
        let (parent, child) = if one_is_larger { (one, other) } else { (other, one) };
        let size = one.size.saturating_add(other.size);
        let smallest = one.smallest.min(other.smallest);
        let transaction = joined_in.transaction;
        let link = ClusterLink {
            child: child.root,
            parent: parent.root,
            transaction,
            size,
            smallest,
            is_conclusive,
            child_member: child.member,
            parent_member: parent.member,
            confirmation: None,
        };
        self.set(
            reader,
            joined_in,
            child.root,
            ForestNode::Child { parent: parent.root, transaction },
        )?;
        self.set(reader, joined_in, parent.root, ForestNode::Root { smallest, size })?;
        self.links.insert(child.root, link);
        self.changes.links.push(link);
        let member = one.member.min(other.member);
        Ok(JoinedCluster { root: parent.root, member, smallest, size })
    }

    fn set(
        &mut self,
        reader: &Reader<'_>,
        JoinBlock { height, first_owner, is_reversible, .. }: JoinBlock,
        owner: u64,
        slot: ForestNode,
    ) -> Result<(), GraphError> {
        // A rollback removes an owner that is new in the block, without undo log.
        if is_reversible && owner < first_owner && self.changes.noted.insert((height, owner)) {
            let before = self.forest_node(reader, owner)?;
            self.changes.undo.push((height, owner, before));
        }
        self.slots.insert(owner, slot);
        self.changes.slots.insert(owner);
        Ok(())
    }

    /// The nodes that the batch changed, in the order of owners.
    pub(super) fn changed_slots(&self) -> Vec<(u64, [u8; ForestNode::BYTES])> {
        let changed = self.changes.slots.iter();
        let mut slots: Vec<_> =
            changed.filter_map(|owner| Some((*owner, self.slots.get(owner)?.to_bytes()))).collect();
        slots.sort_unstable_by_key(|(owner, _)| *owner);
        slots
    }

    /// The current link of a child, if the batch created or confirmed it.
    pub(super) fn known_link(&self, child: u64) -> Option<&ClusterLink> {
        self.links.get(&child)
    }

    /// Confirms the newest links between owners of one cluster.
    fn confirm(
        &mut self,
        reader: &Reader<'_>,
        connected: &[u64],
        transaction: u64,
    ) -> Result<(), GraphError> {
        let [first, others @ ..] = connected else { return Ok(()) };
        for other in others {
            let paths = (self.path(reader, *first)?, self.path(reader, *other)?);
            let newest = newest_between(paths, |child, by| self.link(reader, child, by))?;
            let Some((link, is_first)) = newest.filter(|(link, _)| link.needs_confirmation())
            else {
                continue;
            };
            let (child_member, parent_member) =
                if is_first { (*first, *other) } else { (*other, *first) };
            let by = Confirmation { transaction, child_member, parent_member };
            self.links.insert(link.child, ClusterLink { confirmation: Some(by), ..link });
            self.changes.confirmations.push((link.child, transaction));
        }
        Ok(())
    }

    /// The links from an owner up to the root of its cluster.
    fn path(&mut self, reader: &Reader<'_>, owner: u64) -> Result<RootPath, GraphError> {
        let (mut path, mut at) = (RootPath::new(), owner);
        while let ForestNode::Child { parent, transaction } = self.forest_node(reader, at)? {
            path.push((at, transaction));
            at = parent;
        }
        Ok(path)
    }
}
