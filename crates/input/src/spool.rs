//! Copying input to a private file while computing its digest.

use std::{
    fs::File,
    io::{self, Read, Seek, Write},
    path::Path,
};

use super::{DigestReader, InputLimits, limit::LimitedReader};

/// Failure to read or to spool an input.
#[derive(Debug, thiserror::Error)]
#[error("failed to read {origin}: {source}")]
pub struct SpoolError {
    /// Path or URL of the input.
    pub origin: String,
    /// Cause.
    #[source]
    pub source: io::Error,
}

/// Copy of an input in a private temporary file, which is removed when the copy is dropped.
#[derive(Debug)]
pub struct SpooledFile {
    origin: String,
    file: File,
    bytes: u64,
    digest: String,
}

impl SpooledFile {
    /// Spools a local file.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be read or is too large.
    pub fn from_file(path: &Path, limits: InputLimits) -> Result<Self, SpoolError> {
        let origin = path.display().to_string();
        let open = File::open(path).and_then(|file| {
            if file.metadata()?.is_dir() {
                return Err(io::Error::from(io::ErrorKind::IsADirectory));
            }
            Ok(file)
        });
        match open {
            Ok(file) => Self::from_reader(file, &origin, limits),
            Err(source) => Err(SpoolError { origin, source }),
        }
    }

    /// Spools everything that `reader` returns; `origin` names it in messages.
    ///
    /// # Errors
    ///
    /// Returns an error if the reader fails or returns too much.
    pub fn from_reader(
        reader: impl Read,
        origin: &str,
        limits: InputLimits,
    ) -> Result<Self, SpoolError> {
        let spool = || -> io::Result<Self> {
            let mut reader =
                DigestReader::new(LimitedReader::new(reader, limits.file_bytes, "the file"));
            let mut file = tempfile::tempfile()?;
            let mut bytes = 0;
            let mut buffer = vec![0; 128 * 1024];
            loop {
                let count = match reader.read(&mut buffer) {
                    Ok(0) => break,
                    Ok(count) => count,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    Err(error) => return Err(error),
                };
                file.write_all(buffer.get(..count).unwrap_or_default())?;
                bytes += u64::try_from(count).unwrap_or_default();
            }
            file.rewind()?;
            Ok(Self { origin: origin.to_owned(), file, bytes, digest: reader.finish()? })
        };
        spool().map_err(|source| SpoolError { origin: origin.to_owned(), source })
    }

    /// Path or URL of the input.
    #[must_use]
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// SHA-256 of the file before unpacking, in hexadecimal, as `sha256sum` prints it.
    #[must_use]
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// Size of the file before unpacking, in bytes.
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// First bytes of the file; the position is at the start afterwards.
    #[cfg(feature = "fetch")]
    pub(super) fn beginning(&self, bytes: u64) -> Result<Vec<u8>, SpoolError> {
        let read = || -> io::Result<Vec<u8>> {
            let mut file = self.file();
            let mut start = Vec::new();
            file.rewind()?;
            file.take(bytes).read_to_end(&mut start)?;
            file.rewind()?;
            Ok(start)
        };
        read().map_err(|source| self.failed(source))
    }

    pub(super) const fn file(&self) -> &File {
        &self.file
    }

    /// An error about this input.
    pub(super) fn failed(&self, source: io::Error) -> SpoolError {
        SpoolError { origin: self.origin.clone(), source }
    }
}
