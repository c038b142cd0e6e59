//! Rules for background jobs that every backend must keep.

use std::sync::Arc;

use assay_store::{
    Store,
    jobs::{JobClaim, JobId, JobOutcome, JobStatus, NewJob, RetryPolicy},
};
use jiff::SignedDuration;

use super::at;

const RETRY: RetryPolicy = RetryPolicy {
    first_delay: SignedDuration::from_mins(1),
    longest_delay: SignedDuration::from_mins(60),
    attempts: Some(2),
};

fn job(kind: &str, key: &str, due: i64) -> NewJob {
    NewJob { id: JobId::new(kind, key), payload: format!("of {key}"), due_at: at(due) }
}

fn claim(worker: &str, until: i64) -> JobClaim {
    JobClaim { worker: worker.into(), until: at(until) }
}

pub(crate) async fn jobs_are_claimed_in_the_order_in_which_they_are_due(store: Arc<dyn Store>) {
    for new in [job("a", "late", 3), job("a", "early", 1), job("b", "other", 0), job("a", "no", 9)]
    {
        assert!(store.enqueue_job(&new, at(0)).await.unwrap());
        assert!(!store.enqueue_job(&new, at(0)).await.unwrap(), "it is enqueued already");
    }
    let claimed = store.claim_jobs(&["a"], &claim("x", 10), 5, at(3)).await.unwrap();
    let keys: Vec<&str> = claimed.iter().map(|job| job.id.key.as_str()).collect();
    assert_eq!(keys, ["early", "late"]);
    assert_eq!(claimed[0].payload, "of early");
    assert_eq!(store.claim_jobs(&["a"], &claim("y", 10), 5, at(3)).await.unwrap(), []);
    let rest = store.claim_jobs(&["a", "b"], &claim("y", 20), 1, at(9)).await.unwrap();
    assert_eq!(rest[0].id, JobId::new("b", "other"), "one at most");
    assert_eq!(store.jobs(Some("a")).await.unwrap().len(), 3);
    assert_eq!(store.jobs(None).await.unwrap().len(), 4);
}

pub(crate) async fn a_claim_is_one_workers_until_it_expires(store: Arc<dyn Store>) {
    let id = JobId::new("a", "k");
    store.enqueue_job(&job("a", "k", 0), at(0)).await.unwrap();
    store.claim_jobs(&["a"], &claim("x", 2), 1, at(0)).await.unwrap();
    assert!(!store.extend_claim(&id, &claim("y", 9)).await.unwrap());
    assert!(store.extend_claim(&id, &claim("x", 4)).await.unwrap());
    assert_eq!(store.claim_jobs(&["a"], &claim("y", 9), 1, at(3)).await.unwrap(), []);
    let taken = store.claim_jobs(&["a"], &claim("y", 9), 1, at(4)).await.unwrap();
    assert_eq!((taken.len(), taken[0].failures), (1, 1));
    assert!(!store.finish_job(&id, "x", &JobOutcome::Done, at(5)).await.unwrap());
    assert!(store.finish_job(&id, "y", &JobOutcome::Done, at(5)).await.unwrap());
    let done = &store.jobs(None).await.unwrap()[0];
    assert_eq!((&done.status, done.succeeded_at), (&JobStatus::Done, Some(at(5))));
    assert!(!store.finish_job(&id, "y", &JobOutcome::Done, at(6)).await.unwrap());
    assert!(!store.extend_claim(&JobId::new("a", "unknown"), &claim("x", 4)).await.unwrap());
}

pub(crate) async fn jobs_that_fail_are_retried_counted_and_purged(store: Arc<dyn Store>) {
    let id = JobId::new("a", "k");
    store.enqueue_job(&job("a", "k", 0), at(0)).await.unwrap();
    store.enqueue_job(&job("a", "waits", 7), at(0)).await.unwrap();
    let failed = JobOutcome::Failed { error: "no route to host\0".into(), retry: RETRY };
    store.claim_jobs(&["a"], &claim("x", 2), 1, at(0)).await.unwrap();
    store.finish_job(&id, "x", &failed, at(1)).await.unwrap();
    assert_eq!(store.claim_jobs(&["a"], &claim("x", 9), 1, at(1)).await.unwrap(), []);
    let again = store.claim_jobs(&["a"], &claim("x", 9), 1, at(2)).await.unwrap();
    assert_eq!(again[0].last_error.as_deref(), Some("no route to host\u{FFFD}"));
    store.finish_job(&id, "x", &failed, at(3)).await.unwrap();
    let counts = store.job_counts().await.unwrap();
    let counts: Vec<_> = counts
        .iter()
        .map(|count| (count.status.as_str(), count.count, count.oldest_due_at))
        .collect();
    assert_eq!(counts, [("failed", 1, at(5)), ("pending", 1, at(7))]);
    assert_eq!(store.purge_jobs(at(3)).await.unwrap(), 0);
    assert_eq!(store.purge_jobs(at(4)).await.unwrap(), 1);
    assert_eq!(store.jobs(None).await.unwrap().len(), 1, "what is pending stays");
}
