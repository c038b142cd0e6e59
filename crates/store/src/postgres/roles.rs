//! Roles: the rights of each program in the database. The roles are created if the migrating login may create roles;
//! otherwise an administrator runs the statements of [`sql`].

use sqlx::{Executor, PgConnection, Row};

use crate::StoreError;

const CREATE: &str = include_str!("../../migrations/postgres/roles/create.sql");
const GRANT: &str = include_str!("../../migrations/postgres/roles/grant.sql");
const MAY_CREATE: &str =
    "SELECT rolsuper OR rolcreaterole FROM pg_roles WHERE rolname = current_user";
const ROLES_EXIST: &str = "SELECT count(*) = 4 FROM pg_roles WHERE rolname IN
    ('assay_serve', 'assay_ingest', 'assay_control', 'assay_migrate')";

/// State of the roles of the programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Roles {
    /// The roles exist, and have the rights that they need.
    Ready,
    /// Roles are missing, and this login may not create them.
    Missing,
}

/// The statements that create the roles and grant them their rights, for an administrator. The statements can be run
/// again at any time, and are run after every migration.
#[must_use]
pub fn sql() -> String {
    format!("{CREATE}\n{GRANT}")
}

/// Creates the roles if this login may, and grants existing roles their rights.
pub(super) async fn ensure(connection: &mut PgConnection) -> Result<Roles, StoreError> {
    if !create(connection).await? {
        return Ok(Roles::Missing);
    }
    let owns = "SELECT pg_has_role(current_user, tableowner, 'USAGE') FROM pg_tables
                WHERE schemaname = 'public' AND tablename = 'installation'";
    let owner = connection.fetch_optional(owns).await?;
    if owner.map(|row| row.try_get::<bool, _>(0)).transpose()? == Some(true) {
        connection.execute(GRANT).await?;
    }
    Ok(Roles::Ready)
}

/// Creates the roles if this login may. Returns false if roles are missing afterwards.
async fn create(connection: &mut PgConnection) -> Result<bool, StoreError> {
    if connection.fetch_one(MAY_CREATE).await?.try_get(0)? {
        connection.execute(CREATE).await?;
    }
    Ok(connection.fetch_one(ROLES_EXIST).await?.try_get(0)?)
}
