//! Computing the ledgers of a chain anew for other ends, beside the graph.

use std::{fs::File, path::Path};

use assay_address::ChainId;

use super::{
    folders::ChainFolder,
    view::{AccountSnapshot, EmbeddedAccounts},
    writer::{AccountBlock, AccountGraphWriter},
};
use crate::{GraphError, account::AccountEnds};

/// Number of transfers that a slice books.
const SLICE: usize = 100_000;

/// The computing of a chain's ledgers for other ends, in slices. An interrupted computing goes on where it stopped, if the ends
/// are still the same.
#[derive(Debug)]
pub struct LedgerRebuild {
    folders: ChainFolder,
    chain: ChainId,
    from: u64,
    writer: AccountGraphWriter,
    /// Held as long as the ledgers are computed.
    _lock: File,
}

/// Result of a slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RebuildStep {
    /// More slices are to come; the number of blocks that were booked.
    Booked(u64),
    /// The ledgers took the place of the old ones.
    Finished,
}

impl LedgerRebuild {
    /// Begins, or resumes, the computing; `None` without a graph.
    pub(crate) fn open(
        folder: &Path,
        chain: ChainId,
        ends: &AccountEnds,
    ) -> Result<Option<Self>, GraphError> {
        let folders = ChainFolder::new(folder);
        if folders.current()?.is_none() {
            return Ok(None);
        }
        let lock = folders.lock_rebuild(chain)?;
        // Whoever held the lock before may have replaced the graph.
        let Some(from) = folders.current()? else { return Ok(None) };
        let Some(graph) = EmbeddedAccounts::open(folder, chain)? else { return Ok(None) };
        let Some(old) = graph.snapshot()? else { return Ok(None) };
        let to = from + 1;
        folders.delete_others(Some(to))?;
        let path = folders.folder(to);
        let sample = old.recorded().sample;
        let resumed = AccountGraphWriter::create(&path, chain, sample, ends);
        let is_resumed = |writer: &AccountGraphWriter| {
            let has_same_ends = writer.ends().revision() == ends.revision();
            Ok::<_, GraphError>(has_same_ends && continues(&old, writer)?)
        };
        let writer = match resumed {
            Ok(writer) if is_resumed(&writer)? => writer,
            Err(error) if error.is_busy() => return Err(error),
            // A computing for other ends, or of a branch that was replaced, or one that cannot be read.
            unusable => {
                drop(unusable);
                folders.delete(to)?;
                AccountGraphWriter::create(&path, chain, sample, ends)?
            }
        };
        Ok(Some(Self { folders, chain, from, writer, _lock: lock }))
    }

    /// Books the next slice, or, after the last one, makes the ledgers the present ones.
    ///
    /// # Errors
    ///
    /// Returns [`GraphError::Busy`] if another program appends blocks, [`GraphError::Conflict`] if the graph was replaced or
    /// rolled back meanwhile, and an error if a store fails.
    pub fn advance(&mut self) -> Result<RebuildStep, GraphError> {
        let graph = EmbeddedAccounts::open_folder(&self.folders.folder(self.from), self.chain)?;
        let old = graph.map(|graph| graph.snapshot()).transpose()?.flatten();
        let old = old.ok_or(GraphError::Conflict(self.chain))?;
        if !continues(&old, &self.writer)? {
            return Err(GraphError::Conflict(self.chain));
        }
        let next =
            self.writer.recorded().map_or(0, |recorded| recorded.tip.height.saturating_add(1));
        let mut blocks: Vec<AccountBlock> = Vec::new();
        let mut transfers = 0;
        for block in old.full_blocks(next) {
            let block = block?;
            transfers += block.transactions.iter().map(|it| it.transfers.len() + 1).sum::<usize>();
            blocks.push(block);
            if transfers >= SLICE {
                break;
            }
        }
        if blocks.is_empty() {
            return self.finish();
        }
        self.writer.append(&blocks, old.reorganizable_from(), old.verified_at())?;
        Ok(RebuildStep::Booked(blocks.len() as u64))
    }

    fn finish(&mut self) -> Result<RebuildStep, GraphError> {
        let folder = self.folders.folder(self.from);
        // No other program appends blocks from here on.
        let present = AccountGraphWriter::lock(&folder, self.chain)?;
        let is_current = self.folders.current()? == Some(self.from);
        if !is_current || !self.writer.is_in_place() {
            return Err(GraphError::Conflict(self.chain));
        }
        self.writer.note_lookalike_symbols(&present.lookalike_symbols()?)?;
        if present.recorded()? != self.writer.recorded() {
            // Blocks came meanwhile.
            return Ok(RebuildStep::Booked(0));
        }
        self.folders.set_current(self.from + 1)?;
        self.folders.delete_others(None)?;
        Ok(RebuildStep::Finished)
    }
}

/// True if the blocks of a writer are the first blocks of a graph.
fn continues(old: &AccountSnapshot, writer: &AccountGraphWriter) -> Result<bool, GraphError> {
    let Some((height, digest)) = writer.digest_of_blocks() else { return Ok(true) };
    Ok(old.digest_at(height)? == Some(digest))
}
