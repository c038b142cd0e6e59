//! Refresh of data in memory from the store.

use std::{
    collections::HashMap,
    sync::{Arc, atomic::Ordering},
    time::{Duration, Instant},
};

use assay_intel::IntelSnapshot;
use assay_store::{
    ControlStore, Revisions, Store, StoreError,
    control::{KeyRecord, KeySet},
};
use assay_tenancy::{ManifestProblem, key::KeyId};
use tokio::{
    sync::Notify,
    time::{MissedTickBehavior, interval, sleep},
};

use super::{Access, Service, chain_watch::ChainWatch, chains::subject::ReadError};
use crate::manifests;

/// Shortest time between two refreshes, so that a storm of notifications leaves time for requests.
const PAUSE: Duration = Duration::from_millis(50);

/// Error of loading the service.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A chain could not be read.
    #[error(transparent)]
    Chain(#[from] ReadError),
    /// The stored manifests have problems.
    #[error("the stored manifests have problems: {}", join(.0))]
    Manifests(Vec<ManifestProblem>),
}

fn join(problems: &[ManifestProblem]) -> String {
    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

pub(super) async fn load_access(store: &dyn ControlStore) -> Result<Access, LoadError> {
    let control = store.control().await?;
    let directory = manifests::resolve_stored(control.manifests).map_err(LoadError::Manifests)?;
    Ok(Access {
        manifests_revision: control.manifests_revision,
        keys_revision: control.keys_revision,
        directory: Arc::new(directory),
        keys: by_id(control.keys),
    })
}

fn by_id(keys: Vec<KeyRecord>) -> HashMap<KeyId, KeyRecord> {
    keys.into_iter().map(|key| (key.id.clone(), key)).collect()
}

/// Refreshes at every interval and at once on request, with a pause after each refresh.
async fn refresh_repeatedly<F: Future<Output = ()>>(
    every: Duration,
    again: &Notify,
    mut look: impl FnMut() -> F,
) {
    let mut ticks = interval(every);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = ticks.tick() => {}
            () = again.notified() => {}
        }
        look().await;
        sleep(PAUSE).await;
    }
}

/// Time between looks whether reading beside the checks is due.
const ON_DEMAND_EVERY: Duration = Duration::from_secs(5);
/// Time limit of reading the freezes of a chain, and of reading lists of severe parties.
const ON_DEMAND_BOUND: Duration = Duration::from_mins(2);

/// A part of the data in memory that is refreshed on its own.
#[derive(Clone, Copy, Debug)]
enum RefreshedPart {
    /// Keys, manifests, lists and labels.
    Store,
    /// Chain graphs and the sources of chains.
    Graphs,
}

/// Task that reads the store's revisions and replaces data that changed.
#[derive(Debug)]
pub struct Refresher {
    service: Arc<Service>,
    every: Duration,
    chains: ChainWatch,
    chains_due: Notify,
}

impl Refresher {
    /// Returns a task that refreshes a service at every interval.
    #[must_use]
    pub fn new(service: Arc<Service>, every: Duration) -> Self {
        // Chains were loaded with the directory, which only this task replaces.
        let chains = ChainWatch::new(service.access().manifests_revision);
        Self { service, every, chains, chains_due: Notify::new() }
    }

    fn store(&self) -> &dyn Store {
        &*self.service.databases.store
    }

    /// Refreshes until the task is dropped. Chains are read concurrently with the store, so that a graph that does not
    /// answer delays neither keys nor lists.
    pub async fn run(self) {
        let look = || async {
            let outcome = self.refresh_store().await;
            self.report(RefreshedPart::Store, outcome.as_ref());
            self.chains_due.notify_one();
        };
        let chains = async {
            loop {
                self.chains_due.notified().await;
                let outcome = self.refresh_chains().await;
                self.report(RefreshedPart::Graphs, outcome.as_ref());
            }
        };
        let on_demand = async {
            loop {
                self.refresh_on_demand().await;
                sleep(ON_DEMAND_EVERY).await;
            }
        };
        let store = refresh_repeatedly(self.every, &self.service.refresh_requested, look);
        tokio::join!(store, chains, on_demand);
    }

    /// Reloads the data that changed, the store's data first.
    ///
    /// # Errors
    ///
    /// Returns an error if a database fails or the manifests do not resolve. The last valid state
    /// stays in effect.
    pub async fn refresh(&self) -> Result<(), LoadError> {
        let store = self.refresh_store().await;
        store.and(self.refresh_chains().await)
    }

    /// Reads freezes by issuers of tokens and lists of severe parties for the chains that are read on demand, as far as they are due.
    async fn refresh_on_demand(&self) {
        let chains = self.service.chains();
        for reader in chains.accounts_on_demand() {
            let now = self.service.clock.now();
            if let Err(error) = reader.refresh_freezes(ON_DEMAND_BOUND, now).await {
                tracing::warn!(%error, "failed to read freezes by issuers of tokens");
            }
            let intel = self.service.intel();
            if let Err(error) = reader.refresh_reached(ON_DEMAND_BOUND, &intel, now).await {
                tracing::warn!(%error, "failed to read lists of severe parties");
            }
        }
    }

    async fn refresh_chains(&self) -> Result<(), LoadError> {
        Ok(self.chains.refresh(&self.service).await?)
    }

    /// Reloads the parts of the store's data that changed. A problem with one part of the data does not delay the other
    /// part: a new listing takes effect even if a manifest is invalid.
    async fn refresh_store(&self) -> Result<(), LoadError> {
        let asked = Instant::now();
        let revisions = self.store().revisions().await?;
        let asked_for_time = Instant::now();
        if self.service.store_clock.is_due(asked_for_time) {
            self.service.store_clock.set(self.store().time().await?, asked_for_time);
        }
        let intel = self.refresh_intel(revisions.intel).await;
        if intel.is_ok() {
            self.service.freshness.confirm_intel(asked);
        }
        let access = self.refresh_access(revisions).await;
        if access.is_ok() {
            self.service.freshness.confirm_key_data(asked);
        }
        intel.and(access)
    }

    async fn refresh_intel(&self, generation: u64) -> Result<(), LoadError> {
        let before = self.service.intel();
        if generation != before.generation() {
            let snapshot = IntelSnapshot::load(self.store(), Some(&before)).await?;
            tracing::info!(
                generation = snapshot.generation(),
                addresses = snapshot.addresses(),
                "listings and labels reloaded"
            );
            self.service.intel.store(Arc::new(snapshot));
        }
        Ok(())
    }

    /// Reloads key data. Manifests are resolved again only if manifests changed.
    async fn refresh_access(&self, revisions: Revisions) -> Result<(), LoadError> {
        let before = self.service.access();
        if revisions.manifests != before.manifests_revision {
            let access = load_access(self.store()).await?;
            tracing::info!(revision = access.manifests_revision, "manifests and keys reloaded");
            self.service.access.store(Arc::new(access));
        } else if revisions.keys != before.keys_revision {
            let KeySet { revision, keys } = self.store().keys().await?;
            tracing::info!(revision, "keys reloaded");
            self.service.access.store(Arc::new(Access {
                manifests_revision: before.manifests_revision,
                keys_revision: revision,
                directory: Arc::clone(&before.directory),
                keys: by_id(keys),
            }));
        }
        Ok(())
    }

    /// Logs the first failure of a part and its recovery, not every failure.
    fn report(&self, part: RefreshedPart, outcome: Result<&(), &LoadError>) {
        let (flag, name) = match part {
            RefreshedPart::Store => (&self.service.store_reachable, "keys, manifests and lists"),
            RefreshedPart::Graphs => (&self.service.chains_reachable, "chains"),
        };
        let before = flag.swap(outcome.is_ok(), Ordering::Relaxed);
        match outcome {
            Err(error) if before => {
                tracing::error!(%error, "failed to reload {name}; serving what was loaded before");
            }
            Ok(()) if !before => tracing::info!("reloading {name} works again"),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{path::Path, sync::atomic::AtomicU32};

    use assay_address::ChainId;
    use assay_engine::facts::Environment;
    use assay_graph::EmbeddedGraphs;
    use assay_limiter::Limiter;
    use assay_store::SqliteStore;
    use assay_store::control::{ManifestRecord, NewKey};
    use assay_tenancy::{
        key::{ApiKey, KeyEnvironment},
        manifest::Kind,
    };
    use jiff::Timestamp;
    use serde_json::json;

    use super::*;
    use crate::chains::registry::OnDemandReader;
    use crate::{Bounds, Databases};

    /// Counts the refreshes within a second in which one is requested every millisecond.
    #[tokio::test(start_paused = true)]
    async fn a_storm_of_hints_is_looked_at_with_pauses() {
        let (again, looks) = (Notify::new(), AtomicU32::new(0));
        let look = || async {
            looks.fetch_add(1, Ordering::Relaxed);
        };
        let storm = async {
            for _ in 0..1_000 {
                again.notify_one();
                sleep(Duration::from_millis(1)).await;
            }
        };
        tokio::select! {
            () = refresh_repeatedly(Duration::from_hours(1), &again, look) => {}
            () = storm => {}
        }
        let looks = looks.into_inner();
        assert!((2..=21).contains(&looks), "{looks} looks");
    }

    fn source(chain: &str, endpoint: &str) -> ManifestRecord {
        ManifestRecord {
            kind: Kind::ChainSource,
            name: format!("{chain}-source").parse().unwrap(),
            spec: json!({ "chain": chain, "mode": "on_demand", "protocol": "esplora",
                          "endpoint": endpoint }),
        }
    }

    async fn service(folder: &Path, store: &Arc<dyn Store>) -> Arc<Service> {
        let age = Duration::from_hours(1);
        let bounds = Bounds { key_data_age: age, intel_age: age };
        let clock = assay_system::Clock::new(|| Timestamp::UNIX_EPOCH);
        let limiter = Limiter::default();
        let databases = Databases::without_chain_servers(
            Arc::clone(store),
            Arc::new(EmbeddedGraphs::new(folder)),
        );
        Service::load(databases, clock, 1 << 20, bounds, None, limiter).await.unwrap()
    }

    #[tokio::test]
    async fn a_new_key_keeps_the_directory_and_a_manifest_does_not() {
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteStore::open_or_create(folder.path(), Environment::Production).await;
        let store: Arc<dyn Store> = Arc::new(store.unwrap());
        let service = service(folder.path(), &store).await;
        let refresher = Refresher::new(Arc::clone(&service), Duration::from_secs(1));
        let first = service.access();
        let key = ApiKey::generate(KeyEnvironment::Live, 1, [1, 2]);
        let tenant = "acme".parse().unwrap();
        let new_key = NewKey { tenant, name: "back end".into(), scopes: vec![], expires_at: None };
        store.add_key(&new_key.record(&key, Timestamp::UNIX_EPOCH), None).await.unwrap();
        refresher.refresh().await.unwrap();
        let second = service.access();
        assert!(second.keys.contains_key(key.id()));
        assert!(Arc::ptr_eq(&first.directory, &second.directory), "manifests are not read again");
        let source = source("btc", "http://127.0.0.1:1/");
        store.put_manifests(&[source], &[], 0, Timestamp::UNIX_EPOCH).await.unwrap();
        refresher.refresh().await.unwrap();
        let third = service.access();
        assert!(!Arc::ptr_eq(&second.directory, &third.directory));
        assert_eq!(third.keys_revision, second.keys_revision);
    }

    #[tokio::test]
    async fn a_chain_source_is_read_that_was_applied_before_the_first_look() {
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteStore::open_or_create(folder.path(), Environment::Production).await;
        let store: Arc<dyn Store> = Arc::new(store.unwrap());
        let service = service(folder.path(), &store).await;
        let source = source("btc", "http://127.0.0.1:1/");
        store.put_manifests(&[source], &[], 0, Timestamp::UNIX_EPOCH).await.unwrap();
        let refresher = Refresher::new(Arc::clone(&service), Duration::from_secs(1));
        assert!(!service.chains().is_followed(ChainId::BTC));
        refresher.refresh().await.unwrap();
        assert!(service.chains().is_followed(ChainId::BTC));
    }

    #[tokio::test]
    async fn a_reader_on_demand_is_kept_while_its_source_is_unchanged() {
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteStore::open_or_create(folder.path(), Environment::Production).await;
        let store: Arc<dyn Store> = Arc::new(store.unwrap());
        let at = Timestamp::UNIX_EPOCH;
        let first = source("btc", "http://127.0.0.1:1/");
        store.put_manifests(&[first], &[], 0, at).await.unwrap();
        let service = service(folder.path(), &store).await;
        let refresher = Refresher::new(Arc::clone(&service), Duration::from_secs(1));
        let reader = || match service.chains().read_on_demand(ChainId::BTC) {
            Some(OnDemandReader::Coins(reader)) => Arc::clone(reader),
            other => panic!("{other:?}"),
        };
        let before = reader();
        store.put_manifests(&[source("ltc", "http://127.0.0.1:1/")], &[], 1, at).await.unwrap();
        refresher.refresh().await.unwrap();
        assert!(service.chains().is_followed("ltc".parse().unwrap()));
        assert!(Arc::ptr_eq(&before, &reader()), "what it knows stays known");
        store.put_manifests(&[source("btc", "http://127.0.0.1:2/")], &[], 2, at).await.unwrap();
        refresher.refresh().await.unwrap();
        assert!(!Arc::ptr_eq(&before, &reader()), "another place, another reader");
    }
}
