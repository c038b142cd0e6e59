//! Row-level scope of a transaction. Only this module sets the scope; the database enforces it by the policies in the
//! schema.

use assay_tenancy::Name;
use sqlx::PgConnection;

use crate::StoreError;

/// Part of the tenants' rows that a transaction may use.
#[derive(Clone, Copy, Debug)]
pub(crate) enum RowScope<'a> {
    /// Rows of no tenant.
    Common,
    /// Rows of one tenant.
    Tenant(&'a Name),
    /// Every key row, to serve keys from memory or to find a key by its id.
    Directory,
    /// Writes records of many tenants at once; stored answers cannot be read.
    Record,
    /// Reads the charges of all tenants.
    Report,
}

/// Enters a scope, until the transaction ends.
pub(super) async fn enter(
    transaction: &mut PgConnection,
    scope: RowScope<'_>,
) -> Result<(), StoreError> {
    let (tenant, reach) = match scope {
        RowScope::Common => return Ok(()),
        RowScope::Tenant(tenant) => (tenant.as_str(), ""),
        RowScope::Directory => ("", "directory"),
        RowScope::Record => ("", "record"),
        RowScope::Report => ("", "report"),
    };
    sqlx::query("SELECT set_config('assay.tenant', $1, true), set_config('assay.reach', $2, true)")
        .bind(tenant)
        .bind(reach)
        .execute(transaction)
        .await?;
    Ok(())
}
