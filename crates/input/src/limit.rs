//! Limits of input, and a reader that enforces one.

use std::io::{self, Read};

/// Size limits of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InputLimits {
    /// Largest size of a file before unpacking, in bytes.
    pub file_bytes: u64,
    /// Largest size of a file after unpacking, in bytes. The files of one archive share this limit.
    pub unpacked_bytes: u64,
    /// Largest ratio of the unpacked size to the packed size, enforced beyond
    /// [`InputLimits::RATIO_FROM_BYTES`] unpacked bytes.
    pub unpacking_ratio: u64,
}

impl InputLimits {
    /// Unpacked size in bytes up to which any unpacking ratio is accepted.
    pub const RATIO_FROM_BYTES: u64 = 64 * 1024 * 1024;

    /// Largest unpacked size of a file of `packed` bytes.
    pub(super) fn unpacked(&self, packed: u64) -> u64 {
        let by_ratio = packed.saturating_mul(self.unpacking_ratio).max(Self::RATIO_FROM_BYTES);
        self.unpacked_bytes.min(by_ratio)
    }
}

impl Default for InputLimits {
    /// Limits that are several times the size of the largest list: OFAC's has 118 MB and a packing ratio of 36.
    fn default() -> Self {
        Self {
            file_bytes: 512 * 1024 * 1024,
            unpacked_bytes: 2 * 1024 * 1024 * 1024,
            unpacking_ratio: 200,
        }
    }
}

/// Reader that fails once more than `limit` bytes were read, instead of ending early.
pub(super) struct LimitedReader<R> {
    inner: R,
    left: u64,
    limit: u64,
    subject: &'static str,
}

impl<R> LimitedReader<R> {
    /// Wraps `inner`; the error message begins with `subject`.
    pub(super) const fn new(inner: R, limit: u64, subject: &'static str) -> Self {
        Self { inner, left: limit, limit, subject }
    }

    /// Wraps `inner` after `limit - left` bytes were read elsewhere.
    pub(super) const fn resume(inner: R, left: u64, limit: u64, subject: &'static str) -> Self {
        Self { inner, left, limit, subject }
    }

    /// Bytes that may still be read.
    pub(super) const fn left(&self) -> u64 {
        self.left
    }
}

impl<R: Read> Read for LimitedReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        match self.left.checked_sub(u64::try_from(count).unwrap_or(u64::MAX)) {
            Some(left) => {
                self.left = left;
                Ok(count)
            }
            None => Err(io::Error::new(
                io::ErrorKind::FileTooLarge,
                format!("{} is larger than {} bytes", self.subject, self.limit),
            )),
        }
    }
}
