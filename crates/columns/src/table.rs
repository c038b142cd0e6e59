//! Tables whose errors say their names.

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
        Some(self.rows.next()?.map_err(|error| ColumnsError::table(self.name, error)))
    }
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
        self.table.get_lower_than_or_equal_to(txn, key).map_err(self.failed())
    }

    /// The last row whose key is less than `key`.
    pub fn before<'t>(
        &self,
        txn: &'t RoTxn<'_>,
        key: &[u8],
    ) -> Result<Option<Row<'t>>, ColumnsError> {
        self.table.get_lower_than(txn, key).map_err(self.failed())
    }

    /// The first row whose key is `key` or greater.
    pub fn at_or_after<'t>(
        &self,
        txn: &'t RoTxn<'_>,
        key: &[u8],
    ) -> Result<Option<Row<'t>>, ColumnsError> {
        self.table.get_greater_than_or_equal_to(txn, key).map_err(self.failed())
    }

    /// The last row.
    pub fn last<'t>(&self, txn: &'t RoTxn<'_>) -> Result<Option<Row<'t>>, ColumnsError> {
        self.table.last(txn).map_err(self.failed())
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
    pub fn prefix<'t>(
        &self,
        txn: &'t RoTxn<'_>,
        prefix: &[u8],
    ) -> Result<impl Iterator<Item = Result<Row<'t>, ColumnsError>> + use<'t>, ColumnsError> {
        let rows = self.table.prefix_iter(txn, prefix).map_err(self.failed())?;
        let failed = self.failed();
        Ok(rows.map(move |row| row.map_err(&failed)))
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
