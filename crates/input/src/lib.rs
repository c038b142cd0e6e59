//! Files and URLs as input. Everything is spooled to a private file first, so that the digest is of what is
//! read, and nothing is held in memory.

#[cfg(feature = "fetch")]
mod fetch;
mod limit;
mod spool;
pub mod text;
mod unpack;

#[cfg(feature = "fetch")]
pub use fetch::{Conditions, FetchError, Fetched, fetch};
pub use spool::{SpoolError, Spooled};
pub use unpack::{Hashing, UnpackError};

/// How much input is let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InputLimits {
    /// Bytes of the file as it comes.
    pub file_bytes: u64,
    /// Bytes after unpacking.
    pub unpacked_bytes: u64,
    /// Bytes after unpacking for one byte of the file, looked at once more than
    /// [`InputLimits::RATIO_FROM_BYTES`] were unpacked.
    pub unpacking_ratio: u64,
}

impl InputLimits {
    /// Below this size no unpacking ratio is suspicious.
    pub const RATIO_FROM_BYTES: u64 = 64 * 1024 * 1024;
}

impl Default for InputLimits {
    /// Several times what the largest list needs: OFAC's has 118 MB and packs to a 36th.
    fn default() -> Self {
        Self {
            file_bytes: 512 * 1024 * 1024,
            unpacked_bytes: 2 * 1024 * 1024 * 1024,
            unpacking_ratio: 200,
        }
    }
}
