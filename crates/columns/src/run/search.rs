//! Searching runs for many keys at once.
//!
//! The keys are searched run by run and in their order: probes of a run's filter follow one another, and so do its pages, so
//! that a search costs a fraction of as many single ones.

use heed::RoTxn;

use super::{Filters, RunEntry, RunKind, RunManifest, manifest::Run, page::put_page_key};
use crate::{ColumnsError, NamedTable, bytes::ByteReader};

/// A key that is looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct WantedKey<const N: usize> {
    /// The beginning of the key. A run has one entry at most whose key begins so, or any of them will do.
    pub prefix: [u8; N],
    /// The hash of such entries in filters.
    pub hash: u64,
}

/// The runs of a kind of which the newest entry replaces all others, newest first.
pub(super) fn newest_first<K: RunKind>(manifest: &RunManifest<K>, kind: K) -> Vec<&Run<K>> {
    let mut runs: Vec<&Run<K>> = manifest.of_kind(kind).collect();
    // A merge takes all runs of its level, so that runs of lower levels are newer, and of one level those with higher
    // numbers.
    runs.sort_unstable_by_key(|run| (run.level, std::cmp::Reverse(run.id)));
    runs
}

/// Passes the newest entry of each key that is `left` to `each`, with the key's place.
pub(super) fn find_each<K: RunKind, E: RunEntry, const N: usize>(
    txn: &RoTxn<'_>,
    table: NamedTable,
    (manifest, filters): (&RunManifest<K>, Option<&Filters>),
    kind: K,
    (wanted, is_left): (&[WantedKey<N>], impl Fn(usize) -> bool),
    mut each: impl FnMut(usize, E),
) -> Result<(), ColumnsError> {
    let is_new =
        |hash| kind.is_mostly_new() && filters.is_some_and(|filters| !filters.may_have_any(hash));
    let keys = wanted.iter().map(|key| key.hash).enumerate();
    let mut left: Vec<(usize, u64)> =
        keys.filter(|(at, hash)| is_left(*at) && !is_new(*hash)).collect();
    let mut probable = Vec::with_capacity(left.len());
    let mut found = vec![false; wanted.len()];
    let mut key = Vec::with_capacity(64);
    for run in newest_first(manifest, kind) {
        probable.clear();
        match filters.and_then(|filters| filters.of_run(run.id)) {
            Some(filter) => {
                let keys = left.iter().filter(|(_, hash)| filter.may_have(*hash));
                probable.extend(keys.map(|(at, _)| *at));
            }
            None => probable.extend(left.iter().map(|(at, _)| *at)),
        }
        let mut has_found = false;
        for at in &probable {
            let Some((wanted, found)) = wanted.get(*at).zip(found.get_mut(*at)) else { continue };
            if let Some(entry) = find_in_run(txn, table, run, &wanted.prefix, &mut key)? {
                each(*at, entry);
                (*found, has_found) = (true, true);
            }
        }
        if has_found {
            left.retain(|(at, _)| found.get(*at).is_none_or(|found| !found));
        }
    }
    Ok(())
}

/// The entry of a run whose key begins with `prefix`; one of them if there are several. `key` is room for a key.
fn find_in_run<K: RunKind, E: RunEntry>(
    txn: &RoTxn<'_>,
    table: NamedTable,
    run: &Run<K>,
    prefix: &[u8],
    key: &mut Vec<u8>,
) -> Result<Option<E>, ColumnsError> {
    key.clear();
    put_page_key(run.kind, run.id, key);
    let head = key.len();
    key.extend_from_slice(prefix);
    // Behind all keys that begin so.
    key.extend_from_slice(&[u8::MAX; 16]);
    let page = table.at_or_before(txn, key)?;
    let page = page.filter(|(found, _)| found.get(..head) == key.get(..head));
    let Some((_, bytes)) = page else { return Ok(None) };
    find_in_page(bytes, prefix)
}

/// The first entry of a page whose key begins with `prefix`.
fn find_in_page<E: RunEntry>(page: &[u8], prefix: &[u8]) -> Result<Option<E>, ColumnsError> {
    let damaged = || ColumnsError::damaged("run", "a page");
    let mut reading = ByteReader(page);
    if let Some(width) = E::WIDTH {
        let count = page.len() / width.max(1);
        let (mut low, mut high) = (0, count);
        while low < high {
            let middle = low.midpoint(high);
            let entry = page.get(middle * width..).unwrap_or_default();
            let is_before = entry.get(..prefix.len()).is_some_and(|key| key < prefix);
            (low, high) = if is_before { (middle + 1, high) } else { (low, middle) };
        }
        reading = ByteReader(page.get(low * width..).unwrap_or_default());
        if !reading.0.starts_with(prefix) {
            return Ok(None);
        }
        return Ok(Some(E::take(None, &mut reading).ok_or_else(damaged)?));
    }
    let leading = E::leading_number_of(prefix).unwrap_or(0);
    let mut key = Vec::with_capacity(32);
    let mut before: Option<E> = None;
    while !reading.0.is_empty() {
        let start = reading;
        let entry = E::skip(before.as_ref(), &mut reading).ok_or_else(damaged)?;
        if entry.leading_number() >= leading {
            key.clear();
            entry.put_key(&mut key);
            if key.starts_with(prefix) {
                let mut reading = start;
                return Ok(Some(E::take(before.as_ref(), &mut reading).ok_or_else(damaged)?));
            }
            if &*key > prefix {
                return Ok(None);
            }
        }
        before = Some(entry);
    }
    Ok(None)
}
