//! Writing of records that requests left in memory: charges, kept answers, and uses of keys.
//!
//! It is a task of its own, so that a slow refresh does not delay charges. It is stopped by a signal and never
//! aborted: counts on their way to the database are no longer in memory.

use std::{sync::Arc, time::Duration};

use tokio::{
    sync::oneshot,
    time::{Instant, MissedTickBehavior, interval},
};

use super::Service;

/// Interval of writing charges and answers: a killed program loses less than a second of them.
const RECORD_INTERVAL: Duration = Duration::from_millis(500);
/// Interval of writing uses of keys.
const KEY_USE_INTERVAL: Duration = Duration::from_secs(30);

/// Writes regularly until it is stopped, and then the rest.
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

/// Writes pending charges and answers. Logs the first failure and the recovery, not every failure.
async fn write_records(service: &Service, failing: &mut bool) {
    let before = *failing;
    match service.recorder.write(&*service.databases.store, service.clock.now()).await {
        Err(error) => {
            *failing = true;
            if !before {
                tracing::warn!(%error, "failed to write charges and answers; they stay in memory");
            }
        }
        Ok(lost) => {
            *failing = false;
            if before {
                tracing::info!("charges and answers are written again");
            }
            if lost > 0 {
                tracing::warn!(lost, "answers were dropped: too many were pending");
            }
        }
    }
}

/// Writes pending uses of keys.
async fn write_key_use(service: &Service) {
    let used = service.key_use.take();
    if used.is_empty() {
        return;
    }
    if let Err(error) = service.databases.store.record_key_use(&used).await {
        for (key, at) in &used {
            service.key_use.note(key, *at);
        }
        tracing::warn!(%error, "failed to write uses of keys; they stay in memory");
    }
}
