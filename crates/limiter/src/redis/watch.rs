//! Watching for a Redis that lost its memory.

use std::{sync::atomic::Ordering, time::Duration};

use tokio::time::{MissedTickBehavior, interval};

use super::{BUCKETS, EpochRegistry, RedisTokenStore};

/// Interval between reads of one bucket after the other. A single server that lost its memory is noticed within one
/// interval, one of several servers within 64 intervals, and sooner with more replicas.
const INTERVAL: Duration = Duration::from_millis(500);

impl RedisTokenStore {
    /// Reads one bucket after the other until the future is dropped. As soon as a bucket, or a request, shows a lost
    /// epoch, an epoch is opened in all buckets. Otherwise a bucket would notice the loss at its first request, and
    /// grant nothing in that window, however long ago the loss was.
    pub async fn watch(&self, epochs: &dyn EpochRegistry) {
        let mut ticks = interval(INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        // Replicas begin at different buckets.
        let mut bucket = u32::try_from(self.replica % u64::from(BUCKETS)).unwrap_or_default();
        loop {
            ticks.tick().await;
            bucket = (bucket + 1) % BUCKETS;
            // A server that does not respond is looked at again.
            let has_forgotten = matches!(self.open_bucket(bucket, epochs).await, Ok(true));
            if (self.forgotten.swap(false, Ordering::Relaxed) || has_forgotten)
                && let Err(error) = self.open(epochs).await
            {
                tracing::debug!(%error, "failed to open all buckets; they are looked at one by one");
            }
        }
    }
}
