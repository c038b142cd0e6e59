//! Keyed hash of addresses for logs. The key is needed to find the log lines of an address; without it, a hash cannot
//! be traced to an address, not even by trying all addresses.

use std::{fmt, io, path::Path};

use assay_address::ChainId;
use hmac::{Hmac, Mac};
use sha2::Sha256;

/// Fewest bytes of a key from a file.
const SHORTEST_KEY: usize = 16;
/// Bytes of the hash in a log line.
const SHOWN: usize = 8;

/// Reason why a key cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum AddressHashKeyError {
    /// The file cannot be read.
    #[error("failed to read the key of log hashes in {path}: {source}")]
    Read {
        /// The file.
        path: String,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// The key is too short to be secret.
    #[error(
        "the key of log hashes in {path} has {length} bytes: at least {SHORTEST_KEY} are needed"
    )]
    Short {
        /// The file.
        path: String,
        /// Length in bytes, without surrounding white space.
        length: usize,
    },
}

/// Hashes addresses for logs by HMAC-SHA256.
#[derive(Clone)]
pub struct AddressHasher(Hmac<Sha256>);

impl AddressHasher {
    /// Creates a hasher with these bytes as its key.
    #[must_use]
    pub fn new(bytes: &[u8]) -> Self {
        let keyed = Hmac::new_from_slice(bytes);
        // HMAC takes keys of any length.
        Self(keyed.unwrap_or_else(|_| Hmac::new(&hmac::digest::Key::<Hmac<Sha256>>::default())))
    }

    /// Reads the key from a file, without surrounding white space.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be read or the key is too short.
    pub fn read(path: &Path) -> Result<Self, AddressHashKeyError> {
        let shown = || path.display().to_string();
        let bytes = std::fs::read(path)
            .map_err(|source| AddressHashKeyError::Read { path: shown(), source })?;
        let key = bytes.trim_ascii();
        if key.len() < SHORTEST_KEY {
            return Err(AddressHashKeyError::Short { path: shown(), length: key.len() });
        }
        Ok(Self::new(key))
    }

    /// Returns the hash of an address: the first 16 hexadecimal digits of the HMAC-SHA256 of
    /// `chain:address`, the address in canonical form.
    #[must_use]
    pub fn hash(&self, chain: ChainId, address: &str) -> String {
        let mut keyed = self.0.clone();
        for part in [chain.as_str(), ":", address] {
            keyed.update(part.as_bytes());
        }
        let bytes = keyed.finalize().into_bytes();
        hex::encode(bytes.get(..SHOWN).unwrap_or_default())
    }
}

impl fmt::Debug for AddressHasher {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("SubjectKey")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(hasher: &AddressHasher) -> String {
        hasher.hash(ChainId::BTC, "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa")
    }

    #[test]
    fn a_hash_equals_that_of_openssl() {
        // printf 'btc:1A1z…' | openssl dgst -sha256 -hmac 'a key of our own'
        assert_eq!(hash(&AddressHasher::new(b"a key of our own")), "09692985cc7a1f97");
    }

    #[test]
    fn another_key_gives_another_hash() {
        let with = |key: &[u8]| hash(&AddressHasher::new(key));
        assert_ne!(with(b"one key"), with(b"another key"));
    }

    #[test]
    fn a_key_from_a_file_is_long_enough_to_be_one() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("key");
        let missing = AddressHasher::read(&path).unwrap_err().to_string();
        assert!(missing.starts_with("failed to read the key of log hashes"), "{missing}");
        std::fs::write(&path, "short\n").unwrap();
        let short = AddressHasher::read(&path).unwrap_err().to_string();
        assert!(short.ends_with("has 5 bytes: at least 16 are needed"), "{short}");
        std::fs::write(&path, "a key of our own\n").unwrap();
        let key = AddressHasher::read(&path).unwrap();
        assert_eq!(hash(&key), hash(&AddressHasher::new(b"a key of our own")));
    }
}
