//! Reading of clusters: members, connections and changes.

use std::{collections::BTreeSet, ops::ControlFlow};

use assay_engine::utxo::ScriptOwner;

use super::{
    entry_limit,
    link::{ClusterLink, ForestNode, RootPath, newest_between},
    reader::{ClusterRoot, Reader},
};
use crate::{
    ClusterEvidence, ClusterRef, GraphError, Membership, StoredCluster, StoredClusterMember,
    TransactionRef,
};

/// A part of the path between two members.
enum PathPart {
    /// Two members whose connection is not found yet.
    Between(u64, u64),
    /// A co-spend.
    CoSpend(ClusterLink),
}

impl Reader<'_> {
    /// The clusters of owners: see [`Graph::clusters`](crate::Graph::clusters).
    pub(super) fn clusters(
        &self,
        owners: &[ScriptOwner],
    ) -> Result<Vec<Option<ClusterRef>>, GraphError> {
        let cluster = |owner: &ScriptOwner| {
            let Some(number) = self.find_owner(owner)? else { return Ok(None) };
            let ClusterRoot { root, smallest, size } = self.root(number)?;
            Ok(Some(ClusterRef { id: self.owner(smallest)?, root: self.owner(root)?, size }))
        };
        owners.iter().map(cluster).collect()
    }

    /// An owner's cluster with its first members: see [`Graph::cluster`](crate::Graph::cluster).
    pub(super) fn cluster_members(
        &self,
        owner: &ScriptOwner,
        most: u32,
    ) -> Result<Option<StoredCluster>, GraphError> {
        let Some(number) = self.find_owner(owner)? else { return Ok(None) };
        let (path, ClusterRoot { root, smallest, size }) = (self.path(number)?, self.root(number)?);
        // The owner and the members between owner and root are always included.
        let on_path: BTreeSet<u64> = path.iter().map(|(child, _)| *child).collect();
        let mut others = self.descendants(root, most)?;
        others.retain(|child| !on_path.contains(child));
        let children = path.iter().rev().map(|(child, _)| *child).chain(others);
        let most = entry_limit(most).max(path.len() + 1);
        let member = |owner: u64, evidence| {
            let (owner, statistics) = (self.owner(owner)?, self.statistics(owner)?);
            Ok::<_, GraphError>(StoredClusterMember { owner, statistics, evidence })
        };
        let mut members = vec![member(root, None)?];
        for child in children.take(most - 1) {
            members.push(member(child, Some(self.evidence(&self.known_link(child)?)?))?);
        }
        let (id, first_seen) = (self.owner(smallest)?, self.statistics(smallest)?.first_seen);
        Ok(Some(StoredCluster { id, size, first_seen, members }))
    }

    /// The co-spends that connect an owner with other owners: see [`Graph::connections`](crate::Graph::connections).
    pub(super) fn connections(
        &self,
        owner: &ScriptOwner,
        others: &[ScriptOwner],
        most: u32,
    ) -> Result<Vec<Option<Vec<ClusterEvidence>>>, GraphError> {
        let Some(from) = self.find_owner(owner)? else { return Ok(vec![None; others.len()]) };
        let connection = |other: &ScriptOwner| {
            let Some(to) = self.find_owner(other)? else { return Ok(None) };
            let Some(links) = self.connection(from, to, entry_limit(most))? else {
                return Ok(None);
            };
            links.iter().map(|link| self.evidence(link)).collect::<Result<_, _>>().map(Some)
        };
        others.iter().map(connection).collect()
    }

    /// The co-spends between two owners, in the order from the first owner; `None` if the owners are in different
    /// clusters, or if there are more than `most` co-spends.
    ///
    /// The newest link between two members names the two owners that its transaction spends together. Each of the two
    /// members is then connected with the named owner on its side, by older links, until all co-spends of the only path
    /// are found.
    fn connection(
        &self,
        from: u64,
        to: u64,
        most: usize,
    ) -> Result<Option<Vec<ClusterLink>>, GraphError> {
        if self.root(from)? != self.root(to)? {
            return Ok(None);
        }
        let (mut parts, mut links, mut found) = (vec![PathPart::Between(from, to)], Vec::new(), 0);
        while let Some(part) = parts.pop() {
            let (one, other) = match part {
                PathPart::CoSpend(link) => {
                    links.push(link);
                    continue;
                }
                PathPart::Between(one, other) => (one, other),
            };
            let paths = (self.path(one)?, self.path(other)?);
            let newest = newest_between(paths, |child, by| self.link_by(by, child))?;
            let Some((link, is_first)) = newest else { continue };
            if found == most {
                return Ok(None);
            }
            found += 1;
            let (near, far) = if is_first {
                (link.child_member, link.parent_member)
            } else {
                (link.parent_member, link.child_member)
            };
            parts.extend([
                PathPart::Between(far, other),
                PathPart::CoSpend(link),
                PathPart::Between(one, near),
            ]);
        }
        Ok(Some(links))
    }

    /// The roots of changed clusters: see [`Graph::clusters_changed_above`](crate::Graph::clusters_changed_above).
    pub(super) fn clusters_changed_above(
        &self,
        height: u64,
        most: u32,
    ) -> Result<Option<Vec<ScriptOwner>>, GraphError> {
        let Some(first) = self.first_above(height)? else { return Ok(Some(Vec::new())) };
        let (first, end) = (first.first_transaction, self.state()?.next_transaction);
        let most = entry_limit(most);
        let (mut changes, mut owners) = (0, BTreeSet::new());
        self.links_between(first, end, |link| {
            changes += 1;
            owners.extend([link.child, link.parent]);
            changes <= most
        })?;
        let confirmed = self.confirmed_between(first, end, most.saturating_add(1))?;
        owners.extend(confirmed.iter().map(|link| link.child));
        if changes + confirmed.len() > most {
            return Ok(None);
        }
        let mut roots = owners.clone();
        for owner in owners {
            roots.insert(self.root(owner)?.root);
        }
        roots.into_iter().map(|owner| self.owner(owner)).collect::<Result<_, _>>().map(Some)
    }

    /// Passes each owner that shares its cluster with other owners, and the cluster's identifier: see
    /// [`Graph::each_member`](crate::Graph::each_member).
    pub(super) fn each_member(
        &self,
        each: &mut (dyn FnMut(Membership) -> ControlFlow<()> + Send),
    ) -> Result<(), GraphError> {
        for owner in 0..self.state()?.next_owner {
            let ClusterRoot { smallest, size, .. } = self.root(owner)?;
            if size > 1 {
                let cluster = self.owner(smallest)?;
                if each(Membership { owner: self.owner(owner)?, cluster }).is_break() {
                    break;
                }
            }
        }
        Ok(())
    }

    /// The links from an owner up to the root of its cluster.
    fn path(&self, owner: u64) -> Result<RootPath, GraphError> {
        let (mut path, mut at) = (RootPath::new(), owner);
        while let ForestNode::Child { parent, transaction } = self.forest_node(at)? {
            path.push((at, transaction));
            at = parent;
        }
        Ok(path)
    }

    /// The first members below a root, level by level: at most `most - 1`, because `most` counts the root.
    fn descendants(&self, root: u64, most: u32) -> Result<Vec<u64>, GraphError> {
        let most = entry_limit(most.saturating_sub(1));
        let (mut found, mut level) = (Vec::new(), vec![root]);
        while !level.is_empty() && found.len() < most {
            let from = found.len();
            for parent in level {
                if found.len() < most {
                    self.children(parent, |child| {
                        found.push(child);
                        found.len() < most
                    })?;
                }
            }
            level = found.get(from..).unwrap_or_default().to_vec();
        }
        Ok(found)
    }

    /// The co-spend behind a link.
    fn evidence(&self, link: &ClusterLink) -> Result<ClusterEvidence, GraphError> {
        Ok(ClusterEvidence {
            member: self.owner(link.child_member)?,
            with: self.owner(link.parent_member)?,
            transaction: self.transaction_ref(link.transaction)?,
            is_conclusive: link.is_conclusive,
            confirmed_by: link
                .confirmation
                .map(|by| self.transaction_ref(by.transaction))
                .transpose()?,
        })
    }

    /// The identifier, height and time of a transaction.
    fn transaction_ref(&self, transaction: u64) -> Result<TransactionRef, GraphError> {
        let height = self.known_transaction(transaction)?.head().height;
        let time = self.known_block(height)?.block.time;
        Ok(TransactionRef { txid: self.txid(transaction)?, height, time })
    }
}
