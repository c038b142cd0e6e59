//! Observation of chain graphs: new graphs, new blocks, and the addresses in them.

use std::{collections::BTreeMap, sync::Arc};

use assay_engine::{address::CanonicalAddress, chain::ChainId, utxo::BlockRef};
use assay_graph::Graph;
use tokio::sync::Mutex;

use super::{
    Service,
    chains::{Chains, reader::ReadError},
    invalidated_addresses::InvalidatedAddresses,
};

/// Largest number of addresses read for one step. With more, every address is invalidated.
const MAX_ADDRESSES: u32 = 100_000;

/// State of every chain at its last read.
#[derive(Debug)]
pub(super) struct ChainWatch {
    tips: Mutex<BTreeMap<ChainId, BlockRef>>,
    /// Revision of the manifests that name the sources.
    manifests: Mutex<u64>,
}

impl ChainWatch {
    /// Starts with sources from manifests of this revision.
    pub(super) fn of(manifests: u64) -> Self {
        Self { tips: Mutex::default(), manifests: Mutex::new(manifests) }
    }

    /// Reads the new blocks of all chains. A chain that cannot be read delays no other.
    pub(super) async fn refresh(&self, service: &Service) -> Result<(), ReadError> {
        let mut tips = self.tips.lock().await;
        let chains = match self.renew(service).await {
            Ok(chains) => chains,
            Err(error) => {
                // The age of key data bounds what is repeated while the store's own database is away; nothing
                // bounds it for another database.
                if service.databases.has_graph_database {
                    for (chain, _) in service.chains.load().graphs() {
                        invalidate(&mut tips, chain, service);
                    }
                }
                return Err(error);
            }
        };
        let mut outcome = Ok(());
        for (chain, graph) in chains.graphs() {
            let read = self.refresh_chain(&mut tips, chain, graph, service).await;
            if read.is_err() {
                invalidate(&mut tips, chain, service);
            }
            outcome = outcome.and(read);
        }
        outcome
    }

    /// Returns the chains that can be read, after new graphs and changed sources took effect.
    async fn renew(&self, service: &Service) -> Result<Arc<Chains>, ReadError> {
        let known = service.chains.load_full();
        let present = service.databases.graphs.chains().await?;
        let access = service.access();
        let mut manifests = self.manifests.lock().await;
        let unchanged = known.graphs().map(|(chain, _)| chain).eq(present.iter().copied())
            && *manifests == access.manifests_revision;
        let chains = if unchanged {
            known
        } else {
            let environment = service.intel().environment();
            let renewed = known.renewed(&service.databases, environment, &access.directory).await?;
            let chains = Arc::new(renewed);
            service.chains.store(Arc::clone(&chains));
            chains
        };
        *manifests = access.manifests_revision;
        Ok(chains)
    }

    /// Reads the new blocks of one chain.
    async fn refresh_chain(
        &self,
        tips: &mut BTreeMap<ChainId, BlockRef>,
        chain: ChainId,
        graph: &dyn Graph,
        service: &Service,
    ) -> Result<(), ReadError> {
        let Some(tip) = graph.tip().await? else { return Ok(()) };
        service.freshness.tip(chain, tip.block.time);
        if tips.get(&chain) == Some(&tip.block) {
            return Ok(());
        }
        let hash = hex::encode(tip.block.hash);
        match addresses_since(graph, chain, tips.get(&chain).copied()).await? {
            Some(addresses) => {
                change(service, |invalidated| invalidated.add(chain, hash, addresses.iter()));
            }
            None => change(service, |invalidated| invalidated.add_everything(chain, hash)),
        }
        tips.insert(chain, tip.block);
        Ok(())
    }
}

/// Invalidates every address of a chain: its new blocks are unknown, and no answer is repeated until they are
/// read.
fn invalidate(tips: &mut BTreeMap<ChainId, BlockRef>, chain: ChainId, service: &Service) {
    tips.remove(&chain);
    change(service, |invalidated| invalidated.add_unknown(chain));
}

/// Replaces the invalidated addresses by a changed copy. There is one writer.
fn change(service: &Service, with: impl FnOnce(&mut InvalidatedAddresses)) {
    let mut invalidated = InvalidatedAddresses::clone(&service.invalidated_addresses.load());
    with(&mut invalidated);
    service.invalidated_addresses.store(Arc::new(invalidated));
}

/// Reads the addresses in the blocks above `before`, and the roots of the clusters that these change. `None` if
/// they are unknown: the chain was not read before, blocks were rolled back, or there are too many.
async fn addresses_since(
    graph: &dyn Graph,
    chain: ChainId,
    before: Option<BlockRef>,
) -> Result<Option<Vec<CanonicalAddress>>, ReadError> {
    let Some(before) = before else { return Ok(None) };
    let same = graph.blocks(before.height, before.height).await?;
    if same.first() != Some(&before) {
        return Ok(None);
    }
    let owners = graph.touched_above(before.height, MAX_ADDRESSES).await?;
    if owners.len() >= usize::try_from(MAX_ADDRESSES).unwrap_or(usize::MAX) {
        return Ok(None);
    }
    let Some(roots) = graph.clusters_changed_above(before.height, MAX_ADDRESSES).await? else {
        return Ok(None);
    };
    Ok(Some(owners.iter().chain(&roots).filter_map(|owner| owner.address(chain)).collect()))
}
