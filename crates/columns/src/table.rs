//! Tables whose errors say their names.
//!
//! LMDB stores no empty key, but reads empty ones from a page that was overwritten with zeros, as after a power cut. Such
//! a row is an error: by its key it would be the end of what is read, and the rows behind it would be missing.

use std::ops::Bound;

use assay_mapped::WriteTransaction;
use heed::{DatabaseStat, PutFlags, RoRange, RoTxn, types::Bytes};

use crate::ColumnsError;

/// A key with its value.
type Row<'t> = (&'t [u8], &'t [u8]);

/// Iterates over rows in the order of their keys.
pub struct Rows<'t> {
    name: &'static str,
    rows: RoRange<'t, Bytes, Bytes>,
}

impl<'t> Iterator for Rows<'t> {
    type Item = Result<Row<'t>, ColumnsError>;

    fn next(&mut self) -> Option<Self::Item> {
        let row = self.rows.next()?.map_err(|error| ColumnsError::table(self.name, error));
        Some(row.and_then(|row| checked(self.name, row)))
    }
}

/// Checks that a row has a key.
fn checked<'t>(table: &'static str, row: Row<'t>) -> Result<Row<'t>, ColumnsError> {
    if row.0.is_empty() { Err(ColumnsError::damaged(table, "an empty key")) } else { Ok(row) }
}

/// An ordered table with its name. All methods return an error if the environment fails.
#[derive(Clone, Copy, Debug)]
pub struct NamedTable {
    name: &'static str,
    table: assay_mapped::MappedTable,
}

#[expect(clippy::missing_errors_doc, reason = "all fail if the environment does")]
impl NamedTable {
    /// A table with the name that its errors say.
    #[must_use]
    pub const fn new(name: &'static str, table: assay_mapped::MappedTable) -> Self {
        Self { name, table }
    }

    fn failed(&self) -> impl Fn(heed::Error) -> ColumnsError + use<> {
        let name = self.name;
        move |error| ColumnsError::table(name, error)
    }

    fn checked<'t>(
        &self,
        found: heed::Result<Option<Row<'t>>>,
    ) -> Result<Option<Row<'t>>, ColumnsError> {
        found.map_err(self.failed())?.map(|row| checked(self.name, row)).transpose()
    }

    /// The error of a record that cannot be decoded.
    pub fn damaged(&self, key: impl ToString) -> ColumnsError {
        ColumnsError::damaged(self.name, key)
    }

    /// The value of a key.
    #[inline]
    pub fn get<'t>(
        &self,
        txn: &'t RoTxn<'_>,
        key: &[u8],
    ) -> Result<Option<&'t [u8]>, ColumnsError> {
        self.table.get(txn, key).map_err(self.failed())
    }

    /// The last row whose key is `key` or less.
    pub fn at_or_before<'t>(
        &self,
        txn: &'t RoTxn<'_>,
        key: &[u8],
    ) -> Result<Option<Row<'t>>, ColumnsError> {
        self.checked(self.table.get_lower_than_or_equal_to(txn, key))
    }

    /// The last row whose key is less than `key`.
    pub fn before<'t>(
        &self,
        txn: &'t RoTxn<'_>,
        key: &[u8],
    ) -> Result<Option<Row<'t>>, ColumnsError> {
        self.checked(self.table.get_lower_than(txn, key))
    }

    /// The first row whose key is `key` or greater.
    pub fn at_or_after<'t>(
        &self,
        txn: &'t RoTxn<'_>,
        key: &[u8],
    ) -> Result<Option<Row<'t>>, ColumnsError> {
        self.checked(self.table.get_greater_than_or_equal_to(txn, key))
    }

    /// The last row.
    pub fn last<'t>(&self, txn: &'t RoTxn<'_>) -> Result<Option<Row<'t>>, ColumnsError> {
        self.checked(self.table.last(txn))
    }

    /// The rows between two keys.
    pub fn range<'t>(
        &self,
        txn: &'t RoTxn<'_>,
        from: Bound<&[u8]>,
        to: Bound<&[u8]>,
    ) -> Result<Rows<'t>, ColumnsError> {
        let rows = self.table.range(txn, &(from, to)).map_err(self.failed())?;
        Ok(Rows { name: self.name, rows })
    }

    /// The rows whose keys begin with `prefix`.
    pub fn prefix<'t>(&self, txn: &'t RoTxn<'_>, prefix: &[u8]) -> Result<Rows<'t>, ColumnsError> {
        let end = end_of(prefix);
        let end = end.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
        self.range(txn, Bound::Included(prefix), end)
    }

    /// All rows.
    pub fn all<'t>(&self, txn: &'t RoTxn<'_>) -> Result<Rows<'t>, ColumnsError> {
        let rows = self.table.range(txn, &(Bound::Unbounded::<&[u8]>, Bound::Unbounded));
        Ok(Rows { name: self.name, rows: rows.map_err(self.failed())? })
    }

    /// True if there are no rows.
    pub fn is_empty(&self, txn: &RoTxn<'_>) -> Result<bool, ColumnsError> {
        self.table.is_empty(txn).map_err(self.failed())
    }

    /// Numbers of the table's pages and rows.
    pub fn stat(&self, txn: &RoTxn<'_>) -> Result<DatabaseStat, ColumnsError> {
        self.table.stat(txn).map_err(self.failed())
    }

    /// Puts a row.
    pub fn put(
        &self,
        txn: &mut WriteTransaction<'_>,
        key: &[u8],
        value: &[u8],
    ) -> Result<(), ColumnsError> {
        self.table.put(txn, key, value).map_err(self.failed())
    }

    /// Appends a row after all other rows, which fills the table's pages completely.
    pub fn append(
        &self,
        txn: &mut WriteTransaction<'_>,
        key: &[u8],
        value: &[u8],
    ) -> Result<(), ColumnsError> {
        self.table.put_with_flags(txn, PutFlags::APPEND, key, value).map_err(self.failed())
    }

    /// Deletes a row, if the table has it.
    pub fn delete(&self, txn: &mut WriteTransaction<'_>, key: &[u8]) -> Result<(), ColumnsError> {
        self.table.delete(txn, key).map(|_was_there| ()).map_err(self.failed())
    }

    /// Deletes the rows between two keys.
    pub fn delete_range(
        &self,
        txn: &mut WriteTransaction<'_>,
        from: Bound<&[u8]>,
        to: Bound<&[u8]>,
    ) -> Result<(), ColumnsError> {
        self.table.delete_range(txn, &(from, to)).map(|_count| ()).map_err(self.failed())
    }

    /// Deletes all rows.
    pub fn clear(&self, txn: &mut WriteTransaction<'_>) -> Result<(), ColumnsError> {
        if !self.is_empty(txn)? {
            self.table.clear(txn).map_err(self.failed())?;
        }
        Ok(())
    }
}

/// The smallest key that is greater than all keys with a prefix; `None` if there is none.
fn end_of(prefix: &[u8]) -> Option<Vec<u8>> {
    let last = prefix.iter().rposition(|byte| *byte < u8::MAX)?;
    let mut end = prefix.get(..=last)?.to_vec();
    *end.last_mut()? += 1;
    Some(end)
}

#[cfg(test)]
mod tests {
    use std::{fs::File, os::unix::fs::FileExt};

    use assay_mapped::{DATA_FILE, EnvironmentFormat, MappedError};

    use super::*;

    const FORMAT: EnvironmentFormat = EnvironmentFormat {
        name: "assay-test-tables",
        version: 1,
        tables: &["rows"],
        map_size: 1 << 30,
    };
    const PAGE: usize = 4096;
    /// The bytes of a page's head that name its kind, and the kind of leaves.
    const KIND: (usize, u8) = (10, 2);

    #[test]
    fn a_prefix_ends_before_the_first_key_without_it() {
        assert_eq!(end_of(&[1, 2]), Some(vec![1, 3]));
        assert_eq!(end_of(&[1, 255, 255]), Some(vec![2]));
        assert_eq!(end_of(&[255]), None);
        assert_eq!(end_of(&[]), None);
    }

    /// Keys of four bytes, of which many pages are full.
    fn key(number: u32) -> [u8; 4] {
        number.to_be_bytes()
    }

    #[test]
    fn a_page_of_zeros_is_an_error_and_no_end_of_what_is_read() {
        const ROWS: u32 = 4_000;
        // Given a table with many leaves,
        let folder = tempfile::tempdir().unwrap();
        let (environment, lock) = assay_mapped::create(folder.path(), &FORMAT).unwrap();
        let table = NamedTable::new("rows", environment.tables()[0]);
        let written: Result<(), MappedError> = environment.write(&lock, |txn| {
            (0..ROWS).for_each(|number| table.append(txn, &key(number), &[7; 40]).unwrap());
            Ok(())
        });
        written.unwrap();
        let read = || {
            let txn = environment.read().unwrap();
            let count = |rows: Rows<'_>| rows.collect::<Result<Vec<_>, _>>().map(|rows| rows.len());
            [
                count(table.prefix(&txn, &[0, 0]).unwrap()),
                count(table.all(&txn).unwrap()),
                count(table.range(&txn, Bound::Included(&key(5)), Bound::Unbounded).unwrap()),
            ]
        };
        let rows = ROWS as usize;
        assert_eq!(read().map(Result::unwrap), [rows, rows, rows - 5]);
        // when one of them is overwritten with zeros, with its kind as LMDB's assertions in test builds demand,
        let path = folder.path().join(DATA_FILE);
        let file = File::options().read(true).write(true).open(path).unwrap();
        let mut page = [0; PAGE];
        let holds = |page: &[u8], number: u32| {
            page[KIND.0] == KIND.1 && page.windows(4).any(|bytes| bytes == key(number))
        };
        let mut places = (2..).map(|number: u64| number * PAGE as u64);
        let place = places.find(|place| {
            file.read_exact_at(&mut page, *place).unwrap();
            holds(&page, ROWS / 2)
        });
        let place = place.unwrap();
        let whole = page;
        let mut zeros = [0; PAGE];
        zeros[KIND.0] = KIND.1;
        file.write_all_at(&zeros, place).unwrap();
        // then rows that are read through it are an error.
        for read in read() {
            let error = read.unwrap_err().to_string();
            assert!(error.contains("rows has no valid record of an empty key"), "{error}");
        }
        file.write_all_at(&whole, place).unwrap();
        assert_eq!(read().map(Result::unwrap), [rows, rows, rows - 5]);
    }
}
