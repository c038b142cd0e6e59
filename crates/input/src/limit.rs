//! A reader that refuses to go on past a limit.

use std::io::{self, Read};

/// Reads at most `left` bytes, then fails instead of pretending that the input ended.
pub(super) struct Limited<R> {
    inner: R,
    left: u64,
    limit: u64,
    what: &'static str,
}

impl<R> Limited<R> {
    pub(super) const fn new(inner: R, limit: u64, what: &'static str) -> Self {
        Self { inner, left: limit, limit, what }
    }
}

impl<R: Read> Read for Limited<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        match self.left.checked_sub(u64::try_from(count).unwrap_or(u64::MAX)) {
            Some(left) => {
                self.left = left;
                Ok(count)
            }
            None => Err(io::Error::new(
                io::ErrorKind::FileTooLarge,
                format!("{} is larger than {} bytes", self.what, self.limit),
            )),
        }
    }
}
