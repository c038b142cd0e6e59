//! Pages: stored compositions (origin breakdowns) of 64 consecutive transactions, each found by its index.
//!
//! A transaction with the same composition as an earlier transaction stores a reference to it. If a composition changes
//! to which other entries may refer, its entry keeps the old and the new composition. A page consists of the number of
//! entries, the dictionary of origins, the kinds and lengths of all entries, and the entries.

use std::sync::Arc;

use assay_engine::composition::{Composition, OriginDictionary};

use assay_columns::bytes::{ByteReader, NUMBER_BYTES, number, put_varint};

/// Number of transactions in a page.
pub(super) const TRANSACTIONS: u64 = 64;
/// Bits of the kind of an entry, below its length.
const KIND_BITS: u32 = 2;
const COMPOSITION: u64 = 0;
const SAME_AS: u64 = 1;
const REPLACED: u64 = 2;

/// The entry of a transaction in a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PageEntry {
    /// The transaction's composition.
    Composition(Arc<Composition>),
    /// A reference to an earlier transaction with the same composition (origin breakdown).
    SameAs(u64),
    /// A composition (origin breakdown) that was replaced, to which other entries may refer.
    Replaced {
        /// The old composition (origin breakdown), to which other entries refer.
        named: Arc<Composition>,
        /// The transaction's new composition (origin breakdown).
        own: Arc<Composition>,
    },
}

impl PageEntry {
    /// The entry of a transaction whose composition (origin breakdown) `holder` stores.
    pub(super) fn new(
        transaction: u64,
        composition: &Arc<Composition>,
        holder: Option<u64>,
    ) -> Self {
        // A single origin takes fewer bytes than a reference.
        let is_short = composition.origins().len() < 2;
        match holder.filter(|holder| *holder != transaction && !is_short) {
            Some(other) => Self::SameAs(other),
            None => Self::Composition(Arc::clone(composition)),
        }
    }
}

/// The key of a page.
pub(super) fn key(page: u64) -> [u8; NUMBER_BYTES] {
    number(page)
}

/// A page under construction.
#[derive(Clone, Debug, Default)]
pub(super) struct PageBuilder(Vec<PageEntry>);

impl PageBuilder {
    /// Parses the first `most` entries of a page; `None` if the page is damaged.
    pub(super) fn of(page: u64, bytes: &[u8], most: usize) -> Option<Self> {
        let stored = StoredPage::read(bytes)?;
        let numbers = (page * TRANSACTIONS..).take(stored.count.min(most));
        numbers.map(|transaction| stored.entry(transaction)).collect::<Option<_>>().map(Self)
    }

    pub(super) const fn len(&self) -> usize {
        self.0.len()
    }

    /// The entry of a transaction; `None` if the page has none.
    pub(super) fn get(&self, transaction: u64) -> Option<PageEntry> {
        self.0.get(index_in_page(transaction)?).cloned()
    }

    /// Appends the entry of the next transaction.
    pub(super) fn push(&mut self, entry: PageEntry) {
        self.0.push(entry);
    }

    /// Replaces the entry of a transaction. Returns false if the page has no entry for the transaction.
    pub(super) fn set(&mut self, transaction: u64, entry: PageEntry) -> bool {
        let slot = index_in_page(transaction).and_then(|at| self.0.get_mut(at));
        slot.map(|slot| *slot = entry).is_some()
    }

    /// Encodes the page with the number `page`.
    pub(super) fn to_bytes(&self, page: u64) -> Vec<u8> {
        let mut dictionary = OriginDictionary::default();
        for entry in &self.0 {
            match entry {
                PageEntry::Composition(composition) => dictionary.add(composition),
                PageEntry::SameAs(_) => {}
                PageEntry::Replaced { named, own } => {
                    dictionary.add(named);
                    dictionary.add(own);
                }
            }
        }
        let mut bytes = vec![u8::try_from(self.0.len()).unwrap_or(u8::MAX)];
        dictionary.put_bytes(&mut bytes);
        let mut entries = Vec::new();
        for (entry, transaction) in self.0.iter().zip(page * TRANSACTIONS..) {
            let from = entries.len();
            let kind = put(entry, transaction, &dictionary, &mut entries);
            put_varint(&mut bytes, ((entries.len() - from) as u64) << KIND_BITS | kind);
        }
        bytes.extend_from_slice(&entries);
        bytes
    }
}

/// Appends an entry, and returns its kind.
fn put(
    entry: &PageEntry,
    transaction: u64,
    dictionary: &OriginDictionary,
    into: &mut Vec<u8>,
) -> u64 {
    match entry {
        PageEntry::Composition(composition) => {
            dictionary.put(composition, into);
            COMPOSITION
        }
        PageEntry::SameAs(other) => {
            put_varint(into, transaction.saturating_sub(*other));
            SAME_AS
        }
        PageEntry::Replaced { named, own } => {
            let mut bytes = Vec::new();
            dictionary.put(named, &mut bytes);
            put_varint(into, bytes.len() as u64);
            into.extend(bytes);
            dictionary.put(own, into);
            REPLACED
        }
    }
}

/// A stored page.
struct StoredPage<'b> {
    dictionary: OriginDictionary,
    count: usize,
    /// Kinds and lengths of the entries, then the entries.
    rest: &'b [u8],
}

impl<'b> StoredPage<'b> {
    fn read(bytes: &'b [u8]) -> Option<Self> {
        let (count, rest) = bytes.split_first()?;
        let (dictionary, rest) = OriginDictionary::read(rest)?;
        Some(Self { dictionary, count: usize::from(*count), rest })
    }

    /// The kind and the bytes of an entry.
    fn find(&self, at: usize) -> Option<(u64, &'b [u8])> {
        let mut reading = ByteReader(self.rest);
        let (mut kind, mut from, mut length) = (COMPOSITION, 0, 0);
        for nth in 0..self.count {
            let head = reading.varint()?;
            let next = usize::try_from(head >> KIND_BITS).ok()?;
            if nth < at {
                from += next;
            } else if nth == at {
                (kind, length) = (head & ((1 << KIND_BITS) - 1), next);
            }
        }
        let bytes = reading.0.get(from..from.checked_add(length)?)?;
        (at < self.count).then_some((kind, bytes))
    }

    fn entry(&self, transaction: u64) -> Option<PageEntry> {
        let (kind, bytes) = self.find(index_in_page(transaction)?)?;
        let composition = |bytes| self.dictionary.get(bytes).map(Arc::new);
        match kind {
            COMPOSITION => composition(bytes).map(PageEntry::Composition),
            SAME_AS => {
                let distance = ByteReader(bytes).varint()?;
                Some(PageEntry::SameAs(transaction.checked_sub(distance)?))
            }
            REPLACED => {
                let mut reading = ByteReader(bytes);
                let length = usize::try_from(reading.varint()?).ok()?;
                let named = composition(reading.take(length)?)?;
                Some(PageEntry::Replaced { named, own: composition(reading.0)? })
            }
            _ => None,
        }
    }
}

/// Reads the entry of a transaction in its page; `None` if the page is damaged.
pub(super) fn read(bytes: &[u8], transaction: u64) -> Option<PageEntry> {
    StoredPage::read(bytes)?.entry(transaction)
}

/// The index of a transaction in its page.
fn index_in_page(transaction: u64) -> Option<usize> {
    usize::try_from(transaction % TRANSACTIONS).ok()
}
