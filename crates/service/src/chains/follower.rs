//! Following chains while the server runs, as `ChainSource` manifests say. In a cluster, one program for
//! each chain does that and servers leave it alone (`--feeds off`).

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use assay_chain::{
    TestNetworks,
    follow::{IngestError, IngestObserver, IngestRequest, ingest},
    location::{self, BlockLocation, Credentials},
};
use assay_engine::{chain::ChainId, facts::Environment};
use assay_graph::GraphError;
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

/// Follows all configured chains until the task is aborted.
pub async fn run(service: Arc<Service>) {
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
                task: tokio::spawn(follow(Arc::clone(&service), Arc::clone(feed))),
            });
        }
    }
}

async fn follow(service: Arc<Service>, feed: Arc<ChainFeed>) {
    let source = feed.name.as_str();
    let Ok(chain) = feed.spec.chain.parse::<ChainId>() else {
        return;
    };
    let mut wait = FIRST_WAIT;
    loop {
        let begun = Instant::now();
        match follow_once(&service, &feed.spec, chain).await {
            Err(IngestError::Graph(GraphError::Busy(_))) => {
                tracing::info!(source, %chain, "another program follows the chain: standing by");
                tokio::time::sleep(STANDBY).await;
            }
            Err(error) => {
                if begun.elapsed() > LONGEST_WAIT {
                    // It went well for a while.
                    wait = FIRST_WAIT;
                }
                let seconds = wait.as_secs();
                tracing::error!(source, %chain, %error, seconds, "following failed; trying again");
                tokio::time::sleep(wait).await;
                wait = (wait * 2).min(LONGEST_WAIT);
            }
            Ok(()) => wait = FIRST_WAIT,
        }
    }
}

async fn follow_once(
    service: &Service,
    spec: &ChainSourceSpec,
    chain: ChainId,
) -> Result<(), IngestError> {
    let location = location(spec);
    let complete = spec.start_height == 0;
    let sample = service.intel().environment() == Environment::Sample;
    let test_networks = TestNetworks::allowed_if(spec.allow_test_network || sample);
    let open = move || location::open(chain, &location, complete, test_networks);
    let opening = stage!("open_source", chain = chain.info().id).in_scope(|| on_thread(open));
    let source = opening.await.map_err(|_| IngestError::Reader)??;
    let request = IngestRequest {
        chain,
        from: Some(spec.start_height),
        to: None,
        follow: Some(POLL),
        sample,
    };
    ingest(&*service.databases.graphs, source, request, &service.clock, &Logged(chain)).await?;
    Ok(())
}

/// Location of the blocks that a manifest names.
fn location(spec: &ChainSourceSpec) -> BlockLocation {
    let credentials = spec.credentials_file.clone().map_or(Credentials::None, Credentials::File);
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
