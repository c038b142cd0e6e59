//! Undo files of a node (`rev*.dat`): the outputs that the blocks of the block file with the same number spend.
//!
//! A node writes a record after it validated a block, so that records are not in the order of the blocks. A record is
//! found by its number of transactions and by its checksum, beginning after the last record that was found.

use std::{
    collections::HashMap,
    io,
    path::{Path, PathBuf},
};

use super::{
    frames::{BEFORE_CONTENT, Frames},
    open::{BlockFile, OpenFile},
};
use crate::{
    ChainParams, SourceError,
    params::TransactionForm,
    raw::{
        block_undo::{is_undo_of, parse_block_undo, transaction_count},
        compressed::SpentOutput,
    },
};

/// Bytes of the checksum after each record.
const CHECKSUM: u32 = 32;
/// Largest number of bytes of a record: several times the need of the largest blocks.
const LARGEST_RECORD: u32 = 128 * 1024 * 1024;
/// Number of bytes at the beginning of a record that contain its number of transactions.
const COUNT_BYTES: usize = 9;
/// Largest number of records that are compared with a block, and largest number of their bytes.
const MOST_COMPARED: usize = 10_000;
const MOST_COMPARED_BYTES: u64 = 1 << 30;

/// Undo files that were read so far, by the number of their block file.
#[derive(Debug)]
pub(super) struct UndoFiles {
    params: &'static ChainParams,
    files: HashMap<u32, Option<UndoFile>>,
    /// File of the last read.
    opened: Option<(u32, OpenFile)>,
}

#[derive(Debug)]
struct UndoFile {
    content: BlockFile,
    records: Vec<Record>,
    /// Index of the record after the last one that was found.
    next: usize,
}

/// Position of a record.
#[derive(Clone, Copy, Debug)]
struct Record {
    offset: u64,
    length: u32,
    /// Number of transactions of the record.
    count: u64,
}

/// Block whose spent outputs are searched.
#[derive(Clone, Copy, Debug)]
pub(super) struct UndoQuery<'a> {
    /// Number and path of the block's file.
    pub(super) file: (u32, &'a Path),
    /// Hash of the block.
    pub(super) hash: [u8; 32],
    /// Hash of the parent block.
    pub(super) parent: [u8; 32],
    /// Number of inputs of each transaction except the coinbase.
    pub(super) inputs: &'a [usize],
}

impl UndoFiles {
    pub(super) fn new(params: &'static ChainParams) -> Self {
        Self { params, files: HashMap::new(), opened: None }
    }

    /// Returns the outputs that a block spends, by transaction; `None` if its block file has no undo file, or the undo
    /// file has no record of the block.
    pub(super) fn spent(
        &mut self,
        query: UndoQuery<'_>,
    ) -> Result<Option<Vec<Vec<SpentOutput>>>, SourceError> {
        let (number, path) = query.file;
        if !self.files.contains_key(&number) {
            let file = UndoFile::open_for(path, self.params)?;
            self.files.insert(number, file);
        }
        let Some(Some(file)) = self.files.get_mut(&number) else { return Ok(None) };
        let path = file.content.path().to_owned();
        let failed = |source| SourceError::Read { path: path.clone(), source };
        let mut opened = match self.opened.take() {
            Some((last, opened)) if last == number => opened,
            _ => file.content.open().map_err(failed)?,
        };
        let found = file.find(&query, &mut opened).map_err(failed)?;
        self.opened = Some((number, opened));
        let Some((record, bytes)) = found else { return Ok(None) };
        let extended = self.params.transactions == TransactionForm::Mweb;
        let spent = parse_block_undo(&bytes, extended).map_err(|source| SourceError::Raw {
            origin: format!("{}, from byte {}", path.display(), record.offset),
            source,
        })?;
        if spent.iter().map(Vec::len).eq(query.inputs.iter().copied()) {
            return Ok(Some(spent));
        }
        let reason = format!(
            "the undo record from byte {} on has the checksum of block {}, but spends another \
             number of outputs",
            record.offset,
            hex::encode(query.hash)
        );
        Err(SourceError::File { path, reason })
    }
}

impl UndoFile {
    /// Opens the undo file of a block file, with the index of its records; `None` if the block file has no undo file.
    fn open_for(path: &Path, params: &'static ChainParams) -> Result<Option<Self>, SourceError> {
        let Some(path) = undo_path(path).filter(|path| path.is_file()) else { return Ok(None) };
        let content = BlockFile::new(path)?;
        let failed = |source| SourceError::Read { path: content.path().to_owned(), source };
        let opened = content.open().map_err(failed)?;
        let frames = Frames::new(opened, params.magics).map_err(failed)?;
        let records = records(frames).map_err(failed)?;
        Ok(Some(Self { content, records, next: 0 }))
    }

    /// Finds the record of a block, and its bytes.
    fn find(
        &mut self,
        query: &UndoQuery<'_>,
        opened: &mut OpenFile,
    ) -> io::Result<Option<(Record, Vec<u8>)>> {
        let count = query.inputs.len() as u64;
        let (before, after) = self.records.split_at(self.next.min(self.records.len()));
        let places = (self.next..).zip(after).chain((0..).zip(before));
        let fitting = places.filter(|(_, record)| record.count == count).take(MOST_COMPARED);
        let mut compared = 0;
        for (place, record) in fitting {
            compared += u64::from(record.length);
            if compared > MOST_COMPARED_BYTES {
                break;
            }
            let mut bytes = opened.bytes(record.offset, record.length + CHECKSUM)?;
            let checksum = bytes.split_off(record.length as usize);
            let checksum: Result<[u8; 32], _> = checksum.try_into();
            if checksum.is_ok_and(|checksum| is_undo_of(&query.parent, &bytes, &checksum)) {
                let record = *record;
                self.next = place + 1;
                return Ok(Some((record, bytes)));
            }
        }
        Ok(None)
    }
}

/// Returns all possible records of an undo file; the checksum decides once a block is known. If no record follows a
/// possible record, the scan continues inside that record, because a killed node may have written only its beginning.
fn records(mut frames: Frames) -> io::Result<Vec<Record>> {
    let mut records = Vec::new();
    while frames.find_magic()?.is_some() {
        let offset = frames.at + BEFORE_CONTENT;
        let length = u32::from_le_bytes(frames.array()?);
        let end = offset + u64::from(length) + u64::from(CHECKSUM);
        let mut next = frames.at + 1;
        if (1..=LARGEST_RECORD).contains(&length) && end <= frames.length {
            // A record with its checksum has at least this many bytes.
            let start = frames.array::<COUNT_BYTES>()?;
            if let Some(count) = transaction_count(&start) {
                records.push(Record { offset, length, count });
                frames.at = end;
                frames.seek()?;
                let follows = frames.peek()?;
                if follows.is_none_or(|magic| magic == [0; 4] || frames.magics.contains(&magic)) {
                    next = end;
                }
            }
        }
        frames.at = next;
        frames.seek()?;
    }
    Ok(records)
}

/// Returns the path of the undo file of a block file.
fn undo_path(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?.to_str()?;
    Some(path.with_file_name(format!("rev{}", name.strip_prefix("blk")?)))
}
