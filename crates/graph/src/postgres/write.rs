//! Writing a graph in PostgreSQL: on a connection of its own, which holds a lock for as long as it
//! is open. A writer that loses the connection loses the lock and can write no more.

use std::collections::HashMap;

use assay_database::{postgres::Connections, value};
use assay_engine::utxo::{OutPoint, ScriptOwner, Statistics, TxOut, Txid};
use async_trait::async_trait;
use futures_util::TryStreamExt;
use jiff::Timestamp;
use sqlx::{Connection, Executor, PgConnection, Postgres, Row, Transaction};

use super::{
    Schema, cluster, row, scan, schema,
    tables::{changed, tables},
    watched::Watched,
};
use crate::{
    GraphError, GraphWriter, WriterOptions,
    backend::{
        GraphState, RecordedOutput, Recorder, WritePlan, Writer,
        cluster::RecordedLink,
        rows::{self, OwnerRow},
    },
};

/// Settings of the connection. A writer waits for the previous one, whose connection may still be
/// closing. It looks rows up by index, regardless of the table sizes that the server estimates
/// while tables grow, and compiles no statement that the server therefore estimates to be
/// expensive. A crash of the server can lose the last transactions as a whole, never a part of one;
/// their blocks are read from the chain again. Indexes are built with memory for sorting. A server
/// that gets no packets from this program, because the network was cut, releases the lock after a
/// minute.
const SETTINGS: &str = "SET lock_timeout = '2s'; SET synchronous_commit = off;
    SET tcp_keepalives_idle = 30; SET tcp_keepalives_interval = 10; SET tcp_keepalives_count = 3;
    SET tcp_user_timeout = '60s';
    SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off;
    SET jit = off; SET maintenance_work_mem = '256MB'";
/// Start of a transaction of the writer. The level is named because a server may have another
/// default. Others lock a table only briefly, for a check of its statistics.
const WRITE: &str =
    "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; SET LOCAL lock_timeout = '15s'";
/// The server's code for not getting a lock in time.
const LOCK_NOT_AVAILABLE: &str = "55P03";

/// Opens a chain's graph for writing; makes it where there is none.
pub(super) async fn open(
    mut connection: PgConnection,
    connections: Connections,
    schema: Schema,
    wanted: WriterOptions,
) -> Result<Box<dyn GraphWriter>, GraphError> {
    let opening = async {
        lock(&mut connection, &schema).await?;
        schema::become_owner(&mut connection, &schema).await?;
        schema::migrate(&mut connection, &schema).await?;
        let mut recorder = PostgresRecorder { connection, schema };
        recorder.begin(wanted).await?;
        if !wanted.backfill {
            recorder.build_indexes().await?;
        }
        Ok::<_, GraphError>(recorder)
    };
    let recorder = connections.with_liveness_probe(opening).await?;
    Ok(Box::new(Writer::new(Box::new(Watched { recorder, connections })).await?))
}

async fn lock(connection: &mut PgConnection, schema: &Schema) -> Result<(), GraphError> {
    connection.execute(SETTINGS).await?;
    let locked = sqlx::query("SELECT pg_advisory_lock(hashtextextended($1, 0))")
        .bind(format!("assay {}", schema.name()))
        .execute(connection)
        .await;
    match locked {
        Ok(_) => Ok(()),
        Err(sqlx::Error::Database(error))
            if error.code().as_deref() == Some(LOCK_NOT_AVAILABLE) =>
        {
            Err(GraphError::Busy(schema.0))
        }
        Err(error) => Err(error.into()),
    }
}

#[derive(Debug)]
pub(super) struct PostgresRecorder {
    connection: PgConnection,
    schema: Schema,
}

impl PostgresRecorder {
    async fn write(&mut self) -> Result<Transaction<'_, Postgres>, GraphError> {
        Ok(self.connection.begin_with(WRITE).await?)
    }

    /// Makes the graph where there is none; one without blocks may begin anywhere.
    async fn begin(&mut self, wanted: WriterOptions) -> Result<(), GraphError> {
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
            return Err(GraphError::OtherStart { chain, start, wanted: wanted.start });
        }
        Ok(())
    }
}

#[async_trait]
impl Recorder for PostgresRecorder {
    async fn state(&mut self) -> Result<GraphState, GraphError> {
        scan::state(&mut self.connection, &self.schema).await
    }

    async fn transactions(&mut self, txids: Vec<Txid>) -> Result<HashMap<Txid, i64>, GraphError> {
        let query = self.schema.sql(
            "SELECT asked.txid, (SELECT max(tx_id) FROM
                 (SELECT tx_id FROM chain.tx WHERE txid = asked.txid OFFSET 0) AS same)
             FROM unnest($1::bytea[]) AS asked (txid)",
        );
        let mut rows = sqlx::query(query).bind(identifiers(&txids)).fetch(&mut self.connection);
        let mut found = HashMap::with_capacity(txids.len());
        while let Some(row) = rows.try_next().await? {
            if let Some(number) = row.try_get(1)? {
                found.insert(rows::txid_from_bytes(row.try_get(0)?)?, number);
            }
        }
        Ok(found)
    }

    async fn owners(
        &mut self,
        owners: Vec<&ScriptOwner>,
    ) -> Result<HashMap<ScriptOwner, (i64, Statistics)>, GraphError> {
        let query = format!(
            "SELECT {} FROM unnest($1::bytea[]) AS asked (key)
             CROSS JOIN LATERAL
                 (SELECT * FROM chain.holder WHERE holder.key = asked.key OFFSET 0) AS h",
            row::OWNER
        );
        let keys: Vec<_> = owners.iter().map(|owner| owner.to_bytes()).collect();
        let mut rows = sqlx::query(self.schema.sql(&query)).bind(keys).fetch(&mut self.connection);
        let mut found = HashMap::with_capacity(owners.len());
        while let Some(row) = rows.try_next().await? {
            let OwnerRow { number, owner, statistics } = row::owner(&row)?;
            found.insert(owner, (number, statistics));
        }
        Ok(found)
    }

    async fn outputs(
        &mut self,
        outpoints: Vec<OutPoint>,
    ) -> Result<Vec<(OutPoint, RecordedOutput)>, GraphError> {
        let query = self.schema.sql(
            "SELECT asked.place, o.tx_id, o.value,
                    (SELECT key FROM chain.holder WHERE holder_id = o.holder_id)
             FROM unnest($1::bytea[], $2::integer[]) WITH ORDINALITY AS asked (txid, index, place)
             CROSS JOIN LATERAL (SELECT * FROM chain.output
                 WHERE output.place = asked.index AND output.tx_id = (SELECT max(tx_id) FROM
                     (SELECT tx_id FROM chain.tx WHERE txid = asked.txid OFFSET 0) AS same)
                 OFFSET 0) AS o",
        );
        let (txids, indexes) = in_lists(&outpoints);
        let mut rows = sqlx::query(query).bind(txids).bind(indexes).fetch(&mut self.connection);
        let mut found = Vec::with_capacity(outpoints.len());
        while let Some(row) = rows.try_next().await? {
            let asked = usize::try_from(row.try_get::<i64, _>(0)? - 1).ok();
            let Some(outpoint) = asked.and_then(|index| outpoints.get(index)) else { continue };
            let (owner, value) =
                (rows::owner_from_key(row.try_get(3)?)?, row::amount(row.try_get(2)?)?);
            let output = TxOut { owner, value };
            found.push((*outpoint, RecordedOutput { transaction: row.try_get(1)?, output }));
        }
        Ok(found)
    }

    async fn spent(&mut self, outputs: Vec<(i64, u32)>) -> Result<Vec<(i64, u32)>, GraphError> {
        let (transactions, places): (Vec<i64>, Vec<i32>) = outputs
            .into_iter()
            .map(|(transaction, place)| (transaction, place.cast_signed()))
            .unzip();
        let rows = sqlx::query(self.schema.sql(
            "SELECT prev_tx_id, prev_index FROM chain.input
             JOIN unnest($1::bigint[], $2::integer[]) AS asked (tx_id, place)
               ON prev_tx_id = asked.tx_id AND prev_index = asked.place",
        ))
        .bind(transactions)
        .bind(places)
        .fetch_all(&mut self.connection)
        .await?;
        rows.iter().map(|row| Ok((row.try_get(0)?, row::index(row.try_get(1)?)))).collect()
    }

    async fn links(&mut self, owners: Vec<i64>) -> Result<Vec<RecordedLink>, GraphError> {
        cluster::links(&mut self.connection, &self.schema, &owners).await
    }

    async fn record(&mut self, before: &GraphState, plan: &WritePlan) -> Result<(), GraphError> {
        let schema = self.schema.clone();
        let mut write = self.write().await?;
        proceed(&mut write, &schema, before, plan).await?;
        for table in tables(plan) {
            table.write(&mut write, &schema).await?;
        }
        changed(&plan.changed_owners).update(&mut write, &schema).await?;
        sqlx::query(schema.sql("DELETE FROM chain.undo WHERE height < $1"))
            .bind(value::signed(plan.after.reorganisable_from))
            .execute(&mut *write)
            .await?;
        Ok(write.commit().await?)
    }

    async fn roll_back(&mut self, before: &GraphState, height: u64) -> Result<(), GraphError> {
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
        let (first_tx, first_owner): (i64, i64) = (row.try_get(0)?, row.try_get(1)?);
        let moved = sqlx::query(schema.sql(
            "UPDATE chain.graph SET next_tx = $1, next_holder = $2,
                    tip = (SELECT max(height) FROM chain.block WHERE height <= $3)
             WHERE id = 1 AND next_tx = $4 AND next_holder = $5",
        ))
        .bind(first_tx)
        .bind(first_owner)
        .bind(height)
        .bind(before.next_transaction)
        .bind(before.next_owner)
        .execute(&mut *write)
        .await?;
        if moved.rows_affected() != 1 {
            return Err(GraphError::Conflict(before.chain));
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
            ("DELETE FROM chain.holder WHERE holder_id >= $1", first_owner),
            ("DELETE FROM chain.output WHERE tx_id >= $1", first_tx),
            ("DELETE FROM chain.input WHERE tx_id >= $1", first_tx),
            ("DELETE FROM chain.cluster_link WHERE tx_id >= $1", first_tx),
            ("DELETE FROM chain.cluster_confirmation WHERE tx_id >= $1", first_tx),
            ("DELETE FROM chain.tx WHERE tx_id >= $1", first_tx),
            ("DELETE FROM chain.undo WHERE height > $1", height),
            ("DELETE FROM chain.block WHERE height > $1", height),
        ] {
            sqlx::query(schema.sql(delete)).bind(from).execute(&mut *write).await?;
        }
        Ok(write.commit().await?)
    }

    async fn verified(&mut self, at: Timestamp) -> Result<(), GraphError> {
        sqlx::query(
            self.schema.sql("UPDATE chain.graph SET verified_at = greatest(verified_at, $1)"),
        )
        .bind(value::milliseconds(at))
        .execute(&mut self.connection)
        .await?;
        Ok(())
    }

    async fn build_indexes(&mut self) -> Result<(), GraphError> {
        if self.state().await?.indexed {
            return Ok(());
        }
        let mut write = self.connection.begin_with(WRITE).await?;
        schema::index(&mut write, &self.schema).await?;
        sqlx::query(self.schema.sql("UPDATE chain.graph SET indexed = true"))
            .execute(&mut *write)
            .await?;
        write.commit().await?;
        for table in
            ["block", "tx", "output", "input", "holder", "cluster_link", "cluster_confirmation"]
        {
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
    before: &GraphState,
    plan: &WritePlan,
) -> Result<(), GraphError> {
    let GraphState { tip, next_transaction, next_owner, reorganisable_from, .. } = &plan.after;
    let moved = sqlx::query(schema.sql(
        "UPDATE chain.graph SET tip = $1, verified_at = $2, next_tx = $3, next_holder = $4,
                                reorganisable_from = $5
         WHERE id = 1 AND next_tx = $6 AND next_holder = $7 AND tip IS NOT DISTINCT FROM $8",
    ))
    .bind(tip.map(|(block, _)| value::signed(block.height)))
    .bind(tip.map(|(_, at)| value::milliseconds(at)))
    .bind(next_transaction)
    .bind(next_owner)
    .bind(value::signed(*reorganisable_from))
    .bind(before.next_transaction)
    .bind(before.next_owner)
    .bind(before.tip.map(|(block, _)| value::signed(block.height)))
    .execute(write)
    .await?;
    if moved.rows_affected() == 1 { Ok(()) } else { Err(GraphError::Conflict(before.chain)) }
}

fn identifiers(transactions: &[Txid]) -> Vec<&[u8]> {
    transactions.iter().map(|txid| &txid.as_bytes()[..]).collect()
}

/// Outputs in two lists, places with the same bits.
fn in_lists(outputs: &[OutPoint]) -> (Vec<&[u8]>, Vec<i32>) {
    outputs.iter().map(|output| (&output.txid.as_bytes()[..], output.index.cast_signed())).unzip()
}
