//! Unpacking gzip, bzip2, xz and zip, recognized by their first bytes, not by file names.

use std::{
    borrow::Cow,
    fs::File,
    io::{self, BufReader, Read, Seek},
};

use bzip2::read::MultiBzDecoder;
use flate2::read::MultiGzDecoder;
use liblzma::{
    read::XzDecoder,
    stream::{CONCATENATED, Stream},
};
use zip::{ZipArchive, result::ZipError};

use super::{InputError, InputLimits, SpoolError, SpooledFile, limit::LimitedReader};

/// Largest memory for unpacking xz, in bytes. The header of an xz file can ask for gigabytes.
const XZ_MEMORY_BYTES: u64 = 96 * 1024 * 1024;

const GZIP: &[u8] = &[0x1F, 0x8B];
const BZIP2: &[u8] = b"BZh";
const XZ: &[u8] = &[0xFD, b'7', b'z', b'X', b'Z', 0];
const ZIP: &[u8] = b"PK\x03\x04";

/// Subject of the message about content beyond the limit.
const UNPACKED: &str = "the unpacked content";

impl SpooledFile {
    /// Passes the content to `read`, unpacked if it is gzip, bzip2 or xz.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be opened. `read` receives the errors of unpacking as
    /// errors of its reader.
    pub fn unpack<T>(
        &self,
        limits: InputLimits,
        read: impl FnOnce(&mut dyn Read) -> T,
    ) -> Result<T, SpoolError> {
        let limit = limits.unpacked(self.bytes());
        let start = self.start()?;
        let file = BufReader::new(self.file());
        let mut content: Box<dyn Read + '_> = if start.starts_with(GZIP) {
            Box::new(MultiGzDecoder::new(file))
        } else if start.starts_with(BZIP2) {
            Box::new(MultiBzDecoder::new(file))
        } else if start.starts_with(XZ) {
            let stream = Stream::new_stream_decoder(XZ_MEMORY_BYTES, CONCATENATED)
                .map_err(|error| self.failed(error.into()))?;
            Box::new(XzDecoder::new_stream(file, stream))
        } else {
            Box::new(file)
        };
        Ok(read(&mut LimitedReader::new(&mut content, limit, UNPACKED)))
    }

    /// True if the file is a zip archive.
    pub(super) fn is_archive(&self) -> Result<bool, SpoolError> {
        Ok(self.start()?.starts_with(ZIP))
    }

    /// First bytes of the file; the position is at the start afterwards.
    fn start(&self) -> Result<Vec<u8>, SpoolError> {
        let read = || -> io::Result<Vec<u8>> {
            let mut file = self.file();
            let mut start = Vec::new();
            file.rewind()?;
            file.take(6).read_to_end(&mut start)?;
            file.rewind()?;
            Ok(start)
        };
        read().map_err(|source| self.failed(source))
    }
}

/// Zip archive whose entries are read one after another.
pub(super) struct Archive {
    origin: String,
    entries: ZipArchive<BufReader<File>>,
    limit: u64,
    /// Unpacked bytes that may still be read: the entries share the limit.
    left: u64,
}

impl Archive {
    /// Opens a spooled archive.
    pub(super) fn open(spooled: &SpooledFile, limits: InputLimits) -> Result<Self, InputError> {
        let file = spooled.file().try_clone().map_err(|source| spooled.failed(source))?;
        let origin = spooled.origin().to_owned();
        let entries = ZipArchive::new(BufReader::new(file))
            .map_err(|source| InputError::Zip { origin: origin.clone(), source })?;
        let limit = limits.unpacked(spooled.bytes());
        Ok(Self { origin, entries, limit, left: limit })
    }

    /// Path or URL of the archive.
    pub(super) fn origin(&self) -> &str {
        &self.origin
    }

    /// Names of the entries, sorted.
    pub(super) fn names(&self) -> Result<Vec<String>, InputError> {
        let names = self.entries.file_names().map(|name| name.map(Cow::into_owned));
        let mut names =
            names.collect::<Result<Vec<_>, _>>().map_err(|source| self.broken(source))?;
        names.sort();
        Ok(names)
    }

    /// Passes the content of an entry to `read`.
    pub(super) fn read<T>(
        &mut self,
        name: &str,
        read: impl FnOnce(&mut dyn Read) -> T,
    ) -> Result<T, InputError> {
        let Self { origin, entries, limit, left } = self;
        let mut entry = entries
            .by_name(name)
            .map_err(|source| InputError::Zip { origin: origin.clone(), source })?;
        let mut content = LimitedReader::resume(&mut entry, *left, *limit, UNPACKED);
        let outcome = read(&mut content);
        *left = content.left();
        Ok(outcome)
    }

    fn broken(&self, source: ZipError) -> InputError {
        InputError::Zip { origin: self.origin.clone(), source }
    }
}
