//! Recording of batches of blocks into the graph; the batch after the next one is read while one is written.
//!
//! Blocks are recorded without what undoes them once so many blocks above them were read that no reorganization replaces them. The
//! height that a source states for its newest block is no reason: it may be that of another chain, or invented.

use assay_engine::ledger::BlockRef;
use assay_graph::MAX_REORGANIZATION_DEPTH;
use tracing::Instrument;

use super::{IngestError, UnconnectedBlock, family::IngestGraph, run::Run};
use crate::{BatchLimit, SourceBlock, SourceError};

/// Blocks that are read in a task of their own.
type Reading<G> = tokio::task::JoinHandle<Read<G>>;
/// Blocks that were read.
type Read<G> = Result<Vec<<G as IngestGraph>::Block>, IngestError>;

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
        let witness = self.witness(next, target).await?;
        let mut ahead: Option<Read<G>> = None;
        let mut pending: Option<Reading<G>> = None;
        while next <= target {
            let mut blocks = match ahead.take() {
                Some(read) => read?,
                None => self.read(next, target).await.map_err(|_| IngestError::Reader)??,
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
            let mut newest = last;
            // After a large batch nothing is read ahead, because both batches may be one large block.
            if last < target && stray.is_none() && entries <= 2 * G::BATCH_ENTRIES {
                let reading = pending.take().unwrap_or_else(|| self.read(last + 1, target));
                let read = reading.await.map_err(|_| IngestError::Reader)?;
                newest = newest_child::<G>(&blocks, read.as_deref().unwrap_or_default());
                let entries: usize =
                    read.iter().flatten().map(G::Block::entries).fold(0, usize::saturating_add);
                if (last + 1..target).contains(&newest) && entries <= 2 * G::BATCH_ENTRIES {
                    pending = Some(self.read(newest + 1, target));
                }
                ahead = Some(read);
            }
            self.record(blocks, newest.max(witness), target)?;
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

    /// Reads a batch of blocks in a task of its own.
    fn read(&self, from: u64, target: u64) -> Reading<G> {
        let (reader, most) = (self.reader.clone(), self.most(from, target));
        let reading = async move { reader.blocks(from, most).await };
        tokio::spawn(reading.in_current_span())
    }

    /// The height of the source's newest block, if its header proves work; 0 if it does not, or if the source does not have it.
    async fn witness(&self, next: u64, target: u64) -> Result<u64, IngestError> {
        if !G::HEADERS_PROVE_WORK || target.saturating_sub(next) < MAX_REORGANIZATION_DEPTH {
            return Ok(0);
        }
        let limit = BatchLimit::of_blocks(1);
        let newest = match self.reader.blocks(target, limit).await {
            // The next batch returns the error.
            Ok(blocks) => blocks.first().map(|block| block.reference().height),
            Err(IngestError::Source(_)) => None,
            Err(error) => return Err(error),
        };
        Ok(newest.filter(|height| *height == target).unwrap_or_default())
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

    /// Records a sequence of blocks in one transaction. Blocks up to the height `newest` were read.
    fn record(
        &mut self,
        blocks: Vec<G::Block>,
        newest: u64,
        target: u64,
    ) -> Result<(), IngestError> {
        let count = u64::try_from(blocks.len()).unwrap_or(u64::MAX);
        let transactions: usize = blocks.iter().map(G::Block::transactions).sum();
        let reached = blocks.last().map(|block| block.reference().height);
        let reorganizable_from = newest.saturating_sub(MAX_REORGANIZATION_DEPTH);
        self.graph.append(blocks, reorganizable_from, self.clock.now())?;
        self.report.blocks += count;
        self.report.transactions += u64::try_from(transactions).unwrap_or(u64::MAX);
        if let Some(reached) = reached {
            self.observer.reached(reached, target, count);
        }
        Ok(())
    }
}

/// The height of the newest block of a batch and the next one, as far as each block is the child of the one before.
fn newest_child<G: IngestGraph>(blocks: &[G::Block], next: &[G::Block]) -> u64 {
    let mut newest: Option<BlockRef> = blocks.last().map(G::Block::reference);
    for block in next.iter().map(G::Block::reference) {
        let is_child = |before: BlockRef| {
            before.height.checked_add(1) == Some(block.height)
                && (!states_hash(&before) || before.hash == block.parent)
        };
        if !newest.is_some_and(is_child) {
            break;
        }
        newest = Some(block);
    }
    newest.map_or(0, |block| block.height)
}

/// True for a block whose source states hashes; blocks of files have none.
pub(super) fn states_hash(block: &BlockRef) -> bool {
    block.hash != [0; 32]
}
