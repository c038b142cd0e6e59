//! Block sources: the trait that all of them implement, and its errors.

use std::{io, path::PathBuf};

use assay_address::ChainId;
use assay_engine::utxo::Block;

use super::{files::OtherMagic, hash::hash_text, raw::RawError};

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
    /// Number of inputs and outputs after which no further block is read, so that a batch takes little
    /// memory however large blocks become.
    pub entries: usize,
}

impl BatchLimit {
    /// A limit of the given number of blocks, regardless of their size.
    #[must_use]
    pub const fn of_blocks(blocks: usize) -> Self {
        Self { blocks, entries: usize::MAX }
    }
}

/// A source of blocks. Blocks are validated as far as that is possible without other blocks: a block is the
/// requested one, and has the transactions that its header commits to.
///
/// Calls block the thread.
pub trait BlockSource: Send {
    /// The height of the first block that the source has: 0 unless it holds a part of the chain only.
    ///
    /// # Errors
    ///
    /// Returns an error if the source fails.
    fn first(&mut self) -> Result<u64, SourceError> {
        Ok(0)
    }

    /// The newest block.
    ///
    /// # Errors
    ///
    /// Returns an error if the source fails.
    fn tip(&mut self) -> Result<TipRef, SourceError>;

    /// The hash of the block at a height; `None` above the tip and below the first block.
    ///
    /// # Errors
    ///
    /// Returns an error if the source fails.
    fn hash_at(&mut self, height: u64) -> Result<Option<[u8; 32]>, SourceError>;

    /// The block with this hash.
    ///
    /// # Errors
    ///
    /// Returns an error if there is none, or it cannot be read.
    fn block(&mut self, hash: &[u8; 32]) -> Result<Block, SourceError>;

    /// Position of the block at a height, for messages: a file and the place in it. `None` where the
    /// source needs no further name.
    fn origin(&mut self, _height: u64) -> Option<String> {
        None
    }

    /// The block at a height.
    ///
    /// # Errors
    ///
    /// Returns an error if there is none, or it cannot be read.
    fn block_at(&mut self, height: u64) -> Result<Block, SourceError> {
        match self.hash_at(height)? {
            Some(hash) => self.block(&hash),
            None => Err(SourceError::NoBlock { height, tip: self.tip()?.height }),
        }
    }

    /// The blocks from a height on, in order: at least one, and no more than the limit. If the chain is
    /// reorganised in the meantime, they may belong to different branches, which their parents show.
    ///
    /// # Errors
    ///
    /// Returns an error if the first one does not exist or cannot be read.
    fn blocks(&mut self, from: u64, limit: BatchLimit) -> Result<Vec<Block>, SourceError> {
        let mut blocks = vec![self.block_at(from)?];
        let mut entries: usize = blocks.iter().map(Block::inputs_and_outputs).sum();
        for height in (from..).skip(1).take(limit.blocks.saturating_sub(1)) {
            if entries >= limit.entries {
                break;
            }
            match self.block_at(height) {
                Ok(block) => {
                    entries = entries.saturating_add(block.inputs_and_outputs());
                    blocks.push(block);
                }
                // The next call fails with it.
                Err(_) => break,
            }
        }
        Ok(blocks)
    }
}

/// A failure of a block source.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// No block at a height.
    #[error("there is no block {height}: the newest is {tip}")]
    NoBlock {
        /// The requested height.
        height: u64,
        /// Height of the newest block.
        tip: u64,
    },
    /// A block that is not part of the chain, or not any more.
    #[error("block {} is not part of the chain (any more)", hash_text(hash))]
    NotOnChain {
        /// Its hash, in display order.
        hash: [u8; 32],
    },
    /// A chain that this kind of source does not support.
    #[error("{chain} is not read {how}: {instead}")]
    Unsupported {
        /// The chain.
        chain: ChainId,
        /// The kind of source.
        how: &'static str,
        /// Alternative to use.
        instead: &'static str,
    },
    /// Bytes that are no block, or not the requested one.
    #[error("{origin}: {source}")]
    Raw {
        /// The file, or the server and the request.
        origin: String,
        /// Description of the problem.
        #[source]
        source: RawError,
    },
    /// A file that cannot be read.
    #[error("failed to read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Cause.
        #[source]
        source: io::Error,
    },
    /// A file without blocks.
    #[error("{}: {reason}", path.display())]
    File {
        /// The file or folder.
        path: PathBuf,
        /// Description of the problem, and the expected content.
        reason: String,
    },
    /// A block file of another network.
    #[error("{}: the magic number at byte {at} is {magic}", path.display())]
    OtherMagic {
        /// The file.
        path: PathBuf,
        /// Offset of the magic number.
        at: u64,
        /// The magic number.
        magic: Box<OtherMagic>,
    },
    /// A block whose predecessor is missing between the blocks of files.
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
        /// The block before it.
        parent: [u8; 32],
    },
    /// An invalid line.
    #[error("{file}, line {line}: {reason}")]
    Line {
        /// The file.
        file: String,
        /// Line number, from 1.
        line: u64,
        /// Description of the problem.
        reason: String,
    },
    /// A server that does not answer after all retries.
    #[error("{url} does not answer: {reason}")]
    Unreachable {
        /// The server.
        url: String,
        /// Cause of the last failure.
        reason: String,
    },
    /// A server that is sent nothing, because the credentials for it cannot be.
    #[error("no request was sent to {url}: {reason}")]
    NotSent {
        /// The server.
        url: String,
        /// The problem of the credentials.
        reason: String,
    },
    /// A server that refuses access.
    #[error("{url} refuses access ({status}): {hint}")]
    Denied {
        /// The server.
        url: String,
        /// The HTTP status.
        status: u16,
        /// Setting to check.
        hint: &'static str,
    },
    /// A response above the limit of bytes.
    #[error("{url} answers with more than {most} bytes")]
    TooLarge {
        /// The server.
        url: String,
        /// The limit in bytes.
        most: u64,
    },
    /// An error response.
    #[error("{url} answers {what} with an error: {message} ({code})")]
    Refused {
        /// The server.
        url: String,
        /// The request.
        what: String,
        /// Its error code, or the HTTP status.
        code: i64,
        /// Its message, shortened.
        message: String,
    },
    /// A response that cannot be parsed.
    #[error("{url} answers {what} with something that cannot be read: {reason}")]
    Unreadable {
        /// The server.
        url: String,
        /// The request.
        what: String,
        /// Description of the problem.
        reason: String,
    },
    /// A response that contradicts itself or the request.
    #[error("{url} answers {what} with invalid data: {reason}")]
    InvalidData {
        /// The server.
        url: String,
        /// The request.
        what: String,
        /// Description of the problem.
        reason: String,
    },
    /// A server of another chain.
    #[error("{url} serves {found}, not {wanted}")]
    OtherChain {
        /// The server.
        url: String,
        /// The chain that it serves, as far as that is known.
        found: &'static str,
        /// The requested chain.
        wanted: ChainId,
    },
    /// A server of a test network.
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
    /// True if the data is invalid, as opposed to a failure of the connection.
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

    /// True if the same request may succeed later: the source is unavailable, or the chain was
    /// reorganised while it was read.
    #[must_use]
    pub const fn is_transient(&self) -> bool {
        matches!(self, Self::NoBlock { .. } | Self::NotOnChain { .. } | Self::Unreachable { .. })
    }
}
