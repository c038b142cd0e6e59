//! Writing a graph in PostgreSQL: on a connection of its own, which holds a lock for as long as it
//! lives. Whoever loses the connection loses the lock, and can write no more.

use std::collections::HashMap;

use assay_engine::coins::{Holder, OutPoint, Statistics, Txid};
use async_trait::async_trait;
use futures_util::TryStreamExt;
use jiff::Timestamp;
use sqlx::{Connection, PgConnection, Postgres, Row, Transaction};

use super::{
    Schema,
    copy::Rows,
    read::{identifiers, outpoints},
    row, scan, schema,
};
use crate::{
    StoreError,
    graph::{
        Coin, GraphWriter, WriterOptions,
        plan::Plan,
        rows::{self, HolderRow, InputRow, Spends, kind_number},
        state::State,
        writer::{RecordedOutput, Recorder, Writer},
    },
    value,
};

/// How a transaction of the writer begins. It looks rows up by index, whatever the server believes of
/// the tables' sizes while they grow. What the last moments before a crash of the server brought may be
/// lost, never a part of it: it is read from the chain again.
const WRITE: &str = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE;
    SET LOCAL lock_timeout = '15s'; SET LOCAL synchronous_commit = off;
    SET LOCAL enable_seqscan = off; SET LOCAL enable_hashjoin = off;
    SET LOCAL enable_mergejoin = off";
/// The same for building indexes, with memory for sorting.
const BUILD: &str = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE;
    SET LOCAL lock_timeout = '15s'; SET LOCAL maintenance_work_mem = '256MB'";
/// How long a writer waits for the one before it, whose connection may just be being closed.
const LOCK_TIMEOUT: &str = "SET lock_timeout = '2s'";
/// The server's code for not getting a lock in time.
const LOCK_NOT_AVAILABLE: &str = "55P03";

/// Opens a chain's graph for writing; makes it where there is none.
pub(super) async fn open(
    mut connection: PgConnection,
    schema: Schema,
    wanted: WriterOptions,
) -> Result<Box<dyn GraphWriter>, StoreError> {
    lock(&mut connection, &schema).await?;
    schema::migrate(&mut connection, &schema).await?;
    let mut recorder = PostgresRecorder { connection, schema };
    recorder.begin(wanted).await?;
    if !wanted.backfill {
        recorder.build_indexes().await?;
    }
    Ok(Box::new(Writer::new(Box::new(recorder)).await?))
}

async fn lock(connection: &mut PgConnection, schema: &Schema) -> Result<(), StoreError> {
    sqlx::query(LOCK_TIMEOUT).execute(&mut *connection).await?;
    let locked = sqlx::query("SELECT pg_advisory_lock(hashtextextended($1, 0))")
        .bind(format!("assay {}", schema.name()))
        .execute(connection)
        .await;
    match locked {
        Ok(_) => Ok(()),
        Err(sqlx::Error::Database(error))
            if error.code().as_deref() == Some(LOCK_NOT_AVAILABLE) =>
        {
            Err(StoreError::Busy(schema.0))
        }
        Err(error) => Err(error.into()),
    }
}

#[derive(Debug)]
struct PostgresRecorder {
    connection: PgConnection,
    schema: Schema,
}

impl PostgresRecorder {
    async fn write(&mut self) -> Result<Transaction<'_, Postgres>, StoreError> {
        Ok(self.connection.begin_with(WRITE).await?)
    }

    /// Makes the graph where there is none; one without blocks may begin anywhere.
    async fn begin(&mut self, wanted: WriterOptions) -> Result<(), StoreError> {
        let chain = self.schema.0;
        sqlx::query(self.schema.sql(
            "INSERT INTO chain.graph AS g (id, chain, start, sample, next_tx, next_holder,
                                           reorganisable_from, indexed)
             VALUES (1, $1, $2, $3, 0, 0, $2, false)
             ON CONFLICT (id) DO UPDATE SET start = $2, sample = $3, reorganisable_from = $2
             WHERE g.tip IS NULL",
        ))
        .bind(chain.as_str())
        .bind(value::signed(wanted.start))
        .bind(wanted.sample)
        .execute(&mut self.connection)
        .await?;
        let start = self.state().await?.start;
        if start != wanted.start {
            return Err(StoreError::OtherStart { chain, start, wanted: wanted.start });
        }
        Ok(())
    }
}

#[async_trait]
impl Recorder for PostgresRecorder {
    async fn state(&mut self) -> Result<State, StoreError> {
        scan::state(&mut self.connection, &self.schema).await
    }

    async fn transactions(&mut self, txids: Vec<Txid>) -> Result<HashMap<Txid, i64>, StoreError> {
        let query = self.schema.sql(
            "SELECT asked.txid, (SELECT max(tx_id) FROM
                 (SELECT tx_id FROM chain.tx WHERE txid = asked.txid OFFSET 0) AS same)
             FROM unnest($1::bytea[]) AS asked (txid)",
        );
        let mut rows = sqlx::query(query).bind(identifiers(&txids)).fetch(&mut self.connection);
        let mut found = HashMap::with_capacity(txids.len());
        while let Some(row) = rows.try_next().await? {
            if let Some(number) = row.try_get(1)? {
                found.insert(rows::txid(row.try_get(0)?)?, number);
            }
        }
        Ok(found)
    }

    async fn holders(
        &mut self,
        holders: Vec<&Holder>,
    ) -> Result<HashMap<Holder, (i64, Statistics)>, StoreError> {
        let query = format!(
            "SELECT {} FROM unnest($1::bytea[]) AS asked (key)
             CROSS JOIN LATERAL
                 (SELECT * FROM chain.holder WHERE holder.key = asked.key OFFSET 0) AS h",
            row::HOLDER
        );
        let keys: Vec<_> = holders.iter().map(|holder| holder.to_bytes()).collect();
        let mut rows = sqlx::query(self.schema.sql(&query)).bind(keys).fetch(&mut self.connection);
        let mut found = HashMap::with_capacity(holders.len());
        while let Some(row) = rows.try_next().await? {
            let HolderRow { number, holder, statistics } = row::holder(&row)?;
            found.insert(holder, (number, statistics));
        }
        Ok(found)
    }

    async fn outputs(
        &mut self,
        outputs: Vec<OutPoint>,
    ) -> Result<Vec<(OutPoint, RecordedOutput)>, StoreError> {
        let query = self.schema.sql(
            "SELECT asked.place, o.tx_id, o.value,
                    (SELECT key FROM chain.holder WHERE holder_id = o.holder_id)
             FROM unnest($1::bytea[], $2::integer[]) WITH ORDINALITY AS asked (txid, index, place)
             CROSS JOIN LATERAL (SELECT * FROM chain.output
                 WHERE output.place = asked.index AND output.tx_id = (SELECT max(tx_id) FROM
                     (SELECT tx_id FROM chain.tx WHERE txid = asked.txid OFFSET 0) AS same)
                 OFFSET 0) AS o",
        );
        let (txids, indexes) = outpoints(&outputs);
        let mut rows = sqlx::query(query).bind(txids).bind(indexes).fetch(&mut self.connection);
        let mut found = Vec::with_capacity(outputs.len());
        while let Some(row) = rows.try_next().await? {
            let asked = usize::try_from(row.try_get::<i64, _>(0)? - 1).ok();
            let Some(output) = asked.and_then(|place| outputs.get(place)) else { continue };
            let (holder, value) = (rows::holder(row.try_get(3)?)?, row::amount(row.try_get(2)?)?);
            let coin = Coin { holder, value };
            found.push((*output, RecordedOutput { transaction: row.try_get(1)?, coin }));
        }
        Ok(found)
    }

    async fn record(&mut self, before: &State, plan: &Plan) -> Result<(), StoreError> {
        let schema = self.schema.clone();
        let mut write = self.write().await?;
        proceed(&mut write, &schema, before, plan).await?;
        for (table, rows) in tables(plan) {
            rows.send(&mut write, &schema, table).await?;
        }
        change(&mut write, &schema, &plan.changed).await?;
        sqlx::query(schema.sql("DELETE FROM chain.undo WHERE height < $1"))
            .bind(value::signed(plan.after.reorganisable_from))
            .execute(&mut *write)
            .await?;
        Ok(write.commit().await?)
    }

    async fn roll_back(&mut self, before: &State, height: u64) -> Result<(), StoreError> {
        let schema = self.schema.clone();
        let mut write = self.write().await?;
        let height = value::signed(height);
        let row = sqlx::query(schema.sql(
            "SELECT first_tx, first_holder FROM chain.block
             WHERE height > $1 ORDER BY height LIMIT 1",
        ))
        .bind(height)
        .fetch_one(&mut *write)
        .await?;
        let (first_tx, first_holder): (i64, i64) = (row.try_get(0)?, row.try_get(1)?);
        let moved = sqlx::query(schema.sql(
            "UPDATE chain.graph SET next_tx = $1, next_holder = $2,
                    tip = (SELECT max(height) FROM chain.block WHERE height <= $3)
             WHERE next_tx = $4 AND next_holder = $5",
        ))
        .bind(first_tx)
        .bind(first_holder)
        .bind(height)
        .bind(before.next_transaction)
        .bind(before.next_holder)
        .execute(&mut *write)
        .await?;
        if moved.rows_affected() != 1 {
            return Err(StoreError::Conflict);
        }
        sqlx::query(schema.sql(
            "UPDATE chain.holder AS h
             SET first_seen = u.first_seen, last_seen = u.last_seen,
                 transactions_in = u.transactions_in, transactions_out = u.transactions_out,
                 received = u.received, sent = u.sent
             FROM (SELECT DISTINCT ON (holder_id) * FROM chain.undo WHERE height > $1
                   ORDER BY holder_id, height) AS u
             WHERE h.holder_id = u.holder_id",
        ))
        .bind(height)
        .execute(&mut *write)
        .await?;
        for (delete, from) in [
            ("DELETE FROM chain.holder WHERE holder_id >= $1", first_holder),
            ("DELETE FROM chain.output WHERE tx_id >= $1", first_tx),
            ("DELETE FROM chain.input WHERE tx_id >= $1", first_tx),
            ("DELETE FROM chain.tx WHERE tx_id >= $1", first_tx),
            ("DELETE FROM chain.undo WHERE height > $1", height),
            ("DELETE FROM chain.block WHERE height > $1", height),
        ] {
            sqlx::query(schema.sql(delete)).bind(from).execute(&mut *write).await?;
        }
        Ok(write.commit().await?)
    }

    async fn verified(&mut self, at: Timestamp) -> Result<(), StoreError> {
        sqlx::query(
            self.schema.sql("UPDATE chain.graph SET verified_at = greatest(verified_at, $1)"),
        )
        .bind(value::milliseconds(at))
        .execute(&mut self.connection)
        .await?;
        Ok(())
    }

    async fn build_indexes(&mut self) -> Result<(), StoreError> {
        if self.state().await?.indexed {
            return Ok(());
        }
        let mut write = self.connection.begin_with(BUILD).await?;
        schema::index(&mut write, &self.schema).await?;
        sqlx::query(self.schema.sql("UPDATE chain.graph SET indexed = true"))
            .execute(&mut *write)
            .await?;
        write.commit().await?;
        for table in ["block", "tx", "output", "input", "holder"] {
            let analyse = self.schema.sql(&format!("ANALYZE chain.{table}"));
            sqlx::query(analyse).execute(&mut self.connection).await?;
        }
        Ok(())
    }
}

/// Moves the graph from where it stands to where it will stand.
async fn proceed(
    write: &mut PgConnection,
    schema: &Schema,
    before: &State,
    plan: &Plan,
) -> Result<(), StoreError> {
    let State { tip, next_transaction, next_holder, reorganisable_from, .. } = &plan.after;
    let moved = sqlx::query(schema.sql(
        "UPDATE chain.graph SET tip = $1, verified_at = $2, next_tx = $3, next_holder = $4,
                                reorganisable_from = $5
         WHERE next_tx = $6 AND next_holder = $7 AND tip IS NOT DISTINCT FROM $8",
    ))
    .bind(tip.map(|(block, _)| value::signed(block.height)))
    .bind(tip.map(|(_, at)| value::milliseconds(at)))
    .bind(next_transaction)
    .bind(next_holder)
    .bind(value::signed(*reorganisable_from))
    .bind(before.next_transaction)
    .bind(before.next_holder)
    .bind(before.tip.map(|(block, _)| value::signed(block.height)))
    .execute(write)
    .await?;
    if moved.rows_affected() == 1 { Ok(()) } else { Err(StoreError::Conflict) }
}

/// The rows that are new, by table, with their fields in the order of the columns.
fn tables(plan: &Plan) -> [(&'static str, Rows); 6] {
    let mut blocks = Rows::with_capacity(plan.blocks.len() * 128);
    for row in &plan.blocks {
        blocks
            .row(6)
            .big(value::signed(row.block.height))
            .big(value::milliseconds(row.block.time))
            .big(row.first_transaction)
            .big(row.first_holder)
            .bytes(&row.block.hash)
            .bytes(&row.block.parent);
    }
    let mut transactions = Rows::with_capacity(plan.transactions.len() * 120);
    for row in &plan.transactions {
        transactions
            .row(9)
            .big(row.number)
            .big(value::signed(row.height))
            .big(row.input_total)
            .big(row.output_total)
            .big(row.unknown)
            .integer(count(row.inputs))
            .integer(count(row.outputs))
            .small(kind_number(row.kind))
            .bytes(row.txid.as_bytes());
    }
    let mut outputs = Rows::with_capacity(plan.outputs.len() * 46);
    for row in &plan.outputs {
        outputs
            .row(4)
            .big(row.transaction)
            .big(row.coin.holder)
            .big(row.coin.value)
            .integer(row.place.cast_signed());
    }
    let mut inputs = Rows::with_capacity(plan.inputs.len() * 70);
    for row in &plan.inputs {
        input(&mut inputs, row);
    }
    let mut holders = Rows::with_capacity(plan.begun.len() * 130);
    for row in &plan.begun {
        statistics(holders.row(8).big(row.number), &row.statistics).bytes(&row.holder.to_bytes());
    }
    let mut undo = Rows::with_capacity(plan.undo.len() * 110);
    for row in &plan.undo {
        statistics(undo.row(8).big(value::signed(row.height)).big(row.holder), &row.before);
    }
    [
        ("block", blocks),
        ("tx", transactions),
        ("output", outputs),
        ("input", inputs),
        ("holder", holders),
        ("undo", undo),
    ]
}

fn input(rows: &mut Rows, row: &InputRow) {
    rows.row(7).big(row.transaction);
    match row.coin {
        Some(coin) => rows.big(coin.holder).big(coin.value),
        None => rows.null().null(),
    };
    match row.spends {
        Spends::Recorded { transaction, .. } => rows.big(transaction),
        Spends::Elsewhere(_) | Spends::Pool => rows.null(),
    };
    rows.integer(row.place.cast_signed());
    match &row.spends {
        Spends::Recorded { index, .. } => rows.integer(index.cast_signed()).null(),
        Spends::Elsewhere(output) => {
            rows.integer(output.index.cast_signed()).bytes(output.txid.as_bytes())
        }
        Spends::Pool => rows.null().null(),
    };
}

fn statistics<'a>(rows: &'a mut Rows, statistics: &Statistics) -> &'a mut Rows {
    rows.big(value::milliseconds(statistics.first_seen))
        .big(value::milliseconds(statistics.last_seen))
        .big(value::signed(statistics.transactions_in))
        .big(value::signed(statistics.transactions_out))
        .numeric(statistics.received)
        .numeric(statistics.sent)
}

/// A transaction's legs never come near the largest number.
fn count(legs: i64) -> i32 {
    i32::try_from(legs).unwrap_or(i32::MAX)
}

/// Writes what holders did so far.
async fn change(
    write: &mut PgConnection,
    schema: &Schema,
    changed: &[HolderRow],
) -> Result<(), StoreError> {
    if changed.is_empty() {
        return Ok(());
    }
    let number = |get: fn(&HolderRow) -> i64| changed.iter().map(get).collect::<Vec<i64>>();
    let text = |get: fn(&Statistics) -> u128| {
        changed.iter().map(|row| get(&row.statistics).to_string()).collect::<Vec<String>>()
    };
    sqlx::query(schema.sql(
        "UPDATE chain.holder AS h
         SET last_seen = c.last_seen, transactions_in = c.transactions_in,
             transactions_out = c.transactions_out, received = c.received::numeric,
             sent = c.sent::numeric
         FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::text[], $6::text[])
              AS c (holder_id, last_seen, transactions_in, transactions_out, received, sent)
         WHERE h.holder_id = c.holder_id",
    ))
    .bind(number(|row| row.number))
    .bind(number(|row| value::milliseconds(row.statistics.last_seen)))
    .bind(number(|row| value::signed(row.statistics.transactions_in)))
    .bind(number(|row| value::signed(row.statistics.transactions_out)))
    .bind(text(|statistics| statistics.received))
    .bind(text(|statistics| statistics.sent))
    .execute(write)
    .await?;
    Ok(())
}
