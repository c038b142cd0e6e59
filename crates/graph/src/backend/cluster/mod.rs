//! Clusters as a graph keeps them: a forest of links that is only ever appended to.
//!
//! Each owner is a cluster of its own at first. A co-spend that joins two clusters adds one
//! [`LinkRow`]: the root of the smaller one becomes the child of the root of the larger one. So the merge of two
//! clusters of any size is one row, a root is at most log2(size) links away, and a rollback deletes the links
//! of its transactions. A root's newest link holds the size and the smallest member of its cluster.
//!
//! A link names the two members that its transaction spends together, one of either cluster. So the co-spends
//! that connect any two members are found again: those of the newest link between them, and, on either side,
//! those that connect the member with the one that the link names.
//!
//! A link by a transaction that may be a `PayJoin` is confirmed by the next transaction that spends members of
//! the same two clusters together. That is its [`ConfirmationRow`].
//!
//! Links are a function of the chain: of the transactions in their order, and of each one's owners in the
//! order of their numbers.

mod cache;
mod connect;
mod forest;
mod read;

pub(crate) use cache::ClusterCache;
pub use connect::connections;
pub(crate) use forest::{ClusterRoot, Forest};
pub use read::{ClusterRows, TransactionPlace, changed_above, cluster, clusters, each_member};

/// A link: two clusters that a transaction joined. Key: the child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkRow {
    /// The owner that was the root of the smaller cluster; of equal ones, of the one with the larger root.
    pub child: i64,
    /// The owner that was the root of the other cluster.
    pub parent: i64,
    /// The transaction.
    pub transaction: i64,
    /// The number of members of the joined cluster.
    pub size: i64,
    /// The smallest member of the joined cluster.
    pub smallest: i64,
    /// True if the transaction cannot be one of several parties, such as a `PayJoin`.
    pub is_conclusive: bool,
    /// The transaction's smallest owner in the child's cluster.
    pub child_member: i64,
    /// The transaction's smallest owner in the parent's cluster.
    pub parent_member: i64,
}

/// The second transaction behind a link that may be due to a `PayJoin`. Key: the link's child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConfirmationRow {
    /// The link's child.
    pub child: i64,
    /// The transaction.
    pub transaction: i64,
    /// The transaction's owner in what was the child's cluster.
    pub child_member: i64,
    /// The transaction's owner in what was the parent's cluster.
    pub parent_member: i64,
}

/// A link with its confirmation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordedLink {
    /// The link.
    pub link: LinkRow,
    /// Its confirmation, if a second transaction confirmed it.
    pub confirmation: Option<ConfirmationRow>,
}

impl RecordedLink {
    /// True if a second transaction would strengthen the link.
    #[must_use]
    pub const fn wants_confirmation(&self) -> bool {
        !self.link.is_conclusive && self.confirmation.is_none()
    }
}
