//! Usage and kept answers in PostgreSQL. None of it changes a counter: all of it runs beside other
//! writers.

use std::collections::BTreeMap;

use assay_tenancy::Name;
use async_trait::async_trait;
use jiff::{Timestamp, civil::Date};
use sqlx::PgConnection;

use super::{PostgresStore, scope::Scope};
use crate::{
    StoreError, row,
    usage::{Charged, KeptCheck, Purge, Purged, UsageBatch, UsageCount, UsageStore},
    value,
};

#[async_trait]
impl UsageStore for PostgresStore {
    async fn add_usage(&self, batch: &UsageBatch) -> Result<(), StoreError> {
        let asking = async {
            let mut transaction = self.write_in(Scope::Record).await?;
            if is_new(&mut transaction, batch).await? {
                add(&mut transaction, &batch.counts).await?;
            }
            Ok(transaction.commit().await?)
        };
        self.database.control.with_timeout(asking).await
    }

    async fn usage(
        &self,
        tenant: Option<&Name>,
        from: Date,
        to: Date,
    ) -> Result<Vec<UsageCount>, StoreError> {
        let working = async {
            let mut transaction = self.read_in(tenant.map_or(Scope::Report, Scope::Tenant)).await?;
            between(&mut transaction, tenant, from, to).await
        };
        self.database.control.with_liveness_probe(working).await
    }

    async fn keep_checks(&self, checks: &[KeptCheck]) -> Result<(), StoreError> {
        let asking = async {
            let mut transaction = self.write_in(Scope::Record).await?;
            keep(&mut transaction, checks).await?;
            Ok(transaction.commit().await?)
        };
        self.database.control.with_timeout(asking).await
    }

    async fn kept_check(&self, tenant: &Name, id: &str) -> Result<Option<KeptCheck>, StoreError> {
        let asking = async {
            let mut transaction = self.read_in(Scope::Tenant(tenant)).await?;
            kept(&mut transaction, tenant, id).await
        };
        self.database.control.with_timeout(asking).await
    }

    async fn purge_tenant(&self, purge: &Purge) -> Result<Purged, StoreError> {
        let working = async {
            let mut transaction = self.write_in(Scope::Tenant(&purge.tenant)).await?;
            let purged = purge_tenant(&mut transaction, purge).await?;
            transaction.commit().await?;
            Ok(purged)
        };
        self.database.control.with_liveness_probe(working).await
    }

    async fn purge_usage_writers(&self, before: Timestamp) -> Result<u64, StoreError> {
        let working = async {
            let mut transaction = self.write().await?;
            let purged = sqlx::query("DELETE FROM usage_writers WHERE written_at < $1")
                .bind(value::milliseconds(before))
                .execute(&mut *transaction)
                .await?;
            transaction.commit().await?;
            Ok(purged.rows_affected())
        };
        self.database.control.with_liveness_probe(working).await
    }
}

/// Records a batch as written; false if it was recorded before. If another transaction that records
/// the same batch is being committed, the statement waits for it.
async fn is_new(write: &mut PgConnection, batch: &UsageBatch) -> Result<bool, StoreError> {
    let noted = sqlx::query(
        "INSERT INTO usage_writers (writer, batch, written_at) VALUES ($1, $2, $3)
         ON CONFLICT (writer) DO UPDATE SET batch = excluded.batch, written_at = excluded.written_at
             WHERE usage_writers.batch < excluded.batch",
    )
    .bind(batch.writer_text())
    .bind(value::signed(batch.number))
    .bind(value::milliseconds(batch.made_at))
    .execute(write)
    .await?;
    Ok(noted.rows_affected() == 1)
}

/// Adds counts in one statement. Each row once, as PostgreSQL demands; and in one order, so that
/// programs that count the same never wait for each other in a circle.
async fn add(write: &mut PgConnection, counts: &[UsageCount]) -> Result<(), StoreError> {
    let mut sums: BTreeMap<&Charged, u64> = BTreeMap::new();
    for UsageCount { charged, count } in counts {
        let sum = sums.entry(charged).or_default();
        *sum = sum.saturating_add(*count);
    }
    let text = |text: fn(&Charged) -> &str| sums.keys().map(|&charged| text(charged)).collect();
    let [tenants, keys, plans, operations, outcomes]: [Vec<&str>; 5] = [
        text(|charged| charged.tenant.as_str()),
        text(|charged| charged.key.as_str()),
        text(|charged| charged.plan.as_str()),
        text(|charged| charged.operation.as_str()),
        text(|charged| &charged.verdict),
    ];
    let days: Vec<String> = sums.keys().map(|charged| charged.day.to_string()).collect();
    let numbers: Vec<i64> = sums.values().map(|sum| value::signed(*sum)).collect();
    sqlx::query(
        "INSERT INTO usage (tenant, day, key_id, plan, operation, outcome, count)
         SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[],
                              $6::text[], $7::bigint[])
         ON CONFLICT (tenant, day, key_id, plan, operation, outcome)
             DO UPDATE SET count = usage.count + excluded.count",
    )
    .bind(tenants)
    .bind(days)
    .bind(keys)
    .bind(plans)
    .bind(operations)
    .bind(outcomes)
    .bind(numbers)
    .execute(write)
    .await?;
    Ok(())
}

async fn between(
    read: &mut PgConnection,
    tenant: Option<&Name>,
    from: Date,
    to: Date,
) -> Result<Vec<UsageCount>, StoreError> {
    let rows = sqlx::query(
        "SELECT tenant, day, key_id, plan, operation, outcome, count FROM usage
         WHERE ($1::text IS NULL OR tenant = $1) AND day BETWEEN $2 AND $3
         ORDER BY tenant, day, key_id, plan, operation, outcome",
    )
    .bind(tenant.map(Name::as_str))
    .bind(from.to_string())
    .bind(to.to_string())
    .fetch_all(read)
    .await?;
    rows.iter().map(row::usage::count).collect()
}

async fn keep(write: &mut PgConnection, checks: &[KeptCheck]) -> Result<(), StoreError> {
    // In one order, as usage is. The conflict names no column: that would need the right to read answers.
    let mut checks: Vec<&KeptCheck> = checks.iter().collect();
    checks.sort_by(|one, other| one.id.cmp(&other.id));
    let text = |text: fn(&KeptCheck) -> &str| checks.iter().map(|&check| text(check)).collect();
    let [ids, tenants, answers]: [Vec<&str>; 3] =
        [text(|check| &check.id), text(|check| check.tenant.as_str()), text(|check| &check.answer)];
    let times: Vec<i64> = checks.iter().map(|check| value::milliseconds(check.made_at)).collect();
    sqlx::query(
        "INSERT INTO checks (id, tenant, made_at, answer)
         SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[], $4::text[])
         ON CONFLICT DO NOTHING",
    )
    .bind(ids)
    .bind(tenants)
    .bind(times)
    .bind(answers)
    .execute(write)
    .await?;
    Ok(())
}

async fn kept(
    read: &mut PgConnection,
    tenant: &Name,
    id: &str,
) -> Result<Option<KeptCheck>, StoreError> {
    if id.contains('\0') {
        // No text in PostgreSQL has this character; the server would refuse the query.
        return Ok(None);
    }
    let row = sqlx::query("SELECT made_at, answer FROM checks WHERE id = $1 AND tenant = $2")
        .bind(id)
        .bind(tenant.as_str())
        .fetch_optional(read)
        .await?;
    row.map(|row| row::usage::check(&row, tenant, id)).transpose()
}

async fn purge_tenant(write: &mut PgConnection, purge: &Purge) -> Result<Purged, StoreError> {
    // Two purges of one tenant would meet the same rows in different orders.
    sqlx::query("SELECT pg_advisory_xact_lock(hashtextextended('assay purge ' || $1, 0))")
        .bind(purge.tenant.as_str())
        .execute(&mut *write)
        .await?;
    let checks = sqlx::query("DELETE FROM checks WHERE tenant = $1 AND made_at < $2")
        .bind(purge.tenant.as_str())
        .bind(value::milliseconds(purge.checks_before))
        .execute(&mut *write)
        .await?
        .rows_affected();
    let usage = sqlx::query("DELETE FROM usage WHERE tenant = $1 AND day < $2")
        .bind(purge.tenant.as_str())
        .bind(purge.usage_before.to_string())
        .execute(write)
        .await?
        .rows_affected();
    Ok(Purged { checks, usage })
}
