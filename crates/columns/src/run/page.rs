//! Pages of runs, and writing a run of sorted entries.

use assay_mapped::WriteTransaction;

use super::{Filters, PageEntry, RunEntry, RunKind, RunManifest, manifest::Run};
use crate::{ColumnsError, NamedTable, column::PAGE};

/// The beginning of the keys of a run's pages; the key of a page's first entry follows.
pub(super) fn page_key<K: RunKind>(kind: K, id: u32) -> Vec<u8> {
    let mut key = Vec::with_capacity(32);
    put_page_key(kind, id, &mut key);
    key
}

/// Appends what [`page_key`] is.
pub(super) fn put_page_key<K: RunKind>(kind: K, id: u32, into: &mut Vec<u8>) {
    into.push(kind.number());
    into.extend_from_slice(&id.to_be_bytes());
}

/// Builds the pages of a run entry by entry.
pub(super) struct Pages<E> {
    prefix: Vec<u8>,
    /// Full pages, with their keys.
    pub(super) full: Vec<(Vec<u8>, Vec<u8>)>,
    bytes: Vec<u8>,
    /// The key of the first entry in `bytes`.
    first: Vec<u8>,
    before: Option<E>,
    /// Number of entries in full pages, and of all entries.
    counts: [u64; 2],
    size: u64,
}

impl<'p, E: PageEntry<'p>> Pages<E> {
    pub(super) fn new<K: RunKind>(kind: K, id: u32) -> Self {
        Self {
            prefix: page_key(kind, id),
            full: Vec::new(),
            bytes: Vec::with_capacity(PAGE + 64),
            first: Vec::new(),
            before: None,
            counts: [0; 2],
            size: 0,
        }
    }

    pub(super) fn push(&mut self, entry: E) {
        let length = self.bytes.len();
        entry.put(self.before.as_ref(), &mut self.bytes);
        if self.bytes.len() > PAGE {
            self.bytes.truncate(length);
            self.finish_page();
            entry.put(None, &mut self.bytes);
        }
        if self.first.is_empty() {
            self.first.extend_from_slice(&self.prefix);
            entry.put_key(&mut self.first);
        }
        self.before = Some(entry);
        self.counts[1] += 1;
    }

    /// Completes the current page.
    pub(super) fn finish_page(&mut self) {
        if !self.bytes.is_empty() {
            let bytes = std::mem::replace(&mut self.bytes, Vec::with_capacity(PAGE + 64));
            self.size += bytes.len().div_ceil(PAGE) as u64;
            self.full.push((std::mem::take(&mut self.first), bytes));
            self.before = None;
            self.counts[0] = self.counts[1];
        }
    }

    /// Number of entries in full pages.
    pub(super) const fn entries(&self) -> u64 {
        let [full, _] = self.counts;
        full
    }

    /// The full pages in units of usual pages: an entry may be far larger than these.
    pub(super) const fn size(&self) -> u64 {
        self.size
    }

    /// Key of the first entry that is in no full page, without the run's key prefix.
    pub(super) fn pending_key(&self) -> Option<&[u8]> {
        self.first.get(self.prefix.len()..).filter(|key| !key.is_empty())
    }
}

pub(super) fn put_pages(
    table: NamedTable,
    txn: &mut WriteTransaction<'_>,
    pages: &[(Vec<u8>, Vec<u8>)],
) -> Result<(), ColumnsError> {
    for (key, bytes) in pages {
        table.put(txn, key, bytes)?;
    }
    Ok(())
}

/// Writes entries as a run. The entries may be in any order. Returns the size of the run in usual pages.
///
/// # Errors
///
/// Returns an error if the table fails.
pub fn write<K: RunKind, E: RunEntry>(
    table: NamedTable,
    txn: &mut WriteTransaction<'_>,
    (manifest, filters): (&mut RunManifest<K>, &mut Filters),
    kind: K,
    entries: &mut [E],
) -> Result<u64, ColumnsError> {
    if entries.is_empty() {
        return Ok(0);
    }
    entries.sort_unstable();
    let id = manifest.new_id();
    let mut pages = Pages::new(kind, id);
    let mut built = if kind.is_hashed() { filters.begin(entries.len() as u64) } else { None };
    let mut open: Option<E> = None;
    for entry in &*entries {
        if let Some(hash) = entry.hash() {
            if let Some(filter) = &mut built {
                filter.insert(hash);
            }
            if kind.is_mostly_new() {
                filters.note(hash);
            }
        }
        let is_absorbed = open.as_mut().is_some_and(|open| open.try_merge(entry));
        if !is_absorbed && let Some(before) = open.replace(entry.clone()) {
            pages.push(before);
        }
    }
    if let Some(last) = open {
        pages.push(last);
    }
    pages.finish_page();
    put_pages(table, txn, &pages.full)?;
    let count = pages.size();
    manifest.runs.push(Run { kind, id, level: 0, entries: pages.entries(), pages: count });
    filters.finish(id, built);
    Ok(count)
}
