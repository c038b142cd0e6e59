//! Blocks in the bytes that nodes store and exchange. Every value is verified: identifiers, merkle
//! root and hash are computed from the bytes, counts are bounded by the number of remaining bytes,
//! and no input causes a panic.
//!
//! - [`cursor`]: numbers and lengths
//! - [`error`]: reasons for which bytes are no block
//! - [`transaction`]: one transaction and its identifier
//! - [`header`]: a block's header, its hash and target
//! - `work`, `auxpow`: proof of work, in the header itself or in another chain's block
//! - [`merkle`]: the merkle root of transactions
//! - [`block`]: a whole block
//! - [`undo`]: outputs that a block spends, from a node's REST interface
//! - [`block_undo`]: outputs that a block spends, from a node's files
//! - [`compressed`]: outputs in the form of a node's files

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

/// Returns SHA-256 of SHA-256: the hash of blocks and transactions.
pub(crate) fn hash256(parts: &[&[u8]]) -> [u8; 32] {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part);
    }
    Sha256::digest(hash.finalize()).into()
}

/// Reverses a hash: from computed order to display order, and back.
pub(crate) fn reversed(mut hash: [u8; 32]) -> [u8; 32] {
    hash.reverse();
    hash
}

/// Converts a version to 32 bits without a sign; some programs write versions with a sign.
pub(crate) fn unsigned(version: i64) -> u32 {
    let [a, b, c, d, ..] = version.to_le_bytes();
    u32::from_le_bytes([a, b, c, d])
}

#[cfg(test)]
mod tests;
