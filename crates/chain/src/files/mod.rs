//! Blocks in files: the block files of a node (`blk*.dat`), and files of one raw block.
//!
//! Nodes write blocks in the order of arrival, side branches included. All files are scanned once for the position and
//! the predecessor of each block ([`scan`], [`index`]); then blocks are read one by one, in the order of the chain with
//! the most work. Refused are files of another network, blocks that violate the chain's rules, and files without a
//! block that connects. The index takes some 50 bytes of memory for each block of any size.

mod checks;
mod frames;
mod index;
mod magic;
mod open;
mod paths;
mod scan;
mod undo;

use std::{
    io::{self, Read},
    path::{Path, PathBuf},
};

use assay_address::ChainId;
use assay_engine::{
    ledger::BlockRef,
    utxo::{Block, ScriptOwner, TxOut},
};

use self::{
    index::{Entry, Index},
    open::{BlockFile, OpenFile},
    paths::expand,
    scan::{FoundBlocks, LARGEST_BLOCK, RejectedBlock, Scanner, rejected_block},
    undo::{UndoFiles, UndoQuery},
};
pub use magic::OtherMagic;

use super::{
    BlockSource, ChainParams, SourceError, TestNetworks, TipRef,
    raw::{ExpectedBlock, Header, RawBlock, RawError, parse_block},
};

/// Options of block files as a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileOptions {
    /// True to read spent outputs from the node's undo files (`rev*.dat`) next to its block files, which is necessary
    /// unless all earlier blocks are known. Files that begin later than the chain are always read with undo files.
    pub prevouts: bool,
    /// Acceptance of test networks, with their magic numbers and easier targets.
    pub test_networks: TestNetworks,
}

impl Default for FileOptions {
    /// Returns options for main networks only, with spent outputs.
    fn default() -> Self {
        Self { prevouts: true, test_networks: TestNetworks::Refused }
    }
}

/// Block source of files.
#[derive(Debug)]
pub struct FileSource {
    chain: ChainId,
    params: &'static ChainParams,
    files: Vec<BlockFile>,
    index: Index,
    /// Height of the index's first block.
    first: u64,
    /// File of the last read.
    opened: Option<(u32, OpenFile)>,
    /// Undo files; `None` if spent outputs are not needed.
    undo: Option<UndoFiles>,
    truncated_blocks: u64,
}

impl FileSource {
    /// Indexes files and folders: of a folder, its block files, or the block files in its `blocks` folder, or, without
    /// block files, all files of the folder. Packed files are unpacked. Verifies that the blocks belong to the chain,
    /// as far as some of the blocks identify the chain.
    ///
    /// # Errors
    ///
    /// Returns an error if raw blocks of the chain are not supported; if a file cannot be read, has no blocks, or has
    /// blocks of another chain or of a refused test network; if a header violates the chain's rules; if a block's
    /// predecessor is missing among the blocks; or if the height of the blocks cannot be determined.
    pub fn open(
        chain: ChainId,
        paths: &[PathBuf],
        options: FileOptions,
    ) -> Result<Self, SourceError> {
        let unsupported = SourceError::Unsupported {
            chain,
            how: "from block files",
            instead: "read it from a node (--rpc)",
        };
        let params =
            ChainParams::for_chain(chain).filter(|params| params.reads_raw()).ok_or(unsupported)?;
        let mut files = Vec::new();
        for path in paths {
            let found = expand(path).map_err(failed(path))?;
            if found.is_empty() {
                let reason = "there is no block file (`blk*.dat`) in it, nor any other".to_owned();
                return Err(SourceError::File { path: path.clone(), reason });
            }
            files.extend(found);
        }
        let test_networks = options.test_networks;
        let mut scanner = Scanner { params, test_networks, found: FoundBlocks::default() };
        let mut contents = Vec::new();
        for (number, path) in (0..).zip(files) {
            let content = BlockFile::new(path)?;
            scanner.scan(number, &content)?;
            contents.push(content);
        }
        let mut found = scanner.found;
        let rejected = rejected_block(&mut found);
        let (index, truncated_blocks) = (Index::new(found.entries), found.truncated_blocks);
        let (files, opened, undo) = (contents, None, None);
        let mut source =
            Self { chain, params, files, index, first: 0, opened, undo, truncated_blocks };
        if let Some(RejectedBlock { entry, error }) = rejected {
            return Err(SourceError::Raw { origin: source.position(&entry), source: error });
        }
        source.check_connected()?;
        source.first = source.find_first_height(paths)?;
        if options.prevouts || source.first > 0 {
            source.undo = Some(UndoFiles::new(params));
        }
        source.check_chain(test_networks)?;
        Ok(source)
    }

    /// Returns the number of blocks in the files that are not on the chain: side branches, and blocks that a node
    /// received before their predecessors.
    #[must_use]
    pub const fn orphaned_blocks(&self) -> u64 {
        self.index.orphaned_blocks()
    }

    /// Returns the number of blocks that are incomplete at the end of their file, as a running node leaves them.
    #[must_use]
    pub const fn truncated_blocks(&self) -> u64 {
        self.truncated_blocks
    }

    /// Returns the height of the first block of the index.
    #[must_use]
    pub const fn first_height(&self) -> u64 {
        self.first
    }

    /// Determines the height of the first block: 0 if the block has no parent, otherwise from the coinbase of the block
    /// or of a successor.
    fn find_first_height(&mut self, paths: &[PathBuf]) -> Result<u64, SourceError> {
        let mut unknown = None;
        for (distance, place) in (0_u64..).zip(0..self.index.len()) {
            let Some(entry) = self.index.get(place) else { break };
            if distance == 0 && entry.is_first() {
                return Ok(0);
            }
            let bytes = self.bytes(&entry, entry.length)?;
            let block = self.parse(&entry, &bytes)?;
            match block.height().and_then(|height| height.checked_sub(distance)) {
                Some(height) => return Ok(height),
                None => unknown = unknown.or(Some((entry, block.hash))),
            }
        }
        Err(match unknown {
            Some((entry, hash)) => SourceError::Raw {
                origin: self.position(&entry),
                source: RawError::Height { hash: hex::encode(hash) },
            },
            None => SourceError::File {
                path: paths.first().cloned().unwrap_or_default(),
                reason: format!("there is no block of {} in it", self.chain.info().name),
            },
        })
    }

    fn position(&self, entry: &Entry) -> String {
        let path = self.files.get(entry.file as usize).map(|content| content.path().display());
        let path = path.map(|path| path.to_string()).unwrap_or_default();
        format!("{path}, from byte {}", entry.offset)
    }

    /// Reads the first bytes of a block.
    fn bytes(&mut self, entry: &Entry, count: u32) -> Result<Vec<u8>, SourceError> {
        let content = self.files.get(entry.file as usize);
        let Some(content) = content else { return Ok(Vec::new()) };
        let path = content.path().to_owned();
        let opened = match self.opened.take() {
            Some((file, opened)) if file == entry.file => opened,
            _ => content.open().map_err(failed(&path))?,
        };
        let (_, opened) = self.opened.insert((entry.file, opened));
        opened.bytes(entry.offset, count).map_err(failed(&path))
    }

    fn parse<'a>(&self, entry: &Entry, bytes: &'a [u8]) -> Result<RawBlock<'a>, SourceError> {
        RawBlock::parse(bytes, self.params, None)
            .map_err(|source| SourceError::Raw { origin: self.position(entry), source })
    }

    fn entry(&self, height: u64) -> Option<Entry> {
        self.index.get(usize::try_from(height.checked_sub(self.first)?).ok()?)
    }

    fn header(&mut self, entry: &Entry) -> Result<Header, SourceError> {
        let length = u32::try_from(Header::LENGTH).unwrap_or_default();
        let bytes = self.bytes(entry, length)?;
        Header::parse(&bytes)
            .map_err(|source| SourceError::Raw { origin: self.position(entry), source })
    }

    fn read(&mut self, entry: &Entry, height: u64) -> Result<Block, SourceError> {
        let bytes = self.bytes(entry, entry.length)?;
        let block = self.parse(entry, &bytes)?;
        if index::short_hash(&block.hash) != entry.id {
            let origin = self.position(entry);
            let (found, wanted) = (hex::encode(block.hash), "the one that was there before".into());
            return Err(SourceError::Raw {
                origin,
                source: RawError::OtherBlock { found, wanted },
            });
        }
        let mut block = block
            .into_block(self.chain, Some(height))
            .map_err(|source| SourceError::Raw { origin: self.position(entry), source })?;
        self.add_spent(entry, &mut block)?;
        Ok(block)
    }

    /// Adds the outputs that a block spends, if the undo files have a record of the block.
    fn add_spent(&mut self, entry: &Entry, block: &mut Block) -> Result<(), SourceError> {
        let (Some(undo), Some(content)) = (&mut self.undo, self.files.get(entry.file as usize))
        else {
            return Ok(());
        };
        let Some((_, payments)) = block.transactions.split_first_mut() else { return Ok(()) };
        let inputs: Vec<usize> = payments.iter().map(|payment| payment.inputs.len()).collect();
        if inputs.is_empty() {
            return Ok(());
        }
        let BlockRef { hash, parent, .. } = block.reference;
        let file = (entry.file, content.path());
        let spent = undo.spent(UndoQuery { file, hash, parent, inputs: &inputs })?;
        let inputs = payments.iter_mut().flat_map(|payment| &mut payment.inputs);
        for (input, output) in inputs.zip(spent.into_iter().flatten().flatten()) {
            let owner = ScriptOwner::from_script(self.chain, &output.script);
            input.spent = Some(TxOut { owner, value: output.value });
        }
        Ok(())
    }

    fn tip_height(&self) -> u64 {
        let length = u64::try_from(self.index.len()).unwrap_or_default();
        (self.first + length).saturating_sub(1)
    }
}

impl BlockSource for FileSource {
    fn first(&mut self) -> Result<u64, SourceError> {
        Ok(self.first)
    }

    fn tip(&mut self) -> Result<TipRef, SourceError> {
        let height = self.tip_height();
        match self.hash_at(height)? {
            Some(hash) => Ok(TipRef { height, hash }),
            None => Err(SourceError::NoBlock { height, tip: height }),
        }
    }

    fn hash_at(&mut self, height: u64) -> Result<Option<[u8; 32]>, SourceError> {
        match self.entry(height) {
            Some(entry) => Ok(Some(self.header(&entry)?.hash())),
            None => Ok(None),
        }
    }

    fn origin(&mut self, height: u64) -> Option<String> {
        self.entry(height).map(|entry| self.position(&entry))
    }

    fn block(&mut self, hash: &[u8; 32]) -> Result<Block, SourceError> {
        let place = self.index.find(index::short_hash(hash));
        let Some(place) = place else { return Err(SourceError::NotOnChain { hash: *hash }) };
        self.block_at(self.first + u64::try_from(place).unwrap_or_default())
    }

    fn block_at(&mut self, height: u64) -> Result<Block, SourceError> {
        match self.entry(height) {
            Some(entry) => self.read(&entry, height),
            None => Err(SourceError::NoBlock { height, tip: self.tip_height() }),
        }
    }
}

/// Reads one raw block from a file, packed or not.
///
/// # Errors
///
/// Returns an error if the file cannot be read or does not have the expected block.
pub fn read_block(
    chain: ChainId,
    path: &Path,
    expected: ExpectedBlock,
) -> Result<Block, SourceError> {
    let content = BlockFile::new(path.to_owned())?;
    let mut opened = content.open().map_err(failed(path))?;
    let mut bytes = Vec::new();
    Read::take(&mut opened, LARGEST_BLOCK).read_to_end(&mut bytes).map_err(failed(path))?;
    parse_block(chain, &bytes, expected)
        .map_err(|source| SourceError::Raw { origin: path.display().to_string(), source })
}

fn failed(path: &Path) -> impl Fn(io::Error) -> SourceError + use<> {
    let path = path.to_owned();
    move |source| SourceError::Read { path: path.clone(), source }
}

#[cfg(test)]
mod tests;
