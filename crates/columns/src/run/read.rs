//! Reading runs.

use std::ops::Bound;

use heed::RoTxn;

use super::{
    Filter, Filters, NumberByHash, PageEntry, RunEntry, RunKind, RunManifest, UnfinishedFilters,
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

impl<'t, E: PageEntry<'t>> Cursor<'t, E> {
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

    /// Goes to the next entry, and returns this one.
    #[inline]
    fn advance(&mut self) -> Result<Option<E>, ColumnsError> {
        let mut is_first = false;
        if self.page.0.is_empty() {
            let Some(page) = self.pages.next() else { return Ok(self.next.take()) };
            let (_, bytes) = page?;
            self.page = ByteReader(bytes);
            is_first = true;
        }
        // The first entry of a page is encoded in full.
        let before = self.next.as_ref().filter(|_| !is_first);
        let entry = E::take(before, &mut self.page);
        let entry = entry.ok_or_else(|| ColumnsError::damaged("run", "a page"))?;
        Ok(self.next.replace(entry))
    }
}

/// Iterates over the entries of several runs, in order.
pub struct Cursors<'t, E> {
    cursors: Vec<Cursor<'t, E>>,
    /// The cursors that are not at their ends, by their next entries: the one with the first entry is the last.
    order: Vec<usize>,
}

impl<'t, E: PageEntry<'t>> Cursors<'t, E> {
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
        let mut all = Self { cursors: Vec::new(), order: Vec::new() };
        for id in ids {
            all.cursors.push(Cursor::open(txn, table, (kind, id), from)?);
            all.insert(all.cursors.len() - 1);
        }
        Ok(all)
    }

    /// Puts a cursor into the order, if it is not at its end.
    #[inline]
    fn insert(&mut self, cursor: usize) {
        let next = |at: usize| Some((self.cursors.get(at)?.peek()?, at));
        let Some(own) = next(cursor) else { return };
        let place = self.order.iter().rposition(|at| next(*at) > Some(own));
        self.order.insert(place.map_or(0, |place| place + 1), cursor);
    }

    /// The next entry; entries of equal keys are merged into one.
    ///
    /// # Errors
    ///
    /// Returns an error if the table fails.
    #[expect(clippy::should_implement_trait, reason = "it may fail")]
    pub fn next(&mut self) -> Result<Option<E>, ColumnsError> {
        let Some(mut entry) = self.take_first()? else { return Ok(None) };
        while let Some(first) = self.order.last() {
            let Some(other) = self.cursors.get(*first).and_then(Cursor::peek) else { break };
            if !entry.try_merge(other) {
                break;
            }
            self.take_first()?;
        }
        Ok(Some(entry))
    }

    fn take_first(&mut self) -> Result<Option<E>, ColumnsError> {
        let Some(first) = self.order.pop() else { return Ok(None) };
        let Some(cursor) = self.cursors.get_mut(first) else { return Ok(None) };
        let entry = cursor.advance()?;
        self.insert(first);
        Ok(entry)
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
    RunEntry::put_key(&first, &mut key);
    let page = table.at_or_before(txn, &key)?;
    let page = page.filter(|(found, _)| found.get(..prefix) == key.get(..prefix));
    let mut last = None;
    if let Some((_, bytes)) = page {
        let wanted = key.get(prefix..).unwrap_or_default();
        let (entries, _) = bytes.as_chunks::<{ NumberByHash::BYTES }>();
        let from = entries.partition_point(|entry| &entry[..] < wanted);
        for entry in entries.get(from..).unwrap_or_default() {
            let found = <NumberByHash as RunEntry>::take(None, &mut ByteReader(entry));
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
    RunEntry::put_key(&after, &mut from);
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
