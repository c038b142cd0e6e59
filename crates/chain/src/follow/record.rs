//! Recording of batches of blocks into the graph; the next batch is read while one is written.

use assay_engine::ledger::BlockRef;
use assay_graph::MAX_REORGANIZATION_DEPTH;
use tracing::Instrument;

use super::{IngestError, UnconnectedBlock, family::IngestGraph, run::Run};
use crate::{BatchLimit, SourceBlock, SourceError};

/// Largest number of blocks in one batch.
const MOST_BLOCKS: usize = 512;

impl<G: IngestGraph> Run<'_, G> {
    /// Records blocks up to `target`, and reads the next batch meanwhile. Returns an error at a block that does not
    /// follow the recorded ones.
    pub(super) async fn catch_up(
        &mut self,
        target: u64,
    ) -> Result<Option<IngestError>, IngestError> {
        let mut next = self.graph.newest().map_or(self.start, |block| block.height + 1);
        let mut pending: Option<tokio::task::JoinHandle<_>> = None;
        while next <= target {
            let mut blocks = match pending.take() {
                Some(reading) => reading.await.map_err(|_| IngestError::Reader)??,
                None => self.reader.blocks(next, self.most(next, target)).await?,
            };
            let stray = match self.cut_stray(&mut blocks) {
                Some(stray) => Some(self.name_origin(stray).await?),
                None => None,
            };
            let Some(last) = blocks.last().map(|block| block.reference().height) else {
                let none = SourceError::NoBlock { height: next, tip: next.saturating_sub(1) };
                return Ok(Some(stray.unwrap_or_else(|| none.into())));
            };
            let entries = blocks.iter().map(G::Block::entries).sum();
            self.resize(blocks.len(), entries);
            // After a large batch nothing is read ahead, because both batches may be one large block.
            if last < target && stray.is_none() && entries <= 2 * G::BATCH_ENTRIES {
                let (reader, most) = (self.reader.clone(), self.most(last + 1, target));
                let reading = async move { reader.blocks(last + 1, most).await };
                pending = Some(tokio::spawn(reading.in_current_span()));
            }
            self.record(blocks, target)?;
            if stray.is_some() {
                // The source is on another branch: the next step compares it anew.
                return Ok(stray);
            }
            next = last + 1;
        }
        Ok(None)
    }

    /// Keeps the blocks that follow the recorded ones without a gap, and returns the first block that does not.
    fn cut_stray(&self, blocks: &mut Vec<G::Block>) -> Option<UnconnectedBlock> {
        let mut before = self.graph.newest();
        for (place, block) in blocks.iter().enumerate() {
            let block = block.reference();
            let is_other = |before: &BlockRef| states_hash(before) && before.hash != block.parent;
            if let Some(recorded) = before.filter(is_other) {
                blocks.truncate(place);
                return Some(UnconnectedBlock { origin: None, block, recorded });
            }
            before = Some(block);
        }
        None
    }

    /// Returns the error of a block that does not follow the recorded blocks, with its position in the source.
    async fn name_origin(&self, stray: UnconnectedBlock) -> Result<IngestError, IngestError> {
        let height = stray.block.height;
        let origin = self.reader.origin(height).await?;
        Ok(IngestError::Unconnected(Box::new(UnconnectedBlock { origin, ..stray })))
    }

    fn most(&self, from: u64, target: u64) -> BatchLimit {
        let left = usize::try_from(target.saturating_sub(from)).unwrap_or(usize::MAX);
        let blocks = self.batch.min(left.saturating_add(1)).max(1);
        BatchLimit { blocks, entries: G::BATCH_ENTRIES }
    }

    /// Adapts the number of blocks of the next batch to the size of the last blocks.
    fn resize(&mut self, blocks: usize, entries: usize) {
        let each = (entries / blocks.max(1)).max(1);
        self.batch = (G::BATCH_ENTRIES / each).clamp(1, MOST_BLOCKS).min(self.batch * 2);
    }

    /// Records a sequence of blocks in one transaction.
    fn record(&mut self, blocks: Vec<G::Block>, target: u64) -> Result<(), IngestError> {
        let count = u64::try_from(blocks.len()).unwrap_or(u64::MAX);
        let transactions: usize = blocks.iter().map(G::Block::transactions).sum();
        let reached = blocks.last().map(|block| block.reference().height);
        let reorganizable_from = target.saturating_sub(MAX_REORGANIZATION_DEPTH);
        self.graph.append(blocks, reorganizable_from, self.clock.now())?;
        self.report.blocks += count;
        self.report.transactions += u64::try_from(transactions).unwrap_or(u64::MAX);
        if let Some(reached) = reached {
            self.observer.reached(reached, target, count);
        }
        Ok(())
    }
}

/// True for a block whose source states hashes; blocks of files have none.
pub(super) fn states_hash(block: &BlockRef) -> bool {
    block.hash != [0; 32]
}
