//! Migrations of a graph in `SQLite`.

use assay_database::DatabaseError;
use sqlx::{
    Row, SqlSafeStr, SqliteConnection, SqlitePool,
    migrate::{MigrateError, Migration, MigrationType, Migrator},
};

use crate::GraphError;

/// The version of the newest migration.
const VERSION: i64 = 1;

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
pub(super) async fn migrate(connection: &mut SqliteConnection) -> Result<(), GraphError> {
    let simple = |version, name: &'static str, sql: &'static str| {
        Migration::new(version, name.into(), MigrationType::Simple, sql.into_sql_str(), false)
    };
    let migrator = Migrator::with_migrations(vec![simple(
        VERSION,
        "graph",
        include_str!("../../migrations/sqlite/0001_graph.sql"),
    )]);
    migrator.run_direct(None, connection, false).await.map_err(|error| match error {
        MigrateError::VersionMissing(version) => DatabaseError::NewerSchema(version).into(),
        other => DatabaseError::Migrate(other).into(),
    })
}

/// True if the file holds a graph; the file of a graph that is being created does not hold one yet.
pub(super) async fn is_there(pool: &SqlitePool) -> Result<bool, GraphError> {
    let tables = "SELECT count(*) FROM sqlite_schema WHERE name IN ('_sqlx_migrations', 'graph')";
    if sqlx::query(tables).fetch_one(pool).await?.try_get::<i64, _>(0)? < 2 {
        return Ok(false);
    }
    let version = sqlx::query("SELECT max(version) FROM _sqlx_migrations").fetch_one(pool).await?;
    match version.try_get::<Option<i64>, _>(0)? {
        Some(version) if version > VERSION => {
            return Err(DatabaseError::NewerSchema(version).into());
        }
        _ => {}
    }
    let row = sqlx::query("SELECT EXISTS (SELECT 1 FROM graph)").fetch_one(pool).await?;
    Ok(row.try_get(0)?)
}

/// Builds the indexes that are missing.
pub(super) async fn index(connection: &mut SqliteConnection) -> Result<(), GraphError> {
    for index in INDEXES {
        sqlx::query(index).execute(&mut *connection).await?;
    }
    Ok(())
}
