//! The publisher: writes the specs of all objects of manifest kinds to the store. The specs refer to each other, so
//! that the publisher checks them together and writes them in one transaction.
//!
//! A round of the publisher covers all objects; the next round follows as soon as an object changed. A manifest is
//! deleted from the store when its object is deleted while it has the operator's finalizer, or leaves the installation.
//! A merely absent object keeps its manifest, because objects are also absent while a cluster is being restored.
//! Exception: a tenant with issued keys that is absent for a whole resync interval.
//!
//! - [`fetch`]: the watches; [`stored`]: the store's content; [`build`]: its changes
//! - [`validate`]: the consistent set of objects; [`former`]: deleted tenants; [`released`]: objects that left the
//!   installation
//! - [`apply`]: finalizers and keys; [`status`]: statuses

mod apply;
mod build;
mod fetch;
mod former;
mod released;
mod status;
mod stored;
mod validate;

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
    time::Duration,
};

use assay_store::{Store, StoreError, control::KeyRecord};
use assay_telemetry::stage;
use assay_tenancy::manifest::FormerTenantSpec;
use tokio::{
    sync::watch,
    time::{Instant, sleep, sleep_until},
};
use tracing::Instrument;

use self::{
    fetch::{KindWatches, ObjectStamp, Uid, uid},
    released::ReleasedObjects,
    status::ObjectStatus,
    stored::{StoreCache, StoreReader, StoredManifests},
};
use crate::{
    api_key, backoff, in_force::ConfigurationInForce, reason::ConditionReason,
    shared::SharedContext, tracing_spans, watched::is_deleted,
};

/// The time for which a round waits for further changes after the first change.
const DEBOUNCE: Duration = Duration::from_millis(10);

/// Publishes objects to the store.
#[derive(Debug)]
pub(crate) struct Publisher {
    shared: SharedContext,
    caches: KindWatches,
    store: Arc<dyn Store>,
    stored: StoreCache<StoreReader>,
    in_force: watch::Sender<ConfigurationInForce>,
    /// The objects that left the installation.
    releases: ReleasedObjects,
    /// The last written status of each object, until the watch delivers it.
    written: HashMap<Uid, ObjectStatus>,
    /// The objects with failed writes: the number of failures, and the time of the next attempt.
    retries: BTreeMap<Uid, (u32, Instant)>,
}

/// Error of a round of the publisher, which is repeated.
#[derive(Debug, thiserror::Error)]
enum RoundError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("this operator does not hold the Lease")]
    NotLeader,
}

impl Publisher {
    /// A publisher that updates `in_force`.
    pub(crate) fn new(
        shared: SharedContext,
        store: Arc<dyn Store>,
        in_force: watch::Sender<ConfigurationInForce>,
    ) -> Self {
        Self {
            caches: KindWatches::start(&shared.client, shared.instance.clone()),
            shared,
            stored: StoreCache::new(StoreReader(Arc::clone(&store))),
            store,
            in_force,
            releases: ReleasedObjects::default(),
            written: HashMap::new(),
            retries: BTreeMap::new(),
        }
    }

    /// Publishes until the program ends.
    pub(crate) async fn run(mut self) {
        self.caches.wait_until_complete().await;
        let mut published: Option<BTreeMap<Uid, ObjectStamp>> = None;
        let mut failures = 0;
        let mut resync = Instant::now();
        loop {
            let objects = self.caches.objects();
            self.forget_written(&objects);
            let stamps = objects.stamps();
            drop(objects);
            let is_due = Instant::now() >= resync
                || self.retries.values().any(|(_, at)| *at <= Instant::now());
            if published.as_ref() != Some(&stamps) || is_due {
                if Instant::now() >= resync {
                    resync = Instant::now()
                        + backoff::with_jitter(self.shared.resync, assay_system::random_fraction());
                    self.written.clear();
                    self.stored.clear();
                    self.releases.compare_next_time();
                }
                let begun = Instant::now();
                let round = tracing_spans::trace_publication(self.round()).await;
                if round.is_err() {
                    self.stored.clear();
                    published = None;
                }
                match round {
                    Ok(()) => {
                        failures = 0;
                        published = Some(stamps);
                        self.shared.metrics.publish_seconds.observe(begun.elapsed().as_secs_f64());
                    }
                    // The store was changed meanwhile.
                    Err(RoundError::Store(StoreError::Conflict)) => continue,
                    Err(error) => {
                        tracing::warn!(%error, "failed to publish; retrying");
                        self.report_store_failure().await;
                        self.shared
                            .metrics
                            .count_failure("Publication", ConditionReason::StoreUnavailable);
                        sleep(backoff::delay(failures, assay_system::random_fraction())).await;
                        failures += 1;
                        continue;
                    }
                }
            }
            let wake = self.retries.values().map(|(_, at)| *at).chain([resync]).min();
            let wake = wake.unwrap_or(resync).min(self.next_timed_change().unwrap_or(resync));
            tokio::select! {
                () = self.caches.changed() => sleep(DEBOUNCE).await,
                () = sleep_until(wake) => published = None,
            }
        }
    }

    /// The next time at which a rate limit ends, or a deleted tenant can no longer be restored.
    fn next_timed_change(&self) -> Option<Instant> {
        let now = self.shared.clock.now();
        let in_force = self.in_force.borrow();
        let overrides = in_force.directory.tenants.values().flat_map(|tenant| &tenant.overrides);
        let former = in_force.directory.former_tenants.values();
        let times = overrides.filter_map(|change| change.until);
        let times = times.chain(former.map(FormerTenantSpec::forgotten_at));
        let next = times.filter(|time| *time > now).min()?;
        let wait = Duration::try_from(next.duration_since(now)).unwrap_or_default();
        Some(Instant::now() + wait.min(self.shared.resync))
    }

    /// Schedules a retry for an object: later after each failure.
    fn postpone(&mut self, uid: Uid) {
        let failures = self.retries.get(&uid).map_or(0, |(failures, _)| failures + 1);
        let delay = backoff::delay(failures, assay_system::random_fraction());
        self.retries.insert(uid, (failures, Instant::now() + delay));
    }

    async fn round(&mut self) -> Result<(), RoundError> {
        if !self.shared.writer.may_write() {
            return Err(RoundError::NotLeader);
        }
        let objects = self.caches.objects();
        self.releases.observe(&objects);
        if self.releases.is_comparison_due() {
            let keys = self.store.keys().await?.keys;
            self.releases.compare(&api_key::tenants_of_issued_keys(&keys), &objects);
        }
        let adding = apply::add_finalizers(&self.shared.writer, &self.caches, &objects.named);
        let finalized = adding.instrument(stage!("finalizers")).await;
        for (key, object) in &objects.named {
            if !is_deleted(object) && !finalized.contains(key) {
                self.postpone(uid(object));
            }
        }
        let now = self.shared.clock.now();
        let plan = |stored: &StoredManifests, keys: &[KeyRecord]| {
            let lapsed = apply::keys_of_expired_tenants(stored, keys, now);
            let released = self.releases.manifests_to_remove(&stored.manifests, &objects);
            let validated =
                validate::validate(&stored.manifests, &objects, &finalized, &released, now);
            let desired = validated.manifests();
            let changes = desired.map(|desired| build::changes(&stored.manifests, desired));
            let changes = changes.unwrap_or_default();
            let needs_write = !(lapsed.is_empty() && changes.is_empty());
            ((lapsed, validated, changes), needs_write)
        };
        let planning = self.stored.plan(now, plan).instrument(stage!("plan"));
        let (stored, (lapsed, mut validated, changes)) = planning.await?;
        for key in &lapsed {
            if !self.shared.writer.may_write() {
                return Err(RoundError::NotLeader);
            }
            self.store.revoke_key(key, now).await?;
        }
        if !changes.is_empty() {
            // Until the store is read again, it is unknown what it holds.
            self.stored.clear();
            self.put(&changes, &stored).instrument(stage!("apply")).await?;
        }
        drop((stored, changes));
        if let Some(in_force) = validated.take_in_force() {
            self.in_force.send_replace(in_force);
        }
        let left = self.releases.remaining_objects(&objects);
        let removing = apply::remove_finalizers(
            &self.shared.writer,
            &self.caches,
            &objects.named,
            &left,
            &validated,
        );
        let failed = removing.await;
        self.releases.forget(|key| {
            let is_failed = left.get(key).is_some_and(|object| failed.contains(&uid(object)));
            validated.is_unreferenced(key) && !is_failed
        });
        for key in failed {
            self.postpone(key);
        }
        self.write_statuses(&objects, &finalized, &validated).instrument(stage!("status")).await;
        Ok(())
    }

    /// Writes the changes to the store.
    async fn put(
        &self,
        changes: &build::StoreChanges,
        stored: &StoredManifests,
    ) -> Result<(), RoundError> {
        let build::StoreChanges { put, removed } = changes;
        if !self.shared.writer.may_write() {
            return Err(RoundError::NotLeader);
        }
        self.store.put_manifests(put, removed, stored.revision, self.shared.clock.now()).await?;
        self.shared.metrics.count_write("store");
        tracing::info!(put = put.len(), removed = removed.len(), "published");
        Ok(())
    }
}
