//! Reading runs from their ends.

use heed::RoTxn;

use super::{RunEntry, RunKind, RunManifest, page::page_key};
use crate::{ColumnsError, NamedTable, bytes::ByteReader};

/// Iterates backwards over the entries of a run.
struct BackwardsCursor<'t, E> {
    txn: &'t RoTxn<'t>,
    table: NamedTable,
    /// The beginning of the keys of the run's pages.
    prefix: Vec<u8>,
    /// Key of the page whose entries are in `page`; `None` at the beginning of the run.
    at: Option<Vec<u8>>,
    /// Entries of the page that are still to come, the next one last.
    page: Vec<E>,
}

impl<'t, E: RunEntry> BackwardsCursor<'t, E> {
    /// Opens a cursor at the last entry of a run whose key is less than `before`.
    fn open<K: RunKind>(
        txn: &'t RoTxn<'t>,
        table: NamedTable,
        (kind, id): (K, u32),
        before: &[u8],
    ) -> Result<Self, ColumnsError> {
        let prefix = page_key(kind, id);
        let mut cursor = Self { txn, table, at: None, page: Vec::new(), prefix };
        let wanted = [&cursor.prefix[..], before].concat();
        let found = table.before(txn, &wanted)?;
        cursor.read(found, Some(before))?;
        Ok(cursor)
    }

    /// Reads a page, up to a key.
    fn read(
        &mut self,
        found: Option<(&'t [u8], &'t [u8])>,
        before: Option<&[u8]>,
    ) -> Result<(), ColumnsError> {
        let found = found.filter(|(key, _)| key.starts_with(&self.prefix));
        self.at = found.map(|(key, _)| key.to_vec());
        let Some((_, bytes)) = found else { return Ok(()) };
        let mut reading = ByteReader(bytes);
        let mut key = Vec::with_capacity(32);
        while !reading.0.is_empty() {
            let entry = E::take(self.page.last(), &mut reading);
            let entry = entry.ok_or_else(|| ColumnsError::damaged("run", "a page"))?;
            if let Some(before) = before {
                key.clear();
                entry.put_key(&mut key);
                if &*key >= before {
                    break;
                }
            }
            self.page.push(entry);
        }
        Ok(())
    }

    fn pop(&mut self) -> Result<Option<E>, ColumnsError> {
        let entry = self.page.pop();
        while self.page.is_empty()
            && let Some(at) = self.at.take()
        {
            let before = self.table.before(self.txn, &at)?;
            self.read(before, None)?;
        }
        Ok(entry)
    }
}

/// Iterates backwards over the entries of several runs and over recent entries.
pub struct BackwardsCursors<'t, E> {
    cursors: Vec<BackwardsCursor<'t, E>>,
    /// Recent entries that are still to come, the next one last.
    recent: Vec<E>,
}

impl<E> std::fmt::Debug for BackwardsCursors<'_, E> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let runs = self.cursors.len();
        formatter.debug_struct("BackwardsCursors").field("runs", &runs).finish_non_exhaustive()
    }
}

impl<'t, E: RunEntry> BackwardsCursors<'t, E> {
    /// Opens cursors over all runs of a kind, at the last entries whose keys are less than `before`. `recent` has such
    /// entries too, in their order.
    pub(super) fn open<K: RunKind>(
        txn: &'t RoTxn<'t>,
        table: NamedTable,
        manifest: &RunManifest<K>,
        (kind, before): (K, &[u8]),
        recent: Vec<E>,
    ) -> Result<Self, ColumnsError> {
        let mut cursors = Vec::new();
        for run in manifest.of_kind(kind) {
            let mut cursor = BackwardsCursor::open(txn, table, (kind, run.id), before)?;
            // A page may begin before `before` and have no entry before it.
            if cursor.page.is_empty()
                && let Some(at) = cursor.at.take()
            {
                let page = table.before(txn, &at)?;
                cursor.read(page, None)?;
            }
            if !cursor.page.is_empty() {
                cursors.push(cursor);
            }
        }
        Ok(Self { cursors, recent })
    }

    /// The entry before the last one that was returned; entries of one subject are merged into one.
    ///
    /// # Errors
    ///
    /// Returns an error if the table fails.
    #[expect(clippy::should_implement_trait, reason = "it may fail")]
    pub fn next(&mut self) -> Result<Option<E>, ColumnsError> {
        let Some(mut entry) = self.pop()? else { return Ok(None) };
        while let Some(other) = self.peek() {
            if !entry.try_merge(other) {
                break;
            }
            self.pop()?;
        }
        Ok(Some(entry))
    }

    /// The cursor with the last entry; `None` if it is a recent one or there is none.
    fn last(&self) -> Option<usize> {
        let entries = self.cursors.iter().enumerate();
        let entries = entries.filter_map(|(at, cursor)| Some((cursor.page.last()?, at)));
        let (entry, at) = entries.max()?;
        self.recent.last().is_none_or(|recent| recent < entry).then_some(at)
    }

    fn peek(&self) -> Option<&E> {
        match self.last() {
            Some(at) => self.cursors.get(at).and_then(|cursor| cursor.page.last()),
            None => self.recent.last(),
        }
    }

    fn pop(&mut self) -> Result<Option<E>, ColumnsError> {
        let Some(at) = self.last() else { return Ok(self.recent.pop()) };
        let Some(cursor) = self.cursors.get_mut(at) else { return Ok(None) };
        let entry = cursor.pop()?;
        if cursor.page.is_empty() {
            self.cursors.swap_remove(at);
        }
        Ok(entry)
    }
}
