//! The hashes that addresses are made of.

use ripemd::Ripemd160;
use sha2::{Digest, Sha256};
use sha3::Keccak256;

/// RIPEMD-160 of SHA-256: Bitcoin's hash of keys and scripts.
#[must_use]
pub fn hash160(data: &[u8]) -> [u8; 20] {
    Ripemd160::digest(Sha256::digest(data)).into()
}

/// Keccak-256 as Ethereum uses it (not SHA3-256).
pub(super) fn keccak256(data: &[u8]) -> [u8; 32] {
    Keccak256::digest(data).into()
}
