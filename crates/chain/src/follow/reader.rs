//! The block source, on threads of its own.

use std::sync::{Arc, Mutex, PoisonError};

use assay_engine::utxo::Block;
use assay_telemetry::request::run_on_thread;

use super::IngestError;
use crate::{BatchLimit, BlockSource, SourceError, TipRef};

/// Block source on threads of its own, because its calls block.
#[derive(Clone)]
pub(super) struct Reader(Arc<Mutex<Box<dyn BlockSource>>>);

impl Reader {
    pub(super) fn new(source: Box<dyn BlockSource>) -> Self {
        Self(Arc::new(Mutex::new(source)))
    }

    pub(super) async fn ask<T: Send + 'static>(
        &self,
        request: impl FnOnce(&mut dyn BlockSource) -> Result<T, SourceError> + Send + 'static,
    ) -> Result<T, IngestError> {
        let source = Arc::clone(&self.0);
        let asked = run_on_thread(move || {
            let mut source = source.lock().unwrap_or_else(PoisonError::into_inner);
            request(&mut **source)
        });
        Ok(asked.await.map_err(|_| IngestError::Reader)??)
    }

    pub(super) async fn tip(&self) -> Result<TipRef, IngestError> {
        self.ask(|source| source.tip()).await
    }

    pub(super) async fn hash_at(&self, height: u64) -> Result<Option<[u8; 32]>, IngestError> {
        self.ask(move |source| source.hash_at(height)).await
    }

    pub(super) async fn blocks(
        &self,
        from: u64,
        limit: BatchLimit,
    ) -> Result<Vec<Block>, IngestError> {
        self.ask(move |source| source.blocks(from, limit)).await
    }
}
