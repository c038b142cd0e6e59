//! Flows of money, read from a graph in PostgreSQL: every call is one statement, and so of one state.

use std::{collections::BTreeMap, sync::Arc};

use assay_engine::{
    trace::{Destinations, Origins, ReadLimits},
    utxo::{
        FeePayer, History, HistoryEntry, OutPoint, OwnOutput, ScriptOwner, SideEntry,
        TransactionView, TxInput, TxOut, Txid,
    },
};
use async_trait::async_trait;
use futures_util::TryStreamExt;
use sqlx::{Decode, Postgres, Row, Type, postgres::PgRow};

use super::{PostgresGraph, row};
use crate::{FlowSource, GraphError, backend::rows};

/// The sides of a transaction that a statement reads.
#[derive(Clone, Copy)]
struct SidesRead {
    inputs: bool,
    outputs: bool,
}

#[async_trait]
impl FlowSource for PostgresGraph {
    async fn history(
        &self,
        owner: &ScriptOwner,
        limits: ReadLimits,
    ) -> Result<Option<History>, GraphError> {
        let mut connection = self.reads.acquire().await?;
        let mut rows = sqlx::query(self.flows.history.clone())
            .bind(owner.to_bytes())
            .bind(i64::from(limits.transfers))
            .bind(i64::from(limits.entries))
            .fetch(&mut *connection);
        let mut statistics = None;
        let (mut incoming, mut outgoing) = (BTreeMap::new(), BTreeMap::new());
        while let Some(found) = rows.try_next().await? {
            statistics = Some(row::statistics(&found, STATISTICS_OF_HISTORY)?);
            if let Some(direction) = found.try_get(HEAD_COLUMNS)? {
                let entries = if direction { &mut incoming } else { &mut outgoing };
                entries.insert(found.try_get::<i64, _>(0)?, entry(&found)?);
            }
        }
        Ok(statistics.map(|statistics| History {
            statistics,
            incoming: incoming.into_values().collect(),
            outgoing: outgoing.into_values().collect(),
        }))
    }

    async fn origins(
        &self,
        transactions: &[Txid],
        largest: u32,
    ) -> Result<Vec<Option<TransactionView>>, GraphError> {
        let found = self.origins_ahead(transactions, largest, 0).await?;
        let read = |txid| Some(TransactionView::clone(found.get(txid)?.as_ref()?));
        Ok(transactions.iter().map(read).collect())
    }

    async fn destinations(
        &self,
        outputs: &[OutPoint],
        largest: u32,
    ) -> Result<Vec<Option<TransactionView>>, GraphError> {
        let found = self.destinations_ahead(outputs, largest, 0).await?;
        let read = |output| Some(TransactionView::clone(found.get(output)?.as_ref()?));
        Ok(outputs.iter().map(read).collect())
    }

    async fn origins_ahead(
        &self,
        transactions: &[Txid],
        largest: u32,
        ahead: u32,
    ) -> Result<Origins, GraphError> {
        let mut connection = self.reads.acquire().await?;
        let mut rows = sqlx::query(self.flows.origins.clone())
            .bind(identifiers(transactions))
            .bind(i64::from(largest))
            .bind(i64::from(ahead))
            .fetch(&mut *connection);
        let mut origins: Origins = transactions.iter().map(|txid| (*txid, None)).collect();
        while let Some(found) = rows.try_next().await? {
            let mut columns = Columns { row: &found, next: HEAD_COLUMNS };
            let transaction = columns.transaction(SidesRead { inputs: true, outputs: false })?;
            origins.insert(transaction.txid, Some(Arc::new(transaction)));
        }
        Ok(origins)
    }

    async fn destinations_ahead(
        &self,
        outputs: &[OutPoint],
        largest: u32,
        ahead: u32,
    ) -> Result<Destinations, GraphError> {
        let (txids, indexes) = outpoints(outputs);
        let mut connection = self.reads.acquire().await?;
        let mut rows = sqlx::query(self.flows.destinations.clone())
            .bind(txids)
            .bind(i64::from(largest))
            .bind(i64::from(ahead))
            .bind(indexes)
            .fetch(&mut *connection);
        let mut destinations = Destinations::new();
        while let Some(found) = rows.try_next().await? {
            let mut columns = Columns { row: &found, next: HEAD_COLUMNS };
            let txids: Vec<Vec<u8>> = columns.next()?;
            let spent = txids.into_iter().zip(columns.next::<Vec<i32>>()?);
            let spender = match found.try_get::<Option<i64>, _>(0)? {
                Some(_) => {
                    let sides = SidesRead { inputs: false, outputs: true };
                    Some(Arc::new(columns.transaction(sides)?))
                }
                None => None,
            };
            for (txid, place) in spent {
                let txid = rows::txid_from_bytes(&txid)?;
                destinations.insert(OutPoint { txid, index: row::index(place) }, spender.clone());
            }
        }
        Ok(destinations)
    }
}

/// A transaction, with both sides.
pub(super) async fn transaction(
    graph: &PostgresGraph,
    txid: &Txid,
    largest: u32,
) -> Result<Option<TransactionView>, GraphError> {
    let mut connection = graph.reads.acquire().await?;
    let rows = sqlx::query(graph.flows.transaction.clone())
        .bind(identifiers(&[*txid]))
        .bind(i64::from(largest))
        .fetch(&mut *connection);
    let answers = answers(rows, SidesRead { inputs: true, outputs: true }, 1).await?;
    Ok(answers.into_iter().next().flatten())
}

pub(super) fn identifiers(transactions: &[Txid]) -> Vec<&[u8]> {
    transactions.iter().map(|txid| &txid.as_bytes()[..]).collect()
}

/// Outputs in two lists, places with the same bits.
pub(super) fn outpoints(outputs: &[OutPoint]) -> (Vec<&[u8]>, Vec<i32>) {
    outputs.iter().map(|output| (&output.txid.as_bytes()[..], output.index.cast_signed())).unzip()
}

/// The rows that were found, in the order of the request.
async fn answers(
    mut rows: impl futures_util::Stream<Item = Result<PgRow, sqlx::Error>> + Unpin,
    sides: SidesRead,
    asked: usize,
) -> Result<Vec<Option<TransactionView>>, GraphError> {
    let mut answers = vec![None; asked];
    while let Some(found) = rows.try_next().await? {
        let mut columns = Columns { row: &found, next: HEAD_COLUMNS };
        let places: Vec<i64> = columns.next()?;
        let transaction = columns.transaction(sides)?;
        for place in places {
            let answer = usize::try_from(place - 1).ok().and_then(|place| answers.get_mut(place));
            if let Some(answer) = answer {
                *answer = Some(transaction.clone());
            }
        }
    }
    Ok(answers)
}

/// A transaction of an owner's history.
fn entry(row: &PgRow) -> Result<HistoryEntry, GraphError> {
    let mut columns = Columns { row, next: HEAD_COLUMNS + 1 };
    let transaction = columns.transaction(SidesRead { inputs: true, outputs: true })?;
    let sum = |stored: Option<i64>| row::amount(stored.unwrap_or_default()).map(u128::from);
    let (received, sent) = (sum(columns.next()?)?, sum(columns.next()?)?);
    Ok(HistoryEntry { transaction, received, sent, outputs: columns.own_outputs()? })
}

/// Columns of a transaction and its time.
const HEAD_COLUMNS: usize = 10;
/// Index of the first column of the statistics in a row of a history.
const STATISTICS_OF_HISTORY: usize = HEAD_COLUMNS + 1 + 5 + 2 + 3 + 5;

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

    fn transaction(&mut self, sides: SidesRead) -> Result<TransactionView, GraphError> {
        let time = row::time(self.row, HEAD_COLUMNS - 1)?;
        let mut transaction = row::transaction(self.row)?.bare(time);
        let itself = transaction.txid;
        if sides.inputs {
            transaction.inputs.largest = self.input_legs(itself)?;
            transaction.fee_payers = self.fee_payers()?;
        }
        if sides.outputs {
            transaction.outputs.largest = self.entries(|index| OutPoint { txid: itself, index })?;
        }
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

    fn fee_payers(&mut self) -> Result<Vec<FeePayer>, GraphError> {
        let payers = self.list::<Vec<u8>>()?.into_iter().zip(self.list::<i64>()?);
        let payer = |(txid, fee): (Vec<u8>, i64)| {
            Ok(FeePayer { txid: rows::txid_from_bytes(&txid)?, fee: row::amount(fee)? })
        };
        payers.map(payer).collect()
    }

    fn own_outputs(&mut self) -> Result<Vec<OwnOutput>, GraphError> {
        let (places, values) = (self.list::<i32>()?, self.list::<i64>()?);
        let spent = self.list::<bool>()?;
        let outputs = places.into_iter().zip(values).zip(spent);
        outputs
            .map(|((place, value), spent)| {
                Ok(OwnOutput { index: row::index(place), value: row::amount(value)?, spent })
            })
            .collect()
    }
}
