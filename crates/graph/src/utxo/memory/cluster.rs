//! Clusters in memory: sets of members, which every merge rewrites.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet, HashMap},
};

use super::super::link::{ClusterLink, Confirmation};

/// All clusters with more than one member.
#[derive(Debug, Default)]
pub(super) struct Clusters {
    /// The root of each member.
    roots: HashMap<u64, u64>,
    /// The members of each cluster, by its root.
    members: HashMap<u64, BTreeSet<u64>>,
    /// The links, by child.
    pub(super) links: BTreeMap<u64, ClusterLink>,
}

impl Clusters {
    pub(super) fn root(&self, owner: u64) -> u64 {
        self.roots.get(&owner).copied().unwrap_or(owner)
    }

    pub(super) fn members(&self, root: u64) -> BTreeSet<u64> {
        self.members.get(&root).cloned().unwrap_or_else(|| BTreeSet::from([root]))
    }

    /// Joins the clusters of owners that a transaction spends together.
    pub(super) fn join(&mut self, owners: BTreeSet<u64>, transaction: u64, is_conclusive: bool) {
        let mut connected: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
        for owner in owners {
            connected.entry(self.root(owner)).or_default().push(owner);
        }
        for owners in connected.values() {
            let Some(first) = owners.first().copied() else { continue };
            for other in owners {
                self.confirm(first, *other, transaction);
            }
        }
        let smallest = |(root, owners): (u64, Vec<u64>)| Some((root, *owners.first()?));
        let mut clusters = connected.into_iter().filter_map(smallest);
        let Some(mut joined) = clusters.next() else { return };
        for other in clusters {
            let (one, two) = (self.members(joined.0), self.members(other.0));
            let all: BTreeSet<u64> = one.union(&two).copied().collect();
            let is_larger = (one.len(), Reverse(joined.0)) > (two.len(), Reverse(other.0));
            let ((parent, parent_member), (child, child_member)) =
                if is_larger { (joined, other) } else { (other, joined) };
            let (size, smallest) = (all.len() as u64, *all.first().unwrap_or(&parent));
            let link = ClusterLink {
                child,
                parent,
                transaction,
                size,
                smallest,
                is_conclusive,
                child_member,
                parent_member,
                confirmation: None,
            };
            self.links.insert(child, link);
            self.roots.extend(all.iter().map(|member| (*member, parent)));
            self.members.remove(&child);
            self.members.insert(parent, all);
            joined = (parent, joined.1.min(other.1));
        }
    }

    /// Confirms the newest link between two owners.
    fn confirm(&mut self, one: u64, other: u64, transaction: u64) {
        let above = |owner| self.path(owner).into_iter().map(|link| link.child).collect();
        let (above_one, above_other): (BTreeSet<u64>, BTreeSet<u64>) = (above(one), above(other));
        let between = above_one.symmetric_difference(&above_other);
        let age = |child: &&u64| self.links.get(child).map(|link| (link.transaction, link.size));
        let Some(child) = between.max_by_key(age).copied() else { return };
        let (child_member, parent_member) =
            if above_one.contains(&child) { (one, other) } else { (other, one) };
        if let Some(link) = self.links.get_mut(&child).filter(|link| link.needs_confirmation()) {
            link.confirmation = Some(Confirmation { transaction, child_member, parent_member });
        }
    }

    /// The links from an owner up to the root of its cluster.
    pub(super) fn path(&self, owner: u64) -> Vec<ClusterLink> {
        let (mut path, mut at) = (Vec::new(), owner);
        while let Some(link) = self.links.get(&at) {
            path.push(*link);
            at = link.parent;
        }
        path
    }

    /// The co-spends on the only path between two members, by breadth-first search.
    pub(super) fn between(&self, from: u64, to: u64) -> Option<Vec<ClusterLink>> {
        let mut by_member: HashMap<u64, Vec<(u64, ClusterLink)>> = HashMap::new();
        for link in self.links.values() {
            let (one, other) = (link.child_member, link.parent_member);
            by_member.entry(one).or_default().push((other, *link));
            by_member.entry(other).or_default().push((one, *link));
        }
        let mut paths = HashMap::from([(from, Vec::new())]);
        let mut level = vec![from];
        while !level.is_empty() && !paths.contains_key(&to) {
            let mut next = Vec::new();
            for member in level {
                let path = paths.get(&member).cloned().unwrap_or_default();
                for (other, link) in by_member.get(&member).into_iter().flatten() {
                    if !paths.contains_key(other) {
                        paths.insert(*other, [&path[..], &[*link]].concat());
                        next.push(*other);
                    }
                }
            }
            level = next;
        }
        paths.remove(&to)
    }

    /// The first links below a root, level by level.
    pub(super) fn below(&self, root: u64, most: usize) -> Vec<ClusterLink> {
        let (mut links, mut level) = (Vec::new(), vec![root]);
        while !level.is_empty() && links.len() < most {
            let mut next: Vec<ClusterLink> = Vec::new();
            for parent in level {
                let mut joined: Vec<ClusterLink> =
                    self.links.values().filter(|link| link.parent == parent).copied().collect();
                joined.sort_by_key(|link| link.size);
                next.extend(joined);
            }
            level = next.iter().map(|link| link.child).collect();
            links.extend(next);
        }
        links.truncate(most);
        links
    }
}
