//! Entries of runs.

use super::super::{
    bytes::{NUMBER, Reading, number, put_varint, put_wide_varint},
    link::Link,
};

/// An entry of a run. Entries are in the order of their keys, which is that of the keys' bytes.
pub(in crate::utxo) trait Entry: Copy + Ord {
    /// Appends the key's bytes.
    fn put_key(&self, into: &mut Vec<u8>);

    /// Reads the key of an entry; [`PartialStatistics`] have more than a key.
    fn from_key(reading: &mut Reading<'_>) -> Option<Self>;

    /// The number that the key begins with.
    fn leading(&self) -> u64;

    /// The number that a key, whole or its beginning, begins with; `None` if it is shorter.
    fn leading_of(key: &[u8]) -> Option<u64> {
        Reading(key).number()
    }

    /// Appends the entry to a page, behind the entry before it there.
    fn put(&self, before: Option<&Self>, into: &mut Vec<u8>);

    /// Reads an entry from a page, behind the entry before it there.
    fn take(before: Option<&Self>, reading: &mut Reading<'_>) -> Option<Self>;

    /// Adds an entry of the same key to this one; false if their keys differ.
    fn absorb(&mut self, _other: &Self) -> bool {
        false
    }

    /// What a filter tells the entry by.
    fn hash(&self) -> Option<u64> {
        None
    }
}

/// A number by a hash: of a transaction by its identifier, or of an owner by its script.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::utxo) struct Hashed {
    pub(in crate::utxo) hash: u64,
    pub(in crate::utxo) number: u64,
}

impl Hashed {
    /// Bytes of an entry: its key.
    pub(super) const BYTES: usize = 8 + NUMBER;
}

impl Entry for Hashed {
    fn put_key(&self, into: &mut Vec<u8>) {
        into.extend_from_slice(&self.hash.to_be_bytes());
        into.extend_from_slice(&number(self.number));
    }

    fn from_key(reading: &mut Reading<'_>) -> Option<Self> {
        Some(Self { hash: reading.u64()?, number: reading.number()? })
    }

    #[inline]
    fn leading(&self) -> u64 {
        self.hash
    }

    fn leading_of(key: &[u8]) -> Option<u64> {
        Reading(key).u64()
    }

    fn put(&self, _before: Option<&Self>, into: &mut Vec<u8>) {
        self.put_key(into);
    }

    #[inline]
    fn take(_before: Option<&Self>, reading: &mut Reading<'_>) -> Option<Self> {
        Self::from_key(reading)
    }

    fn hash(&self) -> Option<u64> {
        Some(self.hash)
    }
}

/// An input or an output of an owner. The largest value comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::utxo) struct MovedEntry {
    pub(in crate::utxo) owner: u64,
    /// The bits of the value, inverted.
    pub(in crate::utxo) inverse: u64,
    pub(in crate::utxo) transaction: u64,
    pub(in crate::utxo) index: u32,
}

impl Entry for MovedEntry {
    fn put_key(&self, into: &mut Vec<u8>) {
        into.extend_from_slice(&number(self.owner));
        into.extend_from_slice(&self.inverse.to_be_bytes());
        into.extend_from_slice(&number(self.transaction));
        into.extend_from_slice(&self.index.to_be_bytes());
    }

    fn from_key(reading: &mut Reading<'_>) -> Option<Self> {
        Some(Self {
            owner: reading.number()?,
            inverse: reading.u64()?,
            transaction: reading.number()?,
            index: reading.u32()?,
        })
    }

    #[inline]
    fn leading(&self) -> u64 {
        self.owner
    }

    fn put(&self, before: Option<&Self>, into: &mut Vec<u8>) {
        put_varint(into, self.owner.wrapping_sub(before.map_or(0, |before| before.owner)));
        put_varint(into, !self.inverse);
        put_varint(into, self.transaction);
        put_varint(into, self.index.into());
    }

    #[inline]
    fn take(before: Option<&Self>, reading: &mut Reading<'_>) -> Option<Self> {
        let owner = before.map_or(0, |before| before.owner);
        Some(Self {
            owner: owner.wrapping_add(reading.varint()?),
            inverse: !reading.varint()?,
            transaction: reading.varint()?,
            index: u32::try_from(reading.varint()?).ok()?,
        })
    }
}

/// Statistics of an owner over some blocks: a summand of its statistics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::utxo) struct PartialStatistics {
    pub(in crate::utxo) owner: u64,
    /// Height of the first block with one of its transactions.
    pub(in crate::utxo) first: u64,
    /// Height of the last one.
    pub(in crate::utxo) last: u64,
    pub(in crate::utxo) transactions_in: u64,
    pub(in crate::utxo) transactions_out: u64,
    pub(in crate::utxo) received: u128,
    pub(in crate::utxo) sent: u128,
}

impl PartialStatistics {
    /// Adds other blocks, which may be before or after these.
    pub(in crate::utxo) fn add(&mut self, other: &Self) {
        self.first = self.first.min(other.first);
        self.last = self.last.max(other.last);
        self.transactions_in = self.transactions_in.saturating_add(other.transactions_in);
        self.transactions_out = self.transactions_out.saturating_add(other.transactions_out);
        self.received = self.received.saturating_add(other.received);
        self.sent = self.sent.saturating_add(other.sent);
    }

    /// Appends all but the owner.
    pub(in crate::utxo) fn put_sums(&self, into: &mut Vec<u8>) {
        put_varint(into, self.first);
        put_varint(into, self.last.saturating_sub(self.first));
        put_varint(into, self.transactions_in);
        put_varint(into, self.transactions_out);
        put_wide_varint(into, self.received);
        put_wide_varint(into, self.sent);
    }

    /// Reads what [`PartialStatistics::put_sums`] wrote.
    pub(in crate::utxo) fn take_sums(owner: u64, reading: &mut Reading<'_>) -> Option<Self> {
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

impl Entry for PartialStatistics {
    fn put_key(&self, into: &mut Vec<u8>) {
        into.extend_from_slice(&number(self.owner));
    }

    fn from_key(reading: &mut Reading<'_>) -> Option<Self> {
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
    fn leading(&self) -> u64 {
        self.owner
    }

    fn put(&self, before: Option<&Self>, into: &mut Vec<u8>) {
        put_varint(into, self.owner.wrapping_sub(before.map_or(0, |before| before.owner)));
        self.put_sums(into);
    }

    fn take(before: Option<&Self>, reading: &mut Reading<'_>) -> Option<Self> {
        let owner = before.map_or(0, |before| before.owner);
        let owner = owner.wrapping_add(reading.varint()?);
        Self::take_sums(owner, reading)
    }

    fn absorb(&mut self, other: &Self) -> bool {
        let same = self.owner == other.owner;
        if same {
            self.add(other);
        }
        same
    }
}

/// A link to a parent, by the size of the cluster that it made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::utxo) struct LinkTo {
    pub(in crate::utxo) parent: u64,
    pub(in crate::utxo) size: u64,
    pub(in crate::utxo) child: u64,
}

impl LinkTo {
    pub(in crate::utxo) const fn of(link: &Link) -> Self {
        Self { parent: link.parent, size: link.size, child: link.child }
    }
}

impl Entry for LinkTo {
    fn put_key(&self, into: &mut Vec<u8>) {
        for part in [self.parent, self.size, self.child] {
            into.extend_from_slice(&number(part));
        }
    }

    fn from_key(reading: &mut Reading<'_>) -> Option<Self> {
        Some(Self { parent: reading.number()?, size: reading.number()?, child: reading.number()? })
    }

    #[inline]
    fn leading(&self) -> u64 {
        self.parent
    }

    fn put(&self, before: Option<&Self>, into: &mut Vec<u8>) {
        put_varint(into, self.parent.wrapping_sub(before.map_or(0, |before| before.parent)));
        put_varint(into, self.size);
        put_varint(into, self.child);
    }

    fn take(before: Option<&Self>, reading: &mut Reading<'_>) -> Option<Self> {
        let parent = before.map_or(0, |before| before.parent);
        Some(Self {
            parent: parent.wrapping_add(reading.varint()?),
            size: reading.varint()?,
            child: reading.varint()?,
        })
    }
}
