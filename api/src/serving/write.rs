//! Writing what requests left in memory: usage and answers, and when keys were last used.
//!
//! By itself, so that a store which is slow to say what changed does not hold up what was charged. It is
//! told to stop and never broken off: counts that are on their way to the store are in nobody's memory.

use std::{sync::Arc, time::Duration};

use tokio::{
    sync::oneshot,
    time::{Instant, MissedTickBehavior, interval},
};

use super::Service;

/// How often usage and answers are written: what a program that is killed loses is less than a second.
const RECORD_INTERVAL: Duration = Duration::from_millis(500);
/// How often uses of keys are written.
const KEY_USE_INTERVAL: Duration = Duration::from_secs(30);

/// Writes regularly until it is told to stop, and then all that is left.
pub async fn write_regularly(service: Arc<Service>, mut stop: oneshot::Receiver<()>) {
    let mut ticks = interval(RECORD_INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut key_use_written = Instant::now();
    loop {
        tokio::select! {
            _ = ticks.tick() => {}
            _ = &mut stop => break,
        }
        write_records(&service).await;
        if key_use_written.elapsed() >= KEY_USE_INTERVAL {
            key_use_written = Instant::now();
            write_key_use(&service).await;
        }
    }
    write_records(&service).await;
    write_key_use(&service).await;
}

/// Writes what was charged and answered and was not written yet.
async fn write_records(service: &Service) {
    if let Err(error) = service.recorder.write(&*service.store, service.clock.now()).await {
        tracing::warn!(%error, "failed to write usage and answers; they wait");
    }
}

/// Writes uses of keys that were not written yet.
async fn write_key_use(service: &Service) {
    let used = service.key_use.take();
    if used.is_empty() {
        return;
    }
    if let Err(error) = service.store.touch_keys(&used).await {
        tracing::warn!(%error, "failed to note when keys were used");
    }
}
