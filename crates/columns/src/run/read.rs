//! Reading runs.

use std::ops::Bound;

use heed::RoTxn;

use super::{
    Filter, Filters, NumberByHash, RunEntry, RunKind, RunManifest, UnfinishedFilters,
    manifest::Run, page::page_key,
};
use crate::{ColumnsError, NamedTable, Rows, bytes::ByteReader};

/// Iterates over the entries of a run from a key on.
struct Cursor<'t, E> {
    pages: Rows<'t>,
    page: ByteReader<'t>,
    /// The next entry.
    next: Option<E>,
}

impl<'t, E: RunEntry> Cursor<'t, E> {
    /// Opens a cursor at the first entry of a run whose key is at or after `from`.
    fn open<K: RunKind>(
        txn: &'t RoTxn<'_>,
        table: NamedTable,
        (kind, id): (K, u32),
        from: &[u8],
    ) -> Result<Self, ColumnsError> {
        let prefix = page_key(kind, id);
        let wanted = [&prefix[..], from].concat();
        // The page that begins before it may have it.
        let begins_before = table.at_or_before(txn, &wanted)?;
        let start = match begins_before {
            Some((key, _)) if key.starts_with(&prefix) => key.to_vec(),
            _ => prefix.clone(),
        };
        let end = page_key(kind, id.saturating_add(1));
        let pages = table.range(txn, Bound::Included(&start), Bound::Excluded(&end))?;
        let mut cursor = Self { pages, page: ByteReader(&[]), next: None };
        cursor.skip_to(from)?;
        Ok(cursor)
    }

    /// Goes to the first entry whose key is at or after `from`.
    fn skip_to(&mut self, from: &[u8]) -> Result<(), ColumnsError> {
        let damaged = || ColumnsError::damaged("run", "a page");
        // Most entries of a page are told by their first numbers.
        let leading = E::leading_number_of(from).unwrap_or(0);
        let mut key = Vec::with_capacity(32);
        let mut before: Option<E> = None;
        loop {
            if self.page.0.is_empty() {
                let Some(page) = self.pages.next() else { return Ok(()) };
                self.page = ByteReader(page?.1);
                before = None;
            }
            let start = self.page;
            let entry = E::skip(before.as_ref(), &mut self.page).ok_or_else(damaged)?;
            key.clear();
            if entry.leading_number() >= leading {
                entry.put_key(&mut key);
                if &*key >= from {
                    self.page = start;
                    let entry = E::take(before.as_ref(), &mut self.page);
                    self.next = Some(entry.ok_or_else(damaged)?);
                    return Ok(());
                }
            }
            before = Some(entry);
        }
    }

    #[inline]
    const fn peek(&self) -> Option<&E> {
        self.next.as_ref()
    }

    #[inline]
    fn advance(&mut self) -> Result<(), ColumnsError> {
        if self.page.0.is_empty() {
            let Some(page) = self.pages.next() else {
                self.next = None;
                return Ok(());
            };
            let (_, bytes) = page?;
            self.page = ByteReader(bytes);
            // The first entry of a page is encoded in full.
            self.next = None;
        }
        let entry = E::take(self.next.as_ref(), &mut self.page);
        self.next = Some(entry.ok_or_else(|| ColumnsError::damaged("run", "a page"))?);
        Ok(())
    }
}

/// Iterates over the entries of several runs, in order.
pub struct Cursors<'t, E> {
    cursors: Vec<Cursor<'t, E>>,
}

impl<'t, E: RunEntry> Cursors<'t, E> {
    /// Opens cursors over all runs of a kind, at the first entries whose keys are at or after `from`.
    ///
    /// # Errors
    ///
    /// Returns an error if the table fails.
    pub fn open<K: RunKind>(
        txn: &'t RoTxn<'_>,
        table: NamedTable,
        manifest: &RunManifest<K>,
        kind: K,
        from: &[u8],
    ) -> Result<Self, ColumnsError> {
        Self::of_runs(txn, table, kind, manifest.of_kind(kind).map(|run| run.id), from)
    }

    pub(super) fn of_runs<K: RunKind>(
        txn: &'t RoTxn<'_>,
        table: NamedTable,
        kind: K,
        ids: impl Iterator<Item = u32>,
        from: &[u8],
    ) -> Result<Self, ColumnsError> {
        let mut cursors = Vec::new();
        for id in ids {
            let cursor = Cursor::open(txn, table, (kind, id), from)?;
            if cursor.peek().is_some() {
                cursors.push(cursor);
            }
        }
        Ok(Self { cursors })
    }

    /// The next entry; entries of equal keys are merged into one.
    ///
    /// # Errors
    ///
    /// Returns an error if the table fails.
    #[expect(clippy::should_implement_trait, reason = "it may fail")]
    pub fn next(&mut self) -> Result<Option<E>, ColumnsError> {
        let Some(mut entry) = self.take_first()? else { return Ok(None) };
        while let Some(first) = self.first() {
            let Some(other) = self.cursors.get(first).and_then(Cursor::peek) else { break };
            if !entry.try_merge(other) {
                break;
            }
            self.advance(first)?;
        }
        Ok(Some(entry))
    }

    /// The cursor with the first entry.
    #[inline]
    fn first(&self) -> Option<usize> {
        let entries = self.cursors.iter().enumerate();
        let entries = entries.filter_map(|(at, cursor)| Some((cursor.peek()?, at)));
        entries.min().map(|(_, at)| at)
    }

    fn take_first(&mut self) -> Result<Option<E>, ColumnsError> {
        let Some(first) = self.first() else { return Ok(None) };
        let entry = self.cursors.get(first).and_then(Cursor::peek).cloned();
        self.advance(first)?;
        Ok(entry)
    }

    fn advance(&mut self, at: usize) -> Result<(), ColumnsError> {
        if let Some(cursor) = self.cursors.get_mut(at) {
            cursor.advance()?;
            if cursor.peek().is_none() {
                self.cursors.swap_remove(at);
            }
        }
        Ok(())
    }
}

/// Passes the numbers under a hash to `each`, run by run, until `each` returns false.
///
/// # Errors
///
/// Returns the error of `each`, and one if the table fails.
pub fn find_all<K: RunKind, E: From<ColumnsError>>(
    txn: &RoTxn<'_>,
    table: NamedTable,
    (manifest, filters): (&RunManifest<K>, Option<&Filters>),
    kind: K,
    hash: u64,
    mut each: impl FnMut(u64) -> Result<bool, E>,
) -> Result<(), E> {
    if kind.is_mostly_new() && filters.is_some_and(|filters| !filters.may_have_any(hash)) {
        return Ok(());
    }
    // Owners that come back were mostly seen lately.
    for run in manifest.of_kind(kind).rev() {
        if filters.is_some_and(|filters| !filters.may_have(run.id, hash)) {
            continue;
        }
        if !find_in(txn, table, run, hash, &mut each)? {
            break;
        }
    }
    Ok(())
}

fn find_in<K: RunKind, E: From<ColumnsError>>(
    txn: &RoTxn<'_>,
    table: NamedTable,
    run: &Run<K>,
    hash: u64,
    each: &mut impl FnMut(u64) -> Result<bool, E>,
) -> Result<bool, E> {
    let mut key = page_key(run.kind, run.id);
    let prefix = key.len();
    let first = NumberByHash { hash, number: 0 };
    first.put_key(&mut key);
    let page = table.at_or_before(txn, &key)?;
    let page = page.filter(|(found, _)| found.get(..prefix) == key.get(..prefix));
    let mut last = None;
    if let Some((_, bytes)) = page {
        let wanted = key.get(prefix..).unwrap_or_default();
        let (entries, _) = bytes.as_chunks::<{ NumberByHash::BYTES }>();
        let from = entries.partition_point(|entry| &entry[..] < wanted);
        for entry in entries.get(from..).unwrap_or_default() {
            let found = NumberByHash::take(None, &mut ByteReader(entry));
            let found = found.ok_or_else(|| ColumnsError::damaged("run", "a page"))?;
            if found.hash != hash {
                return Ok(true);
            }
            if !each(found.number)? {
                return Ok(false);
            }
            last = Some(found);
        }
    }
    // The hash may go on in the next page, or begin there.
    let after = last.map_or(first, |last| NumberByHash { number: last.number + 1, ..last });
    let mut from = Vec::with_capacity(NumberByHash::BYTES);
    after.put_key(&mut from);
    let mut next_key = page_key(run.kind, run.id);
    next_key.extend_from_slice(&from);
    let next = table.at_or_after(txn, &next_key)?;
    let begins_next = next.is_some_and(|(found, _)| {
        found.get(..prefix) == key.get(..prefix)
            && found.get(prefix..prefix + 8) == Some(&hash.to_be_bytes()[..])
    });
    if !begins_next {
        return Ok(true);
    }
    let mut cursor = Cursor::<NumberByHash>::open(txn, table, (run.kind, run.id), &from)?;
    while let Some(found) = cursor.peek().copied().filter(|found| found.hash == hash) {
        if !each(found.number)? {
            return Ok(false);
        }
        cursor.advance()?;
    }
    Ok(true)
}

/// Makes the filters those of the runs and merges of a manifest: drops others, and builds missing ones from the stored
/// pages.
///
/// # Errors
///
/// Returns an error if the table fails.
pub fn fill_filters<K: RunKind>(
    txn: &RoTxn<'_>,
    table: NamedTable,
    manifest: &RunManifest<K>,
    (filters, unfinished): (&mut Filters, &mut UnfinishedFilters),
) -> Result<(), ColumnsError> {
    filters.retain(|id| manifest.runs.iter().any(|run| run.id == id));
    unfinished.retain(|id, _| manifest.merges.iter().any(|merge| merge.output.id == *id));
    if !filters.is_enabled() {
        return Ok(());
    }
    for run in manifest.runs.iter().filter(|run| run.kind.is_hashed()) {
        if filters.has_finished(run.id) {
            continue;
        }
        let mut filter = filters.begin(run.entries);
        let notes = run.kind.is_mostly_new().then_some(&mut *filters);
        run.kind.fill(FilterFilling { txn, table, run, filter: filter.as_mut(), notes })?;
        filters.finish(run.id, filter);
    }
    for merge in manifest.merges.iter().filter(|merge| merge.output.kind.is_hashed()) {
        let run = &merge.output;
        if !unfinished.contains_key(&run.id)
            && let Some(mut filter) = filters.begin(manifest.entries_of(&merge.inputs))
        {
            let filling = FilterFilling { txn, table, run, filter: Some(&mut filter), notes: None };
            run.kind.fill(filling)?;
            unfinished.insert(run.id, filter);
        }
    }
    Ok(())
}

/// The filling of a run's filter.
pub struct FilterFilling<'s, 't, K> {
    txn: &'s RoTxn<'t>,
    table: NamedTable,
    run: &'s Run<K>,
    filter: Option<&'s mut Filter>,
    /// The filters that note the hashes of all runs of the kind.
    notes: Option<&'s mut Filters>,
}

impl<K: std::fmt::Debug> std::fmt::Debug for FilterFilling<'_, '_, K> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("FilterFilling").field("run", &self.run).finish_non_exhaustive()
    }
}

impl<K: RunKind> FilterFilling<'_, '_, K> {
    /// Fills the filter from entries of this type.
    ///
    /// # Errors
    ///
    /// Returns an error if the table fails.
    pub fn fill_from<E: RunEntry>(self) -> Result<(), ColumnsError> {
        let Self { txn, table, run, mut filter, mut notes } = self;
        let mut entries = Cursor::<E>::open(txn, table, (run.kind, run.id), &[])?;
        while let Some(hash) = entries.peek().and_then(RunEntry::hash) {
            if let Some(filter) = &mut filter {
                filter.insert(hash);
            }
            if let Some(notes) = &mut notes {
                notes.note(hash);
            }
            entries.advance()?;
        }
        Ok(())
    }
}

/// The newest entry whose key begins with `prefix`, of a kind of which the newest entry replaces all others; `None` if no
/// run has one. `hash` is that of the entry.
///
/// # Errors
///
/// Returns an error if the table fails.
pub(super) fn newest<K: RunKind, E: RunEntry>(
    txn: &RoTxn<'_>,
    table: NamedTable,
    (manifest, filters): (&RunManifest<K>, Option<&Filters>),
    kind: K,
    (prefix, hash): (&[u8], u64),
) -> Result<Option<E>, ColumnsError> {
    let mut runs: Vec<&Run<K>> = manifest.of_kind(kind).collect();
    // A merge takes all runs of its level, so that runs of lower levels are newer, and of one level those with higher
    // numbers.
    runs.sort_unstable_by_key(|run| (run.level, std::cmp::Reverse(run.id)));
    let mut key = Vec::with_capacity(32);
    for run in runs {
        if filters.is_some_and(|filters| !filters.may_have(run.id, hash)) {
            continue;
        }
        let mut cursor = Cursor::<E>::open(txn, table, (kind, run.id), prefix)?;
        if let Some(entry) = cursor.peek() {
            key.clear();
            entry.put_key(&mut key);
            if key.starts_with(prefix) {
                return Ok(cursor.next.take());
            }
        }
    }
    Ok(None)
}
