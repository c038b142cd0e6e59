//! Graphs in PostgreSQL: one schema a chain, `chain_btc`.

mod cluster;
mod query;
mod read;
mod row;
mod scan;
mod schema;
mod schema_version;
mod table;
mod tables;
mod view;
mod watched;
mod write;

use std::sync::Arc;

use assay_database::{
    ChangeSubscription, DatabaseError,
    postgres::{Connections, DatabaseAddress, PostgresDatabase, expect_suitable},
};
use assay_engine::chain::ChainId;
use async_trait::async_trait;
use sqlx::{AssertSqlSafe, Connection, Row, SqlSafeStr, SqlStr};

use crate::{Graph, GraphError, GraphStore, GraphWriter, WriterOptions};

/// Prefix of the name of a graph's schema.
const PREFIX: &str = "chain_";

/// A chain's graph, to be read.
#[derive(Debug)]
struct PostgresGraph {
    chain: ChainId,
    /// Connections for the graph's state, and for the owners that the newest blocks touched.
    control: Connections,
    /// For flows.
    reads: Connections,
    schema: Schema,
    queries: query::Queries,
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

/// The graphs in a database.
#[derive(Clone, Debug)]
pub struct PostgresGraphs(PostgresDatabase);

impl PostgresGraphs {
    /// The graphs in `database`, which other stores may use too.
    #[must_use]
    pub const fn new(database: PostgresDatabase) -> Self {
        Self(database)
    }

    /// The graphs in the database at `address`, which may hold nothing yet. A writer creates the schema of its
    /// chain.
    ///
    /// # Errors
    ///
    /// If the database cannot be reached or is not suitable. No error holds the password.
    pub async fn open(address: DatabaseAddress) -> Result<Self, DatabaseError> {
        let (database, mut connection) = PostgresDatabase::connect_to_migrate(address).await?;
        let server = database.control.server_name();
        let checked = expect_suitable(&mut connection, &server).await;
        let _closed = connection.close().await;
        checked.map(|()| Self(database))
    }

    /// The database that the graphs are in.
    #[must_use]
    pub const fn database(&self) -> &PostgresDatabase {
        &self.0
    }
}

#[async_trait]
impl GraphStore for PostgresGraphs {
    async fn chains(&self) -> Result<Vec<ChainId>, GraphError> {
        let asking = async {
            let query = sqlx::query(
                "SELECT schemaname FROM pg_tables
                 WHERE tablename = 'graph' AND starts_with(schemaname, $1)",
            );
            Ok::<_, GraphError>(
                query.bind(PREFIX).fetch_all(&mut *self.0.control.acquire().await?).await?,
            )
        };
        let rows = self.0.control.with_timeout(asking).await?;
        let mut found = Vec::with_capacity(rows.len());
        for row in rows {
            found.push(row.try_get::<String, _>(0)?);
        }
        Ok(ChainId::all().filter(|chain| found.contains(&Schema(*chain).name())).collect())
    }

    async fn graph(&self, chain: ChainId) -> Result<Option<Arc<dyn Graph>>, GraphError> {
        let schema = Schema(chain);
        let asking = async {
            let mut connection = self.0.control.acquire().await?;
            schema::is_there(&mut connection, &schema).await
        };
        if !self.0.control.with_timeout(asking).await? {
            return Ok(None);
        }
        let (control, reads) = (self.0.control.clone(), self.0.reads.clone());
        let queries = query::Queries::of(&schema);
        Ok(Some(Arc::new(PostgresGraph { chain, control, reads, schema, queries })))
    }

    async fn writer(
        &self,
        chain: ChainId,
        options: WriterOptions,
    ) -> Result<Box<dyn GraphWriter>, GraphError> {
        let connection = self.0.control.dedicated().await?;
        write::open(connection, self.0.control.clone(), Schema(chain), options).await
    }

    fn subscribe(&self) -> Option<ChangeSubscription> {
        Some(self.0.subscribe())
    }

    async fn close(&self) {
        self.0.close().await;
    }
}
