//! Copying input to a private file while computing its digest.

use std::{
    fs::File,
    io::{self, Read, Seek, Write},
    path::Path,
};

use sha2::{Digest, Sha256};

use super::{InputLimits, limit::Limited};

/// Why input could not be taken in.
#[derive(Debug, thiserror::Error)]
#[error("failed to read {origin}: {source}")]
pub struct SpoolError {
    /// The file or URL.
    pub origin: String,
    /// What happened.
    #[source]
    pub source: io::Error,
}

/// Input in a private file that vanishes with it.
#[derive(Debug)]
pub struct Spooled {
    origin: String,
    file: File,
    bytes: u64,
    digest: String,
}

impl Spooled {
    /// Spools a local file.
    ///
    /// # Errors
    ///
    /// Where it cannot be read or is too large.
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

    /// Spools whatever `reader` gives; `origin` names it in messages.
    ///
    /// # Errors
    ///
    /// Where it cannot be read or is too large.
    pub fn from_reader(
        reader: impl Read,
        origin: &str,
        limits: InputLimits,
    ) -> Result<Self, SpoolError> {
        let spool = || -> io::Result<Self> {
            let mut reader = Limited::new(reader, limits.file_bytes, "it");
            let mut file = tempfile::tempfile()?;
            let (mut hash, mut bytes) = (Sha256::new(), 0);
            let mut buffer = vec![0; 128 * 1024];
            loop {
                let count = match reader.read(&mut buffer) {
                    Ok(0) => break,
                    Ok(count) => count,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    Err(error) => return Err(error),
                };
                let piece = buffer.get(..count).unwrap_or_default();
                hash.update(piece);
                file.write_all(piece)?;
                bytes += u64::try_from(count).unwrap_or_default();
            }
            file.rewind()?;
            let digest = hex::encode(hash.finalize());
            Ok(Self { origin: origin.to_owned(), file, bytes, digest })
        };
        spool().map_err(|source| SpoolError { origin: origin.to_owned(), source })
    }

    /// The file or URL it came from.
    #[must_use]
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// SHA-256 of the file as it came, in hexadecimal: what `sha256sum` prints.
    #[must_use]
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// Its size.
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(super) const fn file(&self) -> &File {
        &self.file
    }
}
