//! Migrations of the embedded backend.

use assay_database::DatabaseError;
use sqlx::{Row, SqlitePool};

use crate::{
    StoreError,
    migrations::{AppliedMigration, SchemaState, apply, migration, schema_state},
};

/// Brings the schema up to date. The first migration creates the whole schema of version 9; further migrations are only
/// ever appended.
pub(super) async fn migrate(pool: &SqlitePool) -> Result<(), StoreError> {
    let known = [
        migration(9, "schema", include_str!("../../migrations/sqlite/0009_schema.sql")),
        migration(
            10,
            "quota windows",
            include_str!("../../migrations/sqlite/0010_quota_windows.sql"),
        ),
        migration(11, "prices", include_str!("../../migrations/sqlite/0011_prices.sql")),
        migration(
            12,
            "check search",
            include_str!("../../migrations/sqlite/0012_check_search.sql"),
        ),
        migration(13, "receivers", include_str!("../../migrations/sqlite/0013_receivers.sql")),
        migration(
            14,
            "idempotency keys",
            include_str!("../../migrations/sqlite/0014_idempotency_keys.sql"),
        ),
        migration(
            15,
            "key environments",
            include_str!("../../migrations/sqlite/0015_key_environments.sql"),
        ),
        migration(
            16,
            "console sessions",
            include_str!("../../migrations/sqlite/0016_console_sessions.sql"),
        ),
    ];
    let applied = applied(pool).await?;
    if schema_state(&known, &applied)? == SchemaState::Behind {
        let mut connection = pool.acquire().await?;
        apply(&mut *connection, &known, &applied).await.map_err(DatabaseError::Migrate)?;
    }
    Ok(())
}

/// The migrations that were applied to the file, which records nothing about compatibility.
async fn applied(pool: &SqlitePool) -> Result<Vec<AppliedMigration>, StoreError> {
    let table = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = '_sqlx_migrations'";
    if sqlx::query(table).fetch_optional(pool).await?.is_none() {
        return Ok(Vec::new());
    }
    let query = sqlx::query("SELECT version FROM _sqlx_migrations WHERE success");
    let rows = query.fetch_all(pool).await?;
    rows.iter()
        .map(|row| Ok(AppliedMigration { version: row.try_get("version")?, compatible_from: None }))
        .collect()
}
