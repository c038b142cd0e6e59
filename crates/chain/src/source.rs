//! Block sources: the trait that all of them implement, and its errors.

use std::{io, path::PathBuf};

use assay_address::ChainId;
use assay_engine::{ledger::BlockRef, utxo::Block};

use super::{files::OtherMagic, hash::hash_text, histories::accounts::ApiRefusal, raw::RawError};

/// The newest block that a source knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TipRef {
    /// Height.
    pub height: u64,
    /// Hash, in display order.
    pub hash: [u8; 32],
}

/// The limit of a batch of blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchLimit {
    /// Maximum number of blocks.
    pub blocks: usize,
    /// Number of inputs and outputs, or of transfers, after which no further block is read, so that a batch takes
    /// little memory however large blocks become.
    pub entries: usize,
}

impl BatchLimit {
    /// Returns a limit of blocks, regardless of their size.
    #[must_use]
    pub const fn of_blocks(blocks: usize) -> Self {
        Self { blocks, entries: usize::MAX }
    }
}

/// A block of a family of chains, as sources return it.
pub trait SourceBlock: Send + 'static {
    /// Returns the height, the hashes and the time of the block.
    fn reference(&self) -> BlockRef;

    /// Returns the number of inputs and outputs, or of transfers: the size of the block.
    fn entries(&self) -> usize;

    /// Returns the number of transactions.
    fn transactions(&self) -> usize;
}

impl SourceBlock for Block {
    fn reference(&self) -> BlockRef {
        self.reference
    }

    fn entries(&self) -> usize {
        self.inputs_and_outputs()
    }

    fn transactions(&self) -> usize {
        self.transactions.len()
    }
}

/// Source of blocks. Blocks are validated as far as that is possible without other blocks: a block is the requested
/// one, and has the transactions that its header commits to.
///
/// The calls block the thread.
pub trait BlockSource<B: SourceBlock = Block>: Send {
    /// Returns the height of the first block of the source: 0 unless the source has only a part of the chain.
    ///
    /// # Errors
    ///
    /// Returns an error if the source fails.
    fn first(&mut self) -> Result<u64, SourceError> {
        Ok(0)
    }

    /// Returns the newest block.
    ///
    /// # Errors
    ///
    /// Returns an error if the source fails.
    fn tip(&mut self) -> Result<TipRef, SourceError>;

    /// Returns the hash of the block at a height; `None` above the newest and below the first block.
    ///
    /// # Errors
    ///
    /// Returns an error if the source fails.
    fn hash_at(&mut self, height: u64) -> Result<Option<[u8; 32]>, SourceError>;

    /// Returns the block with this hash.
    ///
    /// # Errors
    ///
    /// Returns an error if no block has the hash, or it cannot be read.
    fn block(&mut self, hash: &[u8; 32]) -> Result<B, SourceError>;

    /// Returns the position of the block at a height, for messages: a file and an offset in it. `None` if the source
    /// has no files.
    fn origin(&mut self, _height: u64) -> Option<String> {
        None
    }

    /// Returns the block at a height.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no block at the height, or it cannot be read.
    fn block_at(&mut self, height: u64) -> Result<B, SourceError> {
        match self.hash_at(height)? {
            Some(hash) => self.block(&hash),
            None => Err(SourceError::NoBlock { height, tip: self.tip()?.height }),
        }
    }

    /// Returns the blocks from a height, in order: at least one, and at most the limit. If the chain is reorganised in
    /// the meantime, the blocks may belong to different branches, which the blocks' parents show.
    ///
    /// # Errors
    ///
    /// Returns an error if the first block does not exist or cannot be read.
    fn blocks(&mut self, from: u64, limit: BatchLimit) -> Result<Vec<B>, SourceError> {
        let mut blocks = vec![self.block_at(from)?];
        let mut entries: usize = blocks.iter().map(B::entries).sum();
        for height in (from..).skip(1).take(limit.blocks.saturating_sub(1)) {
            if entries >= limit.entries {
                break;
            }
            match self.block_at(height) {
                Ok(block) => {
                    entries = entries.saturating_add(block.entries());
                    blocks.push(block);
                }
                // The next call returns the error.
                Err(_) => break,
            }
        }
        Ok(blocks)
    }
}

/// Error of a block source.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// There is no block at a height.
    #[error("there is no block {height}: the newest is {tip}")]
    NoBlock {
        /// The requested height.
        height: u64,
        /// Height of the newest block.
        tip: u64,
    },
    /// A node does not have all of a block that is far below its newest one.
    #[error(
        "{url} does not have block {height}, although its newest is {newest}: it may be pruned, and blocks and receipts \
         of the whole range are needed"
    )]
    Pruned {
        /// The node.
        url: String,
        /// The requested height.
        height: u64,
        /// Height of the newest block.
        newest: u64,
    },
    /// A block is not, or no longer, on the chain.
    #[error("block {} is not part of the chain (any more)", hash_text(hash))]
    NotOnChain {
        /// Hash of the block, in display order.
        hash: [u8; 32],
    },
    /// This kind of source does not support a chain.
    #[error("{chain} is not read {how}: {instead}")]
    Unsupported {
        /// The chain.
        chain: ChainId,
        /// The kind of source.
        how: &'static str,
        /// Alternative source.
        instead: &'static str,
    },
    /// Bytes are no block, or not the requested one.
    #[error("{origin}: {source}")]
    Raw {
        /// The file, or the server and the request, that returned the bytes.
        origin: String,
        /// Description of the problem.
        #[source]
        source: RawError,
    },
    /// A file cannot be read.
    #[error("failed to read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Cause.
        #[source]
        source: io::Error,
    },
    /// A file has no blocks.
    #[error("{}: {reason}", path.display())]
    File {
        /// The file or folder.
        path: PathBuf,
        /// Description of the problem, and the expected content.
        reason: String,
    },
    /// A block file has blocks of another network.
    #[error("{}: the magic number at byte {at} is {magic}", path.display())]
    OtherMagic {
        /// The file.
        path: PathBuf,
        /// Offset of the magic number.
        at: u64,
        /// The magic number.
        magic: Box<OtherMagic>,
    },
    /// The predecessor of a block is missing among the blocks of files.
    #[error(
        "{origin}: block {} does not connect: its parent {} is in none of the files. Give the file \
         that holds it as well, or only files without a gap",
        hash_text(hash),
        hash_text(parent)
    )]
    NotConnected {
        /// The file, and the block's position in it.
        origin: String,
        /// The block.
        hash: [u8; 32],
        /// The block's parent.
        parent: [u8; 32],
    },
    /// A line is invalid.
    #[error("{file}, line {line}: {reason}")]
    Line {
        /// The file.
        file: String,
        /// Line number, from 1.
        line: u64,
        /// Description of the problem.
        reason: String,
    },
    /// A server does not answer after all retries.
    #[error("{url} does not answer: {reason}")]
    Unreachable {
        /// The server.
        url: String,
        /// Cause of the last failure.
        reason: String,
    },
    /// The request was not sent, because its credentials must not be sent.
    #[error("no request was sent to {url}: {reason}")]
    NotSent {
        /// The server.
        url: String,
        /// The problem of the credentials.
        reason: String,
    },
    /// A server denies access.
    #[error("{url} refuses access ({status}): {hint}")]
    Denied {
        /// The server.
        url: String,
        /// The HTTP status.
        status: u16,
        /// Setting to check.
        hint: &'static str,
    },
    /// A response is above the limit of bytes.
    #[error("{url} answers with more than {most} bytes")]
    TooLarge {
        /// The server.
        url: String,
        /// The limit in bytes.
        most: u64,
    },
    /// A server returns an error.
    #[error("{url} answers {what} with an error: {message} ({code})")]
    Refused {
        /// The server.
        url: String,
        /// The request.
        what: String,
        /// The error code, or the HTTP status.
        code: i64,
        /// The error message, shortened.
        message: String,
    },
    /// A response cannot be parsed.
    #[error("{url} answers {what} with something that cannot be read: {reason}")]
    Unreadable {
        /// The server.
        url: String,
        /// The request.
        what: String,
        /// Description of the problem.
        reason: String,
    },
    /// A response contradicts itself or the request.
    #[error("{url} answers {what} with invalid data: {reason}")]
    InvalidData {
        /// The server.
        url: String,
        /// The request.
        what: String,
        /// Description of the problem.
        reason: String,
    },
    /// An explorer's API refuses a request.
    #[error("{url} refuses {what} ({refusal}): {message}")]
    Api {
        /// The server.
        url: String,
        /// The request.
        what: String,
        /// Kind of the refusal.
        refusal: ApiRefusal,
        /// The words of the server, shortened.
        message: String,
    },
    /// A server serves another chain than the requested one.
    #[error("{url} serves {found}, not {wanted}")]
    OtherChain {
        /// The server.
        url: String,
        /// The chain that the server serves, as far as that is known.
        found: &'static str,
        /// The requested chain.
        wanted: ChainId,
    },
    /// A server serves a test network, which is refused.
    #[error(
        "{url} serves a test network: its first block {} is of no main network. To read a test network as \
         {chain}, allow it: --test-network, or `allowTestNetwork: true` in the ChainSource",
        hash_text(first)
    )]
    TestNetwork {
        /// The server.
        url: String,
        /// The requested chain.
        chain: ChainId,
        /// The first block.
        first: [u8; 32],
    },
    /// The caller stopped.
    #[error("stopped")]
    Stopped,
}

impl SourceError {
    /// True if the error is invalid data, and not a failed connection.
    #[must_use]
    pub const fn is_input(&self) -> bool {
        matches!(
            self,
            Self::Raw { .. }
                | Self::File { .. }
                | Self::OtherMagic { .. }
                | Self::NotConnected { .. }
                | Self::Line { .. }
                | Self::NoBlock { .. }
                | Self::Unsupported { .. }
                | Self::OtherChain { .. }
                | Self::TestNetwork { .. }
        )
    }

    /// True if the same request may succeed later: the source is unavailable, or the chain was reorganised while it was
    /// read.
    #[must_use]
    pub const fn is_transient(&self) -> bool {
        match self {
            Self::Api { refusal, .. } => refusal.is_passing(),
            _ => matches!(
                self,
                Self::NoBlock { .. } | Self::NotOnChain { .. } | Self::Unreachable { .. }
            ),
        }
    }
}
