//! Watching the chains: new graphs, new blocks, and whom they touch.

use std::{collections::BTreeMap, sync::Arc};

use assay_engine::{address::CanonicalAddress, chain::ChainId, utxo::BlockRef};
use assay_graph::Graph;
use tokio::sync::Mutex;

use super::{Service, chains::reader::ReadError, touched::Touched};

/// The most addresses that are looked up for one step; where more were touched, nothing is repeated.
const MOST_TOUCHED: u32 = 100_000;

/// What was seen of every chain last.
#[derive(Debug)]
pub(super) struct ChainWatch {
    tips: Mutex<BTreeMap<ChainId, BlockRef>>,
    /// The revision of the manifests that sources were read from.
    manifests: Mutex<u64>,
}

impl ChainWatch {
    /// Watches chains whose sources were read from manifests of this revision.
    pub(super) fn of(manifests: u64) -> Self {
        Self { tips: Mutex::default(), manifests: Mutex::new(manifests) }
    }

    /// Takes note of what came in since the last time.
    pub(super) async fn refresh(&self, service: &Service) -> Result<(), ReadError> {
        let mut tips = self.tips.lock().await;
        let known = service.chains.load_full();
        let present = service.databases.graphs.chains().await?;
        let access = service.access();
        let mut manifests = self.manifests.lock().await;
        let unchanged = known.graphs().map(|(chain, _)| chain).eq(present.iter().copied())
            && *manifests == access.manifests_revision;
        let chains = if unchanged {
            known
        } else {
            let chains = Arc::new(known.renewed(&service.databases, &access.directory).await?);
            service.chains.store(Arc::clone(&chains));
            chains
        };
        *manifests = access.manifests_revision;
        for (chain, graph) in chains.graphs() {
            let seen = self.look(&mut tips, chain, graph, service).await;
            if let Err(error) = seen {
                // What came in is not known: nothing is repeated until it is.
                tips.remove(&chain);
                change(service, |touched| touched.lose(chain));
                return Err(error);
            }
        }
        Ok(())
    }

    /// Takes note of what came in on one chain.
    async fn look(
        &self,
        tips: &mut BTreeMap<ChainId, BlockRef>,
        chain: ChainId,
        graph: &dyn Graph,
        service: &Service,
    ) -> Result<(), ReadError> {
        let Some(tip) = graph.tip().await? else { return Ok(()) };
        service.confirmed.tip(chain, tip.block.time);
        if tips.get(&chain) == Some(&tip.block) {
            return Ok(());
        }
        let hash = hex::encode(tip.block.hash);
        match whom(graph, chain, tips.get(&chain).copied()).await? {
            Some(addresses) => {
                change(service, |touched| touched.add(chain, hash, addresses.iter()));
            }
            None => change(service, |touched| touched.add_everything(chain, hash)),
        }
        tips.insert(chain, tip.block);
        Ok(())
    }
}

/// Swaps in what is known of the newest blocks. There is one writer.
fn change(service: &Service, with: impl FnOnce(&mut Touched)) {
    let mut touched = Touched::clone(&service.touched.load());
    with(&mut touched);
    service.touched.store(Arc::new(touched));
}

/// Whom the blocks since `before` touched; `None` where that is not known: it was not looked before,
/// blocks were taken back, or there are too many.
async fn whom(
    graph: &dyn Graph,
    chain: ChainId,
    before: Option<BlockRef>,
) -> Result<Option<Vec<CanonicalAddress>>, ReadError> {
    let Some(before) = before else { return Ok(None) };
    let same = graph.blocks(before.height, before.height).await?;
    if same.first() != Some(&before) {
        return Ok(None);
    }
    let owners = graph.touched_above(before.height, MOST_TOUCHED).await?;
    if owners.len() >= usize::try_from(MOST_TOUCHED).unwrap_or(usize::MAX) {
        return Ok(None);
    }
    Ok(Some(owners.iter().filter_map(|owner| owner.address(chain)).collect()))
}
