//! Opening of a block file: unpacked if it is packed, and decoded if a node obfuscated it.

use std::{
    fmt,
    fs::{self, File},
    io::{self, Read, Seek, SeekFrom},
    path::{Path, PathBuf},
};

use assay_input::{InputLimits, SpooledFile};

use crate::SourceError;

/// Length of an obfuscation key in bytes.
const KEY_BYTES: usize = 8;

/// Largest unpacked size of a packed file: a block file has 128 MiB.
const LARGEST_UNPACKED: u64 = 1 << 30;

/// Obfuscation key, which is repeated over a whole file.
type Key = [u8; KEY_BYTES];

/// File that can be opened repeatedly.
#[derive(Debug)]
pub(super) struct BlockFile {
    path: PathBuf,
    key: Option<Key>,
    /// Unpacked contents of a packed file.
    unpacked: Option<File>,
}

impl BlockFile {
    pub(super) fn new(path: PathBuf) -> Result<Self, SourceError> {
        let failed = |source| SourceError::Read { path: path.clone(), source };
        let key = if is_node_file(&path) { read_obfuscation_key(&path)? } else { None };
        let unpacked = if key.is_none() { unpacked(&path).map_err(failed)? } else { None };
        Ok(Self { path, key, unpacked })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// True if a decoded file with this start is still empty: nodes allocate space in advance.
    pub(super) fn is_blank(&self, start: [u8; 4]) -> bool {
        let zeros = self.key.unwrap_or_default();
        start == [0; 4] || zeros.starts_with(&start)
    }

    pub(super) fn open(&self) -> io::Result<OpenFile> {
        let mut file = match &self.unpacked {
            Some(file) => file.try_clone()?,
            None => File::open(&self.path)?,
        };
        file.rewind()?;
        Ok(OpenFile { file, key: self.key, at: 0 })
    }
}

/// True if a file has the name of a node's block file.
pub(super) fn is_block_file(path: &Path) -> bool {
    is_numbered(path, "blk")
}

/// True if a file has the name of a node's block file or undo file.
fn is_node_file(path: &Path) -> bool {
    is_block_file(path) || is_numbered(path, "rev")
}

fn is_numbered(path: &Path, kind: &str) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let number = name.strip_prefix(kind).and_then(|rest| rest.strip_suffix(".dat"));
    number.is_some_and(|number| {
        !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
    })
}

/// Reads the obfuscation key that a node wrote next to its block files, if any.
fn read_obfuscation_key(path: &Path) -> Result<Option<Key>, SourceError> {
    let path = path.with_file_name("xor.dat");
    match fs::read(&path) {
        Ok(bytes) => match Key::try_from(&*bytes) {
            Ok(key) => Ok(Some(key).filter(|key| *key != [0; KEY_BYTES])),
            Err(_) => Err(SourceError::File {
                path,
                reason: format!("it has {} bytes: a key has {KEY_BYTES}", bytes.len()),
            }),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(SourceError::Read { path, source }),
    }
}

/// Unpacks a packed file to a private file; `None` if it is not packed.
fn unpacked(path: &Path) -> io::Result<Option<File>> {
    const PACKED: [&[u8]; 3] = [&[0x1F, 0x8B], b"BZh", &[0xFD, b'7', b'z', b'X', b'Z', 0]];
    const LIMITS: InputLimits = InputLimits {
        file_bytes: LARGEST_UNPACKED,
        unpacked_bytes: LARGEST_UNPACKED,
        unpacking_ratio: 10_000,
    };
    let mut start = Vec::new();
    File::open(path)?.take(6).read_to_end(&mut start)?;
    if !PACKED.iter().any(|mark| start.starts_with(mark)) {
        return Ok(None);
    }
    let spooled = SpooledFile::from_file(path, LIMITS).map_err(|error| error.source)?;
    let mut file = tempfile::tempfile()?;
    spooled.unpack(LIMITS, |content| io::copy(content, &mut file)).map_err(io::Error::other)??;
    Ok(Some(file))
}

/// Open file that is decoded while it is read.
pub(super) struct OpenFile {
    file: File,
    key: Option<Key>,
    /// Position of the next byte to read.
    at: u64,
}

impl OpenFile {
    /// Reads `count` bytes from `offset` on.
    pub(super) fn bytes(&mut self, offset: u64, count: u32) -> io::Result<Vec<u8>> {
        self.seek(SeekFrom::Start(offset))?;
        let mut bytes = vec![0; count as usize];
        self.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    pub(super) fn length(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }
}

impl fmt::Debug for OpenFile {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("OpenFile").field("at", &self.at).finish_non_exhaustive()
    }
}

impl Read for OpenFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(buffer)?;
        if let Some(key) = &self.key {
            let begin = usize::try_from(self.at % KEY_BYTES as u64).unwrap_or_default();
            let key = key.iter().cycle().skip(begin);
            for (byte, key) in buffer.iter_mut().take(count).zip(key) {
                *byte ^= key;
            }
        }
        self.at += count as u64;
        Ok(count)
    }
}

impl Seek for OpenFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.at = self.file.seek(to)?;
        Ok(self.at)
    }
}
