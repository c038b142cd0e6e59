//! The databases of an installation.

use std::sync::Arc;

use assay_graph::GraphStore;
use assay_store::Store;

/// The store of control, intel and usage data, and the chain graphs. They may be in different databases.
#[derive(Clone, Debug)]
pub struct Databases {
    /// Control, intel and usage data.
    pub store: Arc<dyn Store>,
    /// Chain graphs.
    pub graphs: Arc<dyn GraphStore>,
    /// True if the graphs have a database of their own, which can fail without the store's.
    pub has_graph_database: bool,
}

impl Databases {
    /// The store and the graphs in one database.
    #[must_use]
    pub fn together(store: Arc<dyn Store>, graphs: Arc<dyn GraphStore>) -> Self {
        Self { store, graphs, has_graph_database: false }
    }

    /// The same store, with graphs in a database of their own.
    #[must_use]
    pub fn with_graph_database(self, graphs: Arc<dyn GraphStore>) -> Self {
        Self { graphs, has_graph_database: true, ..self }
    }

    /// Closes both once everything under way is done.
    pub async fn close(&self) {
        tokio::join!(self.store.close(), self.graphs.close());
    }
}
