//! Reading of an index: its entries of the newest blocks, in an ordered table, together with those of its runs.

use heed::RoTxn;

use super::{
    BackwardsCursors, Cursors, Filters, NumberByHash, RunEntry, RunKind, RunManifest,
    read::find_all,
    search::{WantedKey, find_each},
};
use crate::{ColumnsError, NamedTable, bytes::ByteReader};

/// The indexes of one state.
#[derive(Clone, Copy)]
pub struct IndexReader<'t, K> {
    txn: &'t RoTxn<'t>,
    /// Entries of the newest blocks; `None` if there are none.
    recent: Option<NamedTable>,
    runs: NamedTable,
    manifest: &'t RunManifest<K>,
}

impl<K> std::fmt::Debug for IndexReader<'_, K> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("IndexReader").field("runs", &self.runs).finish_non_exhaustive()
    }
}

/// The key of a recent entry, or a prefix of keys.
#[must_use]
pub fn recent_key<K: RunKind>(kind: K, key: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(40);
    bytes.push(kind.number());
    bytes.extend_from_slice(key);
    bytes
}

impl<'t, K: RunKind> IndexReader<'t, K> {
    /// A reader of a state with its tables of recent entries and of runs. Without recent entries, `recent` may be `None`.
    #[must_use]
    pub const fn new(
        txn: &'t RoTxn<'t>,
        recent: Option<NamedTable>,
        runs: NamedTable,
        manifest: &'t RunManifest<K>,
    ) -> Self {
        Self { txn, recent, runs, manifest }
    }

    /// Passes the recent entries whose keys begin with `prefix` to `each`, with their values, until `each` returns
    /// false.
    ///
    /// # Errors
    ///
    /// Returns the error of `each`, and one if a table fails.
    pub fn recent<E: RunEntry, F: From<ColumnsError>>(
        &self,
        kind: K,
        prefix: &[u8],
        mut each: impl FnMut(E, &[u8]) -> Result<bool, F>,
    ) -> Result<(), F> {
        let Some(recent) = self.recent else { return Ok(()) };
        for found in recent.prefix(self.txn, &recent_key(kind, prefix))? {
            let (key, value) = found?;
            let entry = key.split_first().and_then(|(_, key)| E::from_key(&mut ByteReader(key)));
            let entry = entry.ok_or_else(|| recent.damaged(hex::encode(key)))?;
            if !each(entry, value)? {
                break;
            }
        }
        Ok(())
    }

    /// Passes the numbers with a hash to `each`, recent entries first, until `each` returns false.
    ///
    /// # Errors
    ///
    /// Returns the error of `each`, and one if a table fails.
    pub fn under_hash<F: From<ColumnsError>>(
        &self,
        filters: Option<&Filters>,
        kind: K,
        hash: u64,
        mut each: impl FnMut(u64) -> Result<bool, F>,
    ) -> Result<(), F> {
        let mut goes_on = true;
        self.recent(kind, &hash.to_be_bytes(), |found: NumberByHash, _| {
            goes_on = each(found.number)?;
            Ok::<_, F>(goes_on)
        })?;
        if goes_on {
            find_all(self.txn, self.runs, (self.manifest, filters), kind, hash, each)?;
        }
        Ok(())
    }

    /// Passes the newest entry of each key to `each`, with the key's place, of a kind of which the newest entry replaces all
    /// others. The keys are sorted; those without entry are passed over.
    ///
    /// # Errors
    ///
    /// Returns an error if a table fails.
    pub fn newest_of_each<E: RunEntry, const N: usize>(
        &self,
        filters: Option<&Filters>,
        kind: K,
        wanted: &[WantedKey<N>],
        mut each: impl FnMut(usize, E),
    ) -> Result<(), ColumnsError> {
        let mut found = vec![false; if self.recent.is_some() { wanted.len() } else { 0 }];
        for (at, (found, key)) in found.iter_mut().zip(wanted).enumerate() {
            if let Some(entry) = self.newest_recent(kind, &key.prefix)? {
                each(at, entry);
                *found = true;
            }
        }
        let is_left = |at: usize| found.get(at).is_none_or(|found| !found);
        find_each(self.txn, self.runs, (self.manifest, filters), kind, (wanted, is_left), each)
    }

    fn newest_recent<E: RunEntry>(
        &self,
        kind: K,
        prefix: &[u8],
    ) -> Result<Option<E>, ColumnsError> {
        let mut found: Option<E> = None;
        self.recent(kind, prefix, |mut entry: E, value| {
            let is_read = entry.take_value(&mut ByteReader(value)).is_some();
            if !is_read {
                return Err(ColumnsError::damaged("recent", format!("a value of {kind:?}")));
            }
            match &mut found {
                Some(before) => {
                    before.try_merge(&entry);
                }
                None => found = Some(entry),
            }
            Ok(true)
        })?;
        Ok(found)
    }

    /// Opens cursors over the runs of a kind, at the first entries whose keys are at or after `from`.
    ///
    /// # Errors
    ///
    /// Returns an error if a table fails.
    pub fn runs<E: RunEntry>(&self, kind: K, from: &[u8]) -> Result<Cursors<'t, E>, ColumnsError> {
        Cursors::open(self.txn, self.runs, self.manifest, kind, from)
    }

    /// Opens cursors that go backwards from the last entry whose key is less than `before`, recent entries included.
    /// Recent entries are those whose keys begin with `prefix`.
    ///
    /// # Errors
    ///
    /// Returns an error if a table fails.
    pub fn backwards<E: RunEntry>(
        &self,
        kind: K,
        (prefix, before): (&[u8], &[u8]),
    ) -> Result<BackwardsCursors<'t, E>, ColumnsError> {
        let mut recent = Vec::new();
        let mut key = Vec::with_capacity(32);
        self.recent(kind, prefix, |mut entry: E, value| {
            key.clear();
            entry.put_key(&mut key);
            if &*key >= before {
                return Ok(false);
            }
            let is_read = entry.take_value(&mut ByteReader(value)).is_some();
            if !is_read {
                return Err(ColumnsError::damaged("recent", format!("a value of {kind:?}")));
            }
            recent.push(entry);
            Ok(true)
        })?;
        BackwardsCursors::open(self.txn, self.runs, self.manifest, (kind, before), recent)
    }

    /// Passes entries from the key `from` on to `each`, in order, recent entries included, until `each` returns false or
    /// an entry is none of `is_own`. Recent entries are those whose keys begin with `prefix`.
    ///
    /// # Errors
    ///
    /// Returns an error if a table fails.
    pub fn all_from<E: RunEntry>(
        &self,
        kind: K,
        (prefix, from): (&[u8], &[u8]),
        is_own: impl Fn(&E) -> bool,
        mut each: impl FnMut(E) -> bool,
    ) -> Result<(), ColumnsError> {
        let mut runs = self.runs::<E>(kind, from)?;
        let mut next = runs.next()?.filter(&is_own);
        let mut goes_on = true;
        // The last recent entry, which further versions of it may follow.
        let mut open: Option<E> = None;
        self.recent(kind, prefix, |mut entry: E, value| {
            let is_read = entry.take_value(&mut ByteReader(value)).is_some();
            if !is_read {
                return Err(ColumnsError::damaged("recent", format!("a value of {kind:?}")));
            }
            if let Some(before) = &mut open
                && before.try_merge(&entry)
            {
                return Ok(true);
            }
            let Some(before) = open.replace(entry) else { return Ok(true) };
            goes_on = pass_until(before, &mut next, &mut runs, &is_own, &mut each)?;
            Ok(goes_on)
        })?;
        if let Some(last) = open.filter(|_| goes_on) {
            goes_on = pass_until(last, &mut next, &mut runs, &is_own, &mut each)?;
        }
        while let Some(entry) = next.take_if(|_| goes_on) {
            goes_on = each(entry);
            next = runs.next()?.filter(&is_own);
        }
        Ok(())
    }
}

/// Passes the entries of runs before a recent entry to `each`, and then the recent entry, merged with an equal one of the
/// runs. Returns false if `each` does.
fn pass_until<E: RunEntry>(
    mut recent: E,
    next: &mut Option<E>,
    runs: &mut Cursors<'_, E>,
    is_own: &impl Fn(&E) -> bool,
    each: &mut impl FnMut(E) -> bool,
) -> Result<bool, ColumnsError> {
    loop {
        if next.as_ref().is_some_and(|older| recent.try_merge(older)) {
            *next = runs.next()?.filter(is_own);
            continue;
        }
        let Some(older) = next.take_if(|older| *older < recent) else { break };
        if !each(older) {
            return Ok(false);
        }
        *next = runs.next()?.filter(is_own);
    }
    Ok(each(recent))
}
