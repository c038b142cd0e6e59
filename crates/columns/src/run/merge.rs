//! Merging runs, a slice of bounded size at a time.

use std::collections::HashMap;

use assay_mapped::WriteTransaction;
use heed::RoTxn;

use super::{
    Cursors, Filters, PageEntry, RunKind, RunManifest,
    filter::Filter,
    manifest::{Merge, Run},
    page::{Pages, page_key, put_pages},
};
use crate::{ColumnsError, NamedTable};

/// Number of runs of a level that are merged into one.
const FAN_IN: usize = 8;
/// Largest number of pages that are in memory at once.
const MOST_PAGES: u64 = 4096;
const FEWEST_PAGES: u64 = 256;
/// Number of pages that slices may write for each page that a batch wrote, where the batch continues the merges itself:
/// merges of up to eight levels keep up with the batches.
const PAGES_FOR_EACH: u64 = 8;

/// The filters of unfinished runs, by the numbers of the runs.
pub type UnfinishedFilters = HashMap<u32, Filter>;

impl<K: RunKind> RunManifest<K> {
    /// Adds the work that a batch of `written` pages makes to the work that is due: each entry is merged once a level. A
    /// quarter more lets merges catch up; much more would end large merges early and leave other batches without any.
    pub fn owe(&mut self, written: u64) {
        let level = self.runs.iter().map(|run| run.level).max().unwrap_or(0);
        let quarters = u64::from(level) * 4 + 5;
        self.owed = self.owed.saturating_add(written.saturating_mul(quarters).div_ceil(4));
    }

    /// True if a slice of merges is due.
    #[must_use]
    pub const fn is_due(&self) -> bool {
        self.owed > 0
    }
}

/// Continues the merges that are due by one slice, which writes and deletes up to `most` pages each, in a transaction of its
/// own. `committed` is the state before it.
///
/// # Errors
///
/// Returns an error if the table fails.
pub fn merge_slice<K: RunKind>(
    table: NamedTable,
    (committed, txn): (&RoTxn<'_>, &mut WriteTransaction<'_>),
    manifest: &mut RunManifest<K>,
    (filters, unfinished): (&mut Filters, &mut UnfinishedFilters),
    most: u64,
) -> Result<(), ColumnsError> {
    begin(manifest, (filters, unfinished));
    let most_dropped = most;
    let most = manifest.owed.min(most);
    let mut left = most;
    advance(table, (committed, txn), manifest, (filters, unfinished), &mut left)?;
    drop_runs(table, (committed, txn), manifest, most_dropped)?;
    let is_idle = manifest.merges.is_empty() && manifest.dropped.is_empty();
    // A slice that only deletes pages is work too.
    let done = if left == most { most } else { most - left };
    manifest.owed = if is_idle { 0 } else { manifest.owed.saturating_sub(done) };
    Ok(())
}

/// Continues the merges by one slice, after a batch that wrote `written` pages, in the transaction of the batch. `committed`
/// is the state before the batch, which holds all runs that are merged.
///
/// # Errors
///
/// Returns an error if the table fails.
pub fn continue_merges<K: RunKind>(
    table: NamedTable,
    (committed, txn): (&RoTxn<'_>, &mut WriteTransaction<'_>),
    manifest: &mut RunManifest<K>,
    (filters, unfinished): (&mut Filters, &mut UnfinishedFilters),
    written: u64,
) -> Result<(), ColumnsError> {
    let most = written.saturating_mul(PAGES_FOR_EACH).max(FEWEST_PAGES);
    let mut left = most;
    advance(table, (committed, txn), manifest, (filters, unfinished), &mut left)?;
    drop_runs(table, (committed, txn), manifest, most.max(MOST_PAGES))?;
    begin(manifest, (filters, unfinished));
    Ok(())
}

/// Continues the merges by up to `left` pages, and takes these off.
fn advance<K: RunKind>(
    table: NamedTable,
    (committed, txn): (&RoTxn<'_>, &mut WriteTransaction<'_>),
    manifest: &mut RunManifest<K>,
    (filters, unfinished): (&mut Filters, &mut UnfinishedFilters),
    left: &mut u64,
) -> Result<(), ColumnsError> {
    // Small runs first: they are many, and done at once.
    manifest.merges.sort_by_key(|merge| (merge.output.level, merge.output.id));
    let merges = std::mem::take(&mut manifest.merges);
    for mut merge in merges {
        let mut has_ended = false;
        while *left > 0 && !has_ended {
            let mut of_slice = (*left).min(MOST_PAGES);
            *left -= of_slice;
            let kind = merge.output.kind;
            has_ended = kind.merge(MergeSlice {
                table,
                committed,
                txn: &mut *txn,
                merge: &mut merge,
                unfinished: &mut *unfinished,
                left: &mut of_slice,
            })?;
            *left += of_slice;
        }
        if !has_ended {
            manifest.merges.push(merge);
            continue;
        }
        manifest.runs.retain(|run| !merge.inputs.contains(&run.id));
        for id in &merge.inputs {
            filters.remove(*id);
            manifest.dropped.push((merge.output.kind, *id));
        }
        filters.finish(merge.output.id, unfinished.remove(&merge.output.id));
        manifest.runs.push(merge.output);
    }
    Ok(())
}

/// Begins the merges of levels that have enough runs. Their input runs are committed before the merges are continued.
fn begin<K: RunKind>(
    manifest: &mut RunManifest<K>,
    (filters, unfinished): (&Filters, &mut UnfinishedFilters),
) {
    for kind in K::ALL.iter().copied() {
        let most = manifest.of_kind(kind).map(|run| run.level).max().unwrap_or(0);
        for level in 0..=most {
            let busy: Vec<u32> =
                manifest.merges.iter().flat_map(|merge| merge.inputs.iter().copied()).collect();
            let is_free = |run: &&Run<K>| run.level == level && !busy.contains(&run.id);
            let inputs: Vec<Run<K>> = manifest.of_kind(kind).filter(is_free).copied().collect();
            let is_merging = manifest
                .merges
                .iter()
                .any(|merge| merge.output.kind == kind && merge.output.level == level + 1);
            if inputs.len() < FAN_IN || is_merging {
                continue;
            }
            let id = manifest.new_id();
            let entries = inputs.iter().map(|run| run.entries).sum();
            if kind.is_hashed()
                && let Some(filter) = filters.begin(entries)
            {
                unfinished.insert(id, filter);
            }
            manifest.merges.push(Merge {
                inputs: inputs.iter().map(|run| run.id).collect(),
                output: Run { kind, id, level: level + 1, entries: 0, pages: 0 },
                resume: Vec::new(),
            });
        }
    }
}

/// A slice of a merge: a bounded number of pages.
pub struct MergeSlice<'s, 'w, K> {
    table: NamedTable,
    committed: &'s RoTxn<'s>,
    txn: &'s mut WriteTransaction<'w>,
    merge: &'s mut Merge<K>,
    unfinished: &'s mut UnfinishedFilters,
    left: &'s mut u64,
}

impl<K: std::fmt::Debug> std::fmt::Debug for MergeSlice<'_, '_, K> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Slice").field("merge", &self.merge).finish_non_exhaustive()
    }
}

impl<'s, K: RunKind> MergeSlice<'s, '_, K> {
    /// Continues the merge of runs with entries of this type; returns true if it is finished.
    ///
    /// # Errors
    ///
    /// Returns an error if the table fails.
    pub fn merge_entries<E: PageEntry<'s>>(self) -> Result<bool, ColumnsError> {
        let Self { table, committed, txn, merge, unfinished, left } = self;
        let Run { kind, id, .. } = merge.output;
        let inputs = merge.inputs.iter().copied();
        let mut entries = Cursors::<E>::of_runs(committed, table, kind, inputs, &merge.resume)?;
        let mut pages = Pages::<E>::new(kind, id);
        let mut filter = unfinished.get_mut(&id);
        let mut has_ended = false;
        while pages.size() < *left {
            let Some(entry) = entries.next()? else {
                pages.finish_page();
                has_ended = true;
                break;
            };
            // The last entries of a slice are read again by the next one, which sets the same bits.
            if let (Some(filter), Some(hash)) = (&mut filter, entry.hash()) {
                filter.insert(hash);
            }
            pages.push(entry);
        }
        put_pages(table, txn, &pages.full)?;
        let written = pages.size();
        merge.output.pages += written;
        merge.output.entries += pages.entries();
        merge.resume = pages.pending_key().unwrap_or_default().to_vec();
        *left = left.saturating_sub(written);
        Ok(has_ended)
    }
}

/// Deletes pages of runs that were merged, `most` at most.
fn drop_runs<K: RunKind>(
    table: NamedTable,
    (committed, txn): (&RoTxn<'_>, &mut WriteTransaction<'_>),
    manifest: &mut RunManifest<K>,
    most: u64,
) -> Result<(), ColumnsError> {
    let mut left = most;
    while let Some((kind, id)) = manifest.dropped.last().copied() {
        let mut keys: Vec<Vec<u8>> = Vec::new();
        let prefix = page_key(kind, id);
        // A run that was merged is in the state before; what of it was deleted since is not.
        for page in table.prefix(committed, &prefix)? {
            let (key, _) = page?;
            if keys.len() as u64 >= left {
                break;
            }
            keys.push(key.to_vec());
        }
        left = left.saturating_sub(keys.len() as u64);
        for key in &keys {
            table.delete(txn, key)?;
        }
        if left == 0 {
            break;
        }
        manifest.dropped.pop();
    }
    Ok(())
}
