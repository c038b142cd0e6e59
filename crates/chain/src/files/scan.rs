//! Scan of a block file: the position of each block in it.

use std::io::{self, ErrorKind};

use super::{
    frames::{BEFORE_CONTENT, Frames, Magic},
    index::{Entry, short_hash},
    magic::OtherMagic,
    open::{BlockFile, is_block_file},
};
use crate::{
    ChainParams, SourceError, TestNetworks,
    params::{HeaderForm, TEST_NETWORK_LIMIT, WorkHash},
    raw::{Header, RawBlock, RawError},
};

/// Largest number of bytes of a block: several times the maximum of any chain but Bitcoin SV.
pub(super) const LARGEST_BLOCK: u64 = 128 * 1024 * 1024;

/// Scanner of one file after the other.
#[derive(Debug)]
pub(super) struct Scanner {
    pub(super) params: &'static ChainParams,
    pub(super) test_networks: TestNetworks,
    pub(super) found: FoundBlocks,
}

/// Blocks that the scan found.
#[derive(Debug, Default)]
pub(super) struct FoundBlocks {
    /// Blocks with a header that is valid for the chain by itself.
    pub(super) entries: Vec<Entry>,
    /// Blocks with an invalid header at a position where a block may begin.
    pub(super) rejected: Vec<RejectedBlock>,
    /// Number of blocks that are incomplete at the end of their file.
    pub(super) truncated_blocks: u64,
}

/// Block with an invalid header, or other bytes that look like a block.
#[derive(Debug)]
pub(super) struct RejectedBlock {
    pub(super) entry: Entry,
    pub(super) error: RawError,
}

/// Reason for which a scan ended early.
enum ScanError {
    Read(io::Error),
    /// Another network's magic number.
    Magic {
        at: u64,
        found: [u8; 4],
    },
}

impl From<io::Error> for ScanError {
    fn from(error: io::Error) -> Self {
        Self::Read(error)
    }
}

impl Scanner {
    /// Scans a file for blocks. Entries refer to the file by `number`.
    pub(super) fn scan(&mut self, number: u32, content: &BlockFile) -> Result<(), SourceError> {
        let failed = |source| SourceError::Read { path: content.path().to_owned(), source };
        let magics = self.params.magics_of(self.test_networks);
        let opened = content.open().map_err(failed)?;
        let mut frames = Frames::new(opened, magics).map_err(failed)?;
        let start = frames.peek().map_err(failed)?;
        let length = frames.length;
        if start.is_none_or(|start| magics.contains(&start) || content.is_blank(start)) {
            let scan = Scan { params: self.params, frames };
            return scan.blocks(number, &mut self.found).map_err(|error| match error {
                ScanError::Read(source) => failed(source),
                ScanError::Magic { at, found } => self.other_magic(content, at, found),
            });
        }
        let start = start.unwrap_or_default();
        if is_block_file(content.path()) || ChainParams::network_of_magic(&start).is_some() {
            return Err(self.other_magic(content, 0, start));
        }
        let bytes = u32::try_from(length.min(LARGEST_BLOCK)).unwrap_or(u32::MAX);
        let bytes = frames.input.get_mut().bytes(0, bytes).map_err(failed)?;
        let header = self.raw_block(content, &bytes)?;
        let bytes = u32::try_from(length).unwrap_or(u32::MAX);
        self.found.entries.push(Entry::new(&header, number, 0, bytes));
        Ok(())
    }

    /// Returns the header of a file with one raw block.
    fn raw_block(&self, content: &BlockFile, bytes: &[u8]) -> Result<Header, SourceError> {
        let error = match RawBlock::parse(bytes, self.params, None) {
            Ok(block) => return Ok(block.header),
            Err(error) => error,
        };
        let path = content.path().to_owned();
        let first = Header::parse(bytes).ok().map(|header| header.hash());
        let known = first.and_then(|hash| ChainParams::chain_of_first_block(&hash));
        match (known, self.params.chain()) {
            (Some(found), Some(wanted)) if found != wanted => {
                let url = path.display().to_string();
                Err(SourceError::OtherChain { url, found: found.as_str(), wanted })
            }
            _ => {
                let name = self.params.name();
                let reason =
                    format!("it is neither a block file nor a raw block of {name}: {error}");
                Err(SourceError::File { path, reason })
            }
        }
    }

    fn other_magic(&self, content: &BlockFile, at: u64, found: [u8; 4]) -> SourceError {
        let magic = Box::new(OtherMagic::new(found, self.params, self.test_networks));
        SourceError::OtherMagic { path: content.path().to_owned(), at, magic }
    }
}

struct Scan {
    params: &'static ChainParams,
    frames: Frames,
}

impl Scan {
    fn blocks(mut self, file: u32, found: &mut FoundBlocks) -> Result<(), ScanError> {
        while let Some(Magic { bytes: magic, follows }) = self.frames.find_magic()? {
            let begin = self.frames.at + BEFORE_CONTENT;
            let length = u64::from(u32::from_le_bytes(self.frames.array()?));
            let fits = (Header::LENGTH as u64..=LARGEST_BLOCK).contains(&length);
            if follows && !fits {
                let reason = format!(
                    "the block at byte {begin} has {length} bytes: blocks of {} to {LARGEST_BLOCK} are read",
                    Header::LENGTH
                );
                return Err(io::Error::new(ErrorKind::InvalidData, reason).into());
            }
            if follows && begin + length > self.frames.length {
                found.truncated_blocks += 1;
                return Ok(());
            }
            self.frames.at += 1;
            if fits && begin + length <= self.frames.length {
                let header = self.header()?;
                let bytes = u32::try_from(length).unwrap_or(u32::MAX);
                let entry = Entry::new(&header, file, begin, bytes);
                match self.check(&header, magic) {
                    Ok(()) => {
                        found.entries.push(entry);
                        self.frames.at = begin + length;
                        self.frames.seek()?;
                        self.expect_magic()?;
                    }
                    // The bytes may only look like a block: connecting blocks decide. A killed node may leave a length
                    // without content.
                    Err(error) if follows && !header.is_blank() => {
                        found.rejected.push(RejectedBlock { entry, error });
                    }
                    Err(_) => {}
                }
            }
            self.frames.seek()?;
        }
        Ok(())
    }

    fn header(&mut self) -> io::Result<Header> {
        Header::parse(&self.frames.array::<{ Header::LENGTH }>()?).map_err(io::Error::other)
    }

    /// Checks a header after a magic number without other blocks, and without scrypt, which is computed when the block
    /// is read.
    fn check(&self, header: &Header, magic: [u8; 4]) -> Result<(), RawError> {
        header.check_target(self.params.limit_for_magic(magic))?;
        let work = WorkHash::DoubleSha256;
        if self.params.header == (HeaderForm::Plain { work }) && !header.has_work(work) {
            return Err(RawError::Proof { hash: hex::encode(header.hash()) });
        }
        Ok(())
    }

    /// Checks that the block is not followed by one with another network's magic number: a known number with a
    /// plausible length, or any number with a header that has work.
    fn expect_magic(&mut self) -> Result<(), ScanError> {
        let Some(left) =
            self.frames.length.checked_sub(self.frames.at + BEFORE_CONTENT + Header::LENGTH as u64)
        else {
            return Ok(());
        };
        let magic = self.frames.peek()?.unwrap_or_default();
        if magic == [0; 4] || self.frames.magics.contains(&magic) {
            return Ok(());
        }
        self.frames.array::<4>()?;
        let length = u64::from(u32::from_le_bytes(self.frames.array()?));
        let fits = (Header::LENGTH as u64..=left + Header::LENGTH as u64).contains(&length);
        if fits {
            let header = self.header()?;
            let known = ChainParams::network_of_magic(&magic).is_some();
            let works = header.check_target(TEST_NETWORK_LIMIT).is_ok()
                && [WorkHash::DoubleSha256, WorkHash::Scrypt]
                    .into_iter()
                    .any(|work| header.has_work(work));
            if known || works {
                return Err(ScanError::Magic { at: self.frames.at, found: magic });
            }
        }
        self.frames.seek()?;
        Ok(())
    }
}

/// Returns the first rejected block that belongs to a chain: a chain's first block, or a block that connects to a
/// parent or a child. Other rejected blocks are bytes that only look like a block, unless the files have no other
/// block.
pub(super) fn rejected_block(found: &mut FoundBlocks) -> Option<RejectedBlock> {
    if found.rejected.is_empty() {
        return None;
    }
    let mut parents: Vec<u64> = found.entries.iter().map(Entry::parent).collect();
    let mut ids: Vec<u64> = found.entries.iter().map(|entry| entry.id).collect();
    parents.extend(found.rejected.iter().map(|rejected| rejected.entry.parent()));
    ids.extend(found.rejected.iter().map(|rejected| rejected.entry.id));
    parents.sort_unstable();
    ids.sort_unstable();
    let alone = found.entries.is_empty();
    let connected = found.rejected.iter().position(|RejectedBlock { entry, .. }| {
        alone
            || entry.is_first()
            || ids.binary_search(&entry.parent()).is_ok()
            || parents.binary_search(&entry.id).is_ok()
    });
    connected.map(|place| found.rejected.swap_remove(place))
}

impl Entry {
    /// Returns the entry of a block with this header.
    fn new(header: &Header, file: u32, offset: u64, length: u32) -> Self {
        Self::from_parts(
            short_hash(&header.hash()),
            short_hash(&header.parent),
            header.bits,
            (file, offset, length),
        )
    }
}
