//! Entries of runs.

use crate::bytes::{ByteReader, NUMBER_BYTES, number};

/// An entry of a run. Entries are ordered as the bytes of their keys.
pub trait RunEntry: Clone + Ord {
    /// Length in bytes of an entry in pages, if all entries are as long and are their keys.
    const WIDTH: Option<usize> = None;

    /// Appends the key's bytes.
    fn put_key(&self, into: &mut Vec<u8>);

    /// Decodes a key into an entry whose other fields are empty.
    fn from_key(reading: &mut ByteReader<'_>) -> Option<Self>;

    /// The first number of the key.
    fn leading_number(&self) -> u64;

    /// The first number of a key or of a key's prefix; `None` if the prefix is shorter.
    #[must_use]
    fn leading_number_of(key: &[u8]) -> Option<u64> {
        ByteReader(key).number()
    }

    /// Appends the entry to a page, encoded relative to the previous entry.
    fn put(&self, before: Option<&Self>, into: &mut Vec<u8>);

    /// Reads an entry from a page, relative to the previous entry.
    fn take(before: Option<&Self>, reading: &mut ByteReader<'_>) -> Option<Self>;

    /// Passes over an entry of a page: reads the fields by which entries are ordered and encoded, and may leave others
    /// empty.
    fn skip(before: Option<&Self>, reading: &mut ByteReader<'_>) -> Option<Self> {
        Self::take(before, reading)
    }

    /// Appends the fields that are not in the key, for the table of recent entries.
    fn put_value(&self, _into: &mut Vec<u8>) {}

    /// Reads the fields that are not in the key, as the table of recent entries has them; `None` if they are damaged.
    fn take_value(&mut self, _reading: &mut ByteReader<'_>) -> Option<()> {
        Some(())
    }

    /// Adds another entry to this entry, or takes the newer one of both, if they are of the same subject; returns false
    /// otherwise. Such entries follow one another in the order of keys.
    fn try_merge(&mut self, _other: &Self) -> bool {
        false
    }

    /// The hash of the entry in filters; `None` for kinds without filters.
    fn hash(&self) -> Option<u64> {
        None
    }
}

/// An entry as it is taken from a page of a run, and put to another by a merge. It may refer to the bytes of its page.
pub trait PageEntry<'p>: Ord + Sized {
    /// Appends the key's bytes.
    fn put_key(&self, into: &mut Vec<u8>);

    /// The first number of the key.
    fn leading_number(&self) -> u64;

    /// The first number of a key or of a key's prefix; `None` if the prefix is shorter.
    #[must_use]
    fn leading_number_of(key: &[u8]) -> Option<u64> {
        ByteReader(key).number()
    }

    /// Appends the entry to a page, encoded relative to the previous entry.
    fn put(&self, before: Option<&Self>, into: &mut Vec<u8>);

    /// Reads an entry from a page, relative to the previous entry.
    fn take(before: Option<&Self>, reading: &mut ByteReader<'p>) -> Option<Self>;

    /// Passes over an entry of a page, as [`RunEntry::skip`].
    fn skip(before: Option<&Self>, reading: &mut ByteReader<'p>) -> Option<Self> {
        Self::take(before, reading)
    }

    /// Merges another entry with this one, as [`RunEntry::try_merge`].
    fn try_merge(&mut self, _other: &Self) -> bool {
        false
    }

    /// The hash of the entry in filters; `None` for kinds without filters.
    fn hash(&self) -> Option<u64> {
        None
    }
}

impl<'p, E: RunEntry> PageEntry<'p> for E {
    fn put_key(&self, into: &mut Vec<u8>) {
        RunEntry::put_key(self, into);
    }

    #[inline]
    fn leading_number(&self) -> u64 {
        RunEntry::leading_number(self)
    }

    fn leading_number_of(key: &[u8]) -> Option<u64> {
        <E as RunEntry>::leading_number_of(key)
    }

    fn put(&self, before: Option<&Self>, into: &mut Vec<u8>) {
        RunEntry::put(self, before, into);
    }

    #[inline]
    fn take(before: Option<&Self>, reading: &mut ByteReader<'p>) -> Option<Self> {
        <E as RunEntry>::take(before, reading)
    }

    fn skip(before: Option<&Self>, reading: &mut ByteReader<'p>) -> Option<Self> {
        <E as RunEntry>::skip(before, reading)
    }

    fn try_merge(&mut self, other: &Self) -> bool {
        RunEntry::try_merge(self, other)
    }

    #[inline]
    fn hash(&self) -> Option<u64> {
        RunEntry::hash(self)
    }
}

/// A number by a hash, such as a transaction's number by the hash of its identifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NumberByHash {
    /// Hash.
    pub hash: u64,
    /// Number.
    pub number: u64,
}

impl NumberByHash {
    /// Length in bytes of an entry, which is a key only.
    pub(super) const BYTES: usize = 8 + NUMBER_BYTES;
}

impl RunEntry for NumberByHash {
    const WIDTH: Option<usize> = Some(Self::BYTES);

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
        RunEntry::put_key(self, into);
    }

    #[inline]
    fn take(_before: Option<&Self>, reading: &mut ByteReader<'_>) -> Option<Self> {
        Self::from_key(reading)
    }

    fn hash(&self) -> Option<u64> {
        Some(self.hash)
    }
}
