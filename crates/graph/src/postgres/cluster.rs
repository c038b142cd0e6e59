//! Clusters in PostgreSQL.

use std::collections::HashMap;

use assay_database::value;
use assay_engine::utxo::ScriptOwner;
use async_trait::async_trait;
use sqlx::{PgConnection, Row, postgres::PgRow};

use super::{Schema, row};
use crate::{
    ClusterRef, GraphError,
    backend::{
        cluster::{ClusterRows, RecordedLink, TransactionPlace},
        rows::{self, OwnerRow},
    },
};

/// Lookups in one state of a graph.
pub(super) struct PostgresClusterRows<'a> {
    pub(super) connection: &'a mut PgConnection,
    pub(super) schema: &'a Schema,
}

fn found(rows: &[PgRow]) -> Result<Vec<RecordedLink>, GraphError> {
    rows.iter().map(row::link).collect()
}

/// The links of clusters from owners up to their roots, and the newest one to each root. As in the other
/// statements, every lookup goes by index: `OFFSET 0` keeps it from becoming a join.
pub(super) async fn links(
    connection: &mut PgConnection,
    schema: &Schema,
    owners: &[i64],
) -> Result<Vec<RecordedLink>, GraphError> {
    let query = schema.sql(&format!(
        "WITH RECURSIVE up (node) AS (
             SELECT asked FROM unnest($1::bigint[]) AS asked
             UNION
             SELECT l.parent_id FROM up CROSS JOIN LATERAL
                 (SELECT parent_id FROM chain.cluster_link WHERE child_id = up.node OFFSET 0) AS l)
         SELECT {columns} FROM up CROSS JOIN LATERAL
             (SELECT * FROM chain.cluster_link WHERE child_id = up.node OFFSET 0) AS l
         {confirmation}
         UNION ALL
         SELECT {columns} FROM up CROSS JOIN LATERAL
             (SELECT * FROM chain.cluster_link
              WHERE parent_id = up.node AND (SELECT count(*) FROM
                  (SELECT FROM chain.cluster_link WHERE child_id = up.node OFFSET 0) AS own) = 0
              ORDER BY size DESC LIMIT 1) AS l
         {confirmation}",
        columns = row::LINK,
        confirmation = row::CONFIRMATION
    ));
    found(&sqlx::query(query).bind(owners).fetch_all(connection).await?)
}

/// The clusters of owners: see [`Graph::clusters`](crate::Graph::clusters). One statement, because a trace
/// waits for it each time it has read transactions.
pub(super) async fn clusters(
    connection: &mut PgConnection,
    schema: &Schema,
    owners: &[ScriptOwner],
) -> Result<Vec<Option<ClusterRef>>, GraphError> {
    let query = schema.sql(
        "WITH RECURSIVE up (place, node) AS (
             SELECT asked.place, h.holder_id
             FROM unnest($1::bytea[]) WITH ORDINALITY AS asked (key, place)
             CROSS JOIN LATERAL
                 (SELECT holder_id FROM chain.holder WHERE holder.key = asked.key OFFSET 0) AS h
             UNION ALL
             SELECT up.place, l.parent_id FROM up CROSS JOIN LATERAL
                 (SELECT parent_id FROM chain.cluster_link WHERE child_id = up.node OFFSET 0) AS l)
         SELECT up.place, newest.size,
                (SELECT key FROM chain.holder WHERE holder_id = newest.smallest_id),
                (SELECT key FROM chain.holder WHERE holder_id = newest.parent_id)
         FROM up LEFT JOIN LATERAL
             (SELECT size, smallest_id, parent_id FROM chain.cluster_link
              WHERE parent_id = up.node ORDER BY size DESC LIMIT 1) AS newest ON true
         WHERE (SELECT count(*) FROM
             (SELECT FROM chain.cluster_link WHERE child_id = up.node OFFSET 0) AS own) = 0",
    );
    let keys: Vec<_> = owners.iter().map(ScriptOwner::to_bytes).collect();
    let mut clusters = vec![None; owners.len()];
    for row in sqlx::query(query).bind(keys).fetch_all(connection).await? {
        let place: i64 = row.try_get(0)?;
        let index = usize::try_from(place - 1).unwrap_or(usize::MAX);
        let (Some(owner), Some(cluster)) = (owners.get(index), clusters.get_mut(index)) else {
            continue;
        };
        let size = row.try_get::<Option<i64>, _>(1)?;
        *cluster = Some(match size {
            // An owner without a link shares its cluster with nobody.
            None => ClusterRef { id: owner.clone(), root: owner.clone(), size: 1 },
            Some(size) => ClusterRef {
                id: rows::owner_from_key(row.try_get(2)?)?,
                root: rows::owner_from_key(row.try_get(3)?)?,
                size: size.unsigned_abs(),
            },
        });
    }
    Ok(clusters)
}

#[async_trait]
impl ClusterRows for PostgresClusterRows<'_> {
    async fn next_owner(&mut self) -> Result<i64, GraphError> {
        let query = self.schema.sql("SELECT next_holder FROM chain.graph");
        Ok(sqlx::query(query).fetch_one(&mut *self.connection).await?.try_get(0)?)
    }

    async fn numbers(
        &mut self,
        owners: &[ScriptOwner],
    ) -> Result<HashMap<ScriptOwner, i64>, GraphError> {
        let query = self.schema.sql(
            "SELECT h.key, h.holder_id FROM unnest($1::bytea[]) AS asked (key)
             CROSS JOIN LATERAL
                 (SELECT * FROM chain.holder WHERE holder.key = asked.key OFFSET 0) AS h",
        );
        let keys: Vec<_> = owners.iter().map(ScriptOwner::to_bytes).collect();
        let found = sqlx::query(query).bind(keys).fetch_all(&mut *self.connection).await?;
        let pair = |row: &PgRow| Ok((rows::owner_from_key(row.try_get(0)?)?, row.try_get(1)?));
        found.iter().map(pair).collect()
    }

    async fn owners(&mut self, numbers: &[i64]) -> Result<Vec<OwnerRow>, GraphError> {
        let query = self.schema.sql(&format!(
            "SELECT {} FROM unnest($1::bigint[]) AS asked (number)
             CROSS JOIN LATERAL
                 (SELECT * FROM chain.holder WHERE holder_id = asked.number OFFSET 0) AS h",
            row::OWNER
        ));
        let found = sqlx::query(query).bind(numbers).fetch_all(&mut *self.connection).await?;
        found.iter().map(row::owner).collect()
    }

    async fn links(&mut self, owners: &[i64]) -> Result<Vec<RecordedLink>, GraphError> {
        links(self.connection, self.schema, owners).await
    }

    async fn links_to(
        &mut self,
        parents: &[i64],
        most: u32,
    ) -> Result<Vec<RecordedLink>, GraphError> {
        let query = self.schema.sql(&format!(
            "SELECT {} FROM (SELECT asked.place AS nth, found.*
                 FROM unnest($1::bigint[]) WITH ORDINALITY AS asked (number, place)
                 CROSS JOIN LATERAL (SELECT * FROM chain.cluster_link
                     WHERE parent_id = asked.number ORDER BY size LIMIT $2) AS found
                 ORDER BY asked.place, found.size LIMIT $2) AS l {}
             ORDER BY l.nth, l.size",
            row::LINK,
            row::CONFIRMATION
        ));
        let query = sqlx::query(query).bind(parents).bind(i64::from(most));
        found(&query.fetch_all(&mut *self.connection).await?)
    }

    async fn changed_above(&mut self, height: u64, most: u32) -> Result<Vec<[i64; 2]>, GraphError> {
        let query = self.schema.sql(
            "WITH above AS (SELECT first_tx FROM chain.block WHERE height > $1 ORDER BY height LIMIT 1)
             SELECT child_id, parent_id FROM chain.cluster_link
             WHERE tx_id >= (SELECT first_tx FROM above)
             UNION ALL
             SELECT child_id, child_id FROM chain.cluster_confirmation
             WHERE tx_id >= (SELECT first_tx FROM above)
             LIMIT $2",
        );
        let query = sqlx::query(query).bind(value::signed(height)).bind(i64::from(most));
        let found = query.fetch_all(&mut *self.connection).await?;
        found.iter().map(|row| Ok([row.try_get(0)?, row.try_get(1)?])).collect()
    }

    async fn places(
        &mut self,
        transactions: &[i64],
    ) -> Result<HashMap<i64, TransactionPlace>, GraphError> {
        let query = self.schema.sql(
            "SELECT t.tx_id, t.txid, t.height,
                    (SELECT time FROM chain.block WHERE height = t.height)
             FROM unnest($1::bigint[]) AS asked (number)
             CROSS JOIN LATERAL
                 (SELECT * FROM chain.tx WHERE tx_id = asked.number OFFSET 0) AS t",
        );
        let found = sqlx::query(query).bind(transactions).fetch_all(&mut *self.connection).await?;
        let place = |row: &PgRow| {
            let txid = rows::txid_from_bytes(row.try_get(1)?)?;
            let place =
                TransactionPlace { txid, height: row::height(row, 2)?, time: row::time(row, 3)? };
            Ok((row.try_get(0)?, place))
        };
        found.iter().map(place).collect()
    }
}
