//! Usage and kept answers in `SQLite`.

use assay_tenancy::Name;
use async_trait::async_trait;
use jiff::{Timestamp, civil::Date};
use sqlx::{Sqlite, SqlitePool, Transaction};

use super::SqliteStore;
use crate::{
    StoreError, row,
    usage::{KeptCheck, Purge, Purged, UsageBatch, UsageCount, UsageStore},
    value,
};

#[async_trait]
impl UsageStore for SqliteStore {
    async fn add_usage(&self, batch: &UsageBatch) -> Result<(), StoreError> {
        let mut transaction = self.write().await?;
        if is_new(&mut transaction, batch).await? {
            add(&mut transaction, &batch.counts).await?;
        }
        Ok(transaction.commit().await?)
    }

    async fn usage(
        &self,
        tenant: Option<&Name>,
        from: Date,
        to: Date,
    ) -> Result<Vec<UsageCount>, StoreError> {
        between(&self.pool, tenant, from, to).await
    }

    async fn keep_checks(&self, checks: &[KeptCheck]) -> Result<(), StoreError> {
        let mut transaction = self.write().await?;
        keep(&mut transaction, checks).await?;
        Ok(transaction.commit().await?)
    }

    async fn kept_check(&self, tenant: &Name, id: &str) -> Result<Option<KeptCheck>, StoreError> {
        kept(&self.pool, tenant, id).await
    }

    async fn purge_tenant(&self, purge: &Purge) -> Result<Purged, StoreError> {
        let mut transaction = self.write().await?;
        let purged = purge_tenant(&mut transaction, purge).await?;
        transaction.commit().await?;
        Ok(purged)
    }

    async fn purge_usage_writers(&self, before: Timestamp) -> Result<u64, StoreError> {
        let purged = sqlx::query("DELETE FROM usage_writers WHERE written_at < ?")
            .bind(value::milliseconds(before))
            .execute(&self.pool)
            .await?;
        Ok(purged.rows_affected())
    }
}

type Write<'a> = Transaction<'a, Sqlite>;

/// Notes a batch as written; false where it was noted before.
async fn is_new(write: &mut Write<'_>, batch: &UsageBatch) -> Result<bool, StoreError> {
    let noted = sqlx::query(
        "INSERT INTO usage_writers (writer, batch, written_at) VALUES (?, ?, ?)
         ON CONFLICT DO UPDATE SET batch = excluded.batch, written_at = excluded.written_at
             WHERE batch < excluded.batch",
    )
    .bind(batch.writer_text())
    .bind(value::signed(batch.number))
    .bind(value::milliseconds(batch.made_at))
    .execute(&mut **write)
    .await?;
    Ok(noted.rows_affected() == 1)
}

async fn add(write: &mut Write<'_>, counts: &[UsageCount]) -> Result<(), StoreError> {
    for UsageCount { charged, count } in counts {
        sqlx::query(
            "INSERT INTO usage (tenant, day, key_id, plan, operation, outcome, count)
             VALUES (?, ?, ?, ?, ?, ?, ?)
             ON CONFLICT DO UPDATE SET count = count + excluded.count",
        )
        .bind(charged.tenant.as_str())
        .bind(charged.day.to_string())
        .bind(charged.key.as_str())
        .bind(charged.plan.as_str())
        .bind(charged.operation.as_str())
        .bind(&charged.verdict)
        .bind(value::signed(*count))
        .execute(&mut **write)
        .await?;
    }
    Ok(())
}

async fn between(
    pool: &SqlitePool,
    tenant: Option<&Name>,
    from: Date,
    to: Date,
) -> Result<Vec<UsageCount>, StoreError> {
    let rows = sqlx::query(
        "SELECT tenant, day, key_id, plan, operation, outcome, count FROM usage
         WHERE (?1 IS NULL OR tenant = ?1) AND day BETWEEN ?2 AND ?3
         ORDER BY tenant, day, key_id, plan, operation, outcome",
    )
    .bind(tenant.map(Name::as_str))
    .bind(from.to_string())
    .bind(to.to_string())
    .fetch_all(pool)
    .await?;
    rows.iter().map(row::usage::count).collect()
}

async fn keep(write: &mut Write<'_>, checks: &[KeptCheck]) -> Result<(), StoreError> {
    for check in checks {
        sqlx::query(
            "INSERT INTO checks (id, tenant, made_at, answer) VALUES (?, ?, ?, ?)
             ON CONFLICT (id) DO NOTHING",
        )
        .bind(&check.id)
        .bind(check.tenant.as_str())
        .bind(value::milliseconds(check.made_at))
        .bind(&check.answer)
        .execute(&mut **write)
        .await?;
    }
    Ok(())
}

async fn kept(pool: &SqlitePool, tenant: &Name, id: &str) -> Result<Option<KeptCheck>, StoreError> {
    let row = sqlx::query("SELECT made_at, answer FROM checks WHERE id = ? AND tenant = ?")
        .bind(id)
        .bind(tenant.as_str())
        .fetch_optional(pool)
        .await?;
    row.map(|row| row::usage::check(&row, tenant, id)).transpose()
}

async fn purge_tenant(write: &mut Write<'_>, purge: &Purge) -> Result<Purged, StoreError> {
    let checks = sqlx::query("DELETE FROM checks WHERE tenant = ? AND made_at < ?")
        .bind(purge.tenant.as_str())
        .bind(value::milliseconds(purge.checks_before))
        .execute(&mut **write)
        .await?
        .rows_affected();
    let usage = sqlx::query("DELETE FROM usage WHERE tenant = ? AND day < ?")
        .bind(purge.tenant.as_str())
        .bind(purge.usage_before.to_string())
        .execute(&mut **write)
        .await?
        .rows_affected();
    Ok(Purged { checks, usage })
}
