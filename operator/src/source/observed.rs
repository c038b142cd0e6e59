//! The state of sources beside their specs: the condition of their workloads, and what the store has
//! of them.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use assay_store::{Store, StoreError};
use assay_tenancy::{
    Name,
    manifest::{ChainMode, Kind},
};
use futures_util::future::join_all;
use jiff::{Timestamp, tz::TimeZone};
use tokio::{sync::watch, time::sleep};

use super::{ChainClient, DesiredSources, names, state::Replicas};
use crate::{backoff, conditions::ConditionState, system};

/// The interval between reads of the store, and questions to chain servers. Reporting every block during a
/// backfill would write statuses without end.
const POLL_INTERVAL: Duration = Duration::from_secs(20);

/// The state of sources beside their specs.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Observed {
    /// The workload of each source.
    pub(crate) workloads: BTreeMap<(Kind, Name), WorkloadState>,
    /// The lists and label sets in the store. `None` until the store was read.
    pub(crate) feeds: Option<BTreeMap<String, FeedState>>,
    /// The graphs of followed chains, by source, as their chain servers last described them.
    pub(crate) chains: BTreeMap<Name, ObservedChain>,
}

impl Observed {
    /// Says whether the store never held anything of a list or label set. `None` until it was read.
    pub(super) fn is_new(&self, name: &Name) -> Option<bool> {
        Some(!self.feeds.as_ref()?.contains_key(name.as_str()))
    }

    /// The lists and label sets that were ever imported.
    pub(super) fn imported(&self) -> Option<BTreeSet<String>> {
        self.feeds.as_ref().map(|feeds| feeds.keys().cloned().collect())
    }
}

/// A list or label set in the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FeedState {
    /// Time of the last fetch, whether it changed anything or not.
    pub(crate) verified_at: Timestamp,
    /// Time of publication by the publisher.
    pub(crate) published_at: Option<Timestamp>,
    /// The SHA-256 of its content.
    pub(crate) digest: String,
    /// The number of its entries.
    pub(crate) entries: u64,
}

/// The workload of a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WorkloadState {
    /// Its condition.
    pub(crate) condition: ConditionState,
    /// The number of chain servers, if it has any.
    pub(crate) replicas: Option<Replicas>,
}

/// The graph of a chain, as its servers describe it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ObservedChain {
    /// The height of the newest block of any of them.
    pub(crate) height: u64,
    /// The time in the header of that block.
    pub(crate) time: Timestamp,
    /// The blocks that the fastest of them reads per second, while it reads earlier blocks.
    pub(crate) blocks_per_second: Option<f64>,
    /// The bytes that the graph takes on the disk of the largest of them.
    pub(crate) bytes: u64,
    /// The condition of their branches.
    pub(crate) branches: ConditionState,
}

/// Asks chain servers regularly until the program ends. While those of a chain do not answer, its last state stays.
pub(super) async fn poll_chains(
    client: &ChainClient,
    namespace: &str,
    mut desired: watch::Receiver<DesiredSources>,
    observed: watch::Sender<Observed>,
) {
    loop {
        let followed: BTreeMap<Name, String> = {
            let desired = desired.borrow_and_update();
            let chains = desired.chains.iter();
            let followed = chains.filter(|(_, spec)| spec.mode == ChainMode::Follow);
            followed.map(|(name, spec)| (name.clone(), spec.chain.clone())).collect()
        };
        let ask = async |(name, chain): (&Name, &String)| {
            let url = names::chain_servers_url(name.as_str(), namespace);
            Some((name.clone(), client.state(chain, &url).await?))
        };
        let answers: BTreeMap<Name, ObservedChain> =
            join_all(followed.iter().map(ask)).await.into_iter().flatten().collect();
        observed.send_if_modified(|observed| {
            let before = observed.chains.clone();
            observed.chains.retain(|name, _| followed.contains_key(name));
            observed.chains.extend(answers);
            before != observed.chains
        });
        tokio::select! {
            () = sleep(backoff::spread(POLL_INTERVAL, system::jitter())) => {}
            changed = desired.changed() => if changed.is_err() { return },
        }
    }
}

/// Reads the store regularly until the program ends. While it cannot be read, the last state stays.
pub(super) async fn poll_store(store: Arc<dyn Store>, observed: watch::Sender<Observed>) {
    let mut seen = None;
    loop {
        match read(&*store, seen).await {
            Ok((revision, feeds)) => {
                seen = Some(revision);
                if let Some(feeds) = feeds {
                    observed.send_if_modified(|observed| {
                        let has_changed = observed.feeds.as_ref() != Some(&feeds);
                        observed.feeds = Some(feeds);
                        has_changed
                    });
                }
            }
            Err(error) => {
                tracing::warn!(%error, "failed to read the state of sources; retrying");
            }
        }
        sleep(backoff::spread(POLL_INTERVAL, system::jitter())).await;
    }
}

/// The generation of lists, and the lists and label sets by name if it is a new one.
type Read = (u64, Option<BTreeMap<String, FeedState>>);

/// The lists in the store, unless their generation is `seen`.
async fn read(store: &dyn Store, seen: Option<u64>) -> Result<Read, StoreError> {
    let generation = store.revisions().await?.intel;
    if seen == Some(generation) {
        return Ok((generation, None));
    }
    let intel = store.intel(None).await?;
    let midnight =
        |day: jiff::civil::Date| day.to_zoned(TimeZone::UTC).ok().map(|zoned| zoned.timestamp());
    let state = intel.sources.into_iter().map(|source| {
        let state = FeedState {
            verified_at: source.fetched_at,
            published_at: source.publications.last().copied().and_then(midnight),
            digest: source.digest,
            entries: source.entries,
        };
        (source.id.as_str().to_owned(), state)
    });
    Ok((intel.generation, Some(state.collect())))
}
