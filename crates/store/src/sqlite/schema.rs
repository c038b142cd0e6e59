//! Migrations of the embedded backend.

use assay_database::DatabaseError;
use sqlx::{
    SqlSafeStr, SqlitePool,
    migrate::{MigrateError, Migration, MigrationType, Migrator},
};

use crate::StoreError;

/// Brings the schema up to date. Migrations are only ever appended.
pub(super) async fn migrate(pool: &SqlitePool) -> Result<(), StoreError> {
    let simple = |version, name: &'static str, sql: &'static str| {
        Migration::new(version, name.into(), MigrationType::Simple, sql.into_sql_str(), false)
    };
    let migrator = Migrator::with_migrations(vec![
        simple(1, "installation", include_str!("../../migrations/sqlite/0001_installation.sql")),
        simple(
            2,
            "labels, usage, checks",
            include_str!("../../migrations/sqlite/0002_labels_usage_checks.sql"),
        ),
        simple(3, "fetched", include_str!("../../migrations/sqlite/0003_fetched.sql")),
        simple(4, "usage writers", include_str!("../../migrations/sqlite/0004_usage_writers.sql")),
        simple(5, "public names", include_str!("../../migrations/sqlite/0005_public_names.sql")),
        simple(6, "jobs", include_str!("../../migrations/sqlite/0006_jobs.sql")),
        simple(7, "revisions", include_str!("../../migrations/sqlite/0007_revisions.sql")),
        simple(8, "policy rules", include_str!("../../migrations/sqlite/0008_policy_rules.sql")),
        simple(9, "trace budget", include_str!("../../migrations/sqlite/0009_trace_budget.sql")),
    ]);
    migrator.run(pool).await.map_err(|error| match error {
        MigrateError::VersionMissing(version) => DatabaseError::NewerSchema(version).into(),
        other => DatabaseError::Migrate(other).into(),
    })
}
