//! Graphs in PostgreSQL: one schema a chain.

use assay_engine::chain::ChainId;

use crate::{
    PostgresStore, StoreError,
    graph::{Graph, GraphWriter, Graphs, WriterOptions},
};

#[async_trait::async_trait]
impl Graphs for PostgresStore {
    async fn graph_chains(&self) -> Result<Vec<ChainId>, StoreError> {
        Ok(Vec::new())
    }

    async fn graph(&self, _: ChainId) -> Result<Option<std::sync::Arc<dyn Graph>>, StoreError> {
        Ok(None)
    }

    async fn graph_writer(
        &self,
        chain: ChainId,
        _: WriterOptions,
    ) -> Result<Box<dyn GraphWriter>, StoreError> {
        Err(StoreError::Busy(chain))
    }
}
