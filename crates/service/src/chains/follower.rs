//! Following chains while the server runs, as `ChainSource` manifests say. In a cluster, chain servers do that and API
//! servers leave it alone (`--feeds off`).

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use assay_address::ChainId;
use assay_chain::{
    TestNetworks,
    follow::{IngestError, IngestObserver, IngestRequest, ingest},
    location::{self, BlockLocation, Credentials},
};
use assay_egress::SourceFiles;
use assay_engine::facts::Environment;
use assay_graph::{GraphError, GraphStore};
use assay_system::Clock;
use assay_telemetry::{request::on_thread, stage};
use assay_tenancy::{
    directory::ChainFeed,
    manifest::{ChainMode, ChainProtocol, ChainSourceSpec},
};
use tokio::{task::JoinHandle, time::Instant};

use crate::Service;

/// Interval at which the follower checks whether sources changed.
const TICK: Duration = Duration::from_secs(2);
/// Interval between two requests to a source for new blocks.
const POLL: Duration = Duration::from_secs(2);
/// First wait before a source that failed permanently is tried again...
const FIRST_WAIT: Duration = Duration::from_secs(10);
/// ...doubled each time, up to this limit: a source that returns after a long outage is found soon.
const LONGEST_WAIT: Duration = Duration::from_mins(1);
/// Wait before the next attempt while another program follows the chain.
const STANDBY: Duration = Duration::from_secs(10);

/// A task that ends with its handle.
struct Following {
    spec: ChainSourceSpec,
    task: JoinHandle<()>,
}

impl Drop for Following {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Follows all configured chains until the task is aborted. `files` are those that manifests may name.
pub async fn run(service: Arc<Service>, files: SourceFiles) {
    let mut following: BTreeMap<String, Following> = BTreeMap::new();
    let mut ticks = tokio::time::interval(TICK);
    loop {
        ticks.tick().await;
        let access = service.access();
        let wanted = |feed: &ChainFeed| feed.spec.mode == ChainMode::Follow && !feed.spec.suspended;
        let chains = &access.directory.chains;
        following.retain(|chain, running| {
            chains.get(chain).is_some_and(|feed| wanted(feed) && feed.spec == running.spec)
        });
        for (chain, feed) in chains.iter().filter(|(_, feed)| wanted(feed)) {
            following.entry(chain.clone()).or_insert_with(|| Following {
                spec: feed.spec.clone(),
                task: tokio::spawn(follow(Arc::clone(&service), Arc::clone(feed), files.clone())),
            });
        }
    }
}

async fn follow(service: Arc<Service>, feed: Arc<ChainFeed>, files: SourceFiles) {
    let Ok(chain) = feed.spec.chain.parse::<ChainId>() else {
        return;
    };
    let sample = service.intel().environment() == Environment::Sample;
    let followed = Followed {
        chain,
        location: location(&feed.spec, &files),
        start: feed.spec.start_height,
        test_networks: TestNetworks::allowed_if(feed.spec.allow_test_network || sample),
        sample,
        accept_branch: feed.spec.accept_branch.as_deref().and_then(block_hash),
    };
    followed.follow(&*service.databases.graphs, &service.clock, &Logged(chain)).await;
}

/// A chain that is followed.
#[derive(Clone, Debug)]
pub struct Followed {
    /// The chain.
    pub chain: ChainId,
    /// Where its blocks are read.
    pub location: BlockLocation,
    /// Height of the first block.
    pub start: u64,
    /// Whether blocks of test networks are accepted.
    pub test_networks: TestNetworks,
    /// True if the chain is demo data.
    pub sample: bool,
    /// A block of a branch that the operator accepts.
    pub accept_branch: Option<[u8; 32]>,
}

impl Followed {
    /// Follows the chain until the task is aborted. After a failure it tries again.
    pub async fn follow(
        &self,
        graphs: &dyn GraphStore,
        clock: &Clock,
        observer: &dyn IngestObserver,
    ) {
        let chain = self.chain;
        let mut wait = FIRST_WAIT;
        loop {
            let begun = Instant::now();
            match self.follow_once(graphs, clock, observer).await {
                Err(IngestError::Graph(GraphError::Busy(_))) => {
                    tracing::info!(%chain, "another program follows the chain: standing by");
                    tokio::time::sleep(STANDBY).await;
                }
                Err(error) => {
                    if begun.elapsed() > LONGEST_WAIT {
                        // It went well for a while.
                        wait = FIRST_WAIT;
                    }
                    let seconds = wait.as_secs();
                    tracing::error!(%chain, %error, seconds, "following failed; trying again");
                    tokio::time::sleep(wait).await;
                    wait = (wait * 2).min(LONGEST_WAIT);
                }
                Ok(()) => wait = FIRST_WAIT,
            }
        }
    }

    async fn follow_once(
        &self,
        graphs: &dyn GraphStore,
        clock: &Clock,
        observer: &dyn IngestObserver,
    ) -> Result<(), IngestError> {
        let Self { chain, start, test_networks, sample, .. } = *self;
        let (location, complete) = (self.location.clone(), start == 0);
        let open = move || location::open(chain, &location, complete, test_networks);
        let opening = stage!("open_source", chain = chain.info().id).in_scope(|| on_thread(open));
        let source = opening.await.map_err(|_| IngestError::Reader)??;
        let follow = Some(POLL);
        let request = IngestRequest {
            chain,
            from: Some(start),
            to: None,
            follow,
            sample,
            accept_branch: self.accept_branch,
        };
        ingest(graphs, source, request, clock, observer).await?;
        Ok(())
    }
}

/// The hash of a block, in hexadecimal digits.
fn block_hash(text: &str) -> Option<[u8; 32]> {
    let mut hash = [0; 32];
    hex::decode_to_slice(text, &mut hash).ok().map(|()| hash)
}

/// Location of the blocks that a manifest names.
fn location(spec: &ChainSourceSpec, files: &SourceFiles) -> BlockLocation {
    let file = spec.credentials_file.as_deref().map(|path| files.credentials(path));
    let credentials = file.map_or(Credentials::None, Credentials::File);
    match spec.protocol {
        ChainProtocol::Rpc => BlockLocation::Node { url: spec.endpoint.clone(), credentials },
        ChainProtocol::Esplora => BlockLocation::Esplora(spec.endpoint.clone()),
    }
}

/// Tells the log.
struct Logged(ChainId);

impl IngestObserver for Logged {
    fn reached(&self, height: u64, target: u64, blocks: u64) {
        tracing::debug!(chain = %self.0, height, target, blocks, "blocks ingested");
    }

    fn notice(&self, message: &str) {
        tracing::warn!(chain = %self.0, "{message}");
    }
}
