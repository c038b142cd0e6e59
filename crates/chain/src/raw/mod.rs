//! Blocks in the bytes that nodes store and exchange. Every value is verified: identifiers, merkle
//! root and hash are computed from the bytes, counts are bounded by the number of remaining bytes,
//! and no input causes a panic.
//!
//! - [`cursor`]: numbers and lengths
//! - [`error`]: why bytes are no block
//! - [`transaction`]: one transaction and its identifier
//! - [`header`]: a block's header, its hash and target
//! - `work`, `auxpow`: proof of work, in the header itself or in another chain's block
//! - [`merkle`]: the root of a tree of transactions
//! - [`block`]: a block as a whole
//! - [`undo`]: outputs that a block spends, from a node's REST interface
//! - [`block_undo`]: the same from a node's files
//! - [`compressed`]: outputs as they stand there

mod auxpow;
pub mod block;
pub mod block_undo;
pub mod compressed;
pub mod cursor;
pub mod error;
pub mod header;
pub mod merkle;
pub mod transaction;
pub mod undo;
mod work;

pub use block::{ExpectedBlock, RawBlock, parse_block};
pub use error::RawError;
pub use header::Header;
pub(crate) use header::zcash_header_hash;

use sha2::{Digest, Sha256};

/// SHA-256 of SHA-256: the hash of everything here.
pub(crate) fn hash256(parts: &[&[u8]]) -> [u8; 32] {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part);
    }
    Sha256::digest(hash.finalize()).into()
}

/// A hash the other way round: as it is written where it was as it is computed, and back.
pub(crate) fn reversed(mut hash: [u8; 32]) -> [u8; 32] {
    hash.reverse();
    hash
}

/// A version, which is 32 bits that some programs write as a number with a sign.
pub(crate) fn unsigned(version: i64) -> u32 {
    let [a, b, c, d, ..] = version.to_le_bytes();
    u32::from_le_bytes([a, b, c, d])
}

#[cfg(test)]
mod tests;
