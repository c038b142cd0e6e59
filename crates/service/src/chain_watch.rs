//! Observation of chain graphs: new graphs, new blocks, and the addresses in them.

use std::{collections::BTreeMap, sync::Arc};

use assay_address::ChainId;
use assay_engine::ledger::BlockRef;
use assay_graph::GraphStore;
use futures_util::{StreamExt, stream::FuturesUnordered};
use tokio::sync::Mutex;

use super::{
    Service,
    chains::{Chains, changes::Changes, reader::ReadError},
    invalidated_addresses::InvalidatedAddresses,
};

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
                for (chain, _) in service.chains.load().readers() {
                    invalidate(&mut tips, chain, service);
                }
                return Err(error);
            }
        };
        let mut reading: FuturesUnordered<_> = chains
            .readers()
            .map(|(chain, reader)| {
                let known = tips.get(&chain).copied();
                async move { (chain, reader.changes(known).await) }
            })
            .collect();
        let mut outcome = Ok(());
        while let Some((chain, read)) = reading.next().await {
            match read {
                Ok(Some(changes)) => apply(&mut tips, chain, changes, service),
                Ok(None) => {}
                Err(error) => {
                    invalidate(&mut tips, chain, service);
                    outcome = outcome.and(Err(error));
                }
            }
        }
        outcome
    }

    /// Returns the chains that can be read, after new graphs and changed sources took effect.
    async fn renew(&self, service: &Service) -> Result<Arc<Chains>, ReadError> {
        let known = service.chains.load_full();
        let present = service.databases.graphs.chains().await?;
        let access = service.access();
        let mut manifests = self.manifests.lock().await;
        let unchanged = known.with_graphs().eq(present.iter().copied())
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
}

/// Lets the new blocks of a chain take effect.
fn apply(
    tips: &mut BTreeMap<ChainId, BlockRef>,
    chain: ChainId,
    changes: Changes,
    service: &Service,
) {
    let Changes { newest, addresses } = changes;
    service.freshness.tip(chain, newest.time);
    if tips.get(&chain) == Some(&newest) {
        return;
    }
    let hash = hex::encode(newest.hash);
    match addresses {
        Some(addresses) => {
            change(service, |invalidated| invalidated.add(chain, hash, addresses.iter()));
        }
        None => change(service, |invalidated| invalidated.add_everything(chain, hash)),
    }
    tips.insert(chain, newest);
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
