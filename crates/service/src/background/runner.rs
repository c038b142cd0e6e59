//! Runner that claims jobs and runs them, a few at a time.
//!
//! The runner extends the claim of a job that it runs. Dropping the runner drops its jobs; their claims expire, and any
//! other runner continues them.

use std::{collections::BTreeMap, fmt, sync::Arc, time::Duration};

use assay_store::{
    JobStore, StoreError,
    jobs::{Job, JobClaim, JobCount, JobId, JobOutcome, NewJob, RetryPolicy},
};
use assay_system::Clock;
use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use tokio::{
    sync::Notify,
    task::JoinSet,
    time::{Instant, MissedTickBehavior, interval, sleep},
};

use super::feeds::FetchSourceError;
use crate::{chains::subject::ReadError, revocations::RevocationError};

/// Interval at which jobs are counted for metrics.
const COUNT_INTERVAL: Duration = Duration::from_secs(15);

/// An attempt failed.
#[derive(Debug, thiserror::Error)]
pub enum JobError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A source could not be fetched.
    #[error(transparent)]
    Source(#[from] FetchSourceError),
    /// A chain could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The list of revoked keys could not be written.
    #[error(transparent)]
    Revocation(#[from] RevocationError),
    /// The payload is not in the form that this program writes.
    #[error("the job's payload cannot be read: {0}")]
    Payload(String),
    /// The attempt ran out of time, or the API did not answer.
    #[error("the history could not be fetched to its end")]
    Incomplete,
}

/// A kind of background work.
#[async_trait]
pub trait JobKind: fmt::Debug + Send + Sync {
    /// The identifier in the store.
    fn name(&self) -> &'static str;

    /// Rule by which a failed job is retried.
    fn retry(&self) -> RetryPolicy;

    /// Returns the jobs that should be in the store by now. A job that the store has already is not added again.
    fn wanted(&self) -> Vec<NewJob> {
        Vec::new()
    }

    /// Runs a job, which may have run before, in part or as a whole.
    ///
    /// # Errors
    ///
    /// Returns an error if the attempt failed.
    async fn run(&self, job: &Job, now: Timestamp) -> Result<JobOutcome, JobError>;
}

/// The bounds of a runner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunnerSettings {
    /// Interval at which the runner looks for due jobs.
    pub poll: Duration,
    /// Time for which a claim lasts unless it is extended.
    pub lease: SignedDuration,
    /// Jobs at once.
    pub concurrency: u32,
}

impl Default for RunnerSettings {
    fn default() -> Self {
        Self { poll: Duration::from_secs(2), lease: SignedDuration::from_secs(30), concurrency: 4 }
    }
}

/// Requests for background work, and the counts of jobs.
#[derive(Debug, Default)]
pub struct Background {
    /// Asks the runner to look for due jobs now.
    pub wake: Notify,
    /// Jobs of all servers by kind and status, as they were last counted.
    pub counts: arc_swap::ArcSwap<Vec<JobCount>>,
}

/// Claims and runs jobs.
#[derive(Debug)]
pub struct Runner {
    worker: Arc<Worker>,
    kinds: BTreeMap<&'static str, Arc<dyn JobKind>>,
    settings: RunnerSettings,
}

#[derive(Debug)]
struct Worker {
    store: Arc<dyn JobStore>,
    clock: Clock,
    name: String,
    lease: SignedDuration,
}

impl Runner {
    /// A runner of jobs of these kinds. `worker` is a name that no other runner has.
    #[must_use]
    pub fn new(
        store: Arc<dyn JobStore>,
        clock: Clock,
        worker: String,
        kinds: Vec<Arc<dyn JobKind>>,
        settings: RunnerSettings,
    ) -> Self {
        let worker = Worker { store, clock, name: worker, lease: settings.lease };
        let kinds = kinds.into_iter().map(|kind| (kind.name(), kind)).collect();
        Self { worker: Arc::new(worker), kinds, settings }
    }

    /// Runs jobs until it is dropped.
    pub async fn run(self, background: &Background) {
        let mut running: JoinSet<()> = JoinSet::new();
        let mut ticks = interval(self.settings.poll);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut counted: Option<Instant> = None;
        let mut has_changed = false;
        let mut is_failing = false;
        loop {
            tokio::select! {
                _ = ticks.tick() => {}
                () = background.wake.notified() => {}
                Some(ended) = running.join_next() => {
                    has_changed = true;
                    if let Err(error) = ended {
                        tracing::error!(%error, "a background job broke down; its claim expires");
                    }
                }
            }
            let mut outcome = self.start_due(&mut running).await;
            let pause = if has_changed { self.settings.poll } else { COUNT_INTERVAL };
            if outcome.is_ok() && counted.is_none_or(|at| at.elapsed() >= pause) {
                outcome = self.count(background).await;
                counted = Some(Instant::now());
                has_changed = false;
            }
            match outcome {
                Err(error) if !is_failing => {
                    is_failing = true;
                    tracing::warn!(%error, "failed to look for background jobs");
                }
                Ok(()) if is_failing => {
                    is_failing = false;
                    tracing::info!("background jobs are found again");
                }
                _ => {}
            }
        }
    }

    async fn count(&self, background: &Background) -> Result<(), StoreError> {
        background.counts.store(Arc::new(self.worker.store.job_counts().await?));
        Ok(())
    }

    /// Enqueues requested jobs, and starts due jobs up to the concurrency limit.
    async fn start_due(&self, running: &mut JoinSet<()>) -> Result<(), StoreError> {
        for kind in self.kinds.values() {
            self.enqueue_wanted(&**kind).await?;
        }
        let busy = u32::try_from(running.len()).unwrap_or(u32::MAX);
        let free = self.settings.concurrency.saturating_sub(busy);
        if free == 0 {
            return Ok(());
        }
        let now = self.worker.clock.now();
        let kinds: Vec<&str> = self.kinds.keys().copied().collect();
        let claim = self.worker.claim(now);
        for job in self.worker.store.claim_jobs(&kinds, &claim, free, now).await? {
            if let Some(kind) = self.kinds.get(job.id.kind.as_str()) {
                let (worker, kind) = (Arc::clone(&self.worker), Arc::clone(kind));
                running.spawn(async move { worker.work(&*kind, &job).await });
            }
        }
        Ok(())
    }

    /// Enqueues the jobs of a kind that the store lacks.
    async fn enqueue_wanted(&self, kind: &dyn JobKind) -> Result<(), StoreError> {
        let wanted = kind.wanted();
        if wanted.is_empty() {
            return Ok(());
        }
        let now = self.worker.clock.now();
        let jobs = self.worker.store.jobs(Some(kind.name())).await?;
        let known: BTreeMap<&JobId, &Job> = jobs.iter().map(|job| (&job.id, job)).collect();
        for new in &wanted {
            if known.get(&new.id).is_none_or(|job| job.enqueued(new, now).is_some()) {
                self.worker.store.enqueue_job(new, now).await?;
            }
        }
        Ok(())
    }
}

impl Worker {
    fn claim(&self, now: Timestamp) -> JobClaim {
        let until = now.saturating_add(self.lease).unwrap_or(Timestamp::MAX);
        JobClaim { worker: self.name.clone(), until }
    }

    /// Runs a job and stores the outcome, unless another worker has taken it meanwhile.
    async fn work(&self, kind: &dyn JobKind, job: &Job) {
        let id = &job.id;
        let attempt = tokio::select! {
            attempt = kind.run(job, self.clock.now()) => attempt,
            () = self.keep_claim(id) => {
                tracing::warn!(job = %id, "lost the claim on a background job: another server runs it");
                return;
            }
        };
        let outcome = attempt.unwrap_or_else(|error| {
            let failures = job.failures.saturating_add(1);
            tracing::error!(job = %id, failures, %error, "a background job failed");
            JobOutcome::Failed { error: error.to_string(), retry: kind.retry() }
        });
        let now = self.clock.now();
        if let Err(error) = self.store.finish_job(id, &self.name, &outcome, now).await {
            tracing::warn!(job = %id, %error, "failed to store the outcome of a background job; it runs again");
        }
    }

    /// Extends the claim until it is lost. While the store fails, the claim may expire; the runner notices once the
    /// store works again.
    async fn keep_claim(&self, id: &JobId) {
        let third = self.lease.unsigned_abs() / 3;
        loop {
            sleep(third).await;
            let claim = self.claim(self.clock.now());
            if matches!(self.store.extend_claim(id, &claim).await, Ok(false)) {
                return;
            }
        }
    }
}
