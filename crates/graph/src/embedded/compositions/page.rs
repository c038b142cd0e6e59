//! Pages: the compositions of neighbouring transactions, each found by its place.
//!
//! A transaction whose money is made of the same as that of an earlier one names that one. A page is the ends of all of
//! its entries, then the entries.

use assay_engine::composition::Composition;

use super::super::bytes::{NUMBER, Reading, number, put_varint};

/// Transactions of a page.
pub(super) const TRANSACTIONS: u64 = 64;
/// The first byte of an entry that names another one: no composition begins with it.
const SAME_AS: u8 = 0xff;
/// Bytes of an entry's end.
const END: usize = 2;

/// What stands for a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Entry {
    /// Its composition.
    Composition(Composition),
    /// It is made of what an earlier one is made of, which has its own.
    SameAs(u64),
}

/// The key of a page.
pub(super) fn key(half: u8, page: u64) -> [u8; 1 + NUMBER] {
    let mut key = [half; 1 + NUMBER];
    if let Some(rest) = key.last_chunk_mut() {
        *rest = number(page);
    }
    key
}

/// A page that is put together.
#[derive(Clone, Debug, Default)]
pub(super) struct PageBuilder {
    ends: Vec<u16>,
    entries: Vec<u8>,
}

impl PageBuilder {
    /// The page with its first `count` entries; `None` if it is damaged.
    pub(super) fn of(bytes: &[u8], count: usize) -> Option<Self> {
        let mut page = Self::default();
        for at in 0..count {
            let entry = entry(bytes, at)?;
            page.entries.extend_from_slice(entry);
            page.ends.push(u16::try_from(page.entries.len()).ok()?);
        }
        Some(page)
    }

    pub(super) const fn len(&self) -> usize {
        self.ends.len()
    }

    /// What stands for a transaction; `None` if it is not there.
    pub(super) fn get(&self, transaction: u64) -> Option<Entry> {
        let at = usize::try_from(transaction % TRANSACTIONS).ok()?;
        let from = match at.checked_sub(1) {
            None => 0,
            Some(before) => usize::from(*self.ends.get(before)?),
        };
        parse(self.entries.get(from..usize::from(*self.ends.get(at)?))?, transaction)
    }

    /// Appends what stands for a transaction. Returns false if it would be larger than a page can be.
    pub(super) fn push(
        &mut self,
        transaction: u64,
        composition: &Composition,
        same_as: Option<u64>,
    ) -> bool {
        let from = self.entries.len();
        if !composition.is_unknown() {
            composition.put_bytes(&mut self.entries);
            if let Some(other) = same_as {
                let mut named = vec![SAME_AS];
                put_varint(&mut named, transaction.saturating_sub(other));
                if named.len() < self.entries.len() - from {
                    self.entries.truncate(from);
                    self.entries.extend(named);
                }
            }
        }
        match u16::try_from(self.entries.len()) {
            Ok(end) => {
                self.ends.push(end);
                true
            }
            Err(_) => false,
        }
    }

    /// The bytes of the page.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.ends.len() * END + self.entries.len());
        bytes.push(u8::try_from(self.ends.len()).unwrap_or(u8::MAX));
        for end in &self.ends {
            bytes.extend_from_slice(&end.to_be_bytes());
        }
        bytes.extend_from_slice(&self.entries);
        bytes
    }
}

fn entry(bytes: &[u8], at: usize) -> Option<&[u8]> {
    let (count, rest) = bytes.split_first()?;
    let (ends, entries) = rest.split_at_checked(usize::from(*count) * END)?;
    let end = |at: usize| {
        let end = ends.get(at * END..)?.first_chunk::<END>()?;
        Some(usize::from(u16::from_be_bytes(*end)))
    };
    let from = at.checked_sub(1).map_or(Some(0), end)?;
    entries.get(from..end(at)?)
}

/// What stands for a transaction in its page; `None` if that is damaged.
pub(super) fn read(bytes: &[u8], transaction: u64) -> Option<Entry> {
    let at = usize::try_from(transaction % TRANSACTIONS).ok()?;
    parse(entry(bytes, at)?, transaction)
}

fn parse(entry: &[u8], transaction: u64) -> Option<Entry> {
    match entry {
        [] => Some(Entry::Composition(Composition::default())),
        [SAME_AS, distance @ ..] => {
            let distance = Reading(distance).varint()?;
            Some(Entry::SameAs(transaction.checked_sub(distance)?))
        }
        composition => Some(Entry::Composition(Composition::read(composition)?.0)),
    }
}
