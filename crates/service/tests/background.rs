//! Tests of several runners on one PostgreSQL database.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use assay_engine::facts::Environment;
use assay_service::background::{JobError, JobKind, Runner, RunnerSettings, runner::Background};
use assay_store::{
    JobStore, PostgresStore,
    jobs::{Job, JobId, JobOutcome, NewJob, RetryPolicy},
};
use assay_system::Clock;
use assay_test_servers::{Postgres, eventually};
use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use tokio::{task::JoinHandle, time::sleep};

/// Timeout of a test.
const PATIENCE: Duration = Duration::from_mins(1);

/// Slow job kind that records which runner ran each job.
#[derive(Clone, Debug)]
struct Work {
    runner: &'static str,
    takes: Duration,
    /// Job and runner of each completed run.
    done: Arc<Mutex<Vec<(String, &'static str)>>>,
    /// Job and runner of each started run.
    begun: Arc<Mutex<Vec<(String, &'static str)>>>,
    fails: Arc<AtomicBool>,
}

impl Work {
    fn taking(takes: Duration) -> Self {
        let (done, begun) = (Arc::default(), Arc::default());
        Self { runner: "", takes, done, begun, fails: Arc::default() }
    }

    fn by(&self, runner: &'static str) -> Self {
        Self { runner, ..self.clone() }
    }

    fn done(&self) -> Vec<(String, &'static str)> {
        self.done.lock().unwrap().clone()
    }
}

#[async_trait]
impl JobKind for Work {
    fn name(&self) -> &'static str {
        "work"
    }

    fn retry(&self) -> RetryPolicy {
        let delay = SignedDuration::from_millis(10);
        RetryPolicy { first_delay: delay, longest_delay: delay, attempts: None }
    }

    async fn run(&self, job: &Job, _now: Timestamp) -> Result<JobOutcome, JobError> {
        self.begun.lock().unwrap().push((job.id.key.clone(), self.runner));
        if self.fails.swap(false, Ordering::Relaxed) {
            return Err(JobError::Incomplete);
        }
        // The work takes its time.
        sleep(self.takes).await;
        self.done.lock().unwrap().push((job.id.key.clone(), self.runner));
        Ok(JobOutcome::Done)
    }
}

/// Database with some due jobs.
struct World {
    postgres: Postgres,
    store: Arc<PostgresStore>,
}

impl World {
    async fn with_jobs(count: usize) -> Self {
        let postgres = Postgres::shared(None);
        let store = PostgresStore::open_or_create(&postgres.url(), Environment::Production).await;
        let store = Arc::new(store.unwrap());
        let now = assay_system::now();
        for number in 0..count {
            let id = JobId::new("work", &format!("job-{number:02}"));
            let job = NewJob { id, payload: String::new(), due_at: now };
            assert!(store.enqueue_job(&job, now).await.unwrap());
        }
        Self { postgres, store }
    }

    /// Starts a program with a runner. [`JoinHandle::abort`] kills it.
    async fn runner(
        &self,
        work: &Work,
        name: &'static str,
        lease: SignedDuration,
    ) -> JoinHandle<()> {
        let store = PostgresStore::open(&self.postgres.url()).await.unwrap();
        let kinds: Vec<Arc<dyn JobKind>> = vec![Arc::new(work.by(name))];
        let settings = RunnerSettings { poll: Duration::from_millis(50), lease, concurrency: 2 };
        let runner =
            Runner::new(Arc::new(store), Clock::system(), name.to_owned(), kinds, settings);
        tokio::spawn(async move { runner.run(&Background::default()).await })
    }

    async fn until_all_are_done(&self) -> BTreeMap<String, Job> {
        let mut jobs = Vec::new();
        eventually("all jobs are done", async || {
            jobs = self.store.jobs(Some("work")).await.unwrap();
            jobs.iter().all(|job| job.status.as_str() == "done")
        })
        .await;
        jobs.into_iter().map(|job| (job.id.key.clone(), job)).collect()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_runners_run_each_job_once() {
    let world = World::with_jobs(40).await;
    let work = Work::taking(Duration::from_millis(20));
    work.fails.store(true, Ordering::Relaxed);
    let lease = SignedDuration::from_secs(60);
    let runners = [world.runner(&work, "x", lease).await, world.runner(&work, "y", lease).await];
    world.until_all_are_done().await;
    let done = work.done();
    let mut jobs: Vec<&str> = done.iter().map(|(job, _)| job.as_str()).collect();
    jobs.sort_unstable();
    jobs.dedup();
    assert_eq!((jobs.len(), done.len()), (40, 40), "each once");
    assert_eq!(work.begun.lock().unwrap().len(), 41, "the one that failed was tried again");
    for name in ["x", "y"] {
        assert!(done.iter().any(|(_, runner)| *runner == name), "{name} did its share");
    }
    runners.iter().for_each(JoinHandle::abort);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_jobs_of_a_killed_runner_are_run_by_another() {
    let world = World::with_jobs(6).await;
    let (hangs, works) = (Work::taking(PATIENCE), Work::taking(Duration::from_millis(10)));
    let lease = SignedDuration::from_secs(2);
    let killed = world.runner(&hangs, "killed", lease).await;
    eventually("it has begun", async || hangs.begun.lock().unwrap().len() == 2).await;
    // Longer than a lease: claims are extended as long as the runner lives.
    let other = world.runner(&works, "other", lease).await;
    sleep(Duration::from_secs(3)).await;
    assert_eq!(works.done().len(), 4, "the rest");
    killed.abort();
    let jobs = world.until_all_are_done().await;
    assert_eq!((works.done().len(), hangs.done().len()), (6, 0));
    assert_eq!(jobs.len(), 6);
    other.abort();
}
