//! Roles: who may do what in the database. They are made where whoever migrates may make roles;
//! otherwise somebody who may runs what [`sql`] gives.

use sqlx::{Executor, PgConnection, Row};

use crate::StoreError;

const CREATE: &str = include_str!("../../migrations/postgres/roles/create.sql");
const GRANT: &str = include_str!("../../migrations/postgres/roles/grant.sql");

/// Whether programs can be given roles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Roles {
    /// They are there, and have the rights that they need.
    Ready,
    /// They are not, and this login may not make them.
    Missing,
}

/// The statements that make the roles and give them their rights, for whoever may run them. They can be
/// run again at any time, and are after a migration.
#[must_use]
pub fn sql() -> String {
    format!("{CREATE}\n{GRANT}")
}

/// Makes the roles where that is allowed, and gives them their rights where they are there.
pub(super) async fn arrange(connection: &mut PgConnection) -> Result<Roles, StoreError> {
    let may_create = "SELECT rolsuper OR rolcreaterole FROM pg_roles WHERE rolname = current_user";
    if connection.fetch_one(may_create).await?.try_get(0)? {
        connection.execute(CREATE).await?;
    }
    let there = "SELECT count(*) = 4 FROM pg_roles WHERE rolname IN
                     ('assay_serve', 'assay_ingest', 'assay_control', 'assay_migrate')";
    let owns = "SELECT pg_has_role(current_user, tableowner, 'USAGE') FROM pg_tables
                WHERE schemaname = 'public' AND tablename = 'installation'";
    if !connection.fetch_one(there).await?.try_get::<bool, _>(0)? {
        return Ok(Roles::Missing);
    }
    let owner = connection.fetch_optional(owns).await?;
    if owner.map(|row| row.try_get::<bool, _>(0)).transpose()? == Some(true) {
        connection.execute(GRANT).await?;
    }
    Ok(Roles::Ready)
}
