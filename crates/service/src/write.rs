//! Writers of records that requests leave in memory: charges, kept answers, receivers, and uses of keys and limits.
//!
//! Each kind of record has a writer of its own, so that neither a slow refresh nor a backlog of answers delays charges.
//! A signal stops the writers; aborting them would lose the counts that are being written.

use std::{
    future::Future,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use assay_store::{ControlStore, ReceiverStore, StoreError, UsageStore};
use tokio::{
    sync::{oneshot, watch},
    time::sleep,
};

use super::{KeyUse, Receivers, Recorder, Service};

/// Interval of writing charges and answers: a killed program loses less than a second of them.
const RECORD_INTERVAL: Duration = Duration::from_millis(500);
/// Interval of writing uses of keys.
const KEY_USE_INTERVAL: Duration = Duration::from_secs(30);

/// Writes regularly until the signal, and then the rest.
pub async fn write_regularly(service: Arc<Service>, stop: oneshot::Receiver<()>) {
    let (stopping, stopped) = watch::channel(false);
    let store = &*service.databases.store;
    let made_at = || service.store_clock.now(service.clock.now());
    let stop = async {
        // An error means that the stop signal can no longer arrive.
        let _ = stop.await;
        stopping.send_replace(true);
    };
    tokio::join!(
        stop,
        write_charges(&service.recorder, store, made_at, stopped.clone()),
        write_answers(&service.recorder, store, stopped.clone()),
        write_receivers(&service.receivers, store, stopped.clone()),
        write_key_use(&service.key_use, store, stopped.clone()),
        write_quota_uses(&service, store, stopped.clone()),
    );
}

/// Writes charges twice a second until the signal, and then the rest.
async fn write_charges(
    recorder: &Recorder,
    store: &dyn UsageStore,
    now: impl Fn() -> jiff::Timestamp,
    stopped: watch::Receiver<bool>,
) {
    let failing = FailureLog::new("charges");
    let write = || async {
        failing.report(&recorder.write_charges(store, now()).await);
        RECORD_INTERVAL
    };
    repeatedly(stopped, write).await;
}

/// Writes answers twice a second until the signal, and then the rest.
async fn write_answers(
    recorder: &Recorder,
    store: &dyn UsageStore,
    stopped: watch::Receiver<bool>,
) {
    let failing = FailureLog::new("answers");
    let write = || async {
        let written = recorder.write_answers(store).await;
        failing.report(&written);
        if let Ok(lost @ 1..) = written {
            tracing::warn!(lost, "answers were dropped: too many were pending");
        }
        RECORD_INTERVAL
    };
    repeatedly(stopped, write).await;
}

/// Writes receivers twice a second until the signal, and then the rest.
async fn write_receivers(
    receivers: &Receivers,
    store: &dyn ReceiverStore,
    stopped: watch::Receiver<bool>,
) {
    let failing = FailureLog::new("receivers");
    let write = || async {
        failing.report(&receivers.write(store).await);
        RECORD_INTERVAL
    };
    repeatedly(stopped, write).await;
}

/// Writes uses of keys twice a minute until the signal, and then the rest; after a failure, as soon as charges.
async fn write_key_use(key_use: &KeyUse, store: &dyn ControlStore, stopped: watch::Receiver<bool>) {
    let failing = FailureLog::new("uses of keys");
    let write = || async {
        let written = key_use.write(store).await;
        failing.report(&written);
        if written.is_ok() { KEY_USE_INTERVAL } else { RECORD_INTERVAL }
    };
    repeatedly(stopped, write).await;
}

/// Writes the use of long windows twice a second until the signal, and then the rest.
async fn write_quota_uses(
    service: &Service,
    store: &dyn UsageStore,
    stopped: watch::Receiver<bool>,
) {
    let failing = FailureLog::new("uses of limits");
    let write = || async {
        failing.report(&service.quota_uses.write(&service.limiter, store).await);
        RECORD_INTERVAL
    };
    repeatedly(stopped, write).await;
}

/// Calls `write` until the signal, each time after the pause that the last call returned, and once more after that.
async fn repeatedly<F: Future<Output = Duration>>(
    mut stopped: watch::Receiver<bool>,
    write: impl Fn() -> F,
) {
    loop {
        let pause = write().await;
        tokio::select! {
            () = sleep(pause) => {}
            _ = stopped.wait_for(|stopped| *stopped) => break,
        }
    }
    write().await;
}

/// Logs the first failure to write one kind of records, and the recovery, not every failure.
struct FailureLog {
    records: &'static str,
    is_failing: AtomicBool,
}

impl FailureLog {
    const fn new(records: &'static str) -> Self {
        Self { records, is_failing: AtomicBool::new(false) }
    }

    fn report<T>(&self, outcome: &Result<T, StoreError>) {
        let records = self.records;
        let before = self.is_failing.swap(outcome.is_err(), Ordering::Relaxed);
        match outcome {
            Err(error) if !before => {
                tracing::warn!(%error, "failed to write {records}; they stay in memory");
            }
            Ok(_) if before => tracing::info!("{records} are written again"),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Mutex, atomic::AtomicUsize};

    use assay_store::checks::{CheckPage, CheckQuery};
    use assay_store::usage::{
        ChargeKey, KeptCheck, Operation, Purge, PurgeCounts, QuotaUse, UsageBatch, UsageCount,
    };
    use assay_tenancy::{
        Name,
        key::{ApiKey, KeyEnvironment, KeyId},
    };
    use async_trait::async_trait;
    use jiff::{Timestamp, civil::Date, civil::date};

    use super::*;

    /// A store that never finishes writing answers, as under a load slightly above its capacity.
    #[derive(Debug, Default)]
    struct BusyStore {
        charged: Mutex<u64>,
        writes_of_answers: AtomicUsize,
    }

    #[async_trait]
    impl UsageStore for BusyStore {
        async fn add_usage(&self, batch: &UsageBatch) -> Result<(), StoreError> {
            let count: u64 = batch.counts.iter().map(|count| count.count).sum();
            *self.charged.lock().unwrap() += count;
            Ok(())
        }

        async fn keep_checks(&self, _: &[KeptCheck]) -> Result<(), StoreError> {
            self.writes_of_answers.fetch_add(1, Ordering::Relaxed);
            std::future::pending().await
        }

        async fn usage(
            &self,
            _: Option<&Name>,
            _: Date,
            _: Date,
        ) -> Result<Vec<UsageCount>, StoreError> {
            Ok(Vec::new())
        }

        async fn kept_check(&self, _: &Name, _: &str) -> Result<Option<KeptCheck>, StoreError> {
            Ok(None)
        }

        async fn find_checks(&self, _: &Name, _: &CheckQuery) -> Result<CheckPage, StoreError> {
            Ok(CheckPage::default())
        }

        async fn purge_tenant(&self, _: &Purge) -> Result<PurgeCounts, StoreError> {
            Ok(PurgeCounts::default())
        }

        async fn purge_usage_writers(&self, _: Timestamp) -> Result<u64, StoreError> {
            Ok(0)
        }

        async fn quota_uses(&self) -> Result<Vec<QuotaUse>, StoreError> {
            Ok(Vec::new())
        }

        async fn record_quota_uses(&self, _: &[QuotaUse]) -> Result<(), StoreError> {
            Ok(())
        }

        async fn purge_quota_uses(&self, _: Timestamp) -> Result<u64, StoreError> {
            Ok(0)
        }
    }

    fn tenant() -> Name {
        "acme".parse().unwrap()
    }

    fn charged() -> ChargeKey {
        let key: KeyId = ApiKey::generate(KeyEnvironment::Live, 1, [1, 2]).id().clone();
        ChargeKey {
            tenant: tenant(),
            day: date(2026, 11, 25),
            key,
            plan: "business".parse().unwrap(),
            operation: Operation::Check,
            verdict: "allow".into(),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn charges_do_not_wait_for_answers() {
        // Given a store whose writing of answers never ends.
        let (store, recorder) = (BusyStore::default(), Recorder::new(1));
        let (stopping, stopped) = watch::channel(false);
        let writing = async {
            let now = || Timestamp::UNIX_EPOCH;
            tokio::select! {
                () = write_answers(&recorder, &store, stopped.clone()) => {}
                () = write_charges(&recorder, &store, now, stopped.clone()) => {}
            }
        };
        let requests = async {
            for round in 1..=20 {
                // When requests leave charges and answers all the time.
                let (id, made_at) = (round.to_string(), Timestamp::UNIX_EPOCH);
                let kept = KeptCheck::new(id, tenant(), made_at, "{}".into());
                recorder.record(Some(charged()), Some(kept));
                sleep(RECORD_INTERVAL * 2).await;
                // Then each charge is written within a second.
                assert_eq!(*store.charged.lock().unwrap(), round);
                assert_eq!(store.writes_of_answers.load(Ordering::Relaxed), 1);
            }
            stopping.send_replace(true);
        };
        tokio::join!(writing, requests);
    }
}
