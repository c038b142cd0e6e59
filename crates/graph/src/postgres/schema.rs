//! Migrations of a graph in PostgreSQL.

use assay_database::DatabaseError;
use sqlx::{
    Executor, PgConnection, Row, SqlSafeStr,
    migrate::{MigrateError, Migration, MigrationType, Migrator},
};

use super::{
    Schema,
    schema_version::{SCHEMA_VERSION, is_readable},
};
use crate::GraphError;

/// Indexes that reading needs and writing does not.
const INDEXES: [&str; 3] = [
    "CREATE INDEX IF NOT EXISTS output_by_holder
     ON chain.output (holder_id, value DESC, tx_id, place)",
    "CREATE INDEX IF NOT EXISTS input_by_holder
     ON chain.input (holder_id, value DESC, tx_id, place) WHERE holder_id IS NOT NULL",
    // Nothing is spent twice.
    "CREATE UNIQUE INDEX IF NOT EXISTS input_by_output
     ON chain.input (prev_tx_id, prev_index) WHERE prev_tx_id IS NOT NULL",
];

/// Tells listeners when the tip moved, as `tell_change` of the installation does.
const TELL_TIP: &str = "CREATE OR REPLACE FUNCTION chain.tell_tip() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog AS $$
    BEGIN PERFORM pg_notify('assay', 'chain ' || NEW.chain); RETURN NULL; END $$;
    CREATE OR REPLACE TRIGGER tell_tip AFTER UPDATE ON chain.graph FOR EACH ROW
    WHEN (NEW.tip IS DISTINCT FROM OLD.tip OR NEW.next_tx <> OLD.next_tx)
    EXECUTE FUNCTION chain.tell_tip()";

/// Lets those read the graph who serve from it or look after it, where there are roles.
const LET_READ: &str = "DO $$ BEGIN
    IF to_regrole('assay_serve') IS NOT NULL AND to_regrole('assay_control') IS NOT NULL THEN
        GRANT USAGE ON SCHEMA {schema} TO assay_serve, assay_control;
        GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO assay_serve, assay_control;
    END IF; END $$";

/// Acts as the group of those who ingest, where this login is in it and the graph is the group's or not
/// there yet: a graph is its owner's to index, and any member must be able to go on with it.
pub(super) async fn become_owner(
    connection: &mut PgConnection,
    schema: &Schema,
) -> Result<(), GraphError> {
    let may = sqlx::query(
        "SELECT FROM pg_roles AS r WHERE rolname = 'assay_ingest'
             AND pg_has_role(current_user, r.oid, 'MEMBER')
             AND has_database_privilege(r.oid, current_database(), 'CREATE')
             AND NOT EXISTS (SELECT FROM pg_namespace WHERE nspname = $1 AND nspowner <> r.oid)",
    )
    .bind(schema.name())
    .fetch_optional(&mut *connection)
    .await?;
    if may.is_some() {
        connection.execute("SET ROLE assay_ingest").await?;
    }
    Ok(())
}

/// Creates the schema if there is none, and migrates it to the newest version. Migrations are only
/// ever appended. Only the graph's writer calls this. From then on, names without a schema are the
/// graph's.
pub(super) async fn migrate(
    connection: &mut PgConnection,
    schema: &Schema,
) -> Result<(), GraphError> {
    let name = schema.name();
    for statement in ["CREATE SCHEMA IF NOT EXISTS", "SET search_path TO"] {
        let statement = sqlx::AssertSqlSafe(format!("{statement} \"{name}\""));
        sqlx::query(statement).execute(&mut *connection).await?;
    }
    let simple = |version, name: &'static str, sql: &'static str| {
        Migration::new(version, name.into(), MigrationType::Simple, sql.into_sql_str(), false)
    };
    let migrator = Migrator::with_migrations(vec![
        simple(1, "graph", include_str!("../../migrations/postgres/0001_graph.sql")),
        simple(
            SCHEMA_VERSION,
            "cluster",
            include_str!("../../migrations/postgres/0002_cluster.sql"),
        ),
    ]);
    // A graph without blocks is migrated.
    is_there(connection, schema).await?;
    migrator.run_direct(None, connection, false).await.map_err(|error| match error {
        MigrateError::VersionMissing(version) => DatabaseError::NewerSchema(version),
        other => DatabaseError::Migrate(other),
    })?;
    // Not a migration: older programs read the graph as well with it as without.
    connection.execute(schema.sql(TELL_TIP)).await?;
    let let_read = LET_READ.replace("{schema}", &format!("\"{name}\""));
    connection.execute(sqlx::AssertSqlSafe(let_read)).await?;
    Ok(())
}

/// True if the schema holds a graph; the schema of a graph that is being created does not hold one
/// yet.
///
/// # Errors
///
/// Returns [`GraphError::Outdated`] if it holds blocks that were recorded without clusters.
pub(super) async fn is_there(
    connection: &mut PgConnection,
    schema: &Schema,
) -> Result<bool, GraphError> {
    let tables = "SELECT count(*) FROM pg_tables
                  WHERE schemaname = $1 AND tablename IN ('_sqlx_migrations', 'graph')";
    let row = sqlx::query(tables).bind(schema.name()).fetch_one(&mut *connection).await?;
    if row.try_get::<i64, _>(0)? < 2 {
        return Ok(false);
    }
    let row = sqlx::query(schema.sql(
        "SELECT (SELECT max(version) FROM chain._sqlx_migrations),
                (SELECT tip IS NOT NULL FROM chain.graph)",
    ))
    .fetch_one(connection)
    .await?;
    let (version, has_blocks) = (row.try_get(0)?, row.try_get(1)?);
    is_readable(schema.0, version, has_blocks)
}

/// Builds the indexes that are missing.
pub(super) async fn index(
    connection: &mut PgConnection,
    schema: &Schema,
) -> Result<(), GraphError> {
    for index in INDEXES {
        sqlx::query(schema.sql(index)).execute(&mut *connection).await?;
    }
    Ok(())
}
