//! Schema migrations: those that a program knows, those that a database has, and their comparison.

use assay_database::DatabaseError;
use sqlx::{
    SqlSafeStr,
    migrate::{Migrate, MigrateError, Migration, MigrationType},
};

/// The table of the migrations that were applied to a database.
const TABLE: &str = "_sqlx_migrations";

/// Creates a migration from its version, name and statements.
pub(crate) fn migration(version: i64, name: &'static str, sql: &'static str) -> Migration {
    Migration::new(version, name.into(), MigrationType::Simple, sql.into_sql_str(), false)
}

/// A migration that was applied to a database.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AppliedMigration {
    pub(crate) version: i64,
    /// The oldest compatible program, given as the newest migration that it knows; `None` if not recorded.
    pub(crate) compatible_from: Option<i64>,
}

/// Relation between a database's schema and a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SchemaState {
    /// The schema has all migrations that the program knows, and perhaps more.
    Ready,
    /// The schema lacks migrations that the program knows.
    Behind,
}

/// Compares the migrations applied to a database with those that a program knows. The oldest known migration creates
/// the whole schema of its version, so that a database with this migration needs no earlier migration.
///
/// # Errors
///
/// Returns an error if the schema is incompatibly newer, or older than the oldest known migration.
pub(crate) fn schema_state(
    known: &[Migration],
    applied: &[AppliedMigration],
) -> Result<SchemaState, DatabaseError> {
    let versions = || known.iter().map(|migration| migration.version);
    let newest = versions().max().unwrap_or_default();
    let oldest = versions().min().unwrap_or_default();
    let unknown = applied.iter().filter(|migration| migration.version > newest);
    let too_new = unknown.filter(|migration| {
        migration.compatible_from.is_none_or(|compatible_from| compatible_from > newest)
    });
    if let Some(migration) = too_new.max_by_key(|migration| migration.version) {
        return Err(DatabaseError::NewerSchema(migration.version));
    }
    let has = |version| applied.iter().any(|migration| migration.version == version);
    match applied.iter().map(|migration| migration.version).max() {
        Some(found) if !has(oldest) => Err(DatabaseError::OlderSchema { found, oldest }),
        _ if versions().all(has) => Ok(SchemaState::Ready),
        _ => Ok(SchemaState::Behind),
    }
}

/// Applies the migrations that a database lacks, each in a transaction.
pub(crate) async fn apply(
    connection: &mut impl Migrate,
    known: &[Migration],
    applied: &[AppliedMigration],
) -> Result<(), MigrateError> {
    connection.ensure_migrations_table(TABLE).await?;
    for migration in known {
        if !applied.iter().any(|applied| applied.version == migration.version) {
            connection.apply(TABLE, migration).await?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(versions: impl Iterator<Item = i64>) -> Vec<Migration> {
        versions.map(|version| migration(version, "", "")).collect()
    }

    /// Compares a program that knows migrations 4 to 6 with a database.
    fn against(
        applied: impl IntoIterator<Item = (i64, Option<i64>)>,
    ) -> Result<SchemaState, DatabaseError> {
        let row = |(version, compatible_from)| AppliedMigration { version, compatible_from };
        schema_state(&known(4..=6), &applied.into_iter().map(row).collect::<Vec<_>>())
    }

    fn up_to(newest: i64) -> impl Iterator<Item = (i64, Option<i64>)> {
        (1..=newest).map(|version| (version, Some(1)))
    }

    #[test]
    fn a_schema_is_migrated_to_the_version_of_the_program() {
        assert_eq!(against([]).unwrap(), SchemaState::Behind);
        assert_eq!(against(up_to(5)).unwrap(), SchemaState::Behind);
        assert_eq!(against(up_to(6)).unwrap(), SchemaState::Ready);
        assert_eq!(against(up_to(6).skip(3)).unwrap(), SchemaState::Ready, "made as a whole");
        // From before anything was said about compatibility.
        assert_eq!(against([(4, None), (5, None)]).unwrap(), SchemaState::Behind);
    }

    #[test]
    fn a_schema_from_before_the_oldest_migration_is_refused_with_the_way() {
        let error = against(up_to(3)).unwrap_err();
        assert!(
            matches!(error, DatabaseError::OlderSchema { found: 3, oldest: 4 }),
            "unexpected: {error}"
        );
        let text = error.to_string();
        assert!(text.contains("version 3") && text.contains("`assay migrate`"), "{text}");
    }

    #[test]
    fn a_newer_schema_is_used_if_its_changes_are_compatible() {
        let with = |newer: &[(i64, Option<i64>)]| against(up_to(6).chain(newer.iter().copied()));
        assert_eq!(with(&[(7, Some(5))]).unwrap(), SchemaState::Ready);
        assert_eq!(with(&[(7, Some(6)), (8, Some(1))]).unwrap(), SchemaState::Ready);
        for newer in [&[(7, Some(7))][..], &[(7, None)], &[(7, Some(1)), (8, Some(7))]] {
            let error = with(newer).unwrap_err();
            assert!(matches!(error, DatabaseError::NewerSchema(_)), "{newer:?}: {error}");
        }
    }
}
