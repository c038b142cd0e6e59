//! Clusters in `SQLite`.

use std::collections::HashMap;

use assay_database::value;
use assay_engine::utxo::ScriptOwner;
use async_trait::async_trait;
use sqlx::{AssertSqlSafe, Row, SqliteConnection, sqlite::SqliteRow};

use super::{read::json, row};
use crate::{
    GraphError,
    backend::{
        cluster::{ClusterRows, RecordedLink, TransactionPlace},
        rows::{self, OwnerRow},
    },
};

/// Lookups in one state of a graph.
pub(super) struct SqliteClusterRows<'a>(pub(super) &'a mut SqliteConnection);

fn numbers(numbers: &[i64]) -> String {
    json(numbers.iter().map(i64::to_string))
}

/// The links of clusters from owners up to their roots, and the newest one to each root.
pub(super) async fn links(
    connection: &mut SqliteConnection,
    owners: &[i64],
) -> Result<Vec<RecordedLink>, GraphError> {
    let query = format!(
        "WITH RECURSIVE up (node) AS (
             SELECT value FROM json_each(?)
             UNION
             SELECT l.parent_id FROM up CROSS JOIN cluster_link AS l ON l.child_id = up.node)
         SELECT {columns} FROM up CROSS JOIN cluster_link AS l ON l.child_id = up.node
         {confirmation}
         UNION ALL
         SELECT {columns} FROM up CROSS JOIN cluster_link AS l
             ON l.parent_id = up.node
            AND l.size = (SELECT max(size) FROM cluster_link WHERE parent_id = up.node)
         {confirmation}
         WHERE NOT EXISTS (SELECT 1 FROM cluster_link AS own WHERE own.child_id = up.node)",
        columns = row::LINK,
        confirmation = row::CONFIRMATION
    );
    let found =
        sqlx::query(AssertSqlSafe(query)).bind(numbers(owners)).fetch_all(connection).await?;
    found.iter().map(row::link).collect()
}

#[async_trait]
impl ClusterRows for SqliteClusterRows<'_> {
    async fn next_owner(&mut self) -> Result<i64, GraphError> {
        let row = sqlx::query("SELECT next_holder FROM graph").fetch_one(&mut *self.0).await?;
        Ok(row.try_get(0)?)
    }

    async fn numbers(
        &mut self,
        owners: &[ScriptOwner],
    ) -> Result<HashMap<ScriptOwner, i64>, GraphError> {
        let asked =
            json(owners.iter().map(|owner| format!("\"{}\"", hex::encode(owner.to_bytes()))));
        let found = sqlx::query(
            "SELECT h.key, h.holder_id FROM json_each(?) AS asked
             CROSS JOIN holder AS h ON h.key = unhex(asked.value)",
        )
        .bind(asked)
        .fetch_all(&mut *self.0)
        .await?;
        let pair = |row: &SqliteRow| Ok((rows::owner_from_key(row.try_get(0)?)?, row.try_get(1)?));
        found.iter().map(pair).collect()
    }

    async fn owners(&mut self, asked: &[i64]) -> Result<Vec<OwnerRow>, GraphError> {
        let query = format!(
            "SELECT {} FROM json_each(?) AS asked
             CROSS JOIN holder AS h ON h.holder_id = asked.value",
            row::OWNER
        );
        let query = sqlx::query(AssertSqlSafe(query)).bind(numbers(asked));
        query.fetch_all(&mut *self.0).await?.iter().map(row::owner).collect()
    }

    async fn links(&mut self, owners: &[i64]) -> Result<Vec<RecordedLink>, GraphError> {
        links(self.0, owners).await
    }

    async fn links_to(
        &mut self,
        parents: &[i64],
        most: u32,
    ) -> Result<Vec<RecordedLink>, GraphError> {
        let query = format!(
            "SELECT {} FROM cluster_link AS l {} WHERE l.parent_id = ? ORDER BY l.size LIMIT ?",
            row::LINK,
            row::CONFIRMATION
        );
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let mut links = Vec::new();
        for parent in parents {
            let left = i64::try_from(most.saturating_sub(links.len())).unwrap_or(i64::MAX);
            if left == 0 {
                break;
            }
            let query = sqlx::query(AssertSqlSafe(query.clone())).bind(parent).bind(left);
            for found in query.fetch_all(&mut *self.0).await? {
                links.push(row::link(&found)?);
            }
        }
        Ok(links)
    }

    async fn changed_above(&mut self, height: u64, most: u32) -> Result<Vec<[i64; 2]>, GraphError> {
        let found = sqlx::query(
            "WITH above AS (SELECT min(first_tx) AS first_tx FROM block WHERE height > ?)
             SELECT child_id, parent_id FROM cluster_link
             WHERE tx_id >= (SELECT first_tx FROM above)
             UNION ALL
             SELECT child_id, child_id FROM cluster_confirmation
             WHERE tx_id >= (SELECT first_tx FROM above)
             LIMIT ?",
        )
        .bind(value::signed(height))
        .bind(i64::from(most))
        .fetch_all(&mut *self.0)
        .await?;
        found.iter().map(|row| Ok([row.try_get(0)?, row.try_get(1)?])).collect()
    }

    async fn places(
        &mut self,
        transactions: &[i64],
    ) -> Result<HashMap<i64, TransactionPlace>, GraphError> {
        let found = sqlx::query(
            "SELECT t.tx_id, t.txid, t.height, b.time FROM json_each(?) AS asked
             CROSS JOIN tx AS t ON t.tx_id = asked.value
             CROSS JOIN block AS b ON b.height = t.height",
        )
        .bind(numbers(transactions))
        .fetch_all(&mut *self.0)
        .await?;
        let place = |row: &SqliteRow| {
            let txid = rows::txid_from_bytes(row.try_get(1)?)?;
            let place =
                TransactionPlace { txid, height: row::height(row, 2)?, time: row::time(row, 3)? };
            Ok((row.try_get(0)?, place))
        };
        found.iter().map(place).collect()
    }
}
