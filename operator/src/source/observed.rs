//! The state of sources beside their specs: the condition of their workloads, and what the store has
//! of them.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use assay_store::{Store, StoreError};
use assay_tenancy::{Name, manifest::Kind};
use jiff::{Timestamp, tz::TimeZone};
use tokio::{sync::watch, time::sleep};

use super::DesiredSources;
use crate::{backoff, conditions::ConditionState, system};

/// The interval between reads of the store. Reporting every block during a backfill would write
/// statuses without end.
const POLL_INTERVAL: Duration = Duration::from_secs(20);

/// The state of sources beside their specs.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Observed {
    /// The condition of the workload of each source.
    pub(crate) workloads: BTreeMap<(Kind, Name), ConditionState>,
    /// The lists and label sets in the store. `None` until the store was read.
    pub(crate) feeds: Option<BTreeMap<String, FeedState>>,
    /// The newest blocks by chain. `None` until they are reported.
    pub(crate) chains: Option<BTreeMap<String, LatestBlock>>,
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

/// The newest block of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LatestBlock {
    /// Its height.
    pub(crate) height: u64,
    /// The time in its header.
    pub(crate) time: Timestamp,
}

/// Reads the store regularly until the program ends. While it cannot be read, the last state stays.
pub(super) async fn poll(
    store: Arc<dyn Store>,
    mut desired: watch::Receiver<DesiredSources>,
    observed: watch::Sender<Observed>,
) {
    let mut seen = None;
    loop {
        match read(&*store, seen).await {
            Ok((revision, feeds)) => {
                seen = Some(revision);
                observed.send_if_modified(|observed| {
                    let before = observed.feeds.clone();
                    observed.feeds = feeds.or_else(|| observed.feeds.take());
                    before != observed.feeds
                });
            }
            Err(error) => {
                tracing::warn!(%error, "failed to read the state of sources; retrying");
            }
        }
        tokio::select! {
            () = sleep(backoff::spread(POLL_INTERVAL, system::jitter())) => {}
            changed = desired.changed() => if changed.is_err() { return },
        }
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
