//! Usage and stored answers. No statement changes a counter: all run in parallel with other writers.

use std::collections::BTreeMap;

use assay_tenancy::Name;
use async_trait::async_trait;
use jiff::{Timestamp, civil::Date};

use super::{Backend, RowScope, Session, SessionMode, Value, checks};
use crate::{
    StoreError,
    checks::{CheckPage, CheckQuery},
    row,
    usage::{
        ChargeKey, KeptCheck, Purge, PurgeCounts, QuotaUse, UsageBatch, UsageCount, UsageStore,
    },
};

#[async_trait]
impl<B: Backend> UsageStore for B {
    async fn add_usage(&self, batch: &UsageBatch) -> Result<(), StoreError> {
        let asking = async {
            let mut session = self.session(SessionMode::Write(RowScope::Record)).await?;
            if is_new(&mut session, batch).await? {
                add(&mut session, &batch.counts).await?;
            }
            session.commit(()).await
        };
        self.with_timeout(asking).await
    }

    async fn usage(
        &self,
        tenant: Option<&Name>,
        from: Date,
        to: Date,
    ) -> Result<Vec<UsageCount>, StoreError> {
        let working = async {
            let scope = tenant.map_or(RowScope::Report, RowScope::Tenant);
            let mut session = self.session(SessionMode::Read(scope)).await?;
            let usage = "SELECT tenant, day, key_id, plan, operation, outcome, count FROM usage
                         WHERE (CAST($1 AS text) IS NULL OR tenant = $1) AND day BETWEEN $2 AND $3
                         ORDER BY tenant, day, key_id, plan, operation, outcome";
            let values = [tenant.map(Name::as_str).into(), from.into(), to.into()];
            session.rows(usage, &values).await?.iter().map(row::usage::count).collect()
        };
        self.with_liveness_probe(working).await
    }

    async fn keep_checks(&self, checks: &[KeptCheck]) -> Result<(), StoreError> {
        // In one order, as usage is. The conflict names no column: that would need the right to read answers.
        let mut checks: Vec<&KeptCheck> = checks.iter().collect();
        checks.sort_by(|one, other| one.id.cmp(&other.id));
        let asking = async {
            let mut session = self.session(SessionMode::Write(RowScope::Record)).await?;
            checks::keep_answers(&mut session, &checks).await?;
            checks::keep_summaries(&mut session, &checks).await?;
            session.commit(()).await
        };
        self.with_timeout(asking).await
    }

    async fn kept_check(&self, tenant: &Name, id: &str) -> Result<Option<KeptCheck>, StoreError> {
        if id.contains('\0') {
            // No text in PostgreSQL has this character; the server would refuse the query.
            return Ok(None);
        }
        let asking = async {
            let mut session = self.session(SessionMode::Read(RowScope::Tenant(tenant))).await?;
            let kept = "SELECT made_at, answer FROM checks WHERE id = $1 AND tenant = $2";
            let row = session.optional_row(kept, &[id.into(), tenant.as_str().into()]).await?;
            row.map(|row| row::usage::check(&row, tenant, id)).transpose()
        };
        self.with_timeout(asking).await
    }

    async fn find_checks(
        &self,
        tenant: &Name,
        query: &CheckQuery,
    ) -> Result<CheckPage, StoreError> {
        let asking = async {
            let mut session = self.session(SessionMode::Read(RowScope::Tenant(tenant))).await?;
            checks::page(&mut session, tenant, query).await
        };
        self.with_timeout(asking).await
    }

    async fn purge_tenant(&self, purge: &Purge) -> Result<PurgeCounts, StoreError> {
        let working = async {
            let mut session =
                self.session(SessionMode::Write(RowScope::Tenant(&purge.tenant))).await?;
            let purged = purge_tenant(&mut session, purge).await?;
            session.commit(purged).await
        };
        self.with_liveness_probe(working).await
    }

    async fn purge_usage_writers(&self, before: Timestamp) -> Result<u64, StoreError> {
        let working = async {
            let mut session = self.session(SessionMode::Write(RowScope::Common)).await?;
            let purge = "DELETE FROM usage_writers WHERE written_at < $1";
            let purged = session.execute(purge, &[before.into()]).await?;
            session.commit(purged).await
        };
        self.with_liveness_probe(working).await
    }

    async fn quota_uses(&self) -> Result<Vec<QuotaUse>, StoreError> {
        let working = async {
            let mut session = self.session(SessionMode::Statements).await?;
            let uses = "SELECT payer, limit_name, window_seconds, window_number, reserved
                        FROM quota_windows WHERE reserved > 0";
            session.rows(uses, &[]).await?.iter().map(row::usage::quota_use).collect()
        };
        self.with_liveness_probe(working).await
    }

    async fn record_quota_uses(&self, uses: &[QuotaUse]) -> Result<(), StoreError> {
        // In one order, as usage is.
        let mut uses: Vec<&QuotaUse> = uses.iter().collect();
        uses.sort_by_key(|used| (&used.counter, used.window_number));
        let rows: Vec<[Value<'_>; 7]> = uses
            .into_iter()
            .map(|QuotaUse { counter, window_number, used }| {
                [
                    counter.subject.as_str().into(),
                    counter.limit.as_str().into(),
                    counter.window_seconds.get().into(),
                    (*window_number).into(),
                    0_i64.into(),
                    (*used).into(),
                    0_i64.into(),
                ]
            })
            .collect();
        let asking = async {
            let mut session = self.session(SessionMode::Write(RowScope::Common)).await?;
            let columns =
                "payer, limit_name, window_seconds, window_number, allowed, reserved, granted";
            let otherwise = "ON CONFLICT (payer, limit_name, window_seconds, window_number)
                DO UPDATE SET reserved = excluded.reserved";
            session.insert("quota_windows", columns, &rows, otherwise).await?;
            session.commit(()).await
        };
        self.with_timeout(asking).await
    }

    async fn purge_quota_uses(&self, before: Timestamp) -> Result<u64, StoreError> {
        let working = async {
            let mut session = self.session(SessionMode::Write(RowScope::Common)).await?;
            let purge = "DELETE FROM quota_windows WHERE (window_number + 1) * window_seconds < $1";
            let purged = session.execute(purge, &[before.as_second().into()]).await?;
            session.commit(purged).await
        };
        self.with_liveness_probe(working).await
    }
}

/// Records a batch as written; false if it was recorded before. If another transaction that records
/// the same batch is being committed, the statement waits for it.
async fn is_new(session: &mut Session, batch: &UsageBatch) -> Result<bool, StoreError> {
    let note = "INSERT INTO usage_writers (writer, batch, written_at) VALUES ($1, $2, $3)
         ON CONFLICT (writer) DO UPDATE SET batch = excluded.batch, written_at = excluded.written_at
             WHERE usage_writers.batch < excluded.batch";
    let values = [batch.writer_text().into(), batch.number.into(), batch.made_at.into()];
    Ok(session.execute(note, &values).await? == 1)
}

/// Adds counts: each row once, as PostgreSQL requires of one statement, and in the order of keys, so that programs
/// that count the same never deadlock.
async fn add(session: &mut Session, counts: &[UsageCount]) -> Result<(), StoreError> {
    let mut sums: BTreeMap<&ChargeKey, u64> = BTreeMap::new();
    for UsageCount { charged, count } in counts {
        let sum = sums.entry(charged).or_default();
        *sum = sum.saturating_add(*count);
    }
    let columns = "tenant, day, key_id, plan, operation, outcome, count";
    let mut rows = Vec::with_capacity(sums.len());
    for (charged, sum) in &sums {
        rows.push([
            charged.tenant.as_str().into(),
            charged.day.into(),
            charged.key.as_str().into(),
            charged.plan.as_str().into(),
            charged.operation.as_str().into(),
            (&*charged.verdict).into(),
            (*sum).into(),
        ]);
    }
    let otherwise = "ON CONFLICT (tenant, day, key_id, plan, operation, outcome)
        DO UPDATE SET count = usage.count + excluded.count";
    session.insert("usage", columns, &rows, otherwise).await
}

async fn purge_tenant(session: &mut Session, purge: &Purge) -> Result<PurgeCounts, StoreError> {
    let tenant = purge.tenant.as_str();
    if let Session::Postgres(_) = session {
        // Two purges of one tenant would meet the same rows in different orders.
        let lock = "SELECT pg_advisory_xact_lock(hashtextextended('assay purge ' || $1, 0))";
        session.execute(lock, &[tenant.into()]).await?;
    }
    let checks = "DELETE FROM checks WHERE tenant = $1 AND made_at < $2";
    for purged in [
        "DELETE FROM check_summaries WHERE tenant = $1 AND made_at < $2 AND score >= 0",
        "DELETE FROM check_rules WHERE tenant = $1 AND made_at < $2 AND score >= 0",
    ] {
        session.execute(purged, &[tenant.into(), purge.checks_before.into()]).await?;
    }
    let usage = "DELETE FROM usage WHERE tenant = $1 AND day < $2";
    Ok(PurgeCounts {
        checks: session.execute(checks, &[tenant.into(), purge.checks_before.into()]).await?,
        usage: session.execute(usage, &[tenant.into(), purge.usage_before.into()]).await?,
    })
}
