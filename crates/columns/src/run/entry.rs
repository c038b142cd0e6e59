//! Entries of runs.

use crate::bytes::{ByteReader, NUMBER_BYTES, number};

/// An entry of a run. Entries are in the order of their keys, which is that of the keys' bytes.
pub trait RunEntry: Copy + Ord {
    /// Appends the key's bytes.
    fn put_key(&self, into: &mut Vec<u8>);

    /// Reads the key of an entry, which may have more than a key.
    fn from_key(reading: &mut ByteReader<'_>) -> Option<Self>;

    /// The number that the key begins with.
    fn leading_number(&self) -> u64;

    /// The number that a key, whole or its beginning, begins with; `None` if it is shorter.
    #[must_use]
    fn leading_number_of(key: &[u8]) -> Option<u64> {
        ByteReader(key).number()
    }

    /// Appends the entry to a page, behind the entry before it there.
    fn put(&self, before: Option<&Self>, into: &mut Vec<u8>);

    /// Reads an entry from a page, behind the entry before it there.
    fn take(before: Option<&Self>, reading: &mut ByteReader<'_>) -> Option<Self>;

    /// Adds an entry of the same key to this one; false if their keys differ.
    fn try_merge(&mut self, _other: &Self) -> bool {
        false
    }

    /// What a filter tells the entry by.
    fn hash(&self) -> Option<u64> {
        None
    }
}

/// A number by a hash, such as that of a transaction by its identifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NumberByHash {
    /// Hash.
    pub hash: u64,
    /// Number.
    pub number: u64,
}

impl NumberByHash {
    /// Bytes of an entry: its key.
    pub(super) const BYTES: usize = 8 + NUMBER_BYTES;
}

impl RunEntry for NumberByHash {
    fn put_key(&self, into: &mut Vec<u8>) {
        into.extend_from_slice(&self.hash.to_be_bytes());
        into.extend_from_slice(&number(self.number));
    }

    fn from_key(reading: &mut ByteReader<'_>) -> Option<Self> {
        Some(Self { hash: reading.u64()?, number: reading.number()? })
    }

    #[inline]
    fn leading_number(&self) -> u64 {
        self.hash
    }

    fn leading_number_of(key: &[u8]) -> Option<u64> {
        ByteReader(key).u64()
    }

    fn put(&self, _before: Option<&Self>, into: &mut Vec<u8>) {
        self.put_key(into);
    }

    #[inline]
    fn take(_before: Option<&Self>, reading: &mut ByteReader<'_>) -> Option<Self> {
        Self::from_key(reading)
    }

    fn hash(&self) -> Option<u64> {
        Some(self.hash)
    }
}
