//! Graphs in PostgreSQL: one schema a chain, `chain_btc`.

mod query;
mod read;
mod row;
mod scan;
mod schema;
mod table;
mod tables;
mod watched;
mod write;

use std::sync::Arc;

use assay_engine::chain::ChainId;
use async_trait::async_trait;
use sqlx::{AssertSqlSafe, Row, SqlSafeStr, SqlStr};

use super::{PostgresStore, connections::Connections};
use crate::{
    StoreError,
    graph::{Graph, GraphWriter, Graphs, WriterOptions},
};

/// What the name of a graph's schema begins with.
const PREFIX: &str = "chain_";

/// A chain's graph, to be read.
#[derive(Debug)]
struct PostgresGraph {
    chain: ChainId,
    /// For where the graph stands, and whom the newest blocks touched.
    control: Connections,
    /// For flows.
    reads: Connections,
    schema: Schema,
    flows: query::Queries,
}

/// The schema of a chain.
#[derive(Clone, Debug)]
struct Schema(ChainId);

impl Schema {
    fn name(&self) -> String {
        format!("{PREFIX}{}", self.0)
    }

    /// A statement in which `chain.` stands before the names of the graph's tables.
    fn sql(&self, statement: &str) -> SqlStr {
        let qualified = statement.replace("chain.", &format!("\"{}\".", self.name()));
        AssertSqlSafe(qualified).into_sql_str()
    }
}

#[async_trait]
impl Graphs for PostgresStore {
    async fn graph_chains(&self) -> Result<Vec<ChainId>, StoreError> {
        let asking = async {
            let query = sqlx::query(
                "SELECT schemaname FROM pg_tables
                 WHERE tablename = 'graph' AND starts_with(schemaname, $1)",
            );
            Ok(query.bind(PREFIX).fetch_all(&mut *self.control.get().await?).await?)
        };
        let rows = self.control.in_time(asking).await?;
        let mut found = Vec::with_capacity(rows.len());
        for row in rows {
            found.push(row.try_get::<String, _>(0)?);
        }
        Ok(ChainId::all().filter(|chain| found.contains(&Schema(*chain).name())).collect())
    }

    async fn graph(&self, chain: ChainId) -> Result<Option<Arc<dyn Graph>>, StoreError> {
        let schema = Schema(chain);
        let asking = async {
            let mut connection = self.control.get().await?;
            schema::is_there(&mut connection, &schema).await
        };
        if !self.control.in_time(asking).await? {
            return Ok(None);
        }
        let (control, reads) = (self.control.clone(), self.reads.clone());
        let flows = query::Queries::of(&schema);
        Ok(Some(Arc::new(PostgresGraph { chain, control, reads, schema, flows })))
    }

    async fn graph_writer(
        &self,
        chain: ChainId,
        options: WriterOptions,
    ) -> Result<Box<dyn GraphWriter>, StoreError> {
        let connection = self.control.own().await?;
        write::open(connection, self.control.clone(), Schema(chain), options).await
    }
}
