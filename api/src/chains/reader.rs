//! The chains that can be read now.

use std::{collections::BTreeMap, sync::Arc};

use assay_engine::chain::ChainId;
use assay_store::{Store, StoreError, graph::Graph};

/// How a chain is read.
#[derive(Clone, Debug)]
pub enum ChainReader {
    /// From a graph into which its blocks were ingested.
    Graph(Arc<dyn Graph>),
}

/// Every chain that can be read.
#[derive(Clone, Debug, Default)]
pub struct Chains {
    readers: BTreeMap<ChainId, ChainReader>,
}

impl Chains {
    /// The chains that a store has graphs of.
    ///
    /// # Errors
    ///
    /// Where the store fails.
    pub async fn of(store: &dyn Store) -> Result<Self, StoreError> {
        let mut readers = BTreeMap::new();
        for chain in store.graph_chains().await? {
            if let Some(graph) = store.graph(chain).await? {
                readers.insert(chain, ChainReader::Graph(graph));
            }
        }
        Ok(Self { readers })
    }

    /// How a chain is read; `None` where it is not.
    #[must_use]
    pub fn reader(&self, chain: ChainId) -> Option<&ChainReader> {
        self.readers.get(&chain)
    }

    /// The graphs.
    pub fn graphs(&self) -> impl Iterator<Item = (ChainId, &Arc<dyn Graph>)> {
        self.readers.iter().map(|(chain, ChainReader::Graph(graph))| (*chain, graph))
    }
}
