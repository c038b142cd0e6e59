//! A writer's cache of clusters.

use std::collections::HashSet;

use super::{ClusterRoot, ConfirmationRow, Forest, LinkRow, RecordedLink};
use crate::backend::cache::Cache;

/// Links by child, and clusters by root.
#[derive(Debug)]
pub(crate) struct ClusterCache {
    links: Cache<i64, RecordedLink>,
    roots: Cache<i64, ClusterRoot>,
}

impl ClusterCache {
    /// A cache of at most `bytes`.
    pub(crate) fn within(bytes: usize) -> Self {
        Self { links: Cache::within(bytes / 2, 0), roots: Cache::within(bytes / 2, 0) }
    }

    /// The links from owners up to their roots, as far as they are remembered, and the owners above which
    /// nothing is.
    pub(crate) fn forest(&self, owners: &HashSet<i64>) -> (Forest, HashSet<i64>) {
        let (mut forest, mut missing) = (Forest::default(), HashSet::new());
        for owner in owners {
            let mut at = *owner;
            while let Some(found) = self.links.get(&at) {
                forest.add(found);
                at = found.link.parent;
            }
            match self.roots.get(&at) {
                Some(cluster) => forest.add_root(at, cluster),
                None => {
                    missing.insert(at);
                }
            }
        }
        (forest, missing)
    }

    /// Remembers what was looked up for owners.
    pub(crate) fn remember_looked_up(&mut self, forest: &Forest, owners: &HashSet<i64>) {
        for owner in owners {
            let (path, root) = forest.path(*owner);
            for child in path {
                if let Some(found) = forest.link(child) {
                    self.links.insert(child, *found);
                }
            }
            self.roots.insert(root, forest.cluster(root));
        }
    }

    /// Remembers new rows.
    pub(crate) fn remember_written(&mut self, links: &[LinkRow], confirmed: &[ConfirmationRow]) {
        for link in links {
            let cluster = ClusterRoot { size: link.size, smallest: link.smallest };
            self.links.insert(link.child, RecordedLink { link: *link, confirmation: None });
            self.roots.remove(&link.child);
            self.roots.insert(link.parent, cluster);
        }
        for row in confirmed {
            if let Some(found) = self.links.get(&row.child) {
                let confirmation = Some(*row);
                self.links.insert(row.child, RecordedLink { confirmation, ..found });
            }
        }
    }

    pub(crate) fn clear(&mut self) {
        self.links.clear();
        self.roots.clear();
    }
}
