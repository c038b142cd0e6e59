//! The databases of an installation.

use std::sync::Arc;

use assay_chain_protocol::ChainServers;
use assay_graph::EmbeddedGraphs;
use assay_store::Store;

/// The store of control, intel and usage data, and where chains are read.
#[derive(Clone, Debug)]
pub struct Databases {
    /// Control, intel and usage data.
    pub store: Arc<dyn Store>,
    /// Chain graphs in the data directory.
    pub graphs: Arc<EmbeddedGraphs>,
    /// Chain servers, which come before graphs.
    pub chain_servers: ChainServers,
}

impl Databases {
    /// A store with graphs, without chain servers.
    #[must_use]
    pub fn without_chain_servers(store: Arc<dyn Store>, graphs: Arc<EmbeddedGraphs>) -> Self {
        Self { store, graphs, chain_servers: ChainServers::default() }
    }

    /// The same databases with chain servers.
    #[must_use]
    pub fn with_chain_servers(self, chain_servers: ChainServers) -> Self {
        Self { chain_servers, ..self }
    }

    /// Closes both once everything under way is done.
    pub async fn close(&self) {
        self.graphs.close();
        self.store.close().await;
    }
}
