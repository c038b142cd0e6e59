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
}

impl Databases {
    /// Closes both once everything under way is done.
    pub async fn close(&self) {
        tokio::join!(self.store.close(), self.graphs.close());
    }
}
