//! The ledgers of a chain for other ends: what changes is computed beside the ledgers that answer, or, where most changes, all
//! are computed anew in a second folder.

use std::{fs::File, path::Path};

use assay_address::ChainId;

use super::{
    folders::ChainFolder,
    update::{LedgerUpdate, UpdateStep},
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
    ends: AccountEnds,
    work: Work,
    /// Held as long as the ledgers are computed.
    _lock: File,
}

/// The way in which ledgers are computed.
#[derive(Debug)]
enum Work {
    /// Only ledgers that change.
    Update(Box<LedgerUpdate>),
    /// All ledgers.
    Anew(Box<Anew>),
}

/// The computing of all ledgers in a second folder.
#[derive(Debug)]
struct Anew {
    from: u64,
    writer: AccountGraphWriter,
    /// Number of transactions that are left to book.
    left: u64,
}

/// Result of a slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RebuildStep {
    /// More slices are to come; the number of transactions that were booked.
    Booked(u64),
    /// The ledgers took the place of the old ones.
    Finished,
}

impl LedgerRebuild {
    /// Begins, or resumes, the computing; `None` without a graph, or if the ledgers are for these ends already. With `is_whole`,
    /// all ledgers are computed anew.
    pub(crate) fn open(
        folder: &Path,
        chain: ChainId,
        ends: &AccountEnds,
        is_whole: bool,
    ) -> Result<Option<Self>, GraphError> {
        let folders = ChainFolder::new(folder);
        if folders.current()?.is_none() {
            return Ok(None);
        }
        let lock = folders.lock_rebuild(chain)?;
        // Another program may have replaced the graph until this one held the lock.
        let Some(current) = folders.current()? else { return Ok(None) };
        let path = folders.folder(current);
        let work = if is_whole {
            Anew::open(&folders, chain, ends)?.map(|anew| Work::Anew(Box::new(anew)))
        } else {
            LedgerUpdate::open(&path, chain, ends)?.map(|update| Work::Update(Box::new(update)))
        };
        let Some(work) = work else { return Ok(None) };
        let ends = ends.clone();
        Ok(Some(Self { folders, chain, ends, work, _lock: lock }))
    }

    /// Most transactions that are left to book, as far as the chain was known when the last slice was booked.
    #[must_use]
    pub const fn left(&self) -> u64 {
        match &self.work {
            Work::Anew(anew) => anew.left,
            Work::Update(update) => update.left(),
        }
    }

    /// Books the next slice, or, after the last one, makes the ledgers the present ones.
    ///
    /// # Errors
    ///
    /// Returns [`GraphError::Busy`] if another program appends blocks: a later call goes on. Returns
    /// [`GraphError::Conflict`] if the graph was replaced or rolled back meanwhile, and an error if a store fails: then another
    /// computing is to be opened.
    pub fn advance(&mut self) -> Result<RebuildStep, GraphError> {
        match &mut self.work {
            Work::Anew(anew) => anew.advance(&self.folders, self.chain),
            Work::Update(update) => match update.advance()? {
                UpdateStep::Booked(transactions) => Ok(RebuildStep::Booked(transactions)),
                UpdateStep::Finished => Ok(RebuildStep::Finished),
                UpdateStep::TooMany => {
                    let anew = Anew::open(&self.folders, self.chain, &self.ends)?;
                    let anew = anew.ok_or(GraphError::Conflict(self.chain))?;
                    self.work = Work::Anew(Box::new(anew));
                    Ok(RebuildStep::Booked(0))
                }
            },
        }
    }
}

impl Anew {
    /// Begins, or resumes, the computing; `None` without blocks.
    fn open(
        folders: &ChainFolder,
        chain: ChainId,
        ends: &AccountEnds,
    ) -> Result<Option<Self>, GraphError> {
        let Some(from) = folders.current()? else { return Ok(None) };
        let old = EmbeddedAccounts::open_folder(&folders.folder(from), chain)?;
        let Some(old) = old.map(|graph| graph.snapshot()).transpose()?.flatten() else {
            return Ok(None);
        };
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
        let left = transactions_left(&old, &writer);
        Ok(Some(Self { from, writer, left }))
    }

    fn advance(
        &mut self,
        folders: &ChainFolder,
        chain: ChainId,
    ) -> Result<RebuildStep, GraphError> {
        let graph = EmbeddedAccounts::open_folder(&folders.folder(self.from), chain)?;
        let old = graph.map(|graph| graph.snapshot()).transpose()?.flatten();
        let old = old.ok_or(GraphError::Conflict(chain))?;
        if !continues(&old, &self.writer)? {
            return Err(GraphError::Conflict(chain));
        }
        let next =
            self.writer.recorded().map_or(0, |recorded| recorded.tip.height.saturating_add(1));
        let mut blocks: Vec<AccountBlock> = Vec::new();
        let (mut transfers, mut transactions) = (0, 0);
        for block in old.full_blocks(next) {
            let block = block?;
            transfers += block.transactions.iter().map(|it| it.transfers.len() + 1).sum::<usize>();
            transactions += block.transactions.len() as u64;
            blocks.push(block);
            if transfers >= SLICE {
                break;
            }
        }
        if blocks.is_empty() {
            return self.finish(folders, chain);
        }
        self.writer.append(&blocks, old.reorganizable_from(), old.verified_at())?;
        self.left = transactions_left(&old, &self.writer);
        Ok(RebuildStep::Booked(transactions))
    }

    fn finish(&mut self, folders: &ChainFolder, chain: ChainId) -> Result<RebuildStep, GraphError> {
        let folder = folders.folder(self.from);
        // No other program appends blocks from here on.
        let present = AccountGraphWriter::lock(&folder, chain)?;
        let is_current = folders.current()? == Some(self.from);
        if !is_current || !self.writer.is_in_place() {
            return Err(GraphError::Conflict(chain));
        }
        self.writer.note_lookalike_symbols(&present.lookalike_symbols()?)?;
        self.writer.copy_source_notes(present.tables())?;
        if present.recorded()? != self.writer.recorded() {
            // Blocks came meanwhile.
            return Ok(RebuildStep::Booked(0));
        }
        folders.set_current(self.from + 1)?;
        folders.delete_others(None)?;
        Ok(RebuildStep::Finished)
    }
}

/// True if the blocks of a writer are the first blocks of a graph.
fn continues(old: &AccountSnapshot, writer: &AccountGraphWriter) -> Result<bool, GraphError> {
    let Some((height, digest)) = writer.digest_of_blocks() else { return Ok(true) };
    Ok(old.digest_at(height)? == Some(digest))
}

/// Number of transactions of a graph that a writer of its blocks has not recorded.
fn transactions_left(old: &AccountSnapshot, writer: &AccountGraphWriter) -> u64 {
    let recorded = writer.recorded().map_or(0, |recorded| recorded.transactions);
    old.recorded().transactions.saturating_sub(recorded)
}
