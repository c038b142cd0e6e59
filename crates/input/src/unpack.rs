//! Unpacking gzip, bzip2, xz, zstd and zip, recognized by their first bytes, not by file names.

use std::{
    borrow::Cow,
    fs::File,
    io::{self, BufRead, BufReader, Read, Seek, Write},
};

use bzip2::read::MultiBzDecoder;
use flate2::read::MultiGzDecoder;
use liblzma::{
    read::XzDecoder,
    stream::{CONCATENATED, Stream},
};
use zip::{CompressionMethod, ZipArchive, result::ZipError};

use super::{InputError, InputLimits, SpoolError, SpooledFile, limit::LimitedReader};

/// Largest memory for unpacking xz, in bytes. The header of an xz file can ask for gigabytes.
const XZ_MEMORY_BYTES: u64 = 96 * 1024 * 1024;

/// Largest memory for unpacking zstd, as the logarithm of bytes: `zstd --ultra` needs as much.
const ZSTD_WINDOW_LOG: u32 = 27;

const GZIP: &[u8] = &[0x1F, 0x8B];
const BZIP2: &[u8] = b"BZh";
const XZ: &[u8] = &[0xFD, b'7', b'z', b'X', b'Z', 0];
const ZSTD: &[u8] = &[0x28, 0xB5, 0x2F, 0xFD];
const ZIP: &[u8] = b"PK\x03\x04";

/// Number of bytes by which packed files are recognized.
pub(super) const START_BYTES: usize = 10;

/// A way in which a file is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Packing {
    Gzip,
    Bzip2,
    Xz,
    Zstd,
    Zip,
}

impl Packing {
    /// The packing of a file that begins with `start`; `None` if it is not packed.
    pub(super) fn of(start: &[u8]) -> Option<Self> {
        // A zstd file may begin with frames that are skipped, as those of parallel packers.
        let is_skipped = |start: &[u8]| matches!(start, [first, 0x2A, 0x4D, 0x18, ..] if (0x50..=0x5F).contains(first));
        match start {
            _ if start.starts_with(GZIP) => Some(Self::Gzip),
            _ if is_bzip2(start) => Some(Self::Bzip2),
            _ if start.starts_with(XZ) => Some(Self::Xz),
            _ if start.starts_with(ZSTD) || is_skipped(start) => Some(Self::Zstd),
            _ if start.starts_with(ZIP) => Some(Self::Zip),
            _ => None,
        }
    }

    /// The content of a packed file. An archive is no stream, so that its bytes stay packed.
    fn unpacker<'a>(self, file: impl BufRead + Send + 'a) -> io::Result<Box<dyn Read + Send + 'a>> {
        Ok(match self {
            Self::Gzip => Box::new(MultiGzDecoder::new(file)),
            Self::Bzip2 => Box::new(MultiBzDecoder::new(file)),
            Self::Xz => {
                let stream = Stream::new_stream_decoder(XZ_MEMORY_BYTES, CONCATENATED)?;
                Box::new(XzDecoder::new_stream(file, stream))
            }
            Self::Zstd => {
                let mut decoder = zstd::Decoder::with_buffer(file)?;
                decoder.window_log_max(ZSTD_WINDOW_LOG)?;
                Box::new(decoder)
            }
            Self::Zip => Box::new(file),
        })
    }
}

/// True if a file begins as one of bzip2: its size of blocks, then the mark of a block or of the end. Three letters
/// alone could begin a text.
pub(super) fn is_bzip2(start: &[u8]) -> bool {
    let rest = start.strip_prefix(BZIP2).and_then(<[u8]>::split_first);
    rest.is_some_and(|(size, rest)| {
        size.is_ascii_digit() && (rest.starts_with(b"1AY&SY") || rest.starts_with(b"\x17rE8P\x90"))
    })
}

/// Subject of the message about content beyond the limit.
const UNPACKED: &str = "the unpacked content";

impl SpooledFile {
    /// Passes the content to `read`, unpacked if it is gzip, bzip2, xz or zstd.
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
        let packing = self.packing()?;
        let file = BufReader::new(self.file());
        let mut content: Box<dyn Read + '_> = match packing {
            Some(packing) => packing.unpacker(file).map_err(|source| self.failed(source))?,
            None => Box::new(file),
        };
        Ok(read(&mut LimitedReader::new(&mut content, limit, UNPACKED)))
    }

    /// The content, unpacked as by [`unpack`](Self::unpack), as a reader of its own.
    pub(super) fn into_content(
        self,
        limits: InputLimits,
    ) -> Result<Box<dyn Read + Send>, SpoolError> {
        let limit = limits.unpacked(self.bytes());
        let packing = self.packing()?;
        let open = || -> io::Result<Box<dyn Read + Send>> {
            let file = BufReader::new(self.file().try_clone()?);
            let content = match packing {
                Some(packing) => packing.unpacker(file)?,
                None => Box::new(file),
            };
            Ok(Box::new(LimitedReader::new(content, limit, UNPACKED)))
        };
        open().map_err(|source| self.failed(source))
    }

    /// True if the file is a zip archive.
    pub(super) fn is_archive(&self) -> Result<bool, SpoolError> {
        Ok(self.packing()? == Some(Packing::Zip))
    }

    /// The packing of the file; the position is at the start afterwards.
    fn packing(&self) -> Result<Option<Packing>, SpoolError> {
        Ok(Packing::of(&self.start()?))
    }

    /// First bytes of the file; the position is at the start afterwards.
    fn start(&self) -> Result<Vec<u8>, SpoolError> {
        let read = || -> io::Result<Vec<u8>> {
            let mut file = self.file();
            let mut start = Vec::new();
            file.rewind()?;
            file.take(u64::try_from(START_BYTES).unwrap_or_default()).read_to_end(&mut start)?;
            file.rewind()?;
            Ok(start)
        };
        read().map_err(|source| self.failed(source))
    }
}

/// Methods of packing in a zip archive that are unpacked.
const METHODS: [CompressionMethod; 4] = [
    CompressionMethod::Stored,
    CompressionMethod::Deflated,
    CompressionMethod::Bzip2,
    CompressionMethod::Zstd,
];

fn entry_error(origin: &str, source: ZipError) -> InputError {
    let origin = origin.to_owned();
    match source {
        ZipError::UnsupportedArchive(ZipError::PASSWORD_REQUIRED) | ZipError::InvalidPassword => {
            InputError::Entry { origin, problem: "is encrypted with a password".to_owned() }
        }
        source => InputError::Zip { origin, source },
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
        let mut entry = entries.by_name(name).map_err(|source| entry_error(origin, source))?;
        let method = entry.compression();
        if !METHODS.contains(&method) {
            let problem = format!("is packed by a method that is not supported ({method})");
            return Err(InputError::Entry { origin: origin.clone(), problem });
        }
        let mut content = LimitedReader::resume(&mut entry, *left, *limit, UNPACKED);
        let outcome = read(&mut content);
        *left = content.left();
        Ok(outcome)
    }

    /// Unpacks an entry to a private file, whose position is at the start.
    pub(super) fn unpack(&mut self, name: &str) -> Result<File, InputError> {
        let unpacked = self.read(name, |content| -> io::Result<File> {
            let mut file = tempfile::tempfile()?;
            io::copy(content, &mut file)?;
            file.flush()?;
            file.rewind()?;
            Ok(file)
        })?;
        let failed = |source| SpoolError { origin: self.origin.clone(), source };
        Ok(unpacked.map_err(failed)?)
    }

    fn broken(&self, source: ZipError) -> InputError {
        InputError::Zip { origin: self.origin.clone(), source }
    }
}
