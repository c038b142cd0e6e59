//! Columns: values of one width by number, in pages that fill one page of the file each.

use assay_mapped::{Table, WriteTransaction};
use heed::{PutFlags, RoTxn};

use super::{
    bytes::{from_number, number},
    kept::KeptPages,
};
use crate::{
    GraphError,
    error::{damaged, table_error},
};

/// Bytes of a value that fills a page of the file: 4,096 less the page's head.
const PAGE: usize = 4080;

/// Puts a record behind all others of its table.
pub(super) fn append(
    name: &'static str,
    table: Table,
    txn: &mut WriteTransaction<'_>,
    key: &[u8],
    value: &[u8],
) -> Result<(), GraphError> {
    table
        .put_with_flags(txn, PutFlags::APPEND, key, value)
        .map_err(|error| table_error(name, error))
}

/// A column.
#[derive(Clone, Copy, Debug)]
pub(super) struct Column {
    name: &'static str,
    table: Table,
    width: usize,
    per_page: usize,
}

impl Column {
    pub(super) const fn new(name: &'static str, table: Table, width: usize) -> Self {
        Self { name, table, width, per_page: PAGE / width }
    }

    /// The page of a value and its first byte there.
    #[inline]
    fn locate(&self, index: u64) -> (u64, usize) {
        let per_page = self.per_page as u64;
        let within = usize::try_from(index % per_page).unwrap_or(usize::MAX);
        (index / per_page, within.saturating_mul(self.width))
    }

    fn page<'t>(&self, txn: &'t RoTxn<'_>, page: u64) -> Result<Option<&'t [u8]>, GraphError> {
        self.table.get(txn, &number(page)).map_err(|error| table_error(self.name, error))
    }

    /// The value of a number; `None` beyond the end. `kept` has pages that were found before.
    #[inline]
    pub(super) fn get<'t, const N: usize>(
        &self,
        txn: &'t RoTxn<'_>,
        kept: &KeptPages<'t>,
        index: u64,
    ) -> Result<Option<&'t [u8; N]>, GraphError> {
        let (page, from) = self.locate(index);
        let page = kept.get(page, || self.page(txn, page))?;
        Ok(page.and_then(|page| page.get(from..)?.first_chunk()))
    }

    /// The number in a column of numbers; `None` beyond the end.
    #[inline]
    pub(super) fn number<'t>(
        &self,
        txn: &'t RoTxn<'_>,
        kept: &KeptPages<'t>,
        index: u64,
    ) -> Result<Option<u64>, GraphError> {
        Ok(self.get(txn, kept, index)?.map(|bytes| from_number(*bytes)))
    }

    /// Appends values to a column of `length` values.
    pub(super) fn append(
        &self,
        txn: &mut WriteTransaction<'_>,
        length: u64,
        values: &[u8],
    ) -> Result<(), GraphError> {
        let full = self.per_page * self.width;
        let (mut page, from) = self.locate(length);
        let mut rest = values;
        if from > 0 && !rest.is_empty() {
            let mut last = self.page(txn, page)?.unwrap_or_default().to_vec();
            last.resize(from, 0);
            let (first, after) = rest.split_at_checked(full - from).unwrap_or((rest, &[]));
            last.extend_from_slice(first);
            self.put(txn, page, &last)?;
            rest = after;
            page += 1;
        }
        for values in rest.chunks(full) {
            // Behind all others, so that the pages of the table are full.
            append(self.name, self.table, txn, &number(page), values)?;
            page += 1;
        }
        Ok(())
    }

    /// Replaces values. They are in the order of their numbers, all of which are below the column's length.
    pub(super) fn update<const N: usize>(
        &self,
        txn: &mut WriteTransaction<'_>,
        values: &[(u64, [u8; N])],
    ) -> Result<(), GraphError> {
        for of_page in values.chunk_by(|one, next| self.locate(one.0).0 == self.locate(next.0).0) {
            let Some((first, _)) = of_page.first() else { continue };
            let (page, _) = self.locate(*first);
            let mut bytes = self.page(txn, page)?.ok_or_else(|| damaged(self.name, page))?.to_vec();
            for (index, value) in of_page {
                let slot = bytes.get_mut(self.locate(*index).1..);
                let slot = slot.and_then(<[u8]>::first_chunk_mut::<N>);
                *slot.ok_or_else(|| damaged(self.name, index))? = *value;
            }
            self.put(txn, page, &bytes)?;
        }
        Ok(())
    }

    /// Truncates a column from `before` to `length` values.
    pub(super) fn truncate(
        &self,
        txn: &mut WriteTransaction<'_>,
        before: u64,
        length: u64,
    ) -> Result<(), GraphError> {
        if length >= before {
            return Ok(());
        }
        let (first, kept) = self.locate(length);
        let (last, _) = self.locate(before - 1);
        for page in first..=last {
            if page == first && kept > 0 {
                let bytes = self.page(txn, page)?.and_then(|bytes| bytes.get(..kept));
                let bytes = bytes.ok_or_else(|| damaged(self.name, page))?.to_vec();
                self.put(txn, page, &bytes)?;
            } else {
                self.table
                    .delete(txn, &number(page))
                    .map_err(|error| table_error(self.name, error))?;
            }
        }
        Ok(())
    }

    fn put(
        &self,
        txn: &mut WriteTransaction<'_>,
        page: u64,
        bytes: &[u8],
    ) -> Result<(), GraphError> {
        let key = number(page);
        self.table.put(txn, &key, bytes).map_err(|error| table_error(self.name, error))
    }
}
