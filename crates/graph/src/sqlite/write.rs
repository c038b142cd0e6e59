//! Writing a graph in `SQLite`.

use std::{
    collections::HashMap,
    fs::{File, OpenOptions, TryLockError},
    path::Path,
};

use assay_database::{DatabaseError, sqlite::private_directory, value};
use assay_engine::{
    chain::ChainId,
    utxo::{OutPoint, ScriptOwner, Statistics, TxOut, Txid},
};
use async_trait::async_trait;
use futures_util::TryStreamExt;
use jiff::Timestamp;
use sqlx::{
    Connection, Row, Sqlite, SqliteConnection, Transaction,
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous},
};

use super::{
    cluster, insert, options,
    read::{self, json},
    row, scan, schema,
};
use crate::{
    GraphError, GraphWriter, WriterOptions,
    backend::{
        GraphState, RecordedOutput, Recorder, WritePlan, Writer,
        cluster::RecordedLink,
        rows::{self, OwnerRow},
    },
};

/// Memory for the file's pages, in KiB.
const CACHE: &str = "-65536";
/// Pages after which the log is written back into the file.
const LOG_PAGES: &str = "16384";

/// Opens the graph of `chain` in `path` for writing; makes it where there is none.
pub(super) async fn open(
    folder: &Path,
    path: &Path,
    chain: ChainId,
    wanted: WriterOptions,
) -> Result<Box<dyn GraphWriter>, GraphError> {
    private_directory(folder)?;
    let lock = lock(path, chain)?;
    let options = options(path)
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        // A crash can lose the last transactions as a whole, never a part of one: their blocks are
        // read from the chain again.
        .synchronous(SqliteSynchronous::Normal)
        .pragma("cache_size", CACHE)
        .pragma("wal_autocheckpoint", LOG_PAGES);
    let mut recorder = SqliteRecorder { connection: connect(path, &options).await?, _lock: lock };
    schema::migrate(&mut recorder.connection, chain).await?;
    recorder.begin(chain, wanted).await?;
    if !wanted.backfill {
        recorder.build_indexes().await?;
    }
    Ok(Box::new(Writer::new(Box::new(recorder)).await?))
}

async fn connect(
    path: &Path,
    options: &SqliteConnectOptions,
) -> Result<SqliteConnection, GraphError> {
    SqliteConnection::connect_with(options)
        .await
        .map_err(|source| DatabaseError::Open { path: path.to_owned(), source }.into())
}

/// A lock of the system on a file beside the graph: the system releases it at every end of the
/// program.
fn lock(path: &Path, chain: ChainId) -> Result<File, GraphError> {
    let path = path.with_extension("lock");
    let failed =
        |source| DatabaseError::Open { path: path.clone(), source: sqlx::Error::Io(source) };
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(&path).map_err(failed)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(GraphError::Busy(chain)),
        Err(TryLockError::Error(error)) => Err(failed(error).into()),
    }
}

#[derive(Debug)]
struct SqliteRecorder {
    connection: SqliteConnection,
    _lock: File,
}

pub(super) type Write<'c> = Transaction<'c, Sqlite>;

impl SqliteRecorder {
    async fn write(&mut self) -> Result<Write<'_>, GraphError> {
        Ok(self.connection.begin_with("BEGIN IMMEDIATE").await?)
    }

    /// Makes the graph where there is none; one without blocks may begin anywhere.
    async fn begin(&mut self, chain: ChainId, wanted: WriterOptions) -> Result<(), GraphError> {
        let start = value::signed(wanted.start);
        sqlx::query(
            "INSERT INTO graph (id, chain, start, sample, next_tx, next_holder,
                                reorganisable_from, indexed)
             VALUES (1, ?1, ?2, ?3, 0, 0, ?2, 0)
             ON CONFLICT (id) DO UPDATE SET start = ?2, sample = ?3, reorganisable_from = ?2
             WHERE tip IS NULL",
        )
        .bind(chain.as_str())
        .bind(start)
        .bind(wanted.sample)
        .execute(&mut self.connection)
        .await?;
        let state = self.state().await?;
        if state.chain != chain {
            return Err(GraphError::unreadable("graph.chain", state.chain));
        }
        if state.start != wanted.start {
            return Err(GraphError::OtherStart { chain, start: state.start, wanted: wanted.start });
        }
        Ok(())
    }
}

#[async_trait]
impl Recorder for SqliteRecorder {
    async fn state(&mut self) -> Result<GraphState, GraphError> {
        scan::state(&mut self.connection).await
    }

    async fn transactions(&mut self, txids: Vec<Txid>) -> Result<HashMap<Txid, i64>, GraphError> {
        let asked = json(txids.iter().map(|txid| format!("\"{txid}\"")));
        let mut rows = sqlx::query(
            "SELECT t.txid, t.tx_id FROM json_each(?) AS asked
             CROSS JOIN tx AS t ON t.txid = unhex(asked.value) ORDER BY t.tx_id",
        )
        .bind(asked)
        .fetch(&mut self.connection);
        let mut found = HashMap::with_capacity(txids.len());
        while let Some(row) = rows.try_next().await? {
            // In order, so that the newest stays.
            found.insert(rows::txid_from_bytes(row.try_get(0)?)?, row.try_get(1)?);
        }
        Ok(found)
    }

    async fn owners(
        &mut self,
        owners: Vec<&ScriptOwner>,
    ) -> Result<HashMap<ScriptOwner, (i64, Statistics)>, GraphError> {
        let hexadecimal = |owner: &&ScriptOwner| format!("\"{}\"", hex::encode(owner.to_bytes()));
        let asked = json(owners.iter().map(hexadecimal));
        let query = format!(
            "SELECT {} FROM json_each(?) AS asked CROSS JOIN holder AS h ON h.key = unhex(asked.value)",
            row::OWNER
        );
        let mut rows =
            sqlx::query(sqlx::AssertSqlSafe(query)).bind(asked).fetch(&mut self.connection);
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
        let mut rows = sqlx::query(
            "SELECT asked.key, o.tx_id, o.value, h.key FROM json_each(?) AS asked
             CROSS JOIN output AS o
               ON o.tx_id = (SELECT max(tx_id) FROM tx WHERE txid = unhex(asked.value ->> 0))
              AND o.place = asked.value ->> 1
             CROSS JOIN holder AS h ON h.holder_id = o.holder_id",
        )
        .bind(read::outpoints(&outpoints))
        .fetch(&mut self.connection);
        let mut found = Vec::with_capacity(outpoints.len());
        while let Some(row) = rows.try_next().await? {
            let asked = usize::try_from(row.try_get::<i64, _>(0)?).ok();
            let Some(outpoint) = asked.and_then(|index| outpoints.get(index)) else { continue };
            let (value, owner) = (row::amount(&row, 2)?, rows::owner_from_key(row.try_get(3)?)?);
            let output = TxOut { owner, value };
            found.push((*outpoint, RecordedOutput { transaction: row.try_get(1)?, output }));
        }
        Ok(found)
    }

    async fn spent(&mut self, outputs: Vec<(i64, u32)>) -> Result<Vec<(i64, u32)>, GraphError> {
        let asked =
            json(outputs.iter().map(|(transaction, place)| format!("[{transaction},{place}]")));
        let rows = sqlx::query(
            "SELECT prev_tx_id, prev_index FROM json_each(?) AS asked
             CROSS JOIN input ON prev_tx_id = asked.value ->> 0 AND prev_index = asked.value ->> 1",
        )
        .bind(asked)
        .fetch_all(&mut self.connection)
        .await?;
        rows.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?))).collect()
    }

    async fn links(&mut self, owners: Vec<i64>) -> Result<Vec<RecordedLink>, GraphError> {
        cluster::links(&mut self.connection, &owners).await
    }

    async fn record(&mut self, before: &GraphState, plan: &WritePlan) -> Result<(), GraphError> {
        let mut write = self.write().await?;
        proceed(&mut write, before, plan).await?;
        insert::everything(&mut write, plan).await?;
        sqlx::query("DELETE FROM undo WHERE height < ?")
            .bind(value::signed(plan.after.reorganisable_from))
            .execute(&mut *write)
            .await?;
        Ok(write.commit().await?)
    }

    async fn roll_back(&mut self, before: &GraphState, height: u64) -> Result<(), GraphError> {
        let mut write = self.write().await?;
        let height = value::signed(height);
        let row = sqlx::query(
            "SELECT first_tx, first_holder FROM block WHERE height > ? ORDER BY height LIMIT 1",
        )
        .bind(height)
        .fetch_one(&mut *write)
        .await?;
        let (first_tx, first_owner): (i64, i64) = (row.try_get(0)?, row.try_get(1)?);
        let moved = sqlx::query(
            "UPDATE graph SET next_tx = ?1, next_holder = ?2,
                              tip = (SELECT max(height) FROM block WHERE height <= ?3)
             WHERE next_tx = ?4 AND next_holder = ?5",
        )
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
        // Of each group, the columns are those of the row with the least height.
        sqlx::query(
            "UPDATE holder SET first_seen = u.first_seen, last_seen = u.last_seen,
                    transactions_in = u.transactions_in, transactions_out = u.transactions_out,
                    received = u.received, sent = u.sent
             FROM (SELECT holder_id, min(height), first_seen, last_seen, transactions_in,
                          transactions_out, received, sent
                   FROM undo WHERE height > ? GROUP BY holder_id) AS u
             WHERE holder.holder_id = u.holder_id",
        )
        .bind(height)
        .execute(&mut *write)
        .await?;
        for (delete, from) in [
            ("DELETE FROM holder WHERE holder_id >= ?", first_owner),
            ("DELETE FROM output WHERE tx_id >= ?", first_tx),
            ("DELETE FROM input WHERE tx_id >= ?", first_tx),
            ("DELETE FROM cluster_link WHERE tx_id >= ?", first_tx),
            ("DELETE FROM cluster_confirmation WHERE tx_id >= ?", first_tx),
            ("DELETE FROM tx WHERE tx_id >= ?", first_tx),
            ("DELETE FROM undo WHERE height > ?", height),
            ("DELETE FROM block WHERE height > ?", height),
        ] {
            sqlx::query(delete).bind(from).execute(&mut *write).await?;
        }
        Ok(write.commit().await?)
    }

    async fn verified(&mut self, at: Timestamp) -> Result<(), GraphError> {
        sqlx::query("UPDATE graph SET verified_at = max(verified_at, ?)")
            .bind(value::milliseconds(at))
            .execute(&mut self.connection)
            .await?;
        Ok(())
    }

    async fn build_indexes(&mut self) -> Result<(), GraphError> {
        let mut write = self.write().await?;
        schema::index(&mut write).await?;
        sqlx::query("UPDATE graph SET indexed = 1").execute(&mut *write).await?;
        Ok(write.commit().await?)
    }
}

/// Moves the graph from where it stands to where it will stand.
async fn proceed(
    write: &mut Write<'_>,
    before: &GraphState,
    plan: &WritePlan,
) -> Result<(), GraphError> {
    let GraphState { tip, next_transaction, next_owner, reorganisable_from, .. } = &plan.after;
    let moved = sqlx::query(
        "UPDATE graph SET tip = ?, verified_at = ?, next_tx = ?,
                          next_holder = ?, reorganisable_from = ?
         WHERE next_tx = ? AND next_holder = ? AND tip IS ?",
    )
    .bind(tip.map(|(block, _)| value::signed(block.height)))
    .bind(tip.map(|(_, at)| value::milliseconds(at)))
    .bind(next_transaction)
    .bind(next_owner)
    .bind(value::signed(*reorganisable_from))
    .bind(before.next_transaction)
    .bind(before.next_owner)
    .bind(before.tip.map(|(block, _)| value::signed(block.height)))
    .execute(&mut **write)
    .await?;
    if moved.rows_affected() == 1 { Ok(()) } else { Err(GraphError::Conflict(before.chain)) }
}
