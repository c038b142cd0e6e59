//! Migrations of the shared backend.

use sqlx::{
    PgConnection, Row, SqlSafeStr,
    migrate::{MigrateError, Migration, MigrationType, Migrator},
};

use crate::StoreError;

/// The oldest server that is tested against, as it numbers itself.
const OLDEST_SERVER: i32 = 150_000;

/// Refuses a database in which not every name could be kept, or whose server is too old.
pub(super) async fn expect_suitable(
    connection: &mut PgConnection,
    place: &str,
) -> Result<(), StoreError> {
    let row = sqlx::query(
        "SELECT current_setting('server_version_num')::integer AS version,
                current_setting('server_version') AS version_text,
                current_setting('server_encoding') AS encoding",
    )
    .fetch_one(connection)
    .await?;
    let unsuitable = |reason| StoreError::Unsuitable { place: place.to_owned(), reason };
    if row.try_get::<i32, _>("version")? < OLDEST_SERVER {
        let version: &str = row.try_get("version_text")?;
        return Err(unsuitable(format!(
            "its server is PostgreSQL {version}, 15 or newer is needed"
        )));
    }
    match row.try_get("encoding")? {
        "UTF8" => Ok(()),
        other => Err(unsuitable(format!("its encoding is {other}, UTF8 is needed"))),
    }
}

/// Whether the database holds an installation.
pub(super) async fn is_there(connection: &mut PgConnection) -> Result<bool, StoreError> {
    let table = sqlx::query("SELECT to_regclass('installation') IS NOT NULL")
        .fetch_one(&mut *connection)
        .await?;
    if !table.try_get::<bool, _>(0)? {
        return Ok(false);
    }
    let row = sqlx::query("SELECT EXISTS (SELECT FROM installation)").fetch_one(connection).await?;
    Ok(row.try_get(0)?)
}

/// Brings the schema up to date. Migrations are only ever appended. Programs that start at once wait
/// for each other at an advisory lock, which belongs to the connection: whoever gets an error closes
/// the connection, so that the lock does not stay.
pub(super) async fn migrate(connection: &mut PgConnection) -> Result<(), StoreError> {
    let simple = |version, name: &'static str, sql: &'static str| {
        Migration::new(version, name.into(), MigrationType::Simple, sql.into_sql_str(), false)
    };
    let migrator = Migrator::with_migrations(vec![
        simple(1, "installation", include_str!("../../migrations/postgres/0001_installation.sql")),
        simple(2, "fetched", include_str!("../../migrations/postgres/0002_fetched.sql")),
        simple(3, "change feed", include_str!("../../migrations/postgres/0003_change_feed.sql")),
        simple(4, "limits", include_str!("../../migrations/postgres/0004_limits.sql")),
    ]);
    migrator.run_direct(None, connection, false).await.map_err(|error| match error {
        MigrateError::VersionMissing(version) => StoreError::NewerSchema(version),
        other => StoreError::Migrate(other),
    })
}
