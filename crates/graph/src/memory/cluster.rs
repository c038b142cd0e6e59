//! Clusters in memory: members are listed, and relabelled at every merge.

use std::{
    cmp::Ordering,
    collections::{BTreeMap, BTreeSet, HashMap},
};

use crate::backend::cluster::{ConfirmationRow, LinkRow, RecordedLink};

/// All clusters with more than one member.
#[derive(Debug, Default)]
pub(super) struct Clusters {
    /// The root of each member.
    roots: HashMap<i64, i64>,
    /// The members of each cluster, by its root.
    members: HashMap<i64, BTreeSet<i64>>,
    /// Links by child.
    pub(super) links: BTreeMap<i64, RecordedLink>,
}

impl Clusters {
    pub(super) fn root(&self, owner: i64) -> i64 {
        self.roots.get(&owner).copied().unwrap_or(owner)
    }

    pub(super) fn members(&self, root: i64) -> BTreeSet<i64> {
        self.members.get(&root).cloned().unwrap_or_else(|| BTreeSet::from([root]))
    }

    /// Joins the clusters of owners that a transaction spends together.
    pub(super) fn join(&mut self, owners: BTreeSet<i64>, transaction: i64, is_conclusive: bool) {
        let mut connected: BTreeMap<i64, Vec<i64>> = BTreeMap::new();
        for owner in owners {
            connected.entry(self.root(owner)).or_default().push(owner);
        }
        for owners in connected.values() {
            let Some(first) = owners.first().copied() else { continue };
            for other in owners {
                self.confirm(first, *other, transaction);
            }
        }
        let smallest = |(root, owners): (i64, Vec<i64>)| Some((root, *owners.first()?));
        let mut clusters = connected.into_iter().filter_map(smallest);
        let Some((mut joined, mut member)) = clusters.next() else { return };
        for (other, other_member) in clusters {
            let (one, two) = (self.members(joined), self.members(other));
            let first_is_larger = match one.len().cmp(&two.len()) {
                Ordering::Greater => true,
                Ordering::Less => false,
                Ordering::Equal => joined < other,
            };
            let all: BTreeSet<i64> = one.union(&two).copied().collect();
            let (size, smallest) = (super::stored(all.len()), *all.first().unwrap_or(&joined));
            let (parent, parent_member, child, child_member) = if first_is_larger {
                (joined, member, other, other_member)
            } else {
                (other, other_member, joined, member)
            };
            let link = LinkRow {
                child,
                parent,
                transaction,
                size,
                smallest,
                is_conclusive,
                child_member,
                parent_member,
            };
            self.links.insert(child, RecordedLink { link, confirmation: None });
            self.roots.extend(all.iter().map(|member| (*member, parent)));
            self.members.remove(&child);
            self.members.insert(parent, all);
            joined = parent;
            member = member.min(other_member);
        }
    }

    /// Confirms the newest link between two owners.
    fn confirm(&mut self, one: i64, other: i64, transaction: i64) {
        let above = |owner| -> BTreeSet<i64> {
            self.path(owner).into_iter().map(|found| found.link.child).collect()
        };
        let (above_one, above_other) = (above(one), above(other));
        let between = above_one.symmetric_difference(&above_other);
        let age =
            |child: &&i64| self.links.get(child).map(|it| (it.link.transaction, it.link.size));
        let Some(child) = between.max_by_key(age).copied() else { return };
        let (child_member, parent_member) =
            if above_one.contains(&child) { (one, other) } else { (other, one) };
        if let Some(found) = self.links.get_mut(&child).filter(|found| found.wants_confirmation()) {
            let row = ConfirmationRow { child, transaction, child_member, parent_member };
            found.confirmation = Some(row);
        }
    }

    /// The links from an owner up to its root.
    pub(super) fn path(&self, owner: i64) -> Vec<RecordedLink> {
        let (mut path, mut at) = (Vec::new(), owner);
        while let Some(found) = self.links.get(&at) {
            path.push(*found);
            at = found.link.parent;
        }
        path
    }

    /// The co-spends on the only path between two members, by breadth-first search.
    pub(super) fn between(&self, from: i64, to: i64) -> Option<Vec<RecordedLink>> {
        let mut by_member: HashMap<i64, Vec<(i64, RecordedLink)>> = HashMap::new();
        for found in self.links.values() {
            let (one, other) = (found.link.child_member, found.link.parent_member);
            by_member.entry(one).or_default().push((other, *found));
            by_member.entry(other).or_default().push((one, *found));
        }
        let mut paths = HashMap::from([(from, Vec::new())]);
        let mut level = vec![from];
        while !level.is_empty() && !paths.contains_key(&to) {
            let mut next = Vec::new();
            for member in level {
                let path = paths.get(&member).cloned().unwrap_or_default();
                for (other, found) in by_member.get(&member).into_iter().flatten() {
                    if !paths.contains_key(other) {
                        let mut longer = path.clone();
                        longer.push(*found);
                        paths.insert(*other, longer);
                        next.push(*other);
                    }
                }
            }
            level = next;
        }
        paths.remove(&to)
    }

    /// The first links below a root, level by level.
    pub(super) fn below(&self, root: i64, most: usize) -> Vec<RecordedLink> {
        let (mut links, mut level) = (Vec::new(), vec![root]);
        while !level.is_empty() && links.len() < most {
            let mut next = Vec::new();
            for parent in level {
                let mut joined: Vec<_> =
                    self.links.values().filter(|found| found.link.parent == parent).collect();
                joined.sort_by_key(|found| found.link.size);
                next.extend(joined.into_iter().copied());
            }
            level = next.iter().map(|found| found.link.child).collect();
            links.extend(next);
        }
        links.truncate(most);
        links
    }
}
