//! Detached tasks: work that continues after its caller stopped waiting, so that a retry finds the result.

use std::{future::pending, panic::resume_unwind, sync::Arc, time::Duration};

use tokio::{
    sync::{Semaphore, oneshot},
    time::sleep,
};

/// Largest number of detached tasks. Further work is not detached: it ends when its caller stops waiting.
const MAX_TASKS: usize = 32;
/// Time limit for a task whose caller stopped waiting.
const DETACHED_TIMEOUT: Duration = Duration::from_secs(30);

/// Runs and bounds detached tasks.
#[derive(Debug)]
pub(super) struct DetachedTasks {
    permits: Arc<Semaphore>,
    detached_timeout: Duration,
}

impl Default for DetachedTasks {
    fn default() -> Self {
        Self { permits: Arc::new(Semaphore::new(MAX_TASKS)), detached_timeout: DETACHED_TIMEOUT }
    }
}

impl DetachedTasks {
    /// Returns the result of `work`, which continues if this future is dropped.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> T {
        let Ok(permit) = Arc::clone(&self.permits).try_acquire_owned() else {
            return work.await;
        };
        let detached_timeout = self.detached_timeout;
        let (caller, caller_gone) = oneshot::channel::<()>();
        let detached = async move {
            let _permit = permit;
            let deadline = async {
                // The sender is dropped, never used.
                let _ = caller_gone.await;
                sleep(detached_timeout).await;
            };
            tokio::select! {
                done = work => Some(done),
                () = deadline => None,
            }
        };
        let done = assay_telemetry::request::run_on_task(detached).await;
        drop(caller);
        match done {
            Ok(Some(done)) => done,
            Err(error) if error.is_panic() => resume_unwind(error.into_panic()),
            // No caller waits any more, or the program ends.
            Ok(None) | Err(_) => pending().await,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use tokio::{sync::Notify, task::yield_now, time::timeout};

    use super::*;

    /// Work that waits for `go`, and counts itself when it is done.
    fn work(go: &Arc<Notify>, done: &Arc<AtomicUsize>) -> impl Future<Output = ()> + use<> {
        let (go, done) = (Arc::clone(go), Arc::clone(done));
        async move {
            go.notified().await;
            done.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Waits for a millisecond, and gives up.
    async fn give_up(waiting: impl Future<Output = ()>) {
        assert!(timeout(Duration::from_millis(1), waiting).await.is_err());
    }

    #[tokio::test]
    async fn work_goes_on_after_its_caller_stops_waiting() {
        let (tasks, go, done) = (DetachedTasks::default(), Arc::default(), Arc::default());
        give_up(tasks.run(work(&go, &done))).await;
        assert_eq!(tasks.permits.available_permits(), MAX_TASKS - 1);
        go.notify_one();
        while tasks.permits.available_permits() < MAX_TASKS {
            yield_now().await;
        }
        assert_eq!(done.load(Ordering::Relaxed), 1);
    }

    #[tokio::test]
    async fn detached_work_ends_after_its_timeout() {
        let detached_timeout = Duration::from_millis(1);
        let tasks = DetachedTasks { detached_timeout, ..DetachedTasks::default() };
        let (go, done) = (Arc::default(), Arc::default());
        give_up(tasks.run(work(&go, &done))).await;
        while tasks.permits.available_permits() < MAX_TASKS {
            yield_now().await;
        }
        assert_eq!(Arc::strong_count(&done), 1, "the work is dropped");
    }

    #[tokio::test]
    async fn without_a_permit_work_ends_with_its_caller() {
        let (tasks, go, done) = (DetachedTasks::default(), Arc::default(), Arc::default());
        let all = u32::try_from(MAX_TASKS).unwrap();
        let _permits = tasks.permits.try_acquire_many(all).unwrap();
        give_up(tasks.run(work(&go, &done))).await;
        assert_eq!(Arc::strong_count(&done), 1, "the work is dropped");
        // Work with a waiting caller is finished.
        go.notify_one();
        tasks.run(work(&go, &done)).await;
        assert_eq!(done.load(Ordering::Relaxed), 1);
    }
}
