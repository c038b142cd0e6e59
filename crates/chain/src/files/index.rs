//! Index of the blocks in files: the position of each, and the blocks that make up the chain.

use std::io::{self, BufRead, BufReader, ErrorKind, Read, Seek};

use super::open::{Content, Opened};
use crate::{
    ChainParams, SourceError,
    params::HeaderForm,
    raw::{Header, RawBlock},
};

/// The most bytes of a block that is read: several times what any chain but Bitcoin SV allows.
pub(super) const LARGEST_BLOCK: u64 = 128 * 1024 * 1024;

/// Before each block: a magic number and its length.
const BEFORE_BLOCK: u64 = 8;

/// Position of a block, and its predecessor. Hashes are shortened ([`short`]): among ten million
/// blocks the probability that two share one is one in a hundred thousand, and reading them detects
/// it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) id: u64,
    parent: u64,
    pub(super) offset: u64,
    pub(super) file: u32,
    pub(super) length: u32,
    bits: u32,
}

impl Entry {
    /// True if it is a chain's first block.
    pub(super) const fn is_first(&self) -> bool {
        self.parent == 0
    }
}

/// A hash, cut short: the end that is not zeros.
pub(super) fn short(hash: &[u8; 32]) -> u64 {
    hash.last_chunk().copied().map_or(0, u64::from_be_bytes)
}

/// Looks for blocks in a file; says how many are cut off at its end.
pub(super) fn scan(
    params: &ChainParams,
    file: u32,
    content: &Content,
    entries: &mut Vec<Entry>,
) -> Result<u64, SourceError> {
    let failed = |source| SourceError::Read { path: content.path().to_owned(), source };
    let opened = content.open().map_err(failed)?;
    let length = opened.length().map_err(failed)?;
    let mut scan = Scan { params, input: BufReader::new(opened), at: 0, length };
    let start = scan.peek().map_err(failed)?;
    if start.is_none_or(|start| params.magics.contains(&start) || content.is_blank(start)) {
        return scan.blocks(file, entries).map_err(failed);
    }
    // One raw block, then.
    let wrong = |reason| SourceError::File { path: content.path().to_owned(), reason };
    let other = ChainParams::chain_of_magic(&start.unwrap_or_default());
    if let Some(other) = other {
        return Err(wrong(format!("it holds blocks of {}", other.info().name)));
    }
    let bytes = u32::try_from(length.min(LARGEST_BLOCK)).unwrap_or(u32::MAX);
    let bytes = scan.input.get_mut().bytes(0, bytes).map_err(failed)?;
    let block = RawBlock::parse(&bytes, params, None).map_err(|error| {
        wrong(format!("it is neither a block file nor a raw block of {}: {error}", params.name()))
    })?;
    let bytes = u32::try_from(length).unwrap_or(u32::MAX);
    entries.push(entry(&block.header, file, 0, bytes));
    Ok(0)
}

fn entry(header: &Header, file: u32, offset: u64, length: u32) -> Entry {
    let (id, parent) = (short(&header.hash()), short(&header.parent));
    Entry { id, parent, offset, file, length, bits: header.bits }
}

struct Scan<'a> {
    params: &'a ChainParams,
    input: BufReader<Opened>,
    at: u64,
    length: u64,
}

impl Scan<'_> {
    /// The next four bytes, which are read again; `None` at the end.
    fn peek(&mut self) -> io::Result<Option<[u8; 4]>> {
        let mut bytes = [0; 4];
        let read = self.input.read_exact(&mut bytes);
        self.input.seek(io::SeekFrom::Start(self.at))?;
        match read {
            Ok(()) => Ok(Some(bytes)),
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn blocks(mut self, file: u32, entries: &mut Vec<Entry>) -> io::Result<u64> {
        while let Some(follows) = self.find_magic()? {
            let begin = self.at + BEFORE_BLOCK;
            let length = u64::from(u32::from_le_bytes(self.array()?));
            let fits = (Header::LENGTH as u64..=LARGEST_BLOCK).contains(&length);
            if follows && !fits {
                let reason = format!(
                    "the block at byte {begin} has {length} bytes: {LARGEST_BLOCK} are read at most"
                );
                return Err(io::Error::new(ErrorKind::InvalidData, reason));
            }
            if follows && begin + length > self.length {
                return Ok(1);
            }
            let header = if fits && begin + length <= self.length { self.header()? } else { None };
            match header {
                Some(header) => {
                    let bytes = u32::try_from(length).unwrap_or(u32::MAX);
                    entries.push(entry(&header, file, begin, bytes));
                    self.at = begin + length;
                }
                // It only looked like a block.
                None => self.at += 1,
            }
            self.go()?;
        }
        Ok(0)
    }

    /// Goes to the place that is to be read next; near ones are in the buffer already.
    fn go(&mut self) -> io::Result<()> {
        let here = self.input.stream_position()?;
        let there = i64::try_from(self.at).unwrap_or(i64::MAX);
        self.input.seek_relative(there.saturating_sub_unsigned(here))
    }

    fn array<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        let mut bytes = [0; N];
        self.input.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    /// A header, if it is one as far as it tells by itself.
    fn header(&mut self) -> io::Result<Option<Header>> {
        let bytes = self.array::<{ Header::LENGTH }>()?;
        let proof = self.params.header == (HeaderForm::Plain { proof: true });
        let header = Header::parse(&bytes).map_err(io::Error::other)?;
        Ok(Some(header).filter(|header| !proof || header.is_met_by(&header.hash())))
    }

    /// Moves behind the next magic number and returns whether it follows at once, as one block
    /// follows the other; `None` at the end. Bytes that a killed node left between blocks are
    /// skipped.
    fn find_magic(&mut self) -> io::Result<Option<bool>> {
        let mut window = [0; 4];
        let mut read = 0_u64;
        while let Some(byte) = self.input.fill_buf()?.first().copied() {
            self.input.consume(1);
            window.rotate_left(1);
            if let Some(last) = window.last_mut() {
                *last = byte;
            }
            read += 1;
            if read >= 4 && self.params.magics.contains(&window) {
                self.at += read - 4;
                let follows = read == 4;
                return Ok(Some(follows).filter(|_| self.length - self.at >= BEFORE_BLOCK));
            }
        }
        Ok(None)
    }
}

/// The chain that the blocks of all files make up.
#[derive(Debug)]
pub(super) struct Index {
    /// All blocks, by identifier.
    entries: Vec<Entry>,
    /// The chain: places in `entries`, first block first.
    chain: Vec<u32>,
}

impl Index {
    /// Finds the chain with the most work; of several, the one whose last block was found first.
    pub(super) fn new(mut entries: Vec<Entry>) -> Self {
        entries.sort_by_key(|entry| (entry.id, entry.file, entry.offset));
        entries.dedup_by_key(|entry| entry.id);
        let parents: Vec<Option<u32>> =
            entries.iter().map(|entry| position(&entries, entry.parent)).collect();
        let works = works(&entries, &parents);
        let best = works.iter().zip(&entries).zip(0_u32..).max_by(|(left, _), (right, _)| {
            let ((left, one), (right, other)) = (left, right);
            let found = |entry: &Entry| (entry.file, entry.offset);
            left.cmp(right).then_with(|| found(other).cmp(&found(one)))
        });
        let mut chain = Vec::new();
        let mut next = best.map(|(_, place)| place);
        while let Some(place) = next
            && chain.len() < entries.len()
        {
            chain.push(place);
            next = parents.get(place as usize).copied().flatten();
        }
        chain.reverse();
        Self { entries, chain }
    }

    /// Number of blocks in the chain.
    pub(super) const fn len(&self) -> usize {
        self.chain.len()
    }

    /// Number of blocks that are not part of the chain.
    pub(super) const fn left_out(&self) -> u64 {
        (self.entries.len() - self.chain.len()) as u64
    }

    /// The chain's block in a place, from 0.
    pub(super) fn get(&self, place: usize) -> Option<Entry> {
        self.entries.get(*self.chain.get(place)? as usize).copied()
    }

    /// The place of a block in the chain.
    pub(super) fn find(&self, id: u64) -> Option<usize> {
        let wanted = position(&self.entries, id)?;
        self.chain.iter().position(|place| *place == wanted)
    }
}

/// The place of a block among all, which are ordered by identifier.
fn position(entries: &[Entry], id: u64) -> Option<u32> {
    let place = entries.binary_search_by_key(&id, |entry| entry.id).ok()?;
    u32::try_from(place).ok()
}

/// The work of each block with everything before it.
fn works(entries: &[Entry], parents: &[Option<u32>]) -> Vec<u128> {
    let mut works: Vec<Option<u128>> = vec![None; entries.len()];
    let mut open = Vec::new();
    for start in 0..entries.len() {
        // Down to a block whose work is known, or to one without a parent; then up again.
        let (mut place, mut below) = (start, 0);
        loop {
            match works.get(place) {
                Some(Some(known)) => {
                    below = *known;
                    break;
                }
                // Longer than all blocks together: a circle, which only a forged file has.
                _ if open.len() > entries.len() => break,
                _ => open.push(place),
            }
            match parents.get(place).copied().flatten() {
                Some(parent) => place = parent as usize,
                None => break,
            }
        }
        while let Some(place) = open.pop() {
            let own = entries.get(place).map_or(0, work);
            below = below.saturating_add(own);
            if let Some(known) = works.get_mut(place) {
                *known = Some(below);
            }
        }
    }
    works.into_iter().map(Option::unwrap_or_default).collect()
}

fn work(entry: &Entry) -> u128 {
    let Entry { bits, .. } = *entry;
    let zeros = [0; 32];
    Header { version: 0, parent: zeros, merkle_root: zeros, time: 0, bits, nonce: 0 }.work()
}
