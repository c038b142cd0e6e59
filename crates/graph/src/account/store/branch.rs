//! The blocks of a graph as chain servers compare them.
//!
//! Files of transfers state no hashes. The digest of all that is recorded up to a height stands for the hash of the block:
//! graphs with equal digests have the same transactions up to there.

use assay_engine::ledger::BlockRef;

use super::view::AccountSnapshot;
use crate::{GraphError, GraphTip, error::damaged};

impl AccountSnapshot {
    /// The first and the newest block.
    ///
    /// # Errors
    ///
    /// Returns an error if the store fails.
    pub fn graph_tip(&self) -> Result<GraphTip, GraphError> {
        let recorded = self.recorded();
        let height = recorded.tip.height;
        let block = self.block_reference(height)?.ok_or_else(|| damaged("block", height))?;
        let (start, sample) = (recorded.first.height, recorded.sample);
        Ok(GraphTip { start, block, verified_at: self.verified_at(), sample })
    }

    /// The block at a height, identified by the digest of everything up to it; `None` below the first recorded block and
    /// above the newest one. A height between two recorded blocks has the digest and the time of the lower one.
    ///
    /// # Errors
    ///
    /// Returns an error if the store fails.
    pub fn block_reference(&self, height: u64) -> Result<Option<BlockRef>, GraphError> {
        let recorded = self.recorded();
        if !(recorded.first.height..=recorded.tip.height).contains(&height) {
            return Ok(None);
        }
        self.with_reader(|reader| {
            let Some(block) = reader.block_up_to(height)? else { return Ok(None) };
            let below = match height.checked_sub(1) {
                Some(below) => reader.block_up_to(below)?,
                None => None,
            };
            let parent = below.map_or([0; 32], |block| block.digest);
            let time = block.block.time;
            Ok(Some(BlockRef { height, hash: block.digest, parent, time }))
        })
    }
}
