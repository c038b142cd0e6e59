//! The entries of sorted runs.

use assay_columns::{
    ColumnsError,
    bytes::{ByteReader, number, put_varint, put_wide_varint},
    run::{self, MergeSlice, NumberByHash, RunEntry},
};

use super::link::ClusterLink;

/// The kinds of entries in runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RunEntryKind {
    /// Transactions by their identifiers.
    Txid,
    /// Owners by their scripts.
    Script,
    /// Outputs by their owners.
    Received,
    /// Inputs by their owners.
    Sent,
    /// Statistics by owner.
    Statistics,
    /// Links of clusters by their parents.
    ChildLink,
}

/// The manifest of all runs of a graph.
pub(super) type GraphRuns = run::RunManifest<RunEntryKind>;

impl run::RunKind for RunEntryKind {
    const ALL: &'static [Self] =
        &[Self::Txid, Self::Script, Self::Received, Self::Sent, Self::Statistics, Self::ChildLink];

    fn number(self) -> u8 {
        self as u8
    }

    fn is_hashed(self) -> bool {
        matches!(self, Self::Txid | Self::Script)
    }

    fn is_mostly_new(self) -> bool {
        self == Self::Script
    }

    fn merge(self, slice: MergeSlice<'_, '_, Self>) -> Result<bool, ColumnsError> {
        match self {
            Self::Txid | Self::Script => slice.merge_entries::<NumberByHash>(),
            Self::Received | Self::Sent => slice.merge_entries::<StoredOwnerEntry>(),
            Self::Statistics => slice.merge_entries::<PartialStatistics>(),
            Self::ChildLink => slice.merge_entries::<ChildLink>(),
        }
    }
}

/// A stored input or output of an owner, ordered by falling value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct StoredOwnerEntry {
    pub(super) owner: u64,
    /// The bits of the value, inverted.
    pub(super) inverse: u64,
    pub(super) transaction: u64,
    pub(super) index: u32,
}

impl RunEntry for StoredOwnerEntry {
    fn put_key(&self, into: &mut Vec<u8>) {
        into.extend_from_slice(&number(self.owner));
        into.extend_from_slice(&self.inverse.to_be_bytes());
        into.extend_from_slice(&number(self.transaction));
        into.extend_from_slice(&self.index.to_be_bytes());
    }

    fn from_key(reading: &mut ByteReader<'_>) -> Option<Self> {
        Some(Self {
            owner: reading.number()?,
            inverse: reading.u64()?,
            transaction: reading.number()?,
            index: reading.u32()?,
        })
    }

    #[inline]
    fn leading_number(&self) -> u64 {
        self.owner
    }

    fn put(&self, before: Option<&Self>, into: &mut Vec<u8>) {
        put_varint(into, self.owner.wrapping_sub(before.map_or(0, |before| before.owner)));
        put_varint(into, !self.inverse);
        put_varint(into, self.transaction);
        put_varint(into, self.index.into());
    }

    #[inline]
    fn take(before: Option<&Self>, reading: &mut ByteReader<'_>) -> Option<Self> {
        let owner = before.map_or(0, |before| before.owner);
        Some(Self {
            owner: owner.wrapping_add(reading.varint()?),
            inverse: !reading.varint()?,
            transaction: reading.varint()?,
            index: u32::try_from(reading.varint()?).ok()?,
        })
    }
}

/// Statistics of an owner over a range of blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PartialStatistics {
    pub(super) owner: u64,
    /// Height of the first block with a transaction of the owner.
    pub(super) first: u64,
    /// Height of the last block with a transaction of the owner.
    pub(super) last: u64,
    pub(super) transactions_in: u64,
    pub(super) transactions_out: u64,
    pub(super) received: u128,
    pub(super) sent: u128,
}

impl PartialStatistics {
    /// Adds the statistics of another range, earlier or later.
    pub(super) fn add(&mut self, other: &Self) {
        self.first = self.first.min(other.first);
        self.last = self.last.max(other.last);
        self.transactions_in = self.transactions_in.saturating_add(other.transactions_in);
        self.transactions_out = self.transactions_out.saturating_add(other.transactions_out);
        self.received = self.received.saturating_add(other.received);
        self.sent = self.sent.saturating_add(other.sent);
    }

    /// Appends the statistics without the owner.
    pub(super) fn put_sums(&self, into: &mut Vec<u8>) {
        put_varint(into, self.first);
        put_varint(into, self.last.saturating_sub(self.first));
        put_varint(into, self.transactions_in);
        put_varint(into, self.transactions_out);
        put_wide_varint(into, self.received);
        put_wide_varint(into, self.sent);
    }

    /// Parses the bytes that [`PartialStatistics::put_sums`] wrote.
    pub(super) fn take_sums(owner: u64, reading: &mut ByteReader<'_>) -> Option<Self> {
        let first = reading.varint()?;
        Some(Self {
            owner,
            first,
            last: first.checked_add(reading.varint()?)?,
            transactions_in: reading.varint()?,
            transactions_out: reading.varint()?,
            received: reading.wide_varint()?,
            sent: reading.wide_varint()?,
        })
    }
}

impl RunEntry for PartialStatistics {
    fn put_key(&self, into: &mut Vec<u8>) {
        into.extend_from_slice(&number(self.owner));
    }

    fn from_key(reading: &mut ByteReader<'_>) -> Option<Self> {
        let owner = reading.number()?;
        Some(Self {
            owner,
            first: u64::MAX,
            last: 0,
            transactions_in: 0,
            transactions_out: 0,
            received: 0,
            sent: 0,
        })
    }

    #[inline]
    fn leading_number(&self) -> u64 {
        self.owner
    }

    fn put(&self, before: Option<&Self>, into: &mut Vec<u8>) {
        put_varint(into, self.owner.wrapping_sub(before.map_or(0, |before| before.owner)));
        self.put_sums(into);
    }

    fn take(before: Option<&Self>, reading: &mut ByteReader<'_>) -> Option<Self> {
        let owner = before.map_or(0, |before| before.owner);
        let owner = owner.wrapping_add(reading.varint()?);
        Self::take_sums(owner, reading)
    }

    fn try_merge(&mut self, other: &Self) -> bool {
        let same = self.owner == other.owner;
        if same {
            self.add(other);
        }
        same
    }
}

/// A child of a parent in the forest of clusters, ordered by the size of the cluster that their link joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ChildLink {
    pub(super) parent: u64,
    pub(super) size: u64,
    pub(super) child: u64,
}

impl ChildLink {
    pub(super) const fn of(link: &ClusterLink) -> Self {
        Self { parent: link.parent, size: link.size, child: link.child }
    }
}

impl RunEntry for ChildLink {
    fn put_key(&self, into: &mut Vec<u8>) {
        for part in [self.parent, self.size, self.child] {
            into.extend_from_slice(&number(part));
        }
    }

    fn from_key(reading: &mut ByteReader<'_>) -> Option<Self> {
        Some(Self { parent: reading.number()?, size: reading.number()?, child: reading.number()? })
    }

    #[inline]
    fn leading_number(&self) -> u64 {
        self.parent
    }

    fn put(&self, before: Option<&Self>, into: &mut Vec<u8>) {
        put_varint(into, self.parent.wrapping_sub(before.map_or(0, |before| before.parent)));
        put_varint(into, self.size);
        put_varint(into, self.child);
    }

    fn take(before: Option<&Self>, reading: &mut ByteReader<'_>) -> Option<Self> {
        let parent = before.map_or(0, |before| before.parent);
        Some(Self {
            parent: parent.wrapping_add(reading.varint()?),
            size: reading.varint()?,
            child: reading.varint()?,
        })
    }
}
