//! Migrations of the shared backend.

use assay_database::DatabaseError;
use sqlx::{
    PgConnection, Row, SqlSafeStr,
    migrate::{Migrate, MigrateError, Migration, MigrationType, Migrator},
};

use super::roles;
use crate::StoreError;

/// The server's code for a missing privilege.
const INSUFFICIENT_PRIVILEGE: &str = "42501";

/// The migrations that this program knows. They are only ever appended, and each records in
/// `schema_versions` the oldest program that is compatible with it.
const MIGRATIONS: [(&str, &str); 15] = [
    ("installation", include_str!("../../migrations/postgres/0001_installation.sql")),
    ("fetched", include_str!("../../migrations/postgres/0002_fetched.sql")),
    ("schema versions", include_str!("../../migrations/postgres/0003_schema_versions.sql")),
    ("change feed", include_str!("../../migrations/postgres/0004_change_feed.sql")),
    ("limits", include_str!("../../migrations/postgres/0005_limits.sql")),
    ("isolation", include_str!("../../migrations/postgres/0006_isolation.sql")),
    ("usage writers", include_str!("../../migrations/postgres/0007_usage_writers.sql")),
    ("key names", include_str!("../../migrations/postgres/0008_key_names.sql")),
    ("public names", include_str!("../../migrations/postgres/0009_public_names.sql")),
    ("jobs", include_str!("../../migrations/postgres/0010_jobs.sql")),
    ("revisions", include_str!("../../migrations/postgres/0011_revisions.sql")),
    ("policy rules", include_str!("../../migrations/postgres/0012_policy_rules.sql")),
    ("trace budget", include_str!("../../migrations/postgres/0013_trace_budget.sql")),
    ("revoked keys", include_str!("../../migrations/postgres/0014_revoked_keys.sql")),
    ("instance", include_str!("../../migrations/postgres/0015_instance.sql")),
];

fn migrations() -> Vec<Migration> {
    (1..)
        .zip(MIGRATIONS)
        .map(|(version, (name, sql))| {
            Migration::new(version, name.into(), MigrationType::Simple, sql.into_sql_str(), false)
        })
        .collect()
}

/// A migration that a database has had.
#[derive(Clone, Copy, Debug)]
struct Applied {
    version: i64,
    /// The oldest program, by the newest migration that it knows, that goes on working; `None` where
    /// nothing is said.
    compatible_from: Option<i64>,
}

/// Relation between a database's schema and this program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    /// It has what this program needs, and perhaps more.
    Ready,
    /// It lacks migrations that this program knows.
    Behind,
}

/// Compares a schema with migrations `applied` with a program that knows those up to `newest`.
fn standing(newest: i64, applied: &[Applied]) -> Result<Standing, StoreError> {
    let unknown = applied.iter().filter(|migration| migration.version > newest);
    let too_new = unknown.filter(|migration| {
        migration.compatible_from.is_none_or(|compatible_from| compatible_from > newest)
    });
    if let Some(migration) = too_new.max_by_key(|migration| migration.version) {
        return Err(DatabaseError::NewerSchema(migration.version).into());
    }
    let has = |version| applied.iter().any(|migration| migration.version == version);
    Ok(if (1..=newest).all(has) { Standing::Ready } else { Standing::Behind })
}

/// True if the database holds an installation.
pub(super) async fn is_there(connection: &mut PgConnection) -> Result<bool, StoreError> {
    if !table_exists(connection, "installation").await? {
        return Ok(false);
    }
    let row = sqlx::query("SELECT EXISTS (SELECT FROM installation)").fetch_one(connection).await?;
    Ok(row.try_get(0)?)
}

async fn table_exists(connection: &mut PgConnection, name: &str) -> Result<bool, StoreError> {
    let row =
        sqlx::query("SELECT to_regclass($1) IS NOT NULL").bind(name).fetch_one(connection).await?;
    Ok(row.try_get(0)?)
}

/// Migrates the schema to the newest version, if necessary. Programs that start at once wait for
/// each other at an advisory lock, which belongs to the connection: after an error the connection
/// is closed, so that the lock does not stay. A program that finds nothing to migrate needs no
/// right to change the schema.
pub(super) async fn migrate(connection: &mut PgConnection) -> Result<(), StoreError> {
    let migrations = migrations();
    let newest = migrations.iter().map(|migration| migration.version).max().unwrap_or_default();
    if standing(newest, &applied(connection).await?)? == Standing::Ready {
        return Ok(());
    }
    connection.lock().await.map_err(failed)?;
    // Another program may have been faster, and may have been a newer one.
    if standing(newest, &applied(connection).await?)? == Standing::Behind {
        become_owner(connection).await?;
        let mut migrator = Migrator::with_migrations(migrations);
        // Newer compatible migrations are no error.
        migrator.set_ignore_missing(true).set_locking(false);
        migrator.run_direct(None, connection, false).await.map_err(failed)?;
        sqlx::query("RESET ROLE").execute(&mut *connection).await?;
        roles::arrange(connection).await?;
    }
    connection.unlock().await.map_err(failed)
}

/// Acts as the group that owns the tables, where this login is in it: so that what one member makes,
/// every other can change.
async fn become_owner(connection: &mut PgConnection) -> Result<(), StoreError> {
    let owned = sqlx::query(
        "SELECT FROM pg_tables WHERE schemaname = 'public' AND tablename = 'installation'
             AND tableowner = 'assay_migrate' AND pg_has_role(current_user, tableowner, 'MEMBER')",
    )
    .fetch_optional(&mut *connection)
    .await?;
    if owned.is_some() {
        sqlx::query("SET ROLE assay_migrate").execute(connection).await?;
    }
    Ok(())
}

async fn applied(connection: &mut PgConnection) -> Result<Vec<Applied>, StoreError> {
    if !table_exists(connection, "_sqlx_migrations").await? {
        return Ok(Vec::new());
    }
    let query = if table_exists(connection, "schema_versions").await? {
        "SELECT version, compatible_from FROM _sqlx_migrations LEFT JOIN schema_versions USING (version)
         WHERE success"
    } else {
        "SELECT version, NULL::bigint AS compatible_from FROM _sqlx_migrations WHERE success"
    };
    let rows = sqlx::query(query).fetch_all(connection).await?;
    rows.iter()
        .map(|row| {
            Ok(Applied {
                version: row.try_get("version")?,
                compatible_from: row.try_get("compatible_from")?,
            })
        })
        .collect()
}

fn failed(error: MigrateError) -> StoreError {
    let database = match &error {
        MigrateError::Execute(error) | MigrateError::ExecuteMigration(error, _) => {
            error.as_database_error()
        }
        _ => None,
    };
    let code = database.and_then(sqlx::error::DatabaseError::code);
    if code.as_deref() == Some(INSUFFICIENT_PRIVILEGE) {
        return DatabaseError::MayNotMigrate.into();
    }
    DatabaseError::Migrate(error).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn applied(versions: &[(i64, Option<i64>)]) -> Vec<Applied> {
        let row = |&(version, compatible_from)| Applied { version, compatible_from };
        versions.iter().map(row).collect()
    }

    fn ours(newest: i64) -> Vec<(i64, Option<i64>)> {
        (1..=newest).map(|version| (version, Some(1))).collect()
    }

    #[test]
    fn a_schema_is_migrated_to_the_version_of_the_program() {
        assert_eq!(standing(6, &[]).unwrap(), Standing::Behind);
        assert_eq!(standing(6, &applied(&ours(5))).unwrap(), Standing::Behind);
        assert_eq!(standing(6, &applied(&ours(6))).unwrap(), Standing::Ready);
        // From before anything was said about compatibility.
        assert_eq!(standing(6, &applied(&[(1, None), (2, None)])).unwrap(), Standing::Behind);
    }

    #[test]
    fn a_newer_schema_is_used_if_its_changes_are_compatible() {
        let with = |newer: &[(i64, Option<i64>)]| {
            standing(6, &applied(&[ours(6), newer.to_vec()].concat()))
        };
        assert_eq!(with(&[(7, Some(5))]).unwrap(), Standing::Ready);
        assert_eq!(with(&[(7, Some(6)), (8, Some(1))]).unwrap(), Standing::Ready);
        for newer in [&[(7, Some(7))][..], &[(7, None)], &[(7, Some(1)), (8, Some(7))]] {
            let error = with(newer).unwrap_err();
            assert!(
                matches!(error, StoreError::Database(DatabaseError::NewerSchema(_))),
                "{newer:?}: {error}"
            );
        }
    }
}
