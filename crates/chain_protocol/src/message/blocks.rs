//! References to blocks.

use std::fmt;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::hex_text;

/// A block of a branch: its height with its hash.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BlockIdMessage {
    /// Height: the number of earlier blocks.
    pub height: u64,
    /// Hash.
    #[serde(with = "hex_text")]
    #[schemars(with = "String")]
    pub hash: [u8; 32],
}

/// A block's identity and position in its chain. Hashes are in display order, most significant byte
/// first.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BlockRefMessage {
    /// Height: the number of earlier blocks.
    pub height: u64,
    /// Hash.
    #[serde(with = "hex_text")]
    #[schemars(with = "String")]
    pub hash: [u8; 32],
    /// Hash of the previous block; zeros for the genesis block.
    #[serde(with = "hex_text")]
    #[schemars(with = "String")]
    pub parent: [u8; 32],
    /// Time stamp in the block's header.
    pub time: Timestamp,
}

impl BlockRefMessage {
    /// Height and hash.
    #[must_use]
    pub const fn id(&self) -> BlockIdMessage {
        BlockIdMessage { height: self.height, hash: self.hash }
    }

    /// Height and hash of the previous block; `None` for the genesis block.
    #[must_use]
    pub const fn parent_id(&self) -> Option<BlockIdMessage> {
        match self.height.checked_sub(1) {
            Some(height) => Some(BlockIdMessage { height, hash: self.parent }),
            None => None,
        }
    }
}

impl fmt::Debug for BlockIdMessage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "block {} {}", self.height, hex::encode(self.hash))
    }
}

impl fmt::Debug for BlockRefMessage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { height, hash, parent, time } = self;
        let (hash, parent) = (hex::encode(hash), hex::encode(parent));
        write!(formatter, "block {height} {hash} of {time} after {parent}")
    }
}
