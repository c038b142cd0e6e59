//! A reader that computes a digest of the bytes that pass through it.

use std::io::{self, Read};

use sha2::{Digest, Sha256};

/// Reader that computes the SHA-256 of the bytes that are read from it.
pub struct DigestReader<R> {
    inner: R,
    hash: Sha256,
}

impl<R: Read> DigestReader<R> {
    /// Wraps `inner`.
    pub fn new(inner: R) -> Self {
        Self { inner, hash: Sha256::new() }
    }

    /// Reads the rest and returns the SHA-256 of everything, in hexadecimal.
    ///
    /// # Errors
    ///
    /// Returns an error if the rest cannot be read.
    pub fn finish(mut self) -> io::Result<String> {
        io::copy(&mut self, &mut io::sink())?;
        Ok(hex::encode(self.hash.finalize()))
    }
}

impl<R: Read> Read for DigestReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.hash.update(buffer.get(..count).unwrap_or_default());
        Ok(count)
    }
}
