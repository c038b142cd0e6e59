//! Everything that is a manifest on a laptop too, together, to the store: what it says is right or wrong
//! only together, and a change is one transaction.
//!
//! A round looks at everything; rounds come one after the other, as soon as something changed. Only
//! what was deleted while the operator kept it (its finalizer) goes from the store: that an object is
//! not there says nothing, as while a cluster is being restored.

mod apply;
mod build;
mod fetch;
mod former;
mod status;
mod validate;

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
    time::Duration,
};

use assay_store::{Store, StoreError};
use assay_telemetry::stage;
use assay_tenancy::manifest::FormerTenantSpec;
use kube::Client;
use tokio::{
    sync::watch,
    time::{Instant, sleep, sleep_until},
};
use tracing::Instrument;

use self::fetch::{Caches, ObjectKey, Stamp};
use crate::{
    backoff, health::Health, in_force::InForce, reason::Reason, source::Observed, system,
    tracing_spans, writer::Writer,
};

/// How long a round waits for what comes with what it was woken by.
const DEBOUNCE: Duration = Duration::from_millis(10);
/// How often everything is looked at although nothing seems to have changed.
const RESYNC: Duration = Duration::from_mins(10);

/// Publishes what the objects say.
#[derive(Debug)]
pub struct Publisher {
    caches: Caches,
    store: Arc<dyn Store>,
    writer: Writer,
    health: Health,
    in_force: watch::Sender<InForce>,
    /// What is known of sources beside what their objects say.
    observed: watch::Receiver<Observed>,
    /// What was written of each object; the watch brings it back later.
    written: HashMap<ObjectKey, status::WrittenStatus>,
    /// Objects about which nothing could be written, and when to try again.
    retries: BTreeMap<ObjectKey, (u32, Instant)>,
}

/// Why a round came to nothing.
#[derive(Debug, thiserror::Error)]
enum RoundError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("the Lease is lost")]
    NotLeader,
}

impl Publisher {
    /// A publisher that says in `in_force` what is so, and reports the state of sources as it is `observed`.
    #[must_use]
    pub(crate) fn new(
        client: &Client,
        store: Arc<dyn Store>,
        writer: Writer,
        health: Health,
        in_force: watch::Sender<InForce>,
        observed: watch::Receiver<Observed>,
    ) -> Self {
        Self {
            caches: Caches::start(client),
            store,
            writer,
            health,
            in_force,
            observed,
            written: HashMap::new(),
            retries: BTreeMap::new(),
        }
    }

    /// Publishes until the program ends.
    pub async fn run(mut self) {
        self.caches.wait_until_complete().await;
        let mut published: Option<BTreeMap<ObjectKey, Stamp>> = None;
        let mut failures = 0;
        let mut resync = Instant::now() + RESYNC;
        loop {
            let objects = self.caches.objects();
            self.forget_written(&objects);
            let stamps = fetch::stamps(&objects);
            drop(objects);
            let due = Instant::now() >= resync
                || self.retries.values().any(|(_, at)| *at <= Instant::now());
            if published.as_ref() != Some(&stamps) || due {
                if Instant::now() >= resync {
                    resync = Instant::now() + backoff::spread(RESYNC, system::jitter());
                    self.written.clear();
                }
                let begun = Instant::now();
                match tracing_spans::publishing(self.round()).await {
                    Ok(()) => {
                        failures = 0;
                        published = Some(stamps);
                        self.health.metrics.publish_seconds.observe(begun.elapsed().as_secs_f64());
                    }
                    // Somebody else changed something: look again.
                    Err(RoundError::Store(StoreError::Conflict)) => continue,
                    Err(error) => {
                        tracing::warn!(%error, "failed to publish");
                        self.report_store_failure().await;
                        self.health.metrics.failed("Publication", Reason::StoreUnavailable);
                        sleep(backoff::delay(failures, system::jitter())).await;
                        failures += 1;
                        continue;
                    }
                }
            }
            let wake = self.retries.values().map(|(_, at)| *at).chain([resync]).min();
            let wake = wake.unwrap_or(resync).min(self.next_change_in_time().unwrap_or(resync));
            tokio::select! {
                () = self.caches.changed() => sleep(DEBOUNCE).await,
                () = sleep_until(wake) => published = None,
                // It ends with the program.
                Ok(()) = self.observed.changed() => published = None,
            }
        }
    }

    /// When the next limit that holds until a time stops holding, or the next tenant that was deleted
    /// is forgotten.
    fn next_change_in_time(&self) -> Option<Instant> {
        let now = system::now();
        let in_force = self.in_force.borrow();
        let overrides = in_force.directory.tenants.values().flat_map(|tenant| &tenant.overrides);
        let former = in_force.directory.former_tenants.values();
        let times = overrides.filter_map(|change| change.until);
        let times = times.chain(former.map(FormerTenantSpec::forgotten_at));
        let next = times.filter(|time| *time > now).min()?;
        let wait = Duration::try_from(next.duration_since(now)).unwrap_or_default();
        Some(Instant::now() + wait.min(RESYNC))
    }

    /// Sees to it that an object is looked at again although nothing changes: later each time.
    fn postpone(&mut self, key: ObjectKey) {
        let failures = self.retries.get(&key).map_or(0, |(failures, _)| failures + 1);
        let delay = backoff::delay(failures, system::jitter());
        self.retries.insert(key, (failures, Instant::now() + delay));
    }

    async fn round(&mut self) -> Result<(), RoundError> {
        if !self.writer.may_write() {
            return Err(RoundError::NotLeader);
        }
        let objects = self.caches.objects();
        let adding = apply::add_finalizers(&self.writer, &self.caches, &objects);
        let finalized = adding.instrument(stage!("keep")).await;
        for (key, object) in &objects {
            if !fetch::is_deleted(object) && !finalized.contains(key) {
                self.postpone(key.clone());
            }
        }
        let now = system::now();
        // It is not kept between rounds: with many tenants it is large, and each new key changes it.
        let fetching = build::Stored::read(&*self.store);
        let mut stored = fetching.instrument(stage!("fetch")).await?;
        if apply::revoke_keys_of_expired_tenants(&*self.store, &self.writer, &stored, now).await? {
            stored = build::Stored::read(&*self.store).await?;
        }
        let mut validated = validate::validate(&stored.specs, &objects, &finalized, now);
        let specs = validated.take_specs();
        let changes = specs.map(|specs| build::changes(&stored, specs)).unwrap_or_default();
        if !changes.is_empty() {
            self.put(&changes, &stored).instrument(stage!("apply")).await?;
        }
        drop((stored, changes));
        if let Some(in_force) = validated.take_in_force() {
            self.in_force.send_replace(in_force);
        }
        for key in apply::remove_finalizers(&self.writer, &self.caches, &objects, &validated).await
        {
            self.postpone(key);
        }
        self.write_statuses(&objects, &finalized, &validated).instrument(stage!("status")).await;
        Ok(())
    }

    /// Changes the store.
    async fn put(
        &self,
        changes: &build::Changes,
        stored: &build::Stored,
    ) -> Result<(), RoundError> {
        let build::Changes { put, removed } = changes;
        let mut expected = stored.revision;
        loop {
            if !self.writer.may_write() {
                return Err(RoundError::NotLeader);
            }
            match self.store.put_manifests(put, removed, expected, system::now()).await {
                Ok(()) => break,
                // Keys count as changes too: what was found holds while the manifests are the same.
                Err(StoreError::Conflict) => {
                    let current = build::Stored::read(&*self.store).await?;
                    if current.specs != stored.specs {
                        return Err(StoreError::Conflict.into());
                    }
                    expected = current.revision;
                }
                Err(error) => return Err(error.into()),
            }
        }
        self.health.metrics.wrote("store");
        tracing::info!(put = put.len(), removed = removed.len(), "published");
        Ok(())
    }
}
