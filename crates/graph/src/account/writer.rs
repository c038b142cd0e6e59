//! Appending to the recorded transfers of a chain.

use std::{
    collections::BTreeMap,
    fs::{self, DirBuilder, File, TryLockError},
    io,
    os::unix::fs::{FileExt, OpenOptionsExt},
    path::{Path, PathBuf},
    sync::Arc,
};

use assay_address::ChainId;
use assay_engine::account::{AccountAddress, AccountTransaction};
use sha2::{Digest, Sha256};

use super::{
    MAX_RECORDED_TRANSFERS, RecordedBlock, RecordedBlocks, RecordedState, RecordedTransfers,
    codec::{FrameAddresses, InFull, write_block, write_symbols},
    file::{self, FRAMES, Head},
};
use crate::{
    GraphError,
    directory::{file_error, sync_to_disk},
};

/// Bytes of blocks after which a frame is written.
const FRAME_BYTES: usize = 1 << 20;

/// Writer of the recorded transfers of a chain. Without [`commit`](Self::commit), nothing is recorded.
#[derive(Debug)]
pub struct TransferWriter {
    chain: ChainId,
    sample: bool,
    path: PathBuf,
    /// The file that is written to: the file of the chain, or one beside it that will become it.
    file: File,
    written_to: PathBuf,
    /// The committed state.
    before: Option<RecordedTransfers>,
    state: Option<RecordedState>,
    position: u64,
    frame: Frame,
    symbols: BTreeMap<AccountAddress, String>,
    /// Held as long as the writer exists.
    _lock: File,
    is_committed: bool,
}

/// The blocks of the next frame.
#[derive(Default)]
struct Frame {
    bytes: Vec<u8>,
    addresses: FrameAddresses,
    in_full: Vec<u8>,
}

impl std::fmt::Debug for Frame {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Frame").field("bytes", &self.bytes.len()).finish_non_exhaustive()
    }
}

impl TransferWriter {
    pub(super) fn open(path: &Path, chain: ChainId, sample: bool) -> Result<Self, GraphError> {
        if let Some(folder) = path.parent() {
            let mut private = DirBuilder::new();
            private.recursive(true);
            std::os::unix::fs::DirBuilderExt::mode(&mut private, 0o700);
            private.create(folder).map_err(|error| file_error(folder, error))?;
        }
        let lock = lock(&path.with_extension("transfers.lock"), chain)?;
        let before = RecordedTransfers::open(path, chain)?;
        let (written_to, position) = match &before {
            Some(before) => (path.to_owned(), before.head().length),
            None => (path.with_extension("transfers.new"), FRAMES),
        };
        let mut options = File::options();
        options.read(true).write(true).mode(0o600);
        options.create(before.is_none()).truncate(before.is_none());
        let opened = options.open(&written_to).and_then(|file| {
            if before.is_none() {
                file::write_mark(&file)?;
            }
            // An interrupted writer leaves bytes that were not committed.
            file.set_len(position).map(|()| file)
        });
        Ok(Self {
            chain,
            sample,
            path: path.to_owned(),
            file: opened.map_err(|error| file_error(&written_to, error))?,
            written_to,
            state: before.as_ref().map(|before| *before.state()),
            before,
            position,
            frame: Frame::default(),
            symbols: BTreeMap::new(),
            _lock: lock,
            is_committed: false,
        })
    }

    /// The recorded transfers before this writer; `None` for a chain without any.
    #[must_use]
    pub const fn before(&self) -> Option<&RecordedTransfers> {
        self.before.as_ref()
    }

    /// Description of the recorded and the appended blocks; `None` without blocks.
    #[must_use]
    pub const fn state(&self) -> Option<&RecordedState> {
        self.state.as_ref()
    }

    /// Appends a block, which must be above all others, with its transactions in their order. A block may have no
    /// transactions.
    ///
    /// # Errors
    ///
    /// Returns [`GraphError::Gap`] for a block that is not above the others, [`GraphError::TooManyTransfers`] beyond
    /// [`MAX_RECORDED_TRANSFERS`], and an error if the disk is full.
    pub fn append(
        &mut self,
        block: RecordedBlock,
        transactions: &[AccountTransaction],
    ) -> Result<(), GraphError> {
        let chain = self.chain;
        let tip = self.state.map(|state| state.tip.height);
        if let Some(tip) = tip.filter(|tip| *tip >= block.height) {
            return Err(GraphError::Gap { chain, height: block.height, tip });
        }
        let mut state = self.state.unwrap_or(RecordedState {
            first: block,
            tip: block,
            blocks: 0,
            transactions: 0,
            transfers: 0,
            without_initiator: 0,
            digest: [0; 32],
            sample: self.sample,
        });
        state.tip = block;
        state.blocks += 1;
        for transaction in transactions {
            state.transactions += 1;
            state.transfers += u64::try_from(transaction.transfers.len()).unwrap_or(u64::MAX);
            let is_of_block = transaction.id == AccountTransaction::id_of_block(block.height);
            let is_without = transaction.initiator.is_none() && !is_of_block;
            state.without_initiator += u64::from(is_without);
        }
        if state.transfers > MAX_RECORDED_TRANSFERS {
            return Err(GraphError::TooManyTransfers { chain, most: MAX_RECORDED_TRANSFERS });
        }
        let Frame { bytes, addresses, in_full } = &mut self.frame;
        write_block(bytes, addresses, block, transactions);
        in_full.clear();
        write_block(in_full, &mut InFull, block, transactions);
        let digest = Sha256::new().chain_update(state.digest).chain_update(&in_full);
        state.digest = digest.finalize().into();
        self.state = Some(state);
        if self.frame.bytes.len() >= FRAME_BYTES { self.write_frame() } else { Ok(()) }
    }

    /// Notes symbols of tokens by contract that are the symbol of a scored asset with another contract.
    ///
    /// # Errors
    ///
    /// Returns an error if the recorded symbols cannot be read.
    pub fn note_lookalike_symbols(
        &mut self,
        mut symbols: BTreeMap<AccountAddress, String>,
    ) -> Result<(), GraphError> {
        if let Some(before) = &self.before {
            let known = before.lookalike_symbols()?;
            symbols.retain(|contract, _| !known.contains_key(contract));
        }
        self.symbols = symbols;
        Ok(())
    }

    /// Writes the frame of the noted symbols, which are a part of the recorded content.
    fn write_symbols(&mut self, state: &mut RecordedState) -> Result<(), GraphError> {
        let mut bytes = Vec::new();
        write_symbols(&mut bytes, &self.symbols);
        if !bytes.is_empty() {
            let digest = Sha256::new().chain_update(state.digest).chain_update(&bytes);
            state.digest = digest.finalize().into();
            self.write_bytes(&bytes, file::SYMBOLS)?;
        }
        Ok(())
    }

    fn write_frame(&mut self) -> Result<(), GraphError> {
        let Frame { bytes, .. } = std::mem::take(&mut self.frame);
        self.write_bytes(&bytes, 0)
    }

    fn write_bytes(&mut self, bytes: &[u8], mark: u32) -> Result<(), GraphError> {
        if bytes.is_empty() {
            return Ok(());
        }
        let length = u32::try_from(bytes.len()).ok().filter(|bytes| *bytes <= file::LONGEST_FRAME);
        let too_large = GraphError::TooMany { chain: self.chain, what: "bytes in one block" };
        let length = length.ok_or(too_large)?;
        let mut start = [0; 8];
        let marked = (length | mark).to_le_bytes();
        let fields = marked.into_iter().chain(crc32fast::hash(bytes).to_le_bytes());
        start.iter_mut().zip(fields).for_each(|(byte, field)| *byte = field);
        let written = self.file.write_all_at(&start, self.position);
        let written = written.and_then(|()| self.file.write_all_at(bytes, self.position + 8));
        written.map_err(|error| file_error(&self.written_to, error))?;
        self.position += 8 + u64::from(length);
        Ok(())
    }

    /// Reads back the blocks that were appended.
    ///
    /// # Errors
    ///
    /// Returns an error if the last blocks cannot be written.
    pub fn appended(&mut self) -> Result<RecordedBlocks, GraphError> {
        self.write_frame()?;
        let start = self.before.as_ref().map_or(FRAMES, |before| before.head().length);
        let file = self.file.try_clone().map_err(|error| file_error(&self.written_to, error))?;
        Ok(RecordedBlocks::new(&self.written_to, Arc::new(file), start, self.position))
    }

    /// Records the appended blocks. Returns the description of all recorded blocks; `None` without blocks.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be written or flushed to the disk: then nothing was recorded.
    pub fn commit(mut self) -> Result<Option<RecordedState>, GraphError> {
        let Some(mut state) = self.state else { return Ok(None) };
        self.write_frame()?;
        self.write_symbols(&mut state)?;
        if self.before.as_ref().is_some_and(|before| *before.state() == state) {
            return Ok(Some(state));
        }
        let number = self.before.as_ref().map_or(1, |before| before.head().number + 1);
        let head = Head { number, length: self.position, state };
        let written = self
            .file
            .sync_all()
            .and_then(|()| file::write_head(&self.file, self.chain, &head))
            .and_then(|()| self.file.sync_all());
        written.map_err(|error| file_error(&self.written_to, error))?;
        self.is_committed = true;
        if self.written_to != self.path {
            fs::rename(&self.written_to, &self.path)
                .map_err(|error| file_error(&self.path, error))?;
            if let Some(folder) = self.path.parent() {
                sync_to_disk(folder)?;
            }
        }
        Ok(Some(state))
    }
}

impl Drop for TransferWriter {
    fn drop(&mut self) {
        // The next writer discards what remains.
        if self.written_to != self.path && !self.is_committed {
            let _ = fs::remove_file(&self.written_to);
        } else if !self.is_committed
            && let Some(before) = &self.before
        {
            let _ = self.file.set_len(before.head().length);
        }
    }
}

/// Takes the lock of a chain's file.
fn lock(path: &Path, chain: ChainId) -> Result<File, GraphError> {
    let mut options = File::options();
    let opened = options.create(true).truncate(false).write(true).mode(0o600).open(path);
    let file = opened.map_err(|error| file_error(path, error))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(GraphError::Busy(chain)),
        Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => Ok(file),
        Err(TryLockError::Error(error)) => Err(file_error(path, error)),
    }
}
