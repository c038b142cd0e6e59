//! References to blocks.

use std::fmt;

use jiff::Timestamp;

/// A block's identity and position in its chain. Hashes are in display order, most significant byte
/// first.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct BlockRef {
    /// Height: the number of blocks before this block.
    pub height: u64,
    /// Hash.
    pub hash: [u8; 32],
    /// Hash of the previous block; zeros for the genesis block.
    pub parent: [u8; 32],
    /// Time stamp in the block's header.
    pub time: Timestamp,
}

impl BlockRef {
    /// Height and hash.
    #[must_use]
    pub const fn id(&self) -> BlockId {
        BlockId { height: self.height, hash: self.hash }
    }

    /// Height and hash of the block before; `None` for the genesis block.
    #[must_use]
    pub const fn parent_id(&self) -> Option<BlockId> {
        match self.height.checked_sub(1) {
            Some(height) => Some(BlockId { height, hash: self.parent }),
            None => None,
        }
    }
}

/// A block of a branch: its height with its hash.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct BlockId {
    /// Height: the number of blocks before this block.
    pub height: u64,
    /// Hash.
    pub hash: [u8; 32],
}

impl fmt::Debug for BlockId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "block {} {}", self.height, hex::encode(self.hash))
    }
}

impl fmt::Debug for BlockRef {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { height, hash, parent, time } = self;
        let (hash, parent) = (hex::encode(hash), hex::encode(parent));
        write!(formatter, "block {height} {hash} of {time} after {parent}")
    }
}
