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
    let mut failing = false;
    loop {
        tokio::select! {
            _ = ticks.tick() => {}
            _ = &mut stop => break,
        }
        write_records(&service, &mut failing).await;
        if key_use_written.elapsed() >= KEY_USE_INTERVAL {
            key_use_written = Instant::now();
            write_key_use(&service).await;
        }
    }
    write_records(&service, &mut failing).await;
    write_key_use(&service).await;
}

/// Writes what was charged and answered and was not written yet. Logs when that begins to fail and when it
/// works again, not every time.
async fn write_records(service: &Service, failing: &mut bool) {
    let before = *failing;
    match service.recorder.write(&*service.databases.store, service.clock.now()).await {
        Err(error) => {
            *failing = true;
            if !before {
                tracing::warn!(%error, "failed to write usage and answers; they wait");
            }
        }
        Ok(lost) => {
            *failing = false;
            if before {
                tracing::info!("usage and answers are written again");
            }
            if lost > 0 {
                tracing::warn!(lost, "answers were not kept: too many waited to be written");
            }
        }
    }
}

/// Writes uses of keys that were not written yet.
async fn write_key_use(service: &Service) {
    let used = service.key_use.take();
    if used.is_empty() {
        return;
    }
    if let Err(error) = service.databases.store.record_key_use(&used).await {
        for (key, at) in &used {
            service.key_use.note(key, *at);
        }
        tracing::warn!(%error, "failed to note when keys were used; it waits");
    }
}
