//! Histories that were fetched on demand, in `SQLite`.

use assay_address::ChainId;
use async_trait::async_trait;
use jiff::Timestamp;
use sqlx::{QueryBuilder, Row, Sqlite, SqlitePool, Transaction};

use super::SqliteStore;
use crate::{
    StoreError,
    fetched::{Fetched, FetchedKind, FetchedStore},
    value,
};

#[async_trait]
impl FetchedStore for SqliteStore {
    async fn fetched(
        &self,
        chain: ChainId,
        kind: FetchedKind,
        keys: &[String],
    ) -> Result<Vec<Fetched>, StoreError> {
        read(&self.pool, chain, kind, keys).await
    }

    async fn keep_fetched(&self, records: &[Fetched]) -> Result<(), StoreError> {
        let mut transaction = self.write().await?;
        keep(&mut transaction, records).await?;
        Ok(transaction.commit().await?)
    }

    async fn purge_fetched(&self, before: Timestamp) -> Result<u64, StoreError> {
        let purged = sqlx::query("DELETE FROM fetched WHERE fetched_at < ?")
            .bind(value::milliseconds(before))
            .execute(&self.pool)
            .await?;
        Ok(purged.rows_affected())
    }
}

/// Keys of one statement: far below what `SQLite` allows.
const KEYS: usize = 500;

async fn read(
    pool: &SqlitePool,
    chain: ChainId,
    kind: FetchedKind,
    keys: &[String],
) -> Result<Vec<Fetched>, StoreError> {
    let mut found = Vec::new();
    for some in keys.chunks(KEYS) {
        let mut query = QueryBuilder::<Sqlite>::new(
            "SELECT key, content, fetched_at FROM fetched WHERE chain = ",
        );
        query.push_bind(chain.as_str()).push(" AND kind = ").push_bind(kind.as_str());
        query.push(" AND key IN (");
        let mut list = query.separated(", ");
        for key in some {
            list.push_bind(key);
        }
        query.push(")");
        for row in query.build().fetch_all(pool).await? {
            found.push(Fetched {
                chain,
                kind,
                key: row.try_get("key")?,
                content: row.try_get("content")?,
                fetched_at: value::time("fetched.fetched_at", row.try_get("fetched_at")?)?,
            });
        }
    }
    Ok(found)
}

async fn keep(write: &mut Transaction<'_, Sqlite>, records: &[Fetched]) -> Result<(), StoreError> {
    for Fetched { chain, kind, key, content, fetched_at } in records {
        sqlx::query(
            "INSERT INTO fetched (chain, kind, key, content, fetched_at) VALUES (?, ?, ?, ?, ?)
             ON CONFLICT DO UPDATE SET content = excluded.content, fetched_at = excluded.fetched_at",
        )
        .bind(chain.as_str())
        .bind(kind.as_str())
        .bind(key)
        .bind(content)
        .bind(value::milliseconds(*fetched_at))
        .execute(&mut **write)
        .await?;
    }
    Ok(())
}
