//! The databases of an installation.

use std::sync::Arc;

use assay_chain_protocol::ChainServers;
use assay_egress::AllowedSourcePaths;
use assay_graph::EmbeddedGraphs;
use assay_store::Store;

use crate::chains::mempool::Mempools;

/// Databases of an installation: the store, and the sources from which chains are read.
#[derive(Clone, Debug)]
pub struct Databases {
    /// Control, intel and usage data.
    pub store: Arc<dyn Store>,
    /// Chain graphs in the data directory.
    pub graphs: Arc<EmbeddedGraphs>,
    /// Chain servers. A chain with servers is read from them and not from a graph.
    pub chain_servers: ChainServers,
    /// Unconfirmed transactions of the chains that this program follows.
    pub mempools: Mempools,
    /// Files that manifests of sources may name.
    pub files: AllowedSourcePaths,
}

impl Databases {
    /// Returns databases without chain servers.
    #[must_use]
    pub fn without_chain_servers(store: Arc<dyn Store>, graphs: Arc<EmbeddedGraphs>) -> Self {
        let (chain_servers, mempools) = (ChainServers::default(), Mempools::default());
        let files = AllowedSourcePaths::default();
        Self { store, graphs, chain_servers, mempools, files }
    }

    /// Adds chain servers.
    #[must_use]
    pub fn with_chain_servers(self, chain_servers: ChainServers) -> Self {
        Self { chain_servers, ..self }
    }

    /// Permits files that manifests of sources name.
    #[must_use]
    pub fn with_files(self, files: AllowedSourcePaths) -> Self {
        Self { files, ..self }
    }

    /// Closes the store and the graphs once all work in progress is done.
    pub async fn close(&self) {
        self.graphs.close();
        self.store.close().await;
    }
}
