//! Whose rows a transaction may see: the only place that says so to the database, which holds it to that
//! (see the migration `isolation`).

use assay_tenancy::Name;
use sqlx::PgConnection;

use crate::StoreError;

/// What of the tenants' rows a transaction is about.
#[derive(Clone, Copy, Debug)]
pub(super) enum Scope<'a> {
    /// One tenant's.
    Tenant(&'a Name),
    /// Every key, to serve from memory or to find one by its id.
    Directory,
    /// What is written down of many tenants at once; no answer can be read.
    Record,
    /// What all tenants were charged.
    Report,
}

/// Enters a scope, until the transaction ends.
pub(super) async fn enter(
    transaction: &mut PgConnection,
    scope: Scope<'_>,
) -> Result<(), StoreError> {
    let (tenant, reach) = match scope {
        Scope::Tenant(tenant) => (tenant.as_str(), ""),
        Scope::Directory => ("", "directory"),
        Scope::Record => ("", "record"),
        Scope::Report => ("", "report"),
    };
    sqlx::query("SELECT set_config('assay.tenant', $1, true), set_config('assay.reach', $2, true)")
        .bind(tenant)
        .bind(reach)
        .execute(transaction)
        .await?;
    Ok(())
}
