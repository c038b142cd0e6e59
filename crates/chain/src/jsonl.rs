//! Blocks as JSON lines: a transaction a line, with its block. The format is documented in
//! `docs/formats.md`.
//!
//! A file is read twice: once for the position of each block, then block by block, so that files of any length can be
//! read.

mod line;
mod write;

use std::{
    fs::File,
    io::{self, BufReader, Read, Seek, SeekFrom},
    path::Path,
};

use assay_address::ChainId;
use assay_engine::{ledger::BlockRef, utxo::Block};

pub use write::write_block;

use assay_input::{
    InputLimits, TextFile,
    text::{TextError, TextFault, TextLines},
};

use super::{BlockSource, SourceError, TipRef, hash::hash_text};

/// Largest number of bytes of a line: a transaction that fills the largest block takes a tenth of this limit.
const LONGEST_LINE: usize = 64 * 1024 * 1024;

/// Number of bytes by which a file is known that needs no conversion.
const START_BYTES: u64 = 64 * 1024;

/// Block source of a file of JSON lines.
#[derive(Debug)]
pub struct JsonLinesSource<R> {
    chain: ChainId,
    file: String,
    input: R,
    /// Height of the first block.
    first: u64,
    blocks: Vec<LinePosition>,
}

/// Position of the first line of a block.
#[derive(Clone, Copy, Debug)]
struct LinePosition {
    hash: [u8; 32],
    byte: u64,
    line: u64,
}

impl JsonLinesSource<File> {
    /// Opens a file, packed or not, in UTF-8 or UTF-16.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be read, and the errors of [`JsonLinesSource::index`].
    pub fn open(chain: ChainId, path: &Path) -> Result<Self, SourceError> {
        let failed = |source| SourceError::Read { path: path.to_owned(), source };
        let mut file = File::open(path).map_err(failed)?;
        let mut start = Vec::new();
        Read::take(&mut file, START_BYTES).read_to_end(&mut start).map_err(failed)?;
        if !is_plain(&start) {
            file = converted(path).map_err(failed)?;
        }
        Self::index(chain, &path.display().to_string(), file)
    }
}

/// True if a file begins with JSON lines that end in line feeds.
fn is_plain(start: &[u8]) -> bool {
    start.iter().all(|byte| *byte != b'\r' && *byte != 0)
        && start.trim_ascii_start().first().is_none_or(|first| *first == b'{')
}

/// Unpacks a file and decodes its text to a private file.
fn converted(path: &Path) -> io::Result<File> {
    let limits = InputLimits { unpacking_ratio: InputLimits::RATIO_FROM_BYTES, ..TextFile::LIMITS };
    let mut text = TextFile::open(path, &["jsonl", "ndjson", "json"], None, limits)
        .map_err(io::Error::other)?;
    let mut file = tempfile::tempfile()?;
    io::copy(&mut text.text, &mut file)?;
    Ok(file)
}

impl<R: Read + Seek + Send> JsonLinesSource<R> {
    /// Indexes the blocks of a file; `file` is its name in messages.
    ///
    /// # Errors
    ///
    /// Returns an error if a line has no block, or a block that does not follow the previous one.
    pub fn index(chain: ChainId, file: &str, mut input: R) -> Result<Self, SourceError> {
        let wrong = |line, reason| SourceError::Line { file: file.to_owned(), line, reason };
        input.rewind().map_err(|error| wrong(1, error.to_string()))?;
        let mut lines = TextLines::with_max_line(BufReader::new(&mut input), LONGEST_LINE);
        let (mut first, mut last): (u64, Option<BlockRef>) = (0, None);
        let mut blocks = Vec::new();
        loop {
            let byte = lines.bytes();
            let Some((line, text)) =
                lines.next_line().map_err(|error| text_error(file, 0, error))?
            else {
                break;
            };
            if text.trim().is_empty() {
                continue;
            }
            let block = line::reference(text).map_err(|reason| wrong(line, reason))?;
            if last == Some(block) {
                continue;
            }
            if let Some(last) = last {
                follows(&last, &block).map_err(|reason| wrong(line, reason))?;
            } else {
                first = block.height;
            }
            last = Some(block);
            blocks.push(LinePosition { hash: block.hash, byte, line });
        }
        if blocks.is_empty() {
            return Err(wrong(1, "there is no transaction in the file".to_owned()));
        }
        Ok(Self { chain, file: file.to_owned(), input, first, blocks })
    }

    fn block_index(&self, height: u64) -> Option<usize> {
        usize::try_from(height.checked_sub(self.first)?).ok().filter(|at| *at < self.blocks.len())
    }

    /// Returns the height of the block with an index.
    fn height(&self, at: usize) -> u64 {
        self.first + u64::try_from(at).unwrap_or_default()
    }

    fn read(&mut self, position: LinePosition) -> Result<Block, SourceError> {
        let Self { chain, file, input, .. } = self;
        let wrong = |line, reason: String| SourceError::Line { file: file.clone(), line, reason };
        input
            .seek(SeekFrom::Start(position.byte))
            .map_err(|error| wrong(position.line, error.to_string()))?;
        let before = position.line - 1;
        let mut lines = TextLines::with_max_line(BufReader::new(input), LONGEST_LINE);
        let mut block: Option<Block> = None;
        while let Some((line, text)) =
            lines.next_line().map_err(|error| text_error(file, before, error))?
        {
            if text.trim().is_empty() {
                continue;
            }
            let line = before + line;
            let reference = line::reference(text).map_err(|reason| wrong(line, reason))?;
            let block = block.get_or_insert_with(|| Block {
                reference,
                work: None,
                transactions: Vec::new(),
            });
            if reference.hash != block.reference.hash {
                break;
            }
            let transaction =
                line::transaction(*chain, text).map_err(|reason| wrong(line, reason))?;
            block.transactions.extend(transaction);
        }
        block
            .filter(|block| block.reference.hash == position.hash)
            .ok_or_else(|| wrong(position.line, "the file changed while it was read".to_owned()))
    }
}

impl<R: Read + Seek + Send> BlockSource for JsonLinesSource<R> {
    fn first(&mut self) -> Result<u64, SourceError> {
        Ok(self.first)
    }

    fn tip(&mut self) -> Result<TipRef, SourceError> {
        let height = self.height(self.blocks.len().saturating_sub(1));
        let hash = self.blocks.last().map(|position| position.hash).unwrap_or_default();
        Ok(TipRef { height, hash })
    }

    fn hash_at(&mut self, height: u64) -> Result<Option<[u8; 32]>, SourceError> {
        let position = self.block_index(height).and_then(|at| self.blocks.get(at));
        Ok(position.map(|position| position.hash))
    }

    fn origin(&mut self, height: u64) -> Option<String> {
        let position = self.block_index(height).and_then(|at| self.blocks.get(at))?;
        Some(format!("{}, line {}", self.file, position.line))
    }

    fn block(&mut self, hash: &[u8; 32]) -> Result<Block, SourceError> {
        match self.blocks.iter().find(|position| position.hash == *hash) {
            Some(position) => self.read(*position),
            None => Err(SourceError::NotOnChain { hash: *hash }),
        }
    }

    fn block_at(&mut self, height: u64) -> Result<Block, SourceError> {
        match self.block_index(height).and_then(|at| self.blocks.get(at)) {
            Some(position) => self.read(*position),
            None => Err(SourceError::NoBlock { height, tip: self.tip()?.height }),
        }
    }
}

/// Checks that a block may follow another.
fn follows(last: &BlockRef, next: &BlockRef) -> Result<(), String> {
    if next.height == last.height && next.hash == last.hash {
        return Err(format!("block {} has another parent or time than before", next.height));
    }
    if next.height != last.height + 1 {
        return Err(format!(
            "block {} stands behind block {}: expected {}, in the order of the chain",
            next.height,
            last.height,
            last.height + 1
        ));
    }
    if next.parent != last.hash {
        return Err(format!(
            "block {} has the parent {}, but the block before it is {}",
            next.height,
            hash_text(&next.parent),
            hash_text(&last.hash)
        ));
    }
    Ok(())
}

fn text_error(file: &str, before: u64, error: TextError) -> SourceError {
    let reason = match error.fault {
        TextFault::Read(error) => format!("failed to read: {error}"),
        TextFault::Encoding(problem) => problem.to_string(),
        TextFault::TooLong => format!("it is longer than {LONGEST_LINE} bytes"),
        TextFault::TooLarge(most) => format!("the file is longer than {most} bytes"),
    };
    SourceError::Line { file: file.to_owned(), line: before + error.line, reason }
}

#[cfg(test)]
mod tests;
