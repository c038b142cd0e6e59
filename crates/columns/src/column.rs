//! Columns: values of one width by number. Each page of a column fills one page of the file.

use assay_mapped::WriteTransaction;
use heed::RoTxn;

use crate::{
    ColumnsError, NamedTable, ReadCache,
    bytes::{from_number, number},
};

/// Bytes of a table's value that fills a page of the file: 4,096 less the page's header.
pub(crate) const PAGE: usize = 4080;

/// A reader's cache of a column's pages, by their numbers.
pub type PageCache<'t> = ReadCache<&'t [u8], { 1 << 13 }>;

/// A column: values of one width by number.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    table: NamedTable,
    width: usize,
    per_page: usize,
}

impl Column {
    /// A column of values of `width` bytes.
    #[must_use]
    pub const fn new(table: NamedTable, width: usize) -> Self {
        Self { table, width, per_page: PAGE / width }
    }

    /// The number of a value's page, and the offset of the value in it.
    #[inline]
    fn locate(&self, index: u64) -> (u64, usize) {
        let per_page = self.per_page as u64;
        let within = usize::try_from(index % per_page).unwrap_or(usize::MAX);
        (index / per_page, within.saturating_mul(self.width))
    }

    /// The value of a number; `None` beyond the end of the column. `kept` caches pages.
    ///
    /// # Errors
    ///
    /// Returns an error if the table fails.
    #[inline]
    pub fn get<'t, const N: usize>(
        &self,
        txn: &'t RoTxn<'_>,
        kept: &PageCache<'t>,
        index: u64,
    ) -> Result<Option<&'t [u8; N]>, ColumnsError> {
        let (page, from) = self.locate(index);
        let page = kept.get(page, || self.table.get(txn, &number(page)))?;
        Ok(page.and_then(|page| page.get(from..)?.first_chunk()))
    }

    /// The number at an index of a column of numbers; `None` beyond the end.
    ///
    /// # Errors
    ///
    /// Returns an error if the table fails.
    #[inline]
    pub fn number<'t>(
        &self,
        txn: &'t RoTxn<'_>,
        kept: &PageCache<'t>,
        index: u64,
    ) -> Result<Option<u64>, ColumnsError> {
        Ok(self.get(txn, kept, index)?.map(|bytes| from_number(*bytes)))
    }

    /// Appends values to a column of `length` values.
    ///
    /// # Errors
    ///
    /// Returns an error if the table fails.
    pub fn append(
        &self,
        txn: &mut WriteTransaction<'_>,
        length: u64,
        values: &[u8],
    ) -> Result<(), ColumnsError> {
        let full = self.per_page * self.width;
        let (mut page, from) = self.locate(length);
        let mut rest = values;
        if from > 0 && !rest.is_empty() {
            let mut last = self.table.get(txn, &number(page))?.unwrap_or_default().to_vec();
            last.resize(from, 0);
            let (first, after) = rest.split_at_checked(full - from).unwrap_or((rest, &[]));
            last.extend_from_slice(first);
            self.table.put(txn, &number(page), &last)?;
            rest = after;
            page += 1;
        }
        for values in rest.chunks(full) {
            // Behind all others, so that the pages of the table are full.
            self.table.append(txn, &number(page), values)?;
            page += 1;
        }
        Ok(())
    }

    /// Replaces values. The values are sorted by their numbers, all of which are below the column's length.
    ///
    /// # Errors
    ///
    /// Returns an error if the table fails.
    pub fn update<const N: usize>(
        &self,
        txn: &mut WriteTransaction<'_>,
        values: &[(u64, [u8; N])],
    ) -> Result<(), ColumnsError> {
        for of_page in values.chunk_by(|one, next| self.locate(one.0).0 == self.locate(next.0).0) {
            let Some((first, _)) = of_page.first() else { continue };
            let (page, _) = self.locate(*first);
            let mut bytes = self
                .table
                .get(txn, &number(page))?
                .ok_or_else(|| self.table.damaged(page))?
                .to_vec();
            for (index, value) in of_page {
                let slot = bytes.get_mut(self.locate(*index).1..);
                let slot = slot.and_then(<[u8]>::first_chunk_mut::<N>);
                *slot.ok_or_else(|| self.table.damaged(index))? = *value;
            }
            self.table.put(txn, &number(page), &bytes)?;
        }
        Ok(())
    }

    /// Truncates a column from `before` to `length` values.
    ///
    /// # Errors
    ///
    /// Returns an error if the table fails.
    pub fn truncate(
        &self,
        txn: &mut WriteTransaction<'_>,
        before: u64,
        length: u64,
    ) -> Result<(), ColumnsError> {
        if length >= before {
            return Ok(());
        }
        let (first, kept) = self.locate(length);
        let (last, _) = self.locate(before - 1);
        for page in first..=last {
            if page == first && kept > 0 {
                let bytes = self.table.get(txn, &number(page))?.and_then(|bytes| bytes.get(..kept));
                let bytes = bytes.ok_or_else(|| self.table.damaged(page))?.to_vec();
                self.table.put(txn, &number(page), &bytes)?;
            } else {
                self.table.delete(txn, &number(page))?;
            }
        }
        Ok(())
    }
}
