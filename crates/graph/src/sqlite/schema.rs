//! Migrations of a graph in `SQLite`.

use assay_database::DatabaseError;
use assay_engine::chain::ChainId;
use sqlx::{
    Row, SqlSafeStr, SqliteConnection,
    migrate::{MigrateError, Migration, MigrationType, Migrator},
};

use crate::{
    GraphError,
    schema_version::{SCHEMA_VERSION, is_readable},
};

/// Indexes that reading needs and writing does not.
const INDEXES: [&str; 3] = [
    "CREATE INDEX IF NOT EXISTS output_by_holder ON output (holder_id, value DESC, tx_id, place)",
    "CREATE INDEX IF NOT EXISTS input_by_holder ON input (holder_id, value DESC, tx_id, place)
     WHERE holder_id IS NOT NULL",
    // Nothing is spent twice.
    "CREATE UNIQUE INDEX IF NOT EXISTS input_by_output ON input (prev_tx_id, prev_index)
     WHERE prev_tx_id IS NOT NULL",
];

/// Migrates the schema to the newest version. Migrations are only ever appended. Only the graph's
/// writer calls this.
pub(super) async fn migrate(
    connection: &mut SqliteConnection,
    chain: ChainId,
) -> Result<(), GraphError> {
    let simple = |version, name: &'static str, sql: &'static str| {
        Migration::new(version, name.into(), MigrationType::Simple, sql.into_sql_str(), false)
    };
    let migrator = Migrator::with_migrations(vec![
        simple(1, "graph", include_str!("../../migrations/sqlite/0001_graph.sql")),
        simple(SCHEMA_VERSION, "cluster", include_str!("../../migrations/sqlite/0002_cluster.sql")),
    ]);
    // A graph without blocks is migrated.
    is_there(connection, chain).await?;
    migrator.run_direct(None, connection, false).await.map_err(|error| match error {
        MigrateError::VersionMissing(version) => DatabaseError::NewerSchema(version).into(),
        other => DatabaseError::Migrate(other).into(),
    })
}

/// True if the file holds a graph; the file of a graph that is being created does not hold one yet.
///
/// # Errors
///
/// Returns [`GraphError::Outdated`] if it holds blocks that were recorded without clusters.
pub(super) async fn is_there(
    connection: &mut SqliteConnection,
    chain: ChainId,
) -> Result<bool, GraphError> {
    let tables = "SELECT count(*) FROM sqlite_schema WHERE name IN ('_sqlx_migrations', 'graph')";
    if sqlx::query(tables).fetch_one(&mut *connection).await?.try_get::<i64, _>(0)? < 2 {
        return Ok(false);
    }
    let row = sqlx::query(
        "SELECT (SELECT max(version) FROM _sqlx_migrations), (SELECT tip IS NOT NULL FROM graph)",
    )
    .fetch_one(connection)
    .await?;
    let (version, has_blocks) = (row.try_get(0)?, row.try_get(1)?);
    is_readable(chain, version, has_blocks)
}

/// Builds the indexes that are missing.
pub(super) async fn index(connection: &mut SqliteConnection) -> Result<(), GraphError> {
    for index in INDEXES {
        sqlx::query(index).execute(&mut *connection).await?;
    }
    Ok(())
}
