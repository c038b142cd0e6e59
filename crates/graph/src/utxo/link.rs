//! Storage of clusters: an append-only forest of links between owners.
//!
//! Each owner begins as a cluster of its own. A co-spend that joins two clusters adds one [`ClusterLink`]: the smaller
//! cluster's root becomes the child of the larger cluster's root. The merge of two clusters of any size thus writes one
//! row, a root is at most log2(size) links away, and a rollback deletes the links of its transactions. A root's newest
//! link holds the size of the root's cluster and the lowest owner number in the cluster.
//!
//! A link names the two members that its transaction spends together, one of each cluster. The connection between two
//! members thus consists of the newest link between them and, on each side, the connection between the member and the
//! member that the link names.
//!
//! The next transaction that spends members of the same two clusters together confirms a link by a possible `PayJoin`:
//! the link's [`Confirmation`].
//!
//! Links depend on the chain alone: on the order of transactions, and on the order of owners by number in each
//! transaction.

use assay_columns::bytes::{ByteReader, NUMBER_BYTES, number, put_varint};

/// A link between two clusters that a transaction joined. A child has one link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ClusterLink {
    /// The former root of the smaller cluster; of two clusters of equal size, the root with the larger number.
    pub(super) child: u64,
    /// The root of the other cluster, which stays the root of the joined cluster.
    pub(super) parent: u64,
    /// The number of the transaction.
    pub(super) transaction: u64,
    /// The number of members of the joined cluster.
    pub(super) size: u64,
    /// The lowest owner number in the joined cluster.
    pub(super) smallest: u64,
    /// True if one party must have made the transaction: it cannot be a `PayJoin` or the like.
    pub(super) is_conclusive: bool,
    /// Among the transaction's owners in the child cluster of the link, the lowest owner number.
    pub(super) child_member: u64,
    /// Among the transaction's owners in the parent cluster of the link, the lowest owner number.
    pub(super) parent_member: u64,
    /// The confirmation of a link by a possible `PayJoin`, if there is one.
    pub(super) confirmation: Option<Confirmation>,
}

/// A second transaction that confirms a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Confirmation {
    /// The number of the confirming transaction.
    pub(super) transaction: u64,
    /// The transaction's owner in the former cluster of the child.
    pub(super) child_member: u64,
    /// The transaction's owner in the former cluster of the parent.
    pub(super) parent_member: u64,
}

impl ClusterLink {
    /// True if the link is neither conclusive nor confirmed.
    pub(super) const fn needs_confirmation(&self) -> bool {
        !self.is_conclusive && self.confirmation.is_none()
    }

    /// The key of the stored link: transaction and child.
    pub(super) fn key(&self) -> [u8; 2 * NUMBER_BYTES] {
        pair_key(self.transaction, self.child)
    }

    /// Encodes the link without its key.
    pub(super) fn to_bytes(self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(40);
        bytes.push(u8::from(self.is_conclusive));
        let Self { parent, size, smallest, child_member, parent_member, .. } = self;
        for part in [parent, size, smallest, child_member, parent_member] {
            put_varint(&mut bytes, part);
        }
        if let Some(by) = self.confirmation {
            for part in [by.transaction, by.child_member, by.parent_member] {
                put_varint(&mut bytes, part);
            }
        }
        bytes
    }

    /// Parses the bytes that [`ClusterLink::to_bytes`] wrote.
    pub(super) fn read(transaction: u64, child: u64, bytes: &[u8]) -> Option<Self> {
        let mut reading = ByteReader(bytes);
        let is_conclusive = reading.byte()? != 0;
        let mut next = || reading.varint();
        let link = Self {
            child,
            parent: next()?,
            transaction,
            size: next()?,
            smallest: next()?,
            child_member: next()?,
            parent_member: next()?,
            is_conclusive,
            confirmation: None,
        };
        let confirmation = next().and_then(|transaction| {
            Some(Confirmation { transaction, child_member: next()?, parent_member: next()? })
        });
        Some(Self { confirmation, ..link })
    }
}

/// A key of two numbers.
pub(super) fn pair_key(first: u64, second: u64) -> [u8; 2 * NUMBER_BYTES] {
    let mut key = [0; 2 * NUMBER_BYTES];
    let bytes = number(first).into_iter().chain(number(second));
    key.iter_mut().zip(bytes).for_each(|(into, byte)| *into = byte);
    key
}

/// The bit that marks a root; the other bits are the lowest owner number in the root's cluster.
const ROOT: u64 = 1 << 39;
/// The largest number of an owner.
pub(super) const MAX_OWNERS: u64 = ROOT - 1;

/// The node of an owner in the forest of clusters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ForestNode {
    Root {
        /// The lowest owner number in the cluster.
        smallest: u64,
        /// Number of members.
        size: u64,
    },
    Child {
        parent: u64,
        /// The transaction of the child's link.
        transaction: u64,
    },
}

impl ForestNode {
    pub(super) const BYTES: usize = 2 * NUMBER_BYTES;

    pub(super) const fn single(owner: u64) -> Self {
        Self::Root { smallest: owner, size: 1 }
    }

    pub(super) fn to_bytes(self) -> [u8; Self::BYTES] {
        match self {
            Self::Root { smallest, size } => pair_key(smallest | ROOT, size),
            Self::Child { parent, transaction } => pair_key(parent, transaction),
        }
    }

    #[inline]
    pub(super) fn from_bytes(bytes: &[u8; Self::BYTES]) -> Option<Self> {
        let mut reading = ByteReader(bytes);
        let (first, second) = (reading.number()?, reading.number()?);
        Some(if first & ROOT == 0 {
            Self::Child { parent: first, transaction: second }
        } else {
            Self::Root { smallest: first & !ROOT, size: second }
        })
    }
}

/// The links from an owner up to the root: each child with the transaction of its link.
pub(super) type RootPath = Vec<(u64, u64)>;

/// Finds the newest link between two owners of a cluster, from their paths to the root, and whether the first owner is
/// on the child's side; `None` if both owners are the same. `link` finds the link of a child by a transaction.
pub(super) fn newest_between<E>(
    (mut above_one, mut above_other): (RootPath, RootPath),
    mut link: impl FnMut(u64, u64) -> Result<ClusterLink, E>,
) -> Result<Option<(ClusterLink, bool)>, E> {
    // Links that both paths share are above their meeting point.
    while above_one.last().is_some() && above_one.last() == above_other.last() {
        above_one.pop();
        above_other.pop();
    }
    let mut top = |path: RootPath| {
        path.last().map(|(child, transaction)| link(*child, *transaction)).transpose()
    };
    let (one, other) = (top(above_one)?, top(above_other)?);
    // Towards the root, links are newer and clusters larger.
    let age = |link: &Option<ClusterLink>| link.map(|link| (link.transaction, link.size));
    let is_first = age(&one) > age(&other);
    Ok((if is_first { one } else { other }).map(|link| (link, is_first)))
}
