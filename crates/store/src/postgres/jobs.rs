//! Background jobs in PostgreSQL. A row is locked before the state machine changes it.

use async_trait::async_trait;
use jiff::Timestamp;
use sqlx::{PgConnection, Postgres, postgres::PgArguments, query::Query};

use super::PostgresStore;
use crate::{
    StoreError,
    jobs::{Claim, Job, JobCount, JobId, JobOutcome, JobStore, NewJob},
    row, value,
};

/// Another program that claims at the same time skips the rows that this one has locked.
const CLAIMABLE: &str = "
    SELECT * FROM jobs
    WHERE kind = ANY($1) AND (status = 'pending' AND due_at <= $2
                              OR status = 'claimed' AND claimed_until <= $2)
    ORDER BY due_at, kind, key LIMIT $3 FOR UPDATE SKIP LOCKED";

#[async_trait]
impl JobStore for PostgresStore {
    async fn enqueue_job(&self, new: &NewJob, now: Timestamp) -> Result<bool, StoreError> {
        let working = async {
            let mut transaction = self.write().await?;
            let has_changed = enqueue(&mut transaction, new, now).await?;
            transaction.commit().await?;
            Ok(has_changed)
        };
        self.database.control.with_timeout(working).await
    }

    async fn claim_jobs(
        &self,
        kinds: &[&str],
        claim: &Claim,
        limit: u32,
        now: Timestamp,
    ) -> Result<Vec<Job>, StoreError> {
        let working = async {
            let mut transaction = self.write().await?;
            let rows = sqlx::query(CLAIMABLE)
                .bind(kinds)
                .bind(value::milliseconds(now))
                .bind(i64::from(limit))
                .fetch_all(&mut *transaction)
                .await?;
            let mut claimed = Vec::with_capacity(rows.len());
            for row in &rows {
                if let Some(job) = row::jobs::job(row)?.claimed(claim, now) {
                    update(&mut transaction, &job).await?;
                    claimed.push(job);
                }
            }
            transaction.commit().await?;
            Ok(claimed)
        };
        self.database.control.with_timeout(working).await
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
        let working = async {
            let query = sqlx::query(
                "SELECT * FROM jobs WHERE $1::text IS NULL OR kind = $1 ORDER BY kind, key",
            );
            let connection = &mut *self.database.control.acquire().await?;
            query.bind(kind).fetch_all(connection).await?.iter().map(row::jobs::job).collect()
        };
        self.database.control.with_timeout(working).await
    }

    async fn job_counts(&self) -> Result<Vec<JobCount>, StoreError> {
        let working = async {
            let rows = sqlx::query(
                "SELECT kind, status, count(*) AS count, min(due_at) AS oldest_due_at
                 FROM jobs GROUP BY kind, status ORDER BY kind, status",
            )
            .fetch_all(&mut *self.database.control.acquire().await?)
            .await?;
            rows.iter().map(row::jobs::count).collect()
        };
        self.database.control.with_timeout(working).await
    }

    async fn purge_jobs(&self, before: Timestamp) -> Result<u64, StoreError> {
        let working = async {
            let mut transaction = self.write().await?;
            let purged = sqlx::query(
                "DELETE FROM jobs WHERE status IN ('done', 'failed') AND finished_at < $1",
            )
            .bind(value::milliseconds(before))
            .execute(&mut *transaction)
            .await?;
            transaction.commit().await?;
            Ok(purged.rows_affected())
        };
        self.database.control.with_liveness_probe(working).await
    }
}

impl PostgresStore {
    /// Replaces a job by the result of a function, if it returns one.
    async fn change_job(
        &self,
        id: &JobId,
        change: impl FnOnce(Job) -> Option<Job> + Send,
    ) -> Result<bool, StoreError> {
        let working = async {
            let mut transaction = self.write().await?;
            let changed = locked(&mut transaction, id).await?.and_then(change);
            if let Some(job) = &changed {
                update(&mut transaction, job).await?;
            }
            transaction.commit().await?;
            Ok(changed.is_some())
        };
        self.database.control.with_timeout(working).await
    }
}

async fn enqueue(
    write: &mut PgConnection,
    new: &NewJob,
    now: Timestamp,
) -> Result<bool, StoreError> {
    let insert =
        "INSERT INTO jobs (kind, key, payload, status, due_at, failures, worker, claimed_until,
                                    finished_at, succeeded_at, last_error)
                  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
                  ON CONFLICT (kind, key) DO NOTHING";
    let inserted = bind(sqlx::query(insert), &Job::new(new, now)).execute(&mut *write).await?;
    if inserted.rows_affected() > 0 {
        return Ok(true);
    }
    let changed = locked(write, &new.id).await?.and_then(|job| job.enqueued(new, now));
    if let Some(job) = &changed {
        update(write, job).await?;
    }
    Ok(changed.is_some())
}

async fn locked(write: &mut PgConnection, id: &JobId) -> Result<Option<Job>, StoreError> {
    let query = sqlx::query("SELECT * FROM jobs WHERE kind = $1 AND key = $2 FOR UPDATE");
    let row = query.bind(&id.kind).bind(&id.key).fetch_optional(write).await?;
    row.as_ref().map(row::jobs::job).transpose()
}

async fn update(write: &mut PgConnection, job: &Job) -> Result<(), StoreError> {
    let update =
        "UPDATE jobs SET payload = $3, status = $4, due_at = $5, failures = $6, worker = $7,
                      claimed_until = $8, finished_at = $9, succeeded_at = $10, last_error = $11
                  WHERE kind = $1 AND key = $2";
    bind(sqlx::query(update), job).execute(write).await?;
    Ok(())
}

type Statement<'a> = Query<'a, Postgres, PgArguments>;

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
