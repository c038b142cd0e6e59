//! Follower of the chains that `ChainSource` manifests name, while the server runs. In a cluster, chain servers follow
//! the chains, and API servers run with `--feeds off`.

use std::{future::ready, sync::Arc, time::Duration};

use assay_address::{ChainId, LedgerKind};
use assay_chain::{
    TestNetworks,
    follow::{FollowedChain, IngestObserver},
    location::{BlockLocation, NodeCredentials},
    stage::supervise,
    transfers::folder::TransferFolder,
};
use assay_egress::AllowedSourcePaths;
use assay_engine::facts::Environment;
use assay_graph::account::AccountEnds;
use assay_tenancy::{
    directory::ChainFeed,
    manifest::{ChainMode, ChainProtocol, ChainSourceSpec},
};

use crate::Service;

/// Interval at which the follower checks whether sources changed.
const TICK: Duration = Duration::from_secs(2);

/// Follows all configured chains until the task is aborted. `files` are the files that manifests may name.
pub async fn run(service: Arc<Service>, files: AllowedSourcePaths) {
    let wanted = || {
        let access = service.access();
        let followed =
            |feed: &ChainFeed| feed.spec.mode == ChainMode::Follow && !feed.spec.suspended;
        let feeds = access.directory.chains.iter().filter(|(_, feed)| followed(feed));
        ready(Some(feeds.map(|(chain, feed)| (chain.clone(), feed.spec.clone())).collect()))
    };
    let start = |_: &String, spec: &ChainSourceSpec| {
        follow(Arc::clone(&service), spec.clone(), files.clone())
    };
    supervise(TICK, wanted, start).await;
}

async fn follow(service: Arc<Service>, spec: ChainSourceSpec, files: AllowedSourcePaths) {
    let Ok(chain) = spec.chain.parse::<ChainId>() else {
        return;
    };
    let sample = service.intel().environment() == Environment::Sample;
    let location = match spec.protocol {
        ChainProtocol::Rpc => {
            let file = spec.credentials_file.as_deref().map(|path| files.credentials(path));
            let credentials = file.map_or(NodeCredentials::None, NodeCredentials::File);
            BlockLocation::Node { url: spec.endpoint.clone(), credentials }
        }
        ChainProtocol::Esplora => BlockLocation::Esplora(spec.endpoint.clone()),
        ChainProtocol::Transfers => {
            return follow_files(&service, (chain, sample), &spec, &files).await;
        }
        // These have histories of accounts and no blocks.
        ChainProtocol::Etherscan | ChainProtocol::Blockscout | ChainProtocol::TronGrid => return,
    };
    let ends = || account_ends(&service, chain);
    let followed = FollowedChain {
        chain,
        location,
        start: spec.start_height,
        test_networks: TestNetworks::allowed_if(spec.allow_test_network || sample),
        sample,
        accept_branch: spec.accept_branch.as_deref().and_then(block_hash),
    };
    let (graphs, clock, log) = (&service.databases.graphs, &service.clock, IngestLog(chain));
    match chain.info().ledger {
        LedgerKind::Account => followed.follow_accounts((graphs, &ends), clock, &log).await,
        LedgerKind::Utxo(_) | LedgerKind::ListsOnly => {
            let _mempool = service.databases.mempools.open(chain, &followed.location);
            followed.follow(graphs, clock, &log).await;
        }
    }
}

/// Returns the parties at which the money of an account chain ends now.
fn account_ends(service: &Service, chain: ChainId) -> AccountEnds {
    let intel = service.intel();
    let ends = intel.account_ends(chain, intel.day(service.clock.now()));
    ends.collect::<AccountEnds>().with_prices(Arc::clone(intel.prices()))
}

/// Parses the hash of a block, in hexadecimal digits.
fn block_hash(text: &str) -> Option<[u8; 32]> {
    let mut hash = [0; 32];
    hex::decode_to_slice(text, &mut hash).ok().map(|()| hash)
}

/// Records the files of transfers that are put into the folder of a manifest.
async fn follow_files(
    service: &Service,
    (chain, sample): (ChainId, bool),
    spec: &ChainSourceSpec,
    files: &AllowedSourcePaths,
) {
    let Some(folder) = spec.files_folder() else { return };
    let folder = match files.folder(folder) {
        Ok(folder) => folder,
        Err(error) => {
            tracing::error!(%chain, %error, "files of transfers are not read");
            return;
        }
    };
    let ends = || account_ends(service, chain);
    let folder = TransferFolder { chain, folder, sample };
    folder.follow(&service.databases.graphs, &ends, &IngestLog(chain)).await;
}

/// Observer that logs the notices of an ingest.
struct IngestLog(ChainId);

impl IngestObserver for IngestLog {
    fn reached(&self, height: u64, target: u64, blocks: u64) {
        tracing::debug!(chain = %self.0, height, target, blocks, "blocks ingested");
    }

    fn notice(&self, message: &str) {
        tracing::warn!(chain = %self.0, "{message}");
    }
}
