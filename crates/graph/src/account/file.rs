//! The layout of the file: a mark, two heads, and frames.
//!
//! A head names a committed state: its number, its length in bytes and what it holds. A commit writes the frames behind
//! the committed ones, and then the older of the two heads, each flushed to the disk. The valid head with the greater
//! number counts; bytes behind its length were never committed.

use std::{fs::File, io, os::unix::fs::FileExt, path::Path};

use assay_address::ChainId;
use jiff::Timestamp;

use super::{RecordedBlock, RecordedState};
use crate::{GraphError, directory::file_error};

/// First bytes of the file: the format with its version.
const MARK: &[u8; 16] = b"assay transfers1";
/// Distance between the mark and the heads: a sector of a disk, which is written as a whole.
const SECTOR: u64 = 512;
/// Position of the first frame.
pub(super) const FRAMES: u64 = 4096;
/// Length of a head in bytes.
const HEAD: usize = 256;
/// Longest identifier of a chain.
const CHAIN: usize = 32;
/// Longest frame, in bytes: far more than a block has.
pub(super) const LONGEST_FRAME: u32 = 1 << 30;
/// Mark of a frame with symbols of tokens, in its length.
pub(super) const SYMBOLS: u32 = 1 << 31;

/// A committed state of the file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Head {
    /// Number of the commit.
    pub(super) number: u64,
    /// Committed length of the file.
    pub(super) length: u64,
    /// Description of the recorded blocks.
    pub(super) state: RecordedState,
}

impl Head {
    /// Position of the head in the file.
    const fn position(&self) -> u64 {
        SECTOR * (1 + self.number % 2)
    }

    fn bytes(&self, chain: ChainId) -> [u8; HEAD] {
        let state = &self.state;
        let mut fields = Vec::with_capacity(HEAD);
        let mut name = [0; CHAIN];
        let text = chain.as_str().as_bytes();
        name.iter_mut().zip(text).for_each(|(byte, letter)| *byte = *letter);
        fields.extend_from_slice(&name);
        let numbers = [self.number, self.length];
        let counts = [state.blocks, state.transactions, state.transfers, state.without_initiator];
        for number in numbers.into_iter().chain(counts) {
            fields.extend_from_slice(&number.to_le_bytes());
        }
        for block in [state.first, state.tip] {
            fields.extend_from_slice(&block.height.to_le_bytes());
            fields.extend_from_slice(&block.time.as_second().to_le_bytes());
            fields.extend_from_slice(&block.time.subsec_nanosecond().to_le_bytes());
        }
        fields.extend_from_slice(&state.digest);
        fields.push(u8::from(state.sample));
        fields.resize(HEAD - size_of::<u32>(), 0);
        let checksum = crc32fast::hash(&fields);
        fields.extend_from_slice(&checksum.to_le_bytes());
        let mut bytes = [0; HEAD];
        bytes.iter_mut().zip(fields).for_each(|(byte, field)| *byte = field);
        bytes
    }

    /// Reads a head; `None` if it was not written completely.
    fn parse(bytes: &[u8; HEAD]) -> Option<(Self, String)> {
        let (fields, checksum) = bytes.split_last_chunk::<4>()?;
        if crc32fast::hash(fields) != u32::from_le_bytes(*checksum) {
            return None;
        }
        let mut fields = Fields(fields);
        let name = fields.take::<CHAIN>()?;
        let name = name.split(|byte| *byte == 0).next()?;
        let name = std::str::from_utf8(name).ok()?.to_owned();
        let (number, length) = (fields.number()?, fields.number()?);
        let (blocks, transactions) = (fields.number()?, fields.number()?);
        let (transfers, without_initiator) = (fields.number()?, fields.number()?);
        let (first, tip) = (fields.block()?, fields.block()?);
        let digest = fields.take()?;
        let sample = fields.take::<1>()? != [0];
        let state = RecordedState {
            first,
            tip,
            blocks,
            transactions,
            transfers,
            without_initiator,
            digest,
            sample,
        };
        Some((Self { number, length, state }, name))
    }
}

/// The fields of a head.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*taken)
    }

    fn number(&mut self) -> Option<u64> {
        self.take().map(u64::from_le_bytes)
    }

    fn block(&mut self) -> Option<RecordedBlock> {
        let height = self.number()?;
        let seconds = i64::from_le_bytes(self.take()?);
        let nanoseconds = i32::from_le_bytes(self.take()?);
        let time = Timestamp::new(seconds, nanoseconds).ok()?;
        Some(RecordedBlock { height, time })
    }
}

/// Writes the mark of a new file.
pub(super) fn write_mark(file: &File) -> io::Result<()> {
    let mut bytes = vec![0; usize::try_from(FRAMES).unwrap_or_default()];
    bytes.iter_mut().zip(MARK).for_each(|(byte, mark)| *byte = *mark);
    file.write_all_at(&bytes, 0)
}

/// Writes a head over the older one.
pub(super) fn write_head(file: &File, chain: ChainId, head: &Head) -> io::Result<()> {
    file.write_all_at(&head.bytes(chain), head.position())
}

/// Reads the committed state of a file, which must be of the chain and have all committed bytes.
pub(super) fn read_head(file: &File, path: &Path, chain: ChainId) -> Result<Head, GraphError> {
    let length = file.metadata().map_err(|error| file_error(path, error))?.len();
    let mut mark = [0; MARK.len()];
    read_exact(file, path, &mut mark, 0, "its first bytes")?;
    if mark != *MARK {
        return Err(refused(
            path,
            "it is no file of recorded transfers, or one of another version",
        ));
    }
    let mut newest: Option<(Head, String)> = None;
    for position in [SECTOR, 2 * SECTOR] {
        let mut bytes = [0; HEAD];
        read_exact(file, path, &mut bytes, position, "its head")?;
        let found = Head::parse(&bytes);
        if let Some((head, name)) = found
            && newest.as_ref().is_none_or(|(newest, _)| newest.number < head.number)
        {
            newest = Some((head, name));
        }
    }
    let Some((head, name)) = newest else { return Err(refused(path, "its head is damaged")) };
    if name != chain.as_str() {
        return Err(refused(path, &format!("it holds transfers of {name}, not of {chain}")));
    }
    if length < head.length {
        let cut = format!("it has {length} bytes of {}: it was cut off", head.length);
        return Err(refused(path, &cut));
    }
    Ok(head)
}

/// Fills a buffer from a position.
pub(super) fn read_exact(
    file: &File,
    path: &Path,
    buffer: &mut [u8],
    position: u64,
    part: &str,
) -> Result<(), GraphError> {
    file.read_exact_at(buffer, position).map_err(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof => {
            refused(path, &format!("{part} are missing: it was cut off"))
        }
        _ => file_error(path, error),
    })
}

/// The error of a file that cannot be used.
pub(super) fn refused(path: &Path, detail: &str) -> GraphError {
    GraphError::Transfers { path: path.to_owned(), detail: detail.to_owned() }
}
