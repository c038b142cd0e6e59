//! Addresses in new blocks. Cached answers about these addresses are no longer valid.

use assay_address::{CanonicalAddress, ChainId};
use assay_engine::ledger::BlockRef;
use assay_graph::{Graph, GraphError};

/// Largest number of addresses read for one step. With more addresses, every address is invalidated.
const MAX_ADDRESSES: u32 = 100_000;

/// Blocks that a chain added after a known block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChainChanges {
    /// The newest block.
    pub newest: BlockRef,
    /// Addresses in the added blocks, and the roots of the clusters that these blocks changed. `None` if the addresses
    /// are unknown: the chain was not read before, blocks were rolled back, or there are too many addresses.
    pub addresses: Option<Vec<CanonicalAddress>>,
}

impl ChainChanges {
    /// Returns changes without a new block.
    pub(super) const fn nothing(newest: BlockRef) -> Self {
        Self { newest, addresses: Some(Vec::new()) }
    }

    /// Reads the changes from a graph; `None` if the graph has no blocks.
    pub(super) async fn read(
        graph: &dyn Graph,
        chain: ChainId,
        since: Option<BlockRef>,
    ) -> Result<Option<Self>, GraphError> {
        let Some(tip) = graph.tip().await? else { return Ok(None) };
        let newest = tip.block;
        if since == Some(newest) {
            return Ok(Some(Self::nothing(newest)));
        }
        let addresses = addresses_since(graph, chain, since).await?;
        Ok(Some(Self { newest, addresses }))
    }
}

async fn addresses_since(
    graph: &dyn Graph,
    chain: ChainId,
    before: Option<BlockRef>,
) -> Result<Option<Vec<CanonicalAddress>>, GraphError> {
    let Some(before) = before else { return Ok(None) };
    let same = graph.blocks(before.height, before.height).await?;
    if same.first() != Some(&before) {
        return Ok(None);
    }
    let owners = graph.owners_in_blocks_above(before.height, MAX_ADDRESSES).await?;
    if owners.len() >= usize::try_from(MAX_ADDRESSES).unwrap_or(usize::MAX) {
        return Ok(None);
    }
    let Some(roots) = graph.clusters_changed_above(before.height, MAX_ADDRESSES).await? else {
        return Ok(None);
    };
    Ok(Some(owners.iter().chain(&roots).filter_map(|owner| owner.address(chain)).collect()))
}
