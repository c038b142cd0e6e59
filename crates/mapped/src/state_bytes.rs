//! One state of an environment as the bytes of a file, page by page, while a writer may continue.
//!
//! A state consists of pages, which no writer reuses while a transaction holds the state, and of a meta page, of which
//! the file has two that writers overwrite in turn. The pages are therefore read from the file, and the meta page is
//! the one that was read when the state was opened. Written to a file, these bytes are a valid LMDB environment: a
//! consistent copy of this snapshot.

use std::{fs::File, io, os::unix::fs::FileExt, path::PathBuf};

use crate::{MappedEnvironment, MappedError, ReadTransaction};

/// Offsets in a meta page of LMDB 0.9 on 64-bit systems: after the page header of 16 bytes come the magic number, the
/// version, an address, the size of the map and the records of two trees.
const LAST_PAGE_AT: usize = 136;
const TRANSACTION_AT: usize = 144;
/// Offset of the page size, in the record of the first tree.
const PAGE_SIZE_AT: usize = 40;
/// Offset of the magic number.
const MAGIC_AT: usize = 16;
const MAGIC: u64 = 0xbeef_c0de;
/// Number of bytes of a meta page that are read.
const HEAD: usize = 152;
/// Number of meta pages at the beginning of a file.
const HEADS: u64 = 2;

/// One state of an environment as bytes. The bytes are valid only as long as the transaction of the state lives.
#[derive(Debug)]
pub struct StateBytes {
    file: File,
    path: PathBuf,
    /// Meta page of the state.
    head: Vec<u8>,
    length: u64,
}

impl MappedEnvironment {
    /// The bytes of the state that a transaction holds; `None` if the file no longer has the meta page of that state.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be read.
    pub fn state_bytes(&self, of: &ReadTransaction) -> Result<Option<StateBytes>, MappedError> {
        let path = self.data_file.clone();
        let failed = |error| MappedError::File { path: path.clone(), error };
        let file = File::open(&self.data_file).map_err(failed)?;
        let page = u64::from(self.env.unnamed_database_stat().page_size);
        let size = usize::try_from(page).unwrap_or(usize::MAX);
        for number in 0..HEADS {
            let (mut head, mut again) = (vec![0; size], vec![0; size]);
            file.read_exact_at(&mut head, number * page).map_err(failed)?;
            file.read_exact_at(&mut again, number * page).map_err(failed)?;
            // A writer may just be writing the head of a newer state over it.
            if head != again {
                continue;
            }
            let wanted = u64::try_from(of.id()).unwrap_or(u64::MAX);
            let is_whole = number_at(&head, PAGE_SIZE_AT) & u64::from(u32::MAX) == page
                && number_at(&head, MAGIC_AT) & u64::from(u32::MAX) == MAGIC;
            if head.len() < HEAD || !is_whole || number_at(&head, TRANSACTION_AT) != wanted {
                continue;
            }
            let length = (number_at(&head, LAST_PAGE_AT) + 1) * page;
            return Ok(Some(StateBytes { file, path, head, length }));
        }
        Ok(None)
    }
}

/// A number in native byte order, as LMDB writes it.
fn number_at(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |bytes| u64::from_ne_bytes(*bytes))
}

impl StateBytes {
    /// Number of bytes.
    #[must_use]
    pub const fn length(&self) -> u64 {
        self.length
    }

    /// Reads at most `most` bytes from `offset` on; returns none at the end.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be read.
    pub fn read(&self, offset: u64, most: usize) -> Result<Vec<u8>, MappedError> {
        let left = usize::try_from(self.length.saturating_sub(offset)).unwrap_or(usize::MAX);
        let mut bytes = vec![0; most.min(left)];
        self.fill(&mut bytes, offset)
            .map_err(|error| MappedError::File { path: self.path.clone(), error })?;
        let page = u64::try_from(self.head.len()).unwrap_or(u64::MAX);
        for number in 0..HEADS {
            let mut head = self.head.clone();
            if let Some(own) = head.first_chunk_mut() {
                *own = number.to_ne_bytes();
            }
            overlay(&mut bytes, offset, &head, number * page);
        }
        Ok(bytes)
    }

    /// Reads from the file. Free pages at the end of the file may never have been written and count as zeros.
    fn fill(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        let mut done = 0;
        while let Some(left) = bytes.get_mut(done..).filter(|left| !left.is_empty()) {
            match self.file.read_at(left, offset + done as u64)? {
                0 => return Ok(()),
                read => done += read,
            }
        }
        Ok(())
    }
}

/// Overwrites the part of `bytes`, which begins at `offset`, that overlaps with `over`, which begins at `at`.
fn overlay(bytes: &mut [u8], offset: u64, over: &[u8], at: u64) {
    for (index, byte) in over.iter().enumerate() {
        let Some(place) = (at + index as u64).checked_sub(offset) else { continue };
        if let Some(own) = usize::try_from(place).ok().and_then(|place| bytes.get_mut(place)) {
            *own = *byte;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_laid_over_others_where_they_meet() {
        let over = |offset, at| {
            let mut bytes = *b"......";
            overlay(&mut bytes, offset, b"abc", at);
            String::from_utf8(bytes.to_vec()).unwrap()
        };
        assert_eq!(over(0, 0), "abc...");
        assert_eq!(over(0, 4), "....ab");
        assert_eq!(over(1, 0), "bc....");
        assert_eq!(over(3, 0), "......");
        assert_eq!(over(0, 6), "......");
    }
}
