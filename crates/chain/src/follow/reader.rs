//! The block source, on threads of its own.

use std::{
    marker::PhantomData,
    sync::{Arc, Mutex, PoisonError},
};

use assay_graph::account::SourceNotes;
use assay_telemetry::request::run_on_thread;

use super::{IngestError, family::IngestSource};
use crate::{BatchLimit, SourceBlock, SourceError, TipRef};

/// Block source on threads of its own, because its calls block.
pub(super) struct Reader<S: ?Sized, B> {
    source: Arc<Mutex<Box<S>>>,
    blocks: PhantomData<fn() -> B>,
}

impl<S: ?Sized, B> Clone for Reader<S, B> {
    fn clone(&self) -> Self {
        Self { source: Arc::clone(&self.source), blocks: PhantomData }
    }
}

impl<S: IngestSource<B> + ?Sized + 'static, B: SourceBlock> Reader<S, B> {
    pub(super) fn new(source: Box<S>) -> Self {
        Self { source: Arc::new(Mutex::new(source)), blocks: PhantomData }
    }

    async fn ask<T: Send + 'static>(
        &self,
        request: impl FnOnce(&mut S) -> Result<T, SourceError> + Send + 'static,
    ) -> Result<T, IngestError> {
        let source = Arc::clone(&self.source);
        let asked = run_on_thread(move || {
            let mut source = source.lock().unwrap_or_else(PoisonError::into_inner);
            request(&mut **source)
        });
        Ok(asked.await.map_err(|_| IngestError::Reader)??)
    }

    pub(super) async fn first(&self) -> Result<u64, IngestError> {
        self.ask(S::first).await
    }

    pub(super) async fn tip(&self) -> Result<TipRef, IngestError> {
        self.ask(S::tip).await
    }

    pub(super) async fn hash_at(&self, height: u64) -> Result<Option<[u8; 32]>, IngestError> {
        self.ask(move |source| source.hash_at(height)).await
    }

    /// Asks what the source states about its blocks.
    pub(super) async fn stated(&self) -> Result<SourceNotes, IngestError> {
        self.ask(S::stated).await
    }

    /// Asks for the height of the block with a hash.
    pub(super) async fn height_of(&self, hash: [u8; 32]) -> Result<u64, IngestError> {
        self.ask(move |source| Ok(source.block(&hash)?.reference().height)).await
    }

    /// Asks for the position of the block at a height.
    pub(super) async fn origin(&self, height: u64) -> Result<Option<String>, IngestError> {
        self.ask(move |source| Ok(source.origin(height))).await
    }

    pub(super) async fn blocks(&self, from: u64, limit: BatchLimit) -> Result<Vec<B>, IngestError> {
        self.ask(move |source| source.blocks(from, limit)).await
    }
}
