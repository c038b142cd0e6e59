//! Work that is done to its end although whoever asked for it no longer waits, so that they find it done
//! when they ask again.

use std::{future::pending, panic::resume_unwind, sync::Arc, time::Duration};

use tokio::{
    sync::{Semaphore, oneshot},
    time::sleep,
};

/// How much of it goes on at once. What is beyond is done as ever: it ends with the wait for it.
const PLACES: usize = 32;
/// Longest time that is spent on something that nobody waits for.
const LONGEST_ALONE: Duration = Duration::from_secs(30);

/// Places for work that is done to its end.
#[derive(Debug)]
pub(super) struct Finishing {
    places: Arc<Semaphore>,
    longest_alone: Duration,
}

impl Default for Finishing {
    fn default() -> Self {
        Self { places: Arc::new(Semaphore::new(PLACES)), longest_alone: LONGEST_ALONE }
    }
}

impl Finishing {
    /// What comes of `work`, which goes on where this is dropped.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> T {
        let Ok(place) = Arc::clone(&self.places).try_acquire_owned() else {
            return work.await;
        };
        let longest_alone = self.longest_alone;
        let (waits, gone) = oneshot::channel::<()>();
        let doing = async move {
            let _place = place;
            let too_long = async {
                // Its other end is dropped, never used.
                let _ = gone.await;
                sleep(longest_alone).await;
            };
            tokio::select! {
                done = work => Some(done),
                () = too_long => None,
            }
        };
        let done = assay_telemetry::request::on_task(doing).await;
        drop(waits);
        match done {
            Ok(Some(done)) => done,
            Err(error) if error.is_panic() => resume_unwind(error.into_panic()),
            // Nobody waits, or the program ends.
            Ok(None) | Err(_) => pending().await,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use tokio::{sync::Notify, task::yield_now, time::timeout};

    use super::*;

    /// Work that waits for a word, and counts itself when it is done.
    fn work(go: &Arc<Notify>, done: &Arc<AtomicUsize>) -> impl Future<Output = ()> + use<> {
        let (go, done) = (Arc::clone(go), Arc::clone(done));
        async move {
            go.notified().await;
            done.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Waits for something a moment only.
    async fn give_up(waiting: impl Future<Output = ()>) {
        assert!(timeout(Duration::from_millis(1), waiting).await.is_err());
    }

    #[tokio::test]
    async fn what_nobody_waits_for_is_done_all_the_same() {
        let (finishing, go, done) = (Finishing::default(), Arc::default(), Arc::default());
        give_up(finishing.run(work(&go, &done))).await;
        assert_eq!(finishing.places.available_permits(), PLACES - 1);
        go.notify_one();
        while finishing.places.available_permits() < PLACES {
            yield_now().await;
        }
        assert_eq!(done.load(Ordering::Relaxed), 1);
    }

    #[tokio::test]
    async fn what_takes_too_long_alone_ends() {
        let longest_alone = Duration::from_millis(1);
        let finishing = Finishing { longest_alone, ..Finishing::default() };
        let (go, done) = (Arc::default(), Arc::default());
        give_up(finishing.run(work(&go, &done))).await;
        while finishing.places.available_permits() < PLACES {
            yield_now().await;
        }
        assert_eq!(Arc::strong_count(&done), 1, "the work is dropped");
    }

    #[tokio::test]
    async fn without_a_place_work_ends_with_the_wait_for_it() {
        let (finishing, go, done) = (Finishing::default(), Arc::default(), Arc::default());
        let all = u32::try_from(PLACES).unwrap();
        let _places = finishing.places.try_acquire_many(all).unwrap();
        give_up(finishing.run(work(&go, &done))).await;
        assert_eq!(Arc::strong_count(&done), 1, "the work is dropped");
        // One that is waited for is done as ever.
        go.notify_one();
        finishing.run(work(&go, &done)).await;
        assert_eq!(done.load(Ordering::Relaxed), 1);
    }
}
