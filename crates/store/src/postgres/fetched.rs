//! Histories that were fetched on demand, in PostgreSQL.

use std::collections::BTreeMap;

use assay_address::ChainId;
use assay_database::postgres::WRITE;
use async_trait::async_trait;
use jiff::Timestamp;
use sqlx::{PgConnection, Row};

use super::PostgresStore;
use crate::{
    StoreError,
    fetched::{Fetched, FetchedKind, FetchedStore},
    value,
};

#[async_trait]
impl FetchedStore for PostgresStore {
    async fn fetched(
        &self,
        chain: ChainId,
        kind: FetchedKind,
        keys: &[String],
    ) -> Result<Vec<Fetched>, StoreError> {
        read(&mut *self.database.reads.acquire().await?, chain, kind, keys).await
    }

    async fn keep_fetched(&self, records: &[Fetched]) -> Result<(), StoreError> {
        let working = async {
            let mut transaction = self.database.reads.begin(WRITE).await?;
            keep(&mut transaction, records).await?;
            Ok(transaction.commit().await?)
        };
        self.database.control.with_liveness_probe(working).await
    }

    async fn purge_fetched(&self, before: Timestamp) -> Result<u64, StoreError> {
        let working = async {
            let mut transaction = self.write().await?;
            let purged = purge(&mut transaction, before).await?;
            transaction.commit().await?;
            Ok(purged)
        };
        self.database.control.with_liveness_probe(working).await
    }
}

async fn read(
    read: &mut PgConnection,
    chain: ChainId,
    kind: FetchedKind,
    keys: &[String],
) -> Result<Vec<Fetched>, StoreError> {
    let rows = sqlx::query(
        "SELECT key, content, fetched_at FROM fetched
         WHERE chain = $1 AND kind = $2 AND key = ANY($3)",
    )
    .bind(chain.as_str())
    .bind(kind.as_str())
    .bind(keys)
    .fetch_all(read)
    .await?;
    rows.iter()
        .map(|row| {
            Ok(Fetched {
                chain,
                kind,
                key: row.try_get("key")?,
                content: row.try_get("content")?,
                fetched_at: value::time("fetched.fetched_at", row.try_get("fetched_at")?)?,
            })
        })
        .collect()
}

/// Keeps texts in one statement. Each key once, as PostgreSQL demands, and in one order, so that
/// programs that fetch the same never wait for each other in a circle.
async fn keep(write: &mut PgConnection, records: &[Fetched]) -> Result<(), StoreError> {
    let last: BTreeMap<_, _> = records
        .iter()
        .map(|record| ((record.chain.as_str(), record.kind.as_str(), &*record.key), record))
        .collect();
    let chains: Vec<&str> = last.keys().map(|(chain, _, _)| *chain).collect();
    let kinds: Vec<&str> = last.keys().map(|(_, kind, _)| *kind).collect();
    let keys: Vec<&str> = last.keys().map(|(_, _, key)| *key).collect();
    let contents: Vec<&str> = last.values().map(|record| &*record.content).collect();
    let times: Vec<i64> =
        last.values().map(|record| value::milliseconds(record.fetched_at)).collect();
    sqlx::query(
        "INSERT INTO fetched (chain, kind, key, content, fetched_at)
         SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[])
         ON CONFLICT (chain, kind, key)
             DO UPDATE SET content = excluded.content, fetched_at = excluded.fetched_at",
    )
    .bind(chains)
    .bind(kinds)
    .bind(keys)
    .bind(contents)
    .bind(times)
    .execute(write)
    .await?;
    Ok(())
}

/// Deletes histories that were fetched before a moment. Rows that are being replaced at the moment
/// stay; the statement does not wait for them.
async fn purge(write: &mut PgConnection, before: Timestamp) -> Result<u64, StoreError> {
    let purged = sqlx::query(
        "DELETE FROM fetched WHERE (chain, kind, key) IN (
             SELECT chain, kind, key FROM fetched WHERE fetched_at < $1 FOR UPDATE SKIP LOCKED)",
    )
    .bind(value::milliseconds(before))
    .execute(write)
    .await?;
    Ok(purged.rows_affected())
}
