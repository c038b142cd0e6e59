//! Transaction identifiers and outpoints.

use std::{fmt, str::FromStr};

/// A transaction identifier, displayed with the last byte first, as in explorers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Txid([u8; 32]);

impl Txid {
    /// The identifier with these bytes in display order.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The identifier of a hash in the byte order of SHA-256 and of blocks, the reverse of display order.
    #[must_use]
    pub fn from_hash(mut hash: [u8; 32]) -> Self {
        hash.reverse();
        Self(hash)
    }

    /// The bytes in display order.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

/// An invalid transaction identifier.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a transaction identifier: write its 64 hexadecimal digits")]
pub struct InvalidTxid(String);

impl FromStr for Txid {
    type Err = InvalidTxid;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut bytes = [0; 32];
        match hex::decode_to_slice(text, &mut bytes) {
            Ok(()) => Ok(Self(bytes)),
            Err(_) => Err(InvalidTxid(text.chars().take(80).collect())),
        }
    }
}

impl fmt::Display for Txid {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&hex::encode(self.0))
    }
}

impl fmt::Debug for Txid {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

/// An outpoint: the identifier of an output by its transaction and index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OutPoint {
    /// Transaction that created the output.
    pub txid: Txid,
    /// Index among the transaction's outputs, from 0.
    pub index: u32,
}

impl fmt::Display for OutPoint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}", self.txid, self.index)
    }
}

/// The number that a view assigned to an output (see [`crate::ledger::TransactionNumber`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OutputNumber(pub u64);
