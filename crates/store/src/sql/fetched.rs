//! Histories that were fetched on demand.

use std::collections::BTreeMap;

use assay_address::ChainId;
use async_trait::async_trait;
use jiff::Timestamp;
use sqlx::AssertSqlSafe;

use super::{Backend, RowScope, SessionMode};
use crate::{
    StoreError,
    fetched::{FetchedKind, FetchedRecord, FetchedStore},
    row::Row,
    value,
};

#[async_trait]
impl<B: Backend> FetchedStore for B {
    async fn fetched(
        &self,
        chain: ChainId,
        kind: FetchedKind,
        keys: &[String],
    ) -> Result<Vec<FetchedRecord>, StoreError> {
        let mut session = self.session(SessionMode::ReadFetched).await?;
        let fetched = format!(
            "SELECT key, content, fetched_at FROM fetched
             WHERE chain = $1 AND kind = $2 AND key {}",
            session.any("$3"),
        );
        let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
        let values = [chain.as_str().into(), kind.as_str().into(), keys.into()];
        let record = |row: &Row| {
            Ok(FetchedRecord {
                chain,
                kind,
                key: row.text("key")?.to_owned(),
                content: row.text("content")?.to_owned(),
                fetched_at: value::time("fetched.fetched_at", row.integer("fetched_at")?)?,
            })
        };
        session.rows(AssertSqlSafe(fetched), &values).await?.iter().map(record).collect()
    }

    /// Stores each key once, as PostgreSQL requires of one statement, and in the order of keys, so that programs that
    /// fetch the same never deadlock.
    async fn put_fetched(&self, records: &[FetchedRecord]) -> Result<(), StoreError> {
        let last: BTreeMap<_, _> = records
            .iter()
            .map(|record| ((record.chain.as_str(), record.kind.as_str(), &*record.key), record))
            .collect();
        let mut rows = Vec::with_capacity(last.len());
        for ((chain, kind, key), record) in last {
            let content = record.content.as_str();
            rows.push([
                chain.into(),
                kind.into(),
                key.into(),
                content.into(),
                record.fetched_at.into(),
            ]);
        }
        let working = async {
            let mut session = self.session(SessionMode::WriteFetched).await?;
            let columns = "chain, kind, key, content, fetched_at";
            let otherwise = "ON CONFLICT (chain, kind, key)
                DO UPDATE SET content = excluded.content, fetched_at = excluded.fetched_at";
            session.insert("fetched", columns, &rows, otherwise).await?;
            session.commit(()).await
        };
        self.with_liveness_probe(working).await
    }

    /// Rows that another program is replacing are skipped.
    async fn purge_fetched(&self, before: Timestamp) -> Result<u64, StoreError> {
        let working = async {
            let mut session = self.session(SessionMode::Write(RowScope::Common)).await?;
            let purge = format!(
                "DELETE FROM fetched WHERE (chain, kind, key) IN (
                     SELECT chain, kind, key FROM fetched WHERE fetched_at < $1 {})",
                session.for_update_of_unlocked(),
            );
            let purged = session.execute(AssertSqlSafe(purge), &[before.into()]).await?;
            session.commit(purged).await
        };
        self.with_liveness_probe(working).await
    }
}
