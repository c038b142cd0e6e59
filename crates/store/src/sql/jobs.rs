//! Background jobs. A row is locked before the state machine changes it.

use async_trait::async_trait;
use jiff::Timestamp;
use sqlx::AssertSqlSafe;

use super::{Backend, RowScope, Session, SessionMode, Value};
use crate::{
    StoreError,
    jobs::{Job, JobClaim, JobCount, JobId, JobOutcome, JobStore, NewJob},
    row,
};

#[async_trait]
impl<B: Backend> JobStore for B {
    async fn enqueue_job(&self, new: &NewJob, now: Timestamp) -> Result<bool, StoreError> {
        let working = async {
            let mut session = self.session(SessionMode::Write(RowScope::Common)).await?;
            let has_changed = enqueue(&mut session, new, now).await?;
            session.commit(has_changed).await
        };
        self.with_timeout(working).await
    }

    async fn claim_jobs(
        &self,
        kinds: &[&str],
        claim: &JobClaim,
        limit: u32,
        now: Timestamp,
    ) -> Result<Vec<Job>, StoreError> {
        let working = async {
            let mut session = self.session(SessionMode::Write(RowScope::Common)).await?;
            // Another program that claims at the same time passes over the rows that this one has locked.
            let claimable = format!(
                "SELECT * FROM jobs
                 WHERE kind {} AND (status = 'pending' AND due_at <= $2
                                    OR status = 'claimed' AND claimed_until <= $2)
                 ORDER BY due_at, kind, key LIMIT $3 {}",
                session.any("$1"),
                session.for_update_of_unlocked(),
            );
            let values = [kinds.to_vec().into(), now.into(), limit.into()];
            let rows = session.rows(AssertSqlSafe(claimable), &values).await?;
            let mut claimed = Vec::with_capacity(rows.len());
            for row in &rows {
                if let Some(job) = row::jobs::job(row)?.claimed(claim, now) {
                    update(&mut session, &job).await?;
                    claimed.push(job);
                }
            }
            session.commit(claimed).await
        };
        self.with_timeout(working).await
    }

    async fn extend_claim(&self, id: &JobId, claim: &JobClaim) -> Result<bool, StoreError> {
        change(self, id, |job| job.extended(claim)).await
    }

    async fn finish_job(
        &self,
        id: &JobId,
        worker: &str,
        outcome: &JobOutcome,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        change(self, id, |job| job.finished(worker, outcome, now)).await
    }

    async fn jobs(&self, kind: Option<&str>) -> Result<Vec<Job>, StoreError> {
        let working = async {
            let mut session = self.session(SessionMode::Statements).await?;
            let jobs = "SELECT * FROM jobs WHERE CAST($1 AS text) IS NULL OR kind = $1
                        ORDER BY kind, key";
            session.rows(jobs, &[kind.into()]).await?.iter().map(row::jobs::job).collect()
        };
        self.with_timeout(working).await
    }

    async fn job_counts(&self) -> Result<Vec<JobCount>, StoreError> {
        let working = async {
            let mut session = self.session(SessionMode::Statements).await?;
            let counts = "SELECT kind, status, count(*) AS count, min(due_at) AS oldest_due_at
                          FROM jobs GROUP BY kind, status ORDER BY kind, status";
            session.rows(counts, &[]).await?.iter().map(row::jobs::count).collect()
        };
        self.with_timeout(working).await
    }

    async fn purge_jobs(&self, before: Timestamp) -> Result<u64, StoreError> {
        let working = async {
            let mut session = self.session(SessionMode::Write(RowScope::Common)).await?;
            let purge = "DELETE FROM jobs WHERE status IN ('done', 'failed') AND finished_at < $1";
            let purged = session.execute(purge, &[before.into()]).await?;
            session.commit(purged).await
        };
        self.with_liveness_probe(working).await
    }
}

/// Replaces a job by the result of a function, if it returns one.
async fn change<B: Backend>(
    backend: &B,
    id: &JobId,
    change: impl FnOnce(Job) -> Option<Job> + Send,
) -> Result<bool, StoreError> {
    let working = async {
        let mut session = backend.session(SessionMode::Write(RowScope::Common)).await?;
        let changed = locked(&mut session, id).await?.and_then(change);
        if let Some(job) = &changed {
            update(&mut session, job).await?;
        }
        session.commit(()).await?;
        Ok(changed.is_some())
    };
    backend.with_timeout(working).await
}

async fn enqueue(session: &mut Session, new: &NewJob, now: Timestamp) -> Result<bool, StoreError> {
    let insert =
        "INSERT INTO jobs (kind, key, payload, status, due_at, failures, worker, claimed_until,
                           finished_at, succeeded_at, last_error)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
         ON CONFLICT (kind, key) DO NOTHING";
    if session.execute(insert, &values(&Job::new(new, now))).await? > 0 {
        return Ok(true);
    }
    let changed = locked(session, &new.id).await?.and_then(|job| job.enqueued(new, now));
    if let Some(job) = &changed {
        update(session, job).await?;
    }
    Ok(changed.is_some())
}

async fn locked(session: &mut Session, id: &JobId) -> Result<Option<Job>, StoreError> {
    let job = format!("SELECT * FROM jobs WHERE kind = $1 AND key = $2 {}", session.for_update());
    let values = [id.kind.as_str().into(), id.key.as_str().into()];
    let row = session.optional_row(AssertSqlSafe(job), &values).await?;
    row.as_ref().map(row::jobs::job).transpose()
}

async fn update(session: &mut Session, job: &Job) -> Result<(), StoreError> {
    let update =
        "UPDATE jobs SET payload = $3, status = $4, due_at = $5, failures = $6, worker = $7,
             claimed_until = $8, finished_at = $9, succeeded_at = $10, last_error = $11
         WHERE kind = $1 AND key = $2";
    session.execute(update, &values(job)).await?;
    Ok(())
}

/// All columns, in the order of the table.
fn values(job: &Job) -> [Value<'_>; 11] {
    let (worker, claimed_until) = row::jobs::claim(&job.status);
    [
        job.id.kind.as_str().into(),
        job.id.key.as_str().into(),
        job.payload.as_str().into(),
        job.status.as_str().into(),
        job.due_at.into(),
        job.failures.into(),
        worker.into(),
        claimed_until.into(),
        job.finished_at.into(),
        job.succeeded_at.into(),
        job.last_error.as_deref().into(),
    ]
}
