//! Reading recorded transfers in the order of the chain.

use std::{
    collections::BTreeMap,
    fs::File,
    io,
    path::{Path, PathBuf},
    sync::Arc,
    vec,
};

use assay_address::ChainId;
use assay_engine::account::{AccountAddress, AccountTransaction};

use super::{
    RecordedBlock, RecordedState,
    codec::{FrameReader, read_symbols},
    file::{FRAMES, Head, LONGEST_FRAME, SYMBOLS, read_exact, read_head, refused},
};
use crate::{GraphError, directory::file_error};

/// One committed state of the recorded transfers of a chain. Transfers that are appended later are not in it.
#[derive(Clone, Debug)]
pub struct RecordedTransfers {
    chain: ChainId,
    path: Arc<Path>,
    file: Arc<File>,
    head: Head,
}

impl RecordedTransfers {
    pub(super) fn open(path: &Path, chain: ChainId) -> Result<Option<Self>, GraphError> {
        let file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(file_error(path, error)),
        };
        let head = read_head(&file, path, chain)?;
        Ok(Some(Self { chain, path: path.into(), file: Arc::new(file), head }))
    }

    /// The chain.
    #[must_use]
    pub const fn chain(&self) -> ChainId {
        self.chain
    }

    /// Description of what is recorded.
    #[must_use]
    pub const fn state(&self) -> &RecordedState {
        &self.head.state
    }

    pub(super) const fn head(&self) -> &Head {
        &self.head
    }

    /// The transactions in the order of the chain. The iterator ends after an error.
    #[must_use]
    pub fn transactions(&self) -> RecordedTransactions {
        let transactions = Vec::new().into_iter();
        RecordedTransactions { blocks: self.blocks(), transactions }
    }

    /// Symbols of tokens by contract, where a source states the symbol of a scored asset for another contract.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be read or is damaged.
    pub fn lookalike_symbols(&self) -> Result<BTreeMap<AccountAddress, String>, GraphError> {
        let mut frames = self.blocks();
        let mut symbols = BTreeMap::new();
        while frames.position < frames.end {
            let position = frames.position;
            if let Some(bytes) = frames.frame_of(true)? {
                symbols.extend(read_symbols(&bytes).ok_or_else(|| damaged(&self.path, position))?);
            }
        }
        Ok(symbols)
    }

    /// The blocks with their transactions, in the order of the chain. The iterator ends after an error.
    #[must_use]
    pub fn blocks(&self) -> RecordedBlocks {
        RecordedBlocks::new(&self.path, Arc::clone(&self.file), FRAMES, self.head.length)
    }
}

/// Iterator over recorded blocks.
#[derive(Debug)]
pub struct RecordedBlocks {
    path: PathBuf,
    file: Arc<File>,
    position: u64,
    end: u64,
    read: vec::IntoIter<(RecordedBlock, Vec<AccountTransaction>)>,
}

impl RecordedBlocks {
    /// The blocks of the frames between two positions.
    pub(super) fn new(path: &Path, file: Arc<File>, position: u64, end: u64) -> Self {
        Self { path: path.to_owned(), file, position, end, read: Vec::new().into_iter() }
    }

    /// Reads the blocks of the next frame.
    fn frame(&mut self) -> Result<Vec<(RecordedBlock, Vec<AccountTransaction>)>, GraphError> {
        let position = self.position;
        let Some(bytes) = self.frame_of(false)? else { return Ok(Vec::new()) };
        let mut frame = FrameReader::new(&bytes);
        let mut blocks = Vec::new();
        while !frame.is_at_end() {
            let block = frame.block().ok_or_else(|| damaged(&self.path, position))?;
            blocks.push(block);
        }
        Ok(blocks)
    }

    /// Goes to the next frame, and reads it if it is one of symbols, or one of blocks.
    fn frame_of(&mut self, symbols: bool) -> Result<Option<Vec<u8>>, GraphError> {
        let position = self.position;
        let mut start = [0; 8];
        read_exact(&self.file, &self.path, &mut start, position, "frames")?;
        let [a, b, c, d, checksum @ ..] = start;
        let mark = u32::from_le_bytes([a, b, c, d]);
        let length = mark & !SYMBOLS;
        let after = position + 8 + u64::from(length);
        if length > LONGEST_FRAME || after > self.end {
            return Err(damaged(&self.path, position));
        }
        self.position = after;
        if (mark & SYMBOLS != 0) != symbols {
            return Ok(None);
        }
        let mut bytes = vec![0; usize::try_from(length).unwrap_or_default()];
        read_exact(&self.file, &self.path, &mut bytes, position + 8, "frames")?;
        if crc32fast::hash(&bytes) != u32::from_le_bytes(checksum) {
            return Err(damaged(&self.path, position));
        }
        Ok(Some(bytes))
    }
}

fn damaged(path: &Path, position: u64) -> GraphError {
    refused(path, &format!("its frame at byte {position} is damaged"))
}

impl Iterator for RecordedBlocks {
    type Item = Result<(RecordedBlock, Vec<AccountTransaction>), GraphError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(block) = self.read.next() {
                return Some(Ok(block));
            }
            if self.position >= self.end {
                return None;
            }
            match self.frame() {
                Ok(blocks) => self.read = blocks.into_iter(),
                Err(error) => {
                    self.position = self.end;
                    return Some(Err(error));
                }
            }
        }
    }
}

/// Iterator over recorded transactions.
#[derive(Debug)]
pub struct RecordedTransactions {
    blocks: RecordedBlocks,
    transactions: vec::IntoIter<AccountTransaction>,
}

impl Iterator for RecordedTransactions {
    type Item = Result<AccountTransaction, GraphError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(transaction) = self.transactions.next() {
                return Some(Ok(transaction));
            }
            match self.blocks.next()? {
                Ok((_, transactions)) => self.transactions = transactions.into_iter(),
                Err(error) => return Some(Err(error)),
            }
        }
    }
}
