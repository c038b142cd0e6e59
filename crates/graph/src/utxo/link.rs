//! Clusters as a graph keeps them: a forest of links that is only ever appended to.
//!
//! Each owner is a cluster of its own at first. A co-spend that joins two clusters adds one [`Link`]: the root of the
//! smaller one becomes the child of the root of the larger one. So the merge of two clusters of any size is one row, a
//! root is at most log2(size) links away, and a rollback deletes the links of its transactions. A root's newest link
//! holds the size and the smallest member of its cluster.
//!
//! A link names the two members that its transaction spends together, one of either cluster. So the co-spends
//! that connect any two members are found again: those of the newest link between them, and, on either side,
//! those that connect the member with the one that the link names.
//!
//! A link by a transaction that may be a `PayJoin` is confirmed by the next transaction that spends members of
//! the same two clusters together. That is its [`Confirmation`].
//!
//! Links are a function of the chain: of the transactions in their order, and of each one's owners in the
//! order of their numbers.

use assay_columns::bytes::{ByteReader, NUMBER_BYTES, number, put_varint};

/// A link: two clusters that a transaction joined. Key: the child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ClusterLink {
    /// The owner that was the root of the smaller cluster; of equal ones, of the one with the larger root.
    pub(super) child: u64,
    /// The owner that was the root of the other cluster.
    pub(super) parent: u64,
    /// The transaction.
    pub(super) transaction: u64,
    /// The number of members of the joined cluster.
    pub(super) size: u64,
    /// The smallest member of the joined cluster.
    pub(super) smallest: u64,
    /// True if the transaction cannot be one of several parties, such as a `PayJoin`.
    pub(super) is_conclusive: bool,
    /// The transaction's smallest owner in the child's cluster.
    pub(super) child_member: u64,
    /// The transaction's smallest owner in the parent's cluster.
    pub(super) parent_member: u64,
    /// The second transaction behind a link that may be due to a `PayJoin`.
    pub(super) confirmation: Option<Confirmation>,
}

/// The second transaction behind a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Confirmation {
    /// The transaction.
    pub(super) transaction: u64,
    /// The transaction's owner in what was the child's cluster.
    pub(super) child_member: u64,
    /// The transaction's owner in what was the parent's cluster.
    pub(super) parent_member: u64,
}

impl ClusterLink {
    /// True if a second transaction would strengthen the link.
    pub(super) const fn needs_confirmation(&self) -> bool {
        !self.is_conclusive && self.confirmation.is_none()
    }

    /// The key under which it is stored: its transaction and its child.
    pub(super) fn key(&self) -> [u8; 2 * NUMBER_BYTES] {
        pair_key(self.transaction, self.child)
    }

    /// The link as it is stored under its key.
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

    /// Reads what [`Link::to_bytes`] wrote.
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

/// The flag of a root; the other bits of its number are the smallest member of its cluster.
const ROOT: u64 = 1 << 39;
/// The largest number of an owner.
pub(super) const MAX_OWNERS: u64 = ROOT - 1;

/// Place of an owner in the forest of clusters. The smaller cluster's root becomes a child of the larger one's,
/// so that a root is at most log2(size) steps away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ForestNode {
    Root {
        /// The smallest member of its cluster.
        smallest: u64,
        /// Number of members.
        size: u64,
    },
    Child {
        parent: u64,
        /// The transaction of its link.
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

/// The links from an owner up to its root: each child with the transaction of its link.
pub(super) type RootPath = Vec<(u64, u64)>;

/// The newest link between two owners of the same cluster, by the ways up from both, and true if the first of them is on
/// its child's side; `None` for the same owner twice. `link` finds the link of a child by a transaction.
pub(super) fn newest_between<E>(
    (mut above_one, mut above_other): (RootPath, RootPath),
    mut link: impl FnMut(u64, u64) -> Result<ClusterLink, E>,
) -> Result<Option<(ClusterLink, bool)>, E> {
    // What both have in common is above where their paths meet.
    while above_one.last().is_some() && above_one.last() == above_other.last() {
        above_one.pop();
        above_other.pop();
    }
    let mut top = |path: RootPath| {
        path.last().map(|(child, transaction)| link(*child, *transaction)).transpose()
    };
    let (one, other) = (top(above_one)?, top(above_other)?);
    // Links get newer and clusters larger towards the root.
    let age = |link: &Option<ClusterLink>| link.map(|link| (link.transaction, link.size));
    let is_first = age(&one) > age(&other);
    Ok((if is_first { one } else { other }).map(|link| (link, is_first)))
}
