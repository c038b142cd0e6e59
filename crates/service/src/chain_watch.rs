//! Observation of chain graphs: new graphs, new blocks, and the addresses in them.

use std::{collections::BTreeMap, sync::Arc};

use assay_engine::{chain::ChainId, utxo::BlockRef};
use tokio::sync::Mutex;

use super::{
    Service,
    chains::{
        Chains,
        changes::Changes,
        reader::{ChainReader, ReadError},
    },
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
        let mut outcome = Ok(());
        for (chain, reader) in chains.readers() {
            let read = self.refresh_chain(&mut tips, chain, reader, service).await;
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

    /// Reads the new blocks of one chain.
    async fn refresh_chain(
        &self,
        tips: &mut BTreeMap<ChainId, BlockRef>,
        chain: ChainId,
        reader: &dyn ChainReader,
        service: &Service,
    ) -> Result<(), ReadError> {
        let known = tips.get(&chain).copied();
        let Some(Changes { newest, addresses }) = reader.changes(known).await? else {
            return Ok(());
        };
        service.freshness.tip(chain, newest.time);
        if known == Some(newest) {
            return Ok(());
        }
        let hash = hex::encode(newest.hash);
        match addresses {
            Some(addresses) => {
                change(service, |invalidated| invalidated.add(chain, hash, addresses.iter()));
            }
            None => change(service, |invalidated| invalidated.add_everything(chain, hash)),
        }
        tips.insert(chain, newest);
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
