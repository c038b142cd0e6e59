//! Unpacking gzip, bzip2, xz and zip, recognised by their first bytes and not by their names.

use std::io::{self, BufReader, Read, Seek};

use bzip2::read::MultiBzDecoder;
use flate2::read::MultiGzDecoder;
use liblzma::{
    read::XzDecoder,
    stream::{CONCATENATED, Stream},
};
use sha2::{Digest, Sha256};
use zip::ZipArchive;

use super::{InputLimits, Spooled, limit::Limited};

/// Memory that unpacking xz may take; its headers can ask for gigabytes.
const XZ_MEMORY_BYTES: u64 = 96 * 1024 * 1024;

/// Why input could not be unpacked.
#[derive(Debug, thiserror::Error)]
pub enum UnpackError {
    /// The input could not be read.
    #[error("failed to read {origin}: {source}")]
    Read {
        /// The file or URL.
        origin: String,
        /// What happened.
        #[source]
        source: io::Error,
    },
    /// A zip archive that is broken.
    #[error("{origin} is not a readable zip archive: {source}")]
    Zip {
        /// The file or URL.
        origin: String,
        /// What is wrong.
        #[source]
        source: zip::result::ZipError,
    },
    /// A zip archive with no list in it, or several.
    #[error("{origin} holds {found}: expected a zip archive with exactly one `.xml` file")]
    ZipContent {
        /// The file or URL.
        origin: String,
        /// What it holds.
        found: String,
    },
}

impl Spooled {
    /// Hands what is inside, packed or not, to `read`.
    ///
    /// # Errors
    ///
    /// Where the input cannot be opened, or is an archive without exactly one list. What goes wrong
    /// while `read` reads is for `read` to tell.
    pub fn unpack<T>(
        &self,
        limits: InputLimits,
        read: impl FnOnce(&mut dyn Read) -> T,
    ) -> Result<T, UnpackError> {
        let suspicious =
            self.bytes().saturating_mul(limits.unpacking_ratio).max(InputLimits::RATIO_FROM_BYTES);
        let limit = limits.unpacked_bytes.min(suspicious);
        let limited = |inner| Limited::new(inner, limit, "what it unpacks to");
        let failed = |source| UnpackError::Read { origin: self.origin().to_owned(), source };

        let start = self.first_bytes().map_err(failed)?;
        let file = BufReader::new(self.file());
        if start.starts_with(&[0x1F, 0x8B]) {
            Ok(read(&mut limited(&mut MultiGzDecoder::new(file) as &mut dyn Read)))
        } else if start.starts_with(b"BZh") {
            Ok(read(&mut limited(&mut MultiBzDecoder::new(file) as &mut dyn Read)))
        } else if start.starts_with(&[0xFD, b'7', b'z', b'X', b'Z', 0]) {
            let stream = Stream::new_stream_decoder(XZ_MEMORY_BYTES, CONCATENATED)
                .map_err(|error| failed(error.into()))?;
            Ok(read(&mut limited(&mut XzDecoder::new_stream(file, stream) as &mut dyn Read)))
        } else if start.starts_with(b"PK\x03\x04") {
            let broken = |source| UnpackError::Zip { origin: self.origin().to_owned(), source };
            let mut archive = ZipArchive::new(file).map_err(broken)?;
            let name = self.only_list(&archive)?;
            let mut entry = archive.by_name(&name).map_err(broken)?;
            Ok(read(&mut limited(&mut entry as &mut dyn Read)))
        } else {
            Ok(read(&mut limited(&mut { file } as &mut dyn Read)))
        }
    }

    fn first_bytes(&self) -> io::Result<Vec<u8>> {
        let mut file = self.file();
        let mut start = Vec::new();
        file.rewind()?;
        file.take(6).read_to_end(&mut start)?;
        file.rewind()?;
        Ok(start)
    }

    /// The name of the only `.xml` file in an archive.
    fn only_list<R: Read + Seek>(&self, archive: &ZipArchive<R>) -> Result<String, UnpackError> {
        let broken = |source| UnpackError::Zip { origin: self.origin().to_owned(), source };
        let mut lists = Vec::new();
        for name in archive.file_names() {
            let name = name.map_err(broken)?;
            if name.to_ascii_lowercase().ends_with(".xml") {
                lists.push(name.into_owned());
            }
        }
        let found = match lists.as_slice() {
            [name] => return Ok(name.clone()),
            [] => "no `.xml` file".to_owned(),
            several => format!("{} `.xml` files", several.len()),
        };
        Err(UnpackError::ZipContent { origin: self.origin().to_owned(), found })
    }
}

/// A reader that digests what passes through it.
pub struct Hashing<R> {
    inner: R,
    hash: Sha256,
}

impl<R: Read> Hashing<R> {
    /// Digests what is read from `inner`.
    pub fn new(inner: R) -> Self {
        Self { inner, hash: Sha256::new() }
    }

    /// Reads what is left and gives SHA-256 of the whole, in hexadecimal.
    ///
    /// # Errors
    ///
    /// Where the rest cannot be read.
    pub fn finish(mut self) -> io::Result<String> {
        io::copy(&mut self, &mut io::sink())?;
        Ok(hex::encode(self.hash.finalize()))
    }
}

impl<R: Read> Read for Hashing<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.hash.update(buffer.get(..count).unwrap_or_default());
        Ok(count)
    }
}
