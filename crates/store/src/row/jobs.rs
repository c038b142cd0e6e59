//! Rows of background jobs.

use super::Row;
use crate::{
    StoreError,
    jobs::{Job, JobClaim, JobCount, JobId, JobStatus},
    value,
};

pub(crate) fn job(row: &Row) -> Result<Job, StoreError> {
    let failures = u32::try_from(row.integer("failures")?)
        .map_err(|error| StoreError::unreadable("jobs.failures", error))?;
    let optional_time = |column, name| {
        let time = value::optional_time(column, row.optional_integer(name)?);
        time.map_err(StoreError::from)
    };
    Ok(Job {
        id: JobId { kind: row.text("kind")?.to_owned(), key: row.text("key")?.to_owned() },
        payload: row.text("payload")?.to_owned(),
        status: status(row)?,
        due_at: value::time("jobs.due_at", row.integer("due_at")?)?,
        failures,
        finished_at: optional_time("jobs.finished_at", "finished_at")?,
        succeeded_at: optional_time("jobs.succeeded_at", "succeeded_at")?,
        last_error: row.optional_text("last_error")?.map(str::to_owned),
    })
}

fn status(row: &Row) -> Result<JobStatus, StoreError> {
    match row.text("status")? {
        "pending" => Ok(JobStatus::Pending),
        "done" => Ok(JobStatus::Done),
        "failed" => Ok(JobStatus::Failed),
        "claimed" => Ok(JobStatus::Claimed(JobClaim {
            worker: row.text("worker")?.to_owned(),
            until: value::time("jobs.claimed_until", row.integer("claimed_until")?)?,
        })),
        other => Err(StoreError::unreadable("jobs.status", other)),
    }
}

pub(crate) fn count(row: &Row) -> Result<JobCount, StoreError> {
    Ok(JobCount {
        kind: row.text("kind")?.to_owned(),
        status: row.text("status")?.to_owned(),
        count: value::unsigned("count of jobs", row.integer("count")?)?,
        oldest_due_at: value::time("jobs.due_at", row.integer("oldest_due_at")?)?,
    })
}

/// The columns of a claim: worker and expiry time.
pub(crate) fn claim(status: &JobStatus) -> (Option<&str>, Option<i64>) {
    match status {
        JobStatus::Claimed(claim) => (Some(&claim.worker), Some(value::milliseconds(claim.until))),
        JobStatus::Pending | JobStatus::Done | JobStatus::Failed => (None, None),
    }
}
