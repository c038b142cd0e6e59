//! Background jobs in `SQLite`. A transaction that writes has the database to itself.

use async_trait::async_trait;
use jiff::Timestamp;
use sqlx::{Sqlite, Transaction, query::Query, sqlite::SqliteArguments};

use super::SqliteStore;
use crate::{
    StoreError,
    jobs::{Claim, Job, JobCount, JobId, JobOutcome, JobStore, NewJob},
    row, value,
};

type Write<'a> = Transaction<'a, Sqlite>;
type Statement<'a> = Query<'a, Sqlite, SqliteArguments>;

#[async_trait]
impl JobStore for SqliteStore {
    async fn enqueue_job(&self, new: &NewJob, now: Timestamp) -> Result<bool, StoreError> {
        let mut transaction = self.write().await?;
        let job = match read(&mut transaction, &new.id).await? {
            Some(job) => job.enqueued(new, now),
            None => Some(Job::new(new, now)),
        };
        if let Some(job) = &job {
            put(&mut transaction, job).await?;
        }
        transaction.commit().await?;
        Ok(job.is_some())
    }

    async fn claim_jobs(
        &self,
        kinds: &[&str],
        claim: &Claim,
        limit: u32,
        now: Timestamp,
    ) -> Result<Vec<Job>, StoreError> {
        let mut transaction = self.write().await?;
        let rows = sqlx::query(
            "SELECT * FROM jobs
             WHERE kind IN (SELECT value FROM json_each(?1))
                   AND (status = 'pending' AND due_at <= ?2
                        OR status = 'claimed' AND claimed_until <= ?2)
             ORDER BY due_at, kind, key LIMIT ?3",
        )
        .bind(serde_json::json!(kinds).to_string())
        .bind(value::milliseconds(now))
        .bind(i64::from(limit))
        .fetch_all(&mut *transaction)
        .await?;
        let mut claimed = Vec::with_capacity(rows.len());
        for row in &rows {
            if let Some(job) = row::jobs::job(row)?.claimed(claim, now) {
                put(&mut transaction, &job).await?;
                claimed.push(job);
            }
        }
        transaction.commit().await?;
        Ok(claimed)
    }

    async fn extend_claim(&self, id: &JobId, claim: &Claim) -> Result<bool, StoreError> {
        self.change_job(id, |job| job.extended(claim)).await
    }

    async fn finish_job(
        &self,
        id: &JobId,
        worker: &str,
        outcome: &JobOutcome,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        self.change_job(id, |job| job.finished(worker, outcome, now)).await
    }

    async fn jobs(&self, kind: Option<&str>) -> Result<Vec<Job>, StoreError> {
        let query =
            sqlx::query("SELECT * FROM jobs WHERE ?1 IS NULL OR kind = ?1 ORDER BY kind, key");
        query.bind(kind).fetch_all(&self.pool).await?.iter().map(row::jobs::job).collect()
    }

    async fn job_counts(&self) -> Result<Vec<JobCount>, StoreError> {
        let rows = sqlx::query(
            "SELECT kind, status, count(*) AS count, min(due_at) AS oldest_due_at
             FROM jobs GROUP BY kind, status ORDER BY kind, status",
        )
        .fetch_all(&self.pool)
        .await?;
        rows.iter().map(row::jobs::count).collect()
    }

    async fn purge_jobs(&self, before: Timestamp) -> Result<u64, StoreError> {
        let purged =
            sqlx::query("DELETE FROM jobs WHERE status IN ('done', 'failed') AND finished_at < ?")
                .bind(value::milliseconds(before))
                .execute(&self.pool)
                .await?;
        Ok(purged.rows_affected())
    }
}

impl SqliteStore {
    /// Replaces a job by the result of a function, if it returns one.
    async fn change_job(
        &self,
        id: &JobId,
        change: impl FnOnce(Job) -> Option<Job> + Send,
    ) -> Result<bool, StoreError> {
        let mut transaction = self.write().await?;
        let changed = read(&mut transaction, id).await?.and_then(change);
        if let Some(job) = &changed {
            put(&mut transaction, job).await?;
        }
        transaction.commit().await?;
        Ok(changed.is_some())
    }
}

async fn read(write: &mut Write<'_>, id: &JobId) -> Result<Option<Job>, StoreError> {
    let query = sqlx::query("SELECT * FROM jobs WHERE kind = ? AND key = ?");
    let row = query.bind(&id.kind).bind(&id.key).fetch_optional(&mut **write).await?;
    row.as_ref().map(row::jobs::job).transpose()
}

async fn put(write: &mut Write<'_>, job: &Job) -> Result<(), StoreError> {
    let put =
        "REPLACE INTO jobs (kind, key, payload, status, due_at, failures, worker, claimed_until,
                                  finished_at, succeeded_at, last_error)
               VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
    bind(sqlx::query(put), job).execute(&mut **write).await?;
    Ok(())
}

/// Binds all columns, in the order of the table.
fn bind<'a>(statement: Statement<'a>, job: &'a Job) -> Statement<'a> {
    let (worker, claimed_until) = row::jobs::claim(&job.status);
    statement
        .bind(&job.id.kind)
        .bind(&job.id.key)
        .bind(&job.payload)
        .bind(job.status.as_str())
        .bind(value::milliseconds(job.due_at))
        .bind(i64::from(job.failures))
        .bind(worker)
        .bind(claimed_until)
        .bind(job.finished_at.map(value::milliseconds))
        .bind(job.succeeded_at.map(value::milliseconds))
        .bind(job.last_error.as_deref())
}
