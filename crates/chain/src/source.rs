//! What every source of blocks can be asked, and how it can fail.

use std::{io, path::PathBuf};

use assay_engine::{chain::ChainId, utxo::Block};

use super::{hash::hash_text, raw::RawError};

/// The newest block that a source knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TipRef {
    /// Its height.
    pub height: u64,
    /// Its hash, as it is written.
    pub hash: [u8; 32],
}

/// How much to give at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Portion {
    /// The most blocks.
    pub blocks: usize,
    /// Inputs and outputs behind which no further block is begun, so that what is given takes little
    /// memory however large blocks become.
    pub legs: usize,
}

impl Portion {
    /// So many blocks, whatever their size.
    #[must_use]
    pub const fn of_blocks(blocks: usize) -> Self {
        Self { blocks, legs: usize::MAX }
    }
}

/// Where blocks come from. What it gives is checked as far as it can be without other blocks: a block is
/// the one that was asked for, and holds the transactions that it commits to.
///
/// Calls block the thread.
pub trait BlockSource: Send {
    /// The height of the first block that the source has: 0 unless it holds a part of the chain only.
    ///
    /// # Errors
    ///
    /// Where the source cannot say.
    fn first(&mut self) -> Result<u64, SourceError> {
        Ok(0)
    }

    /// The newest block.
    ///
    /// # Errors
    ///
    /// Where the source cannot say.
    fn tip(&mut self) -> Result<TipRef, SourceError>;

    /// The hash of the block at a height; `None` where there is none, above the tip or below the
    /// first one known.
    ///
    /// # Errors
    ///
    /// Where the source cannot say.
    fn hash_at(&mut self, height: u64) -> Result<Option<[u8; 32]>, SourceError>;

    /// The block with this hash, at whatever height.
    ///
    /// # Errors
    ///
    /// Where there is none, or it cannot be read.
    fn block(&mut self, hash: &[u8; 32]) -> Result<Block, SourceError>;

    /// The block at a height.
    ///
    /// # Errors
    ///
    /// Where there is none, or it cannot be read.
    fn block_at(&mut self, height: u64) -> Result<Block, SourceError> {
        match self.hash_at(height)? {
            Some(hash) => self.block(&hash),
            None => Err(SourceError::NoBlock { height, tip: self.tip()?.height }),
        }
    }

    /// The blocks from a height on, in order: at least one, no more than the portion. They may belong to
    /// different branches where the chain is reorganised meanwhile: look at their parents.
    ///
    /// # Errors
    ///
    /// Where the first one does not exist or cannot be read.
    fn blocks(&mut self, from: u64, most: Portion) -> Result<Vec<Block>, SourceError> {
        let mut blocks = vec![self.block_at(from)?];
        let mut legs: usize = blocks.iter().map(Block::inputs_and_outputs).sum();
        for height in (from..).skip(1).take(most.blocks.saturating_sub(1)) {
            if legs >= most.legs {
                break;
            }
            match self.block_at(height) {
                Ok(block) => {
                    legs = legs.saturating_add(block.inputs_and_outputs());
                    blocks.push(block);
                }
                // The next call meets it again.
                Err(_) => break,
            }
        }
        Ok(blocks)
    }
}

/// Why a source gave no block.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// There is no such height.
    #[error("there is no block {height}: the newest is {tip}")]
    NoBlock {
        /// The height that was asked for.
        height: u64,
        /// The newest there is.
        tip: u64,
    },
    /// There is no such block, or no longer.
    #[error("block {} is not part of the chain (any more)", hash_text(hash))]
    Gone {
        /// Its hash, as it is written.
        hash: [u8; 32],
    },
    /// The chain is not read in this way.
    #[error("{chain} is not read {how}: {instead}")]
    Unsupported {
        /// The chain.
        chain: ChainId,
        /// In which way.
        how: &'static str,
        /// What to do instead.
        instead: &'static str,
    },
    /// Bytes that are no block, or not the right one.
    #[error("{origin}: {source}")]
    Raw {
        /// The file, or what was asked of whom.
        origin: String,
        /// What is wrong.
        #[source]
        source: RawError,
    },
    /// A file that cannot be read.
    #[error("failed to read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What happened.
        #[source]
        source: io::Error,
    },
    /// A file in which there is nothing to read.
    #[error("{}: {reason}", path.display())]
    File {
        /// The file or folder.
        path: PathBuf,
        /// What is wrong, and what would be right.
        reason: String,
    },
    /// A line that is wrong.
    #[error("{file}, line {line}: {reason}")]
    Line {
        /// The file.
        file: String,
        /// Which line, from one.
        line: u64,
        /// What is wrong.
        reason: String,
    },
    /// A server that does not answer, however often it is asked.
    #[error("{url} does not answer: {reason}")]
    Unreachable {
        /// The server.
        url: String,
        /// What happened last.
        reason: String,
    },
    /// A server that does not let us in.
    #[error("{url} refuses access ({status}): {hint}")]
    Denied {
        /// The server.
        url: String,
        /// The HTTP status.
        status: u16,
        /// What to look at.
        hint: &'static str,
    },
    /// A server whose answer does not fit in memory.
    #[error("{url} answers with more than {most} bytes")]
    TooLarge {
        /// The server.
        url: String,
        /// The most that are read.
        most: u64,
    },
    /// A server that answers with an error.
    #[error("{url} answers {what} with an error: {message} ({code})")]
    Refused {
        /// The server.
        url: String,
        /// What it was asked.
        what: String,
        /// Its error code, or the HTTP status.
        code: i64,
        /// Its words, shortened.
        message: String,
    },
    /// An answer that cannot be read.
    #[error("{url} answers {what} with something that cannot be read: {reason}")]
    Unreadable {
        /// The server.
        url: String,
        /// What it was asked.
        what: String,
        /// What is wrong.
        reason: String,
    },
    /// An answer that contradicts itself or the question.
    #[error("{url} answers {what} with something that cannot be true: {reason}")]
    Untrue {
        /// The server.
        url: String,
        /// What it was asked.
        what: String,
        /// What is wrong.
        reason: String,
    },
    /// A server of another chain.
    #[error("{url} serves {found}, not {wanted}")]
    OtherChain {
        /// The server.
        url: String,
        /// The chain it serves, as far as that is known.
        found: &'static str,
        /// The chain that was asked for.
        wanted: ChainId,
    },
    /// A server of a test network.
    #[error(
        "{url} serves a test network: its first block {} is of no main network. If money without worth \
         is to be read as {chain}, say so: --test-network, or `allowTestNetwork: true` in the ChainSource",
        hash_text(first)
    )]
    TestNetwork {
        /// The server.
        url: String,
        /// The chain that was asked for.
        chain: ChainId,
        /// The first block.
        first: [u8; 32],
    },
    /// The caller wants to stop.
    #[error("stopped")]
    Stopped,
}

impl SourceError {
    /// Whether what is wrong is what was read, and not the way there.
    #[must_use]
    pub const fn is_input(&self) -> bool {
        matches!(
            self,
            Self::Raw { .. }
                | Self::File { .. }
                | Self::Line { .. }
                | Self::NoBlock { .. }
                | Self::Unsupported { .. }
                | Self::OtherChain { .. }
                | Self::TestNetwork { .. }
        )
    }

    /// Whether the same question may have an answer later: the source is away or busy, or the chain
    /// was reorganised while it was read.
    #[must_use]
    pub const fn may_pass(&self) -> bool {
        matches!(self, Self::NoBlock { .. } | Self::Gone { .. } | Self::Unreachable { .. })
    }
}
