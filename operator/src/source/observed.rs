//! What is known of sources beside what their objects say: how their workloads do, and what the store
//! has of them.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use assay_engine::chain::ChainId;
use assay_graph::{GraphError, GraphStore};
use assay_store::{Store, StoreError};
use assay_tenancy::{Name, manifest::Kind};
use jiff::{Timestamp, tz::TimeZone};
use tokio::{sync::watch, time::sleep};

use super::DesiredSources;
use crate::{backoff, conditions::ConditionState, system};

/// How often the store is looked at. Telling of every block while a chain is ingested would be writing
/// without end.
const LOOK: Duration = Duration::from_secs(20);

/// What is known of sources.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Observed {
    /// How the workload of each does.
    pub(crate) workloads: BTreeMap<(Kind, Name), ConditionState>,
    /// What the store has of lists and label sets; `None` until it was looked at.
    pub(crate) feeds: Option<BTreeMap<String, FeedState>>,
    /// What it has of chains; `None` until it was looked at.
    pub(crate) chains: Option<BTreeMap<String, Tip>>,
}

/// What the store has of a list or label set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FeedState {
    /// When it was last obtained or confirmed unchanged.
    pub(crate) verified_at: Timestamp,
    /// When what is in force was published.
    pub(crate) published_at: Option<Timestamp>,
    /// The SHA-256 of what is in force.
    pub(crate) digest: String,
    /// How many entries are in force.
    pub(crate) entries: u64,
}

/// The newest block that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tip {
    /// Its height.
    pub(crate) height: u64,
    /// When it was made.
    pub(crate) time: Timestamp,
}

/// Looks at the store, for ever. Where it cannot be read, what was known stays.
pub(super) async fn look(
    store: Arc<dyn Store>,
    graphs: Arc<dyn GraphStore>,
    mut desired: watch::Receiver<DesiredSources>,
    known: watch::Sender<Observed>,
) {
    let mut seen = None;
    loop {
        let chains: Vec<String> =
            desired.borrow_and_update().chains.values().map(|spec| spec.chain.clone()).collect();
        match read(&*store, &*graphs, &chains, seen).await {
            Ok((revision, feeds, tips)) => {
                seen = Some(revision);
                known.send_if_modified(|known| {
                    let before = (known.feeds.clone(), known.chains.clone());
                    known.feeds = feeds.or_else(|| known.feeds.take());
                    known.chains = Some(tips);
                    before != (known.feeds.clone(), known.chains.clone())
                });
            }
            Err(error) => tracing::warn!(%error, "failed to look at what sources gave"),
        }
        tokio::select! {
            () = sleep(backoff::spread(LOOK, system::jitter())) => {}
            changed = desired.changed() => if changed.is_err() { return },
        }
    }
}

/// The databases could not be read.
#[derive(Debug, thiserror::Error)]
enum ReadError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A graph failed.
    #[error(transparent)]
    Graph(#[from] GraphError),
}

/// What the store has of lists, where that changed since the generation that was seen, and of chains.
async fn read(
    store: &dyn Store,
    graphs: &dyn GraphStore,
    chains: &[String],
    seen: Option<u64>,
) -> Result<(u64, Option<BTreeMap<String, FeedState>>, BTreeMap<String, Tip>), ReadError> {
    let mut tips = BTreeMap::new();
    for name in chains {
        let Ok(chain) = name.parse::<ChainId>() else { continue };
        let Some(graph) = graphs.graph(chain).await? else { continue };
        if let Some(tip) = graph.tip().await? {
            let tip = Tip { height: tip.block.height, time: tip.block.time };
            tips.insert(name.clone(), tip);
        }
    }
    let generation = store.revisions().await?.intel;
    if seen == Some(generation) {
        return Ok((generation, None, tips));
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
    Ok((intel.generation, Some(state.collect()), tips))
}
