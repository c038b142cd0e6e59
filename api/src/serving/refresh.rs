//! Keeping what is in memory up to date with the store.

use std::{
    sync::{Arc, atomic::Ordering},
    time::{Duration, Instant},
};

use assay_store::{IntelSnapshot, Store, StoreError, control::ManifestRecord};
use assay_tenancy::{Problem, manifest::Document};
use tokio::time::{MissedTickBehavior, interval, timeout};

use super::{Access, Service, chain_watch::ChainWatch};
use crate::manifests;

/// Longest wait for the store to say whether anything changed.
const LONGEST_LOOK: Duration = Duration::from_secs(5);

/// Why the service could not be loaded.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The store does not answer.
    #[error("the store does not say in time whether anything changed")]
    NoAnswer,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The stored manifests have problems.
    #[error("the stored manifests have problems: {}", join(.0))]
    Manifests(Vec<Problem>),
}

fn join(problems: &[Problem]) -> String {
    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

pub(super) async fn load_access(store: &dyn Store) -> Result<Access, LoadError> {
    let control = store.control().await?;
    let documents: Vec<Document> = control.manifests.iter().map(ManifestRecord::document).collect();
    let directory = manifests::resolve(&documents).map_err(LoadError::Manifests)?.directory;
    let keys = control.keys.into_iter().map(|key| (key.id.clone(), key)).collect();
    Ok(Access { revision: control.revision, directory, keys })
}

/// Watches the store and swaps in what changed.
#[derive(Debug)]
pub struct Refresher {
    service: Arc<Service>,
    every: Duration,
    chains: ChainWatch,
}

impl Refresher {
    /// Looks at the service's store every so often.
    #[must_use]
    pub fn new(service: Arc<Service>, every: Duration) -> Self {
        Self { service, every, chains: ChainWatch::default() }
    }

    fn store(&self) -> &dyn Store {
        &*self.service.store
    }

    /// Runs until it is dropped.
    pub async fn run(self) {
        let mut ticks = interval(self.every);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                _ = ticks.tick() => {}
                () = self.service.look_again.notified() => {}
            }
            let outcome = self.refresh().await;
            self.report(&outcome);
        }
    }

    /// Reloads whatever changed. A problem with one part does not hold up the other: a new listing
    /// shows whatever is wrong with a manifest.
    ///
    /// # Errors
    ///
    /// Where the store fails or its manifests do not resolve; then the last good state stays.
    pub async fn refresh(&self) -> Result<(), LoadError> {
        let asked = Instant::now();
        // On a network that is cut, an answer that is under way would be waited for very long.
        let revisions = timeout(LONGEST_LOOK, self.store().revisions());
        let revisions = revisions.await.map_err(|_| LoadError::NoAnswer)??;
        let intel = self.refresh_intel(revisions.intel).await;
        if intel.is_ok() {
            self.service.confirmed.intel(asked);
        }
        let access = self.refresh_access(revisions.control).await;
        if access.is_ok() {
            self.service.confirmed.directory(asked);
        }
        let chains = self.chains.refresh(&self.service).await;
        intel.and(access).and(chains.map_err(LoadError::from))
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

    async fn refresh_access(&self, revision: u64) -> Result<(), LoadError> {
        if revision != self.service.access.load().revision {
            let access = load_access(self.store()).await?;
            tracing::info!(revision = access.revision, "manifests and keys reloaded");
            self.service.access.store(Arc::new(access));
        }
        Ok(())
    }

    /// Logs when the store stops answering and when it answers again, not every time.
    fn report(&self, outcome: &Result<(), LoadError>) {
        let reachable = outcome.is_ok();
        let before = self.service.store_reachable.swap(reachable, Ordering::Relaxed);
        match outcome {
            Err(error) if before => {
                tracing::error!(%error, "failed to reload; serving what was loaded before");
            }
            Ok(()) if !before => tracing::info!("reloading works again"),
            _ => {}
        }
    }
}
