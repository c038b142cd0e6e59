//! Hashes by which labels are found: equal in every program, on every machine.
//!
//! An index in a file holds them, so that they cannot be those of the standard library, which may change. Values with
//! equal hashes are distinguished by comparison.

use assay_address::{ChainId, KeyIdentity, Receiver};
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

/// Hash of an address of a chain.
pub(super) fn address_hash(chain: ChainId, text: &str) -> u64 {
    xxh3_64_with_seed(text.as_bytes(), xxh3_64(chain.as_str().as_bytes()))
}

/// Hash of the first and last characters of an address of a chain.
pub(in crate::snapshot) fn text_ends_hash(chain: ChainId, first: &str, last: &str) -> u64 {
    let seed = xxh3_64_with_seed(first.as_bytes(), xxh3_64(chain.as_str().as_bytes()));
    xxh3_64_with_seed(last.as_bytes(), seed)
}

/// Hash of a key, script or account.
pub(super) fn key_hash(identity: &KeyIdentity) -> u64 {
    let (kind, bytes): (u64, &[u8]) = match identity {
        KeyIdentity::Account(bytes) => (0, bytes),
        KeyIdentity::PublicKeyHash(bytes) => (1, bytes),
        KeyIdentity::ScriptHash(bytes) => (2, bytes),
        KeyIdentity::Witness(version, program) => (0x100 | u64::from(*version), program),
        KeyIdentity::LongScriptHash(bytes) => (3, bytes),
        KeyIdentity::LongAccount(bytes) => (4, bytes),
        KeyIdentity::Monero(bytes) => (5, bytes),
        KeyIdentity::Receiver(Receiver::PublicKeyHash(bytes)) => (6, bytes),
        KeyIdentity::Receiver(Receiver::ScriptHash(bytes)) => (7, bytes),
        KeyIdentity::Receiver(Receiver::Sprout(bytes)) => (8, bytes),
        KeyIdentity::Receiver(Receiver::Shielded(kind, bytes)) => {
            (0x200_u64.wrapping_add(*kind), bytes)
        }
    };
    xxh3_64_with_seed(bytes, kind)
}
