//! Migrations of the shared backend.

use assay_database::DatabaseError;
use sqlx::{
    PgConnection, Row,
    migrate::{Migrate, MigrateError, Migration},
};

use super::roles;
use crate::{
    StoreError,
    migrations::{AppliedMigration, SchemaState, apply, migration, schema_state},
};

/// The server's code for a missing privilege.
const INSUFFICIENT_PRIVILEGE: &str = "42501";

/// The migrations that this program knows. The first migration creates the whole schema of version 15; further
/// migrations are only ever appended. Each migration records in `schema_versions` the oldest program that is compatible
/// with it.
fn known() -> [Migration; 8] {
    [
        migration(15, "schema", include_str!("../../migrations/postgres/0015_schema.sql")),
        migration(16, "prices", include_str!("../../migrations/postgres/0016_prices.sql")),
        migration(
            17,
            "check search",
            include_str!("../../migrations/postgres/0017_check_search.sql"),
        ),
        migration(18, "receivers", include_str!("../../migrations/postgres/0018_receivers.sql")),
        migration(
            19,
            "idempotency keys",
            include_str!("../../migrations/postgres/0019_idempotency_keys.sql"),
        ),
        migration(
            20,
            "key environments",
            include_str!("../../migrations/postgres/0020_key_environments.sql"),
        ),
        migration(
            21,
            "console sessions",
            include_str!("../../migrations/postgres/0021_console_sessions.sql"),
        ),
        migration(
            22,
            "answer compression",
            include_str!("../../migrations/postgres/0022_answer_compression.sql"),
        ),
    ]
}

/// True if the database holds an installation.
pub(super) async fn holds_installation(connection: &mut PgConnection) -> Result<bool, StoreError> {
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
    migrate_to(&known(), connection).await
}

async fn migrate_to(known: &[Migration], connection: &mut PgConnection) -> Result<(), StoreError> {
    if schema_state(known, &applied(connection).await?)? == SchemaState::Ready {
        return Ok(());
    }
    connection.lock().await.map_err(failed)?;
    // Another program may have been faster, and may have been a newer one.
    let applied = applied(connection).await?;
    if schema_state(known, &applied)? == SchemaState::Behind {
        become_owner(connection).await?;
        apply(connection, known, &applied).await.map_err(failed)?;
        sqlx::query("RESET ROLE").execute(&mut *connection).await?;
        roles::ensure(connection).await?;
    }
    connection.unlock().await.map_err(failed)
}

/// Acts as the role that owns the tables, if this login is a member, so that every other member can change the
/// objects that this login creates.
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

async fn applied(connection: &mut PgConnection) -> Result<Vec<AppliedMigration>, StoreError> {
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
            Ok(AppliedMigration {
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
    use assay_test_servers::PostgresServer;
    use sqlx::Connection;

    use super::*;

    #[tokio::test]
    async fn members_of_the_migrating_group_take_over_from_each_other() {
        let server = PostgresServer::shared_by_process();
        let url = server.database();
        let mut connection = PgConnection::connect(&url).await.unwrap();
        migrate(&mut connection).await.unwrap();
        let (_, name) = url.rsplit_once('/').unwrap();
        let login = server.login(&url, &format!("member_{name}"), "IN ROLE assay_migrate");
        let mut member = PgConnection::connect(&login).await.unwrap();
        let next = migration(
            1_000,
            "next",
            "CREATE TABLE next (id bigint); ALTER TABLE installation ADD next text;
             INSERT INTO schema_versions VALUES (1000, 'expand', 15)",
        );
        let known: Vec<Migration> = known().into_iter().chain([next]).collect();
        migrate_to(&known, &mut member).await.unwrap();
        let owners = "SELECT DISTINCT tableowner::text FROM pg_tables WHERE schemaname = 'public'";
        let rows = sqlx::query(owners).fetch_all(&mut connection).await.unwrap();
        let owners: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
        assert_eq!(owners, ["assay_migrate"]);
    }

    #[tokio::test]
    async fn a_failed_migration_is_reported_with_its_number_and_the_message_of_the_server() {
        // Given a schema that this program made, and a further migration that fails,
        let url = PostgresServer::shared_by_process().database();
        let mut connection = PgConnection::connect(&url).await.unwrap();
        migrate(&mut connection).await.unwrap();
        let failing = migration(1000, "failing", "DROP TABLE absent");
        let known: Vec<Migration> = known().into_iter().chain([failing]).collect();
        // when it is applied,
        let error = migrate_to(&known, &mut connection).await.unwrap_err();
        // then the error ends with the server's message.
        let expected =
            "failed to migrate the database: migration 1000: table \"absent\" does not exist";
        assert_eq!(error.to_string(), expected);
    }
}
