//! Watch of all chains: finds new graphs, new blocks and the addresses in them.

use std::{collections::BTreeMap, sync::Arc};

use assay_address::ChainId;
use assay_chain::stage::{Stage, StageId, Target, step};
use assay_engine::ledger::BlockRef;
use futures_util::{StreamExt, stream::FuturesUnordered};
use tokio::sync::Mutex;

use super::{
    Service,
    chains::{ChainReaders, changes::ChainChanges, reader::ChainReader, subject::ReadError},
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
    /// Returns a watch that knows the sources of manifests of this revision.
    pub(super) fn new(manifests: u64) -> Self {
        Self { tips: Mutex::default(), manifests: Mutex::new(manifests) }
    }

    /// Reads the new blocks of all chains. A chain that cannot be read delays no other.
    pub(super) async fn refresh(&self, service: &Service) -> Result<(), ReadError> {
        let mut tips = self.tips.lock().await;
        let chains = match self.renew(service).await {
            Ok(chains) => chains,
            Err(error) => {
                for (chain, _) in service.chains.load().readers() {
                    tips.remove(&chain);
                    invalidate(service, chain);
                }
                return Err(error);
            }
        };
        let mut reading: FuturesUnordered<_> = chains
            .readers()
            .map(|(chain, reader)| {
                let known = tips.get(&chain).copied();
                let mut stage = Invalidation { service, chain, reader, known, read: None };
                async move {
                    let read = step(&mut stage).await;
                    (stage, read)
                }
            })
            .collect();
        let mut outcome = Ok(());
        while let Some((mut stage, read)) = reading.next().await {
            if let Err(error) = read {
                stage.known = None;
                invalidate(service, stage.chain);
                outcome = outcome.and(Err(error));
            }
            match stage.known {
                Some(known) => tips.insert(stage.chain, known),
                None => tips.remove(&stage.chain),
            };
        }
        outcome
    }

    /// Returns the readers of all chains, after adding new graphs and changed sources.
    async fn renew(&self, service: &Service) -> Result<Arc<ChainReaders>, ReadError> {
        let known = service.chains.load_full();
        let graphs = &service.databases.graphs;
        let mut with_transfers = graphs.account_chains();
        // Readers are in the order of chains too.
        with_transfers.sort_unstable();
        let present = graphs.chains();
        let access = service.access();
        let mut manifests = self.manifests.lock().await;
        let unchanged = known.with_graphs().eq(present.iter().copied())
            && known.with_transfers().eq(with_transfers)
            && *manifests == access.manifests_revision;
        let chains = if unchanged {
            known
        } else {
            let environment = service.intel().environment();
            let renewed = known.renewed(&service.databases, environment, &access.directory)?;
            let chains = Arc::new(renewed);
            service.chains.store(Arc::clone(&chains));
            chains
        };
        *manifests = access.manifests_revision;
        Ok(chains)
    }
}

/// Stage that invalidates cached answers about the addresses in new blocks. The stage's checkpoint is in memory, as the
/// answers are.
struct Invalidation<'a> {
    service: &'a Service,
    chain: ChainId,
    reader: &'a dyn ChainReader,
    /// Latest block whose addresses were invalidated.
    known: Option<BlockRef>,
    /// Changes that were read and are not applied yet.
    read: Option<ChainChanges>,
}

impl Invalidation<'_> {
    /// Invalidates the addresses of the changes that were read.
    fn apply(&mut self) {
        let (chain, Some(ChainChanges { newest, addresses })) = (self.chain, self.read.take())
        else {
            return;
        };
        let hash = hex::encode(newest.hash);
        change(self.service, |invalidated| match addresses {
            Some(addresses) => invalidated.add(chain, hash, addresses.iter()),
            None => invalidated.add_everything(chain, hash),
        });
        self.known = Some(newest);
    }
}

impl Stage for Invalidation<'_> {
    type Error = ReadError;

    fn id(&self) -> StageId {
        StageId { work: "invalidation", chain: self.chain }
    }

    async fn target(&mut self) -> Result<Target, ReadError> {
        self.read = self.reader.changes(self.known).await?;
        let Some(ChainChanges { newest, addresses }) = &self.read else {
            return Ok(Target::Reached);
        };
        self.service.freshness.set_tip(self.chain, newest.time);
        Ok(match addresses {
            _ if self.known == Some(*newest) => Target::Reached,
            Some(_) => Target::Ahead(newest.height),
            None => Target::Branched(None),
        })
    }

    async fn execute(&mut self, _to: u64) -> Result<(), ReadError> {
        self.apply();
        Ok(())
    }

    async fn unwind(&mut self, _to: Option<u64>) -> Result<(), ReadError> {
        self.apply();
        Ok(())
    }
}

/// Invalidates every answer about a chain until its new blocks can be read.
fn invalidate(service: &Service, chain: ChainId) {
    change(service, |invalidated| invalidated.add_unknown(chain));
}

/// Replaces the invalidated addresses by a changed copy. There is one writer of these addresses.
fn change(service: &Service, with: impl FnOnce(&mut InvalidatedAddresses)) {
    let mut invalidated = InvalidatedAddresses::clone(&service.invalidated_addresses.load());
    with(&mut invalidated);
    service.invalidated_addresses.store(Arc::new(invalidated));
}
