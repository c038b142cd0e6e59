//! The links between some owners and their roots, in memory, and what a co-spend adds to them.

use std::collections::{BTreeMap, HashMap};

use super::{ConfirmationRow, LinkRow, RecordedLink};

/// A cluster, by its root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ClusterRoot {
    /// Number of members.
    pub(crate) size: i64,
    /// The smallest member.
    pub(crate) smallest: i64,
}

/// Links from owners to their roots. An owner without a link is a root, and one without any is a cluster of
/// its own.
#[derive(Clone, Debug, Default)]
pub(crate) struct Forest {
    links: HashMap<i64, RecordedLink>,
    roots: HashMap<i64, ClusterRoot>,
}

/// Links from an owner up to its root, each by its child.
type Path = Vec<i64>;

impl Forest {
    /// Adds a recorded link. Of a root's links as a parent, the newest one must be among them.
    pub(crate) fn add(&mut self, found: RecordedLink) {
        let LinkRow { child, parent, size, smallest, .. } = found.link;
        self.links.insert(child, found);
        let newest = self.roots.get(&parent).is_none_or(|root| root.size < size);
        if newest {
            self.roots.insert(parent, ClusterRoot { size, smallest });
        }
    }

    /// Adds all links of another forest.
    pub(crate) fn add_all(&mut self, other: Self) {
        self.links.extend(other.links);
        for (root, cluster) in other.roots {
            let newest = self.roots.get(&root).is_none_or(|known| known.size < cluster.size);
            if newest {
                self.roots.insert(root, cluster);
            }
        }
    }

    /// Adds a root with its cluster.
    pub(crate) fn add_root(&mut self, root: i64, cluster: ClusterRoot) {
        self.roots.insert(root, cluster);
    }

    /// The link whose child is this owner.
    pub(crate) fn link(&self, child: i64) -> Option<&RecordedLink> {
        self.links.get(&child)
    }

    /// The cluster of a root.
    pub(crate) fn cluster(&self, root: i64) -> ClusterRoot {
        self.roots.get(&root).copied().unwrap_or(ClusterRoot { size: 1, smallest: root })
    }

    /// The links from an owner to its root, and the root.
    pub(crate) fn path(&self, owner: i64) -> (Path, i64) {
        let (mut path, mut at) = (Path::new(), owner);
        while let Some(found) = self.links.get(&at) {
            path.push(at);
            at = found.link.parent;
        }
        (path, at)
    }

    /// Joins the clusters of owners that a transaction co-spends, and returns the new rows.
    pub(crate) fn join(
        &mut self,
        mut owners: Vec<i64>,
        transaction: i64,
        is_conclusive: bool,
    ) -> (Vec<LinkRow>, Vec<ConfirmationRow>) {
        owners.sort_unstable();
        owners.dedup();
        let mut by_root: BTreeMap<i64, Vec<i64>> = BTreeMap::new();
        for owner in owners {
            by_root.entry(self.path(owner).1).or_default().push(owner);
        }
        let mut confirmations = Vec::new();
        for connected in by_root.values() {
            self.confirm(connected, transaction, &mut confirmations);
        }
        let side = |(root, owners): (i64, Vec<i64>)| {
            Some(Side { root, member: *owners.first()?, cluster: self.cluster(root) })
        };
        let mut sides = by_root.into_iter().filter_map(side).collect::<Vec<_>>().into_iter();
        let mut links = Vec::new();
        let Some(mut joined) = sides.next() else { return (links, confirmations) };
        for other in sides {
            let link = link(joined, other, transaction, is_conclusive);
            let member = joined.member.min(other.member);
            let cluster = ClusterRoot { size: link.size, smallest: link.smallest };
            joined = Side { root: link.parent, member, cluster };
            self.add(RecordedLink { link, confirmation: None });
            links.push(link);
        }
        (links, confirmations)
    }

    /// Confirms the newest link between owners that are connected.
    fn confirm(&mut self, connected: &[i64], transaction: i64, rows: &mut Vec<ConfirmationRow>) {
        let [first, others @ ..] = connected else { return };
        for other in others {
            let newest = self.newest_between(*first, *other);
            let Some((child, child_member, parent_member)) = newest else { continue };
            let unconfirmed = self.links.get_mut(&child).filter(|found| found.wants_confirmation());
            if let Some(found) = unconfirmed {
                let row = ConfirmationRow { child, transaction, child_member, parent_member };
                found.confirmation = Some(row);
                rows.push(row);
            }
        }
    }

    /// The newest link between two owners of the same cluster, by its child, and the owners on the child's and
    /// on the parent's side.
    pub(super) fn newest_between(&self, one: i64, other: i64) -> Option<(i64, i64, i64)> {
        let (mut above_one, mut above_other) = (self.path(one).0, self.path(other).0);
        // What both have in common is above where their paths meet.
        while above_one.last().is_some() && above_one.last() == above_other.last() {
            above_one.pop();
            above_other.pop();
        }
        // Links get newer and clusters larger towards the root.
        let age = |child: &i64| {
            self.links.get(child).map(|found| (found.link.transaction, found.link.size))
        };
        let (top_one, top_other) = (above_one.last(), above_other.last());
        if top_one.and_then(age) > top_other.and_then(age) {
            top_one.map(|child| (*child, one, other))
        } else {
            top_other.map(|child| (*child, other, one))
        }
    }
}

/// A cluster that a transaction joins with others.
#[derive(Clone, Copy, Debug)]
struct Side {
    root: i64,
    /// The transaction's smallest owner in it.
    member: i64,
    cluster: ClusterRoot,
}

/// The link between two clusters: the larger one's root is the parent, of equal ones the smaller root.
fn link(one: Side, other: Side, transaction: i64, is_conclusive: bool) -> LinkRow {
    let first_is_larger = (one.cluster.size, -one.root) > (other.cluster.size, -other.root);
    let (parent, child) = if first_is_larger { (one, other) } else { (other, one) };
    LinkRow {
        child: child.root,
        parent: parent.root,
        transaction,
        size: one.cluster.size.saturating_add(other.cluster.size),
        smallest: one.cluster.smallest.min(other.cluster.smallest),
        is_conclusive,
        child_member: child.member,
        parent_member: parent.member,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    /// Every owner's cluster, by relabelling all members at each merge.
    fn plain(joins: &[(Vec<i64>, bool)]) -> HashMap<i64, BTreeSet<i64>> {
        let mut clusters: HashMap<i64, BTreeSet<i64>> =
            (0..30).map(|owner| (owner, BTreeSet::from([owner]))).collect();
        for (owners, _) in joins {
            let joined: BTreeSet<i64> =
                owners.iter().flat_map(|owner| clusters[owner].clone()).collect();
            for member in &joined {
                clusters.insert(*member, joined.clone());
            }
        }
        clusters
    }

    proptest! {
        #[test]
        fn clusters_are_those_of_plain_relabelling(
            joins in prop::collection::vec((prop::collection::vec(0..30_i64, 1..6), any::<bool>()), 0..40),
        ) {
            let mut forest = Forest::default();
            for ((owners, conclusive), transaction) in joins.iter().zip(0..) {
                forest.join(owners.clone(), transaction, *conclusive);
            }
            let expected = plain(&joins);
            for owner in 0..30 {
                let (path, root) = forest.path(owner);
                let ClusterRoot { size, smallest } = forest.cluster(root);
                prop_assert_eq!(usize::try_from(size).unwrap(), expected[&owner].len());
                prop_assert_eq!(Some(&smallest), expected[&owner].first());
                prop_assert!(1 << path.len() <= expected[&owner].len(), "a path of log2(size)");
            }
        }

        #[test]
        fn a_path_tells_since_when_owners_are_connected(
            joins in prop::collection::vec((prop::collection::vec(0..30_i64, 1..6), any::<bool>()), 0..40),
            one in 0..30_i64,
            other in 0..30_i64,
        ) {
            let mut forest = Forest::default();
            let mut since = None;
            for ((owners, conclusive), transaction) in joins.iter().zip(0..) {
                forest.join(owners.clone(), transaction, *conclusive);
                if one != other && since.is_none() && forest.path(one).1 == forest.path(other).1 {
                    since = Some(transaction);
                }
            }
            let newest = forest.newest_between(one, other);
            let newest = newest.map(|(child, _, _)| forest.links[&child].link.transaction);
            if since.is_some() {
                prop_assert_eq!(newest, since);
            }
        }

        #[test]
        fn a_join_in_any_order_gives_the_same_rows(
            owners in prop::collection::vec(0..30_i64, 1..6),
            before in prop::collection::vec(prop::collection::vec(0..30_i64, 1..4), 0..12),
        ) {
            let mut forest = Forest::default();
            for (joined, transaction) in before.into_iter().zip(0..) {
                forest.join(joined, transaction, false);
            }
            let reversed = owners.iter().rev().copied().collect();
            prop_assert_eq!(forest.clone().join(owners, 99, true), forest.join(reversed, 99, true));
        }
    }

    fn row(child: [i64; 2], parent: [i64; 2], transaction: i64, size: i64) -> LinkRow {
        LinkRow {
            child: child[0],
            parent: parent[0],
            transaction,
            size,
            smallest: 1,
            is_conclusive: false,
            child_member: child[1],
            parent_member: parent[1],
        }
    }

    #[test]
    fn a_link_names_the_members_that_are_spent_together() {
        let mut forest = Forest::default();
        forest.join(vec![1, 2], 10, false);
        forest.join(vec![5, 6], 11, false);
        let (links, _) = forest.join(vec![6, 2], 12, false);
        assert_eq!(links, [row([5, 6], [1, 2], 12, 4)]);
    }

    #[test]
    fn the_next_co_spend_of_two_clusters_confirms_their_link() {
        let mut forest = Forest::default();
        let (links, confirmed) = forest.join(vec![1, 2], 10, false);
        assert_eq!((links, confirmed), (vec![row([2, 2], [1, 1], 10, 2)], vec![]), "not by itself");
        forest.join(vec![2, 3], 11, false);
        // 3 was joined to the cluster of 1 and 2: a second transaction says so, and nothing more.
        let (links, confirmed) = forest.join(vec![3, 1], 12, false);
        let by_12 =
            ConfirmationRow { child: 3, transaction: 12, child_member: 3, parent_member: 1 };
        assert_eq!((links, confirmed), (vec![], vec![by_12]));
        let (_, again) = forest.join(vec![3, 1], 13, false);
        assert_eq!(again, [], "once is enough");
        let (_, confirmed) = forest.join(vec![1, 2], 14, false);
        assert_eq!(confirmed.len(), 1, "the older link needs a transaction of its own");
    }

    #[test]
    fn a_transaction_that_joins_and_repeats_confirms_only_what_was_connected_before() {
        let mut forest = Forest::default();
        forest.join(vec![1, 2], 10, false);
        let (links, confirmed) = forest.join(vec![1, 2, 3], 11, false);
        let by_11 =
            ConfirmationRow { child: 2, transaction: 11, child_member: 2, parent_member: 1 };
        assert_eq!((links, confirmed), (vec![row([3, 3], [1, 1], 11, 3)], vec![by_11]));
        assert!(forest.links[&3].wants_confirmation());
    }

    #[test]
    fn a_conclusive_link_needs_no_confirmation() {
        let mut forest = Forest::default();
        forest.join(vec![5, 4], 10, true);
        assert!(!forest.links[&5].wants_confirmation());
        let (_, confirmed) = forest.join(vec![5, 4], 11, false);
        assert_eq!(confirmed, []);
    }
}
