//! Background jobs: work that outlives a request and a server, and is done once for all servers.
//!
//! A job is a row. A server claims the job for a while, extends the claim as long as it works, and stores the outcome.
//! If the server dies, the claim expires and another server claims the job: a job is run at least once, so its work
//! must be idempotent. Pure functions in [`state`] decide all of this; the backends ensure that one server at a time
//! changes a job's row.

mod state;

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};

use crate::StoreError;

/// The store of background jobs.
#[async_trait]
pub trait JobStore: std::fmt::Debug + Send + Sync {
    /// Enqueues a job. Returns false if nothing changed: a job that is pending or being worked on is not enqueued
    /// twice (see [`Job::enqueued`]).
    async fn enqueue_job(&self, job: &NewJob, now: Timestamp) -> Result<bool, StoreError>;

    /// Claims at most `limit` jobs of these kinds that are due, the longest due first. Jobs that another
    /// program is claiming are skipped.
    async fn claim_jobs(
        &self,
        kinds: &[&str],
        claim: &JobClaim,
        limit: u32,
        now: Timestamp,
    ) -> Result<Vec<Job>, StoreError>;

    /// Extends the claim on a job. Returns false if the worker no longer had the claim.
    async fn extend_claim(&self, id: &JobId, claim: &JobClaim) -> Result<bool, StoreError>;

    /// Stores the outcome of a job and ends the claim. Returns false, and changes nothing, if the worker no longer
    /// had the claim.
    async fn finish_job(
        &self,
        id: &JobId,
        worker: &str,
        outcome: &JobOutcome,
        now: Timestamp,
    ) -> Result<bool, StoreError>;

    /// All jobs by kind and key, or the jobs of one kind.
    async fn jobs(&self, kind: Option<&str>) -> Result<Vec<Job>, StoreError>;

    /// The number of jobs of each kind and status.
    async fn job_counts(&self) -> Result<Vec<JobCount>, StoreError>;

    /// Deletes jobs that are done or failed and were finished before a moment. Returns how many.
    async fn purge_jobs(&self, before: Timestamp) -> Result<u64, StoreError>;
}

/// The identity of a job. At most one job has a given identity.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JobId {
    /// The kind, which decides the work.
    pub kind: String,
    /// The subject of the work, such as the name of a source.
    pub key: String,
}

impl JobId {
    /// The job of this kind with this key.
    #[must_use]
    pub fn new(kind: &str, key: &str) -> Self {
        Self { kind: kind.to_owned(), key: key.to_owned() }
    }
}

impl std::fmt::Display for JobId {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{} {}", self.kind, self.key)
    }
}

/// A job to be enqueued.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewJob {
    /// The identity.
    pub id: JobId,
    /// Input of the work beyond the key, in a form that the kind defines.
    pub payload: String,
    /// The earliest time of the first attempt.
    pub due_at: Timestamp,
}

/// A stored job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// The identity.
    pub id: JobId,
    /// Input of the work beyond the key.
    pub payload: String,
    /// The status.
    pub status: JobStatus,
    /// The earliest time of the next attempt.
    pub due_at: Timestamp,
    /// Attempts that failed since the last success.
    pub failures: u32,
    /// End of the last attempt to do the work.
    pub finished_at: Option<Timestamp>,
    /// Time of the last successful attempt.
    pub succeeded_at: Option<Timestamp>,
    /// The error of the last attempt, if it failed.
    pub last_error: Option<String>,
}

/// The status of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobStatus {
    /// The job waits until it is due and a server claims it.
    Pending,
    /// A server works on the job.
    Claimed(JobClaim),
    /// The work is done.
    Done,
    /// The work failed as often as its kind allows.
    Failed,
}

impl JobStatus {
    /// The identifier in databases, metrics and answers.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Claimed(_) => "claimed",
            Self::Done => "done",
            Self::Failed => "failed",
        }
    }
}

/// A worker's right to work on a job, for a limited time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobClaim {
    /// The worker: a random name of its process.
    pub worker: String,
    /// Expiry time. After this time, any worker may claim the job.
    pub until: Timestamp,
}

/// The outcome of an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobOutcome {
    /// The work is done.
    Done,
    /// The work is done, and due again at a time.
    DoneUntil(Timestamp),
    /// The work is no longer wanted.
    Obsolete,
    /// The attempt failed.
    Failed {
        /// The error.
        error: String,
        /// Rule by which the job is retried.
        retry: RetryPolicy,
    },
}

/// Rule by which a failed job is retried: after a delay that doubles with each failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    /// The delay after the first failure.
    pub first_delay: SignedDuration,
    /// The longest delay.
    pub longest_delay: SignedDuration,
    /// The number of attempts after which the job has failed permanently. `None`: unlimited.
    pub attempts: Option<u32>,
}

/// The number of jobs of one kind and status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobCount {
    /// The kind.
    pub kind: String,
    /// The identifier of the status.
    pub status: String,
    /// The number.
    pub count: u64,
    /// The earliest time at which one of the jobs was or will be due.
    pub oldest_due_at: Timestamp,
}
