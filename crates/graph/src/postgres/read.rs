//! A transaction with both sides, read from a graph in PostgreSQL.

use assay_engine::utxo::{OutPoint, SideEntry, TransactionView, TxInput, TxOut, Txid};
use sqlx::{Decode, PgConnection, Postgres, Row, Type, postgres::PgRow};

use super::{query::Queries, row};
use crate::{GraphError, backend::rows};

/// A transaction, with both sides.
pub(super) async fn transaction(
    connection: &mut PgConnection,
    queries: &Queries,
    txid: &Txid,
    largest: u32,
) -> Result<Option<TransactionView>, GraphError> {
    let query = sqlx::query(queries.transaction.clone());
    let query = query.bind(&txid.as_bytes()[..]).bind(i64::from(largest));
    let found = query.fetch_optional(connection).await?;
    found.map(|row| Columns { row: &row, next: HEAD_COLUMNS }.transaction()).transpose()
}

/// Columns of a transaction and its time.
const HEAD_COLUMNS: usize = 10;
/// A row's columns, one after the other.
struct Columns<'r> {
    row: &'r PgRow,
    next: usize,
}

impl<'r> Columns<'r> {
    fn next<T: Decode<'r, Postgres> + Type<Postgres>>(&mut self) -> Result<T, GraphError> {
        self.next += 1;
        Ok(self.row.try_get(self.next - 1)?)
    }

    /// A list; one without members is nothing.
    fn list<T>(&mut self) -> Result<Vec<T>, GraphError>
    where
        Vec<T>: Decode<'r, Postgres> + Type<Postgres>,
    {
        Ok(self.next::<Option<Vec<T>>>()?.unwrap_or_default())
    }

    fn transaction(&mut self) -> Result<TransactionView, GraphError> {
        let time = row::time(self.row, HEAD_COLUMNS - 1)?;
        let mut transaction = row::transaction(self.row)?.bare(time);
        let itself = transaction.txid;
        transaction.inputs.largest = self.input_legs(itself)?;
        transaction.outputs.largest = self.entries(|index| OutPoint { txid: itself, index })?;
        Ok(transaction)
    }

    fn entries(
        &mut self,
        outpoint: impl Fn(u32) -> OutPoint,
    ) -> Result<Vec<SideEntry>, GraphError> {
        let (places, values) = (self.list::<i32>()?, self.list::<i64>()?);
        let keys = self.list::<Vec<u8>>()?;
        let entries = places.into_iter().zip(values).zip(keys);
        entries
            .map(|((place, value), key)| {
                let index = row::index(place);
                let output =
                    TxOut { owner: rows::owner_from_key(&key)?, value: row::amount(value)? };
                Ok(SideEntry { index, outpoint: outpoint(index), output })
            })
            .collect()
    }

    fn input_legs(&mut self, itself: Txid) -> Result<Vec<SideEntry>, GraphError> {
        let out_of_pool = TxInput::from_pool(itself, None).outpoint;
        let mut entries = self.entries(|_| out_of_pool)?;
        let indexes = self.list::<Option<i32>>()?;
        let txids = self.list::<Option<Vec<u8>>>()?;
        for (entry, spent) in entries.iter_mut().zip(indexes.into_iter().zip(txids)) {
            if let (Some(index), Some(txid)) = spent {
                entry.outpoint =
                    OutPoint { txid: rows::txid_from_bytes(&txid)?, index: row::index(index) };
            }
        }
        Ok(entries)
    }
}
