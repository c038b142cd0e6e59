//! Positions in lists that are read by blocks: each page begins at the last block of the page before, and rows that were read are
//! left out by their number, because equal rows are several payments.

use std::collections::HashMap;

use sha2::{Digest, Sha256};

use super::{client::AnswerError, refusal::ApiRefusal};

/// Divisor of the numbers of rows to which APIs cut pages without a word. A page of such a number may be followed by another one,
/// although it was asked for more rows.
const CAP_STEP: usize = 50;

/// A position in a list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct BlockPosition {
    /// The block at which the page begins; `None` at the begin of the list.
    pub(super) block: Option<u64>,
    /// The page from the block on, from 1.
    page: u32,
    /// Fingerprints of rows of the block that were read; the digest of the page before where the page
    /// is above 1.
    seen: Vec<u64>,
}

/// Fingerprint of a row, with its block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RowMark {
    pub(super) block: u64,
    pub(super) fingerprint: u64,
}

impl RowMark {
    /// The mark of a row with these fields.
    pub(super) fn new(block: u64, fields: &[&str]) -> Self {
        let mut hash = Sha256::new();
        for field in fields {
            hash.update(field.as_bytes());
            hash.update([0]);
        }
        Self { block, fingerprint: first_bytes(&hash.finalize()) }
    }
}

fn first_bytes(hash: &[u8]) -> u64 {
    hash.first_chunk::<8>().map_or(0, |bytes| u64::from_be_bytes(*bytes))
}

/// Reason why a page cannot follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PagingError {
    /// The page repeats the page before.
    NoProgress,
    /// One block has more rows than a page, and the API offers no further page of it.
    BlockTooFull,
}

impl PagingError {
    /// The error of an answer.
    pub(super) fn answer(self) -> AnswerError {
        let message = match self {
            Self::NoProgress => {
                return AnswerError::Invalid("the page repeats the page before".to_owned());
            }
            Self::BlockTooFull => "one block has more rows of the list than a page",
        };
        AnswerError::Refused(ApiRefusal::WindowFull, message.to_owned())
    }
}

impl BlockPosition {
    /// The begin of a list.
    pub(super) const fn start() -> Self {
        Self { block: None, page: 1, seen: Vec::new() }
    }

    /// The page from the block on, from 1.
    pub(super) fn page(&self) -> u32 {
        self.page.max(1)
    }

    /// Finds the rows of a page that are new, and the position of the next page; `None` after the last row. A page with
    /// `full` rows may be followed by another one, and one with as many as an API may return at most.
    pub(super) fn after(
        &self,
        rows: &[RowMark],
        full: usize,
    ) -> Result<(Vec<bool>, Option<Self>), PagingError> {
        let digest = digest_of_page(rows.iter().map(|row| row.fingerprint));
        let is_inside = self.page() > 1;
        if is_inside && !rows.is_empty() && self.seen == [digest] {
            return Err(PagingError::NoProgress);
        }
        let mut left: HashMap<u64, usize> = HashMap::new();
        for mark in self.seen.iter().filter(|_| !is_inside) {
            *left.entry(*mark).or_default() += 1;
        }
        let mut is_new = |row: &RowMark| match left.get_mut(&row.fingerprint) {
            Some(count) if *count > 0 && Some(row.block) == self.block => {
                *count -= 1;
                false
            }
            _ => true,
        };
        let new: Vec<bool> = rows.iter().map(&mut is_new).collect();
        let (Some(first), Some(last)) = (rows.first(), rows.last()) else {
            return Ok((new, None));
        };
        if rows.len() < full && !rows.len().is_multiple_of(CAP_STEP) {
            return Ok((new, None));
        }
        let next = if first.block == last.block {
            let (page, seen) = (self.page().saturating_add(1), vec![digest]);
            Self { block: self.block.or(Some(last.block)), page, seen }
        } else {
            let of_last = rows.iter().filter(|row| row.block == last.block);
            let seen = of_last.map(|row| row.fingerprint).collect();
            Self { block: Some(last.block), page: 1, seen }
        };
        Ok((new, Some(next)))
    }

    /// The position as a text.
    pub(super) fn text(&self) -> String {
        let block = self.block.map(|block| block.to_string()).unwrap_or_default();
        let seen: Vec<String> = self.seen.iter().map(|mark| format!("{mark:x}")).collect();
        format!("{block};{};{}", self.page(), seen.join(","))
    }

    /// The position of a text; `None` for a text that is none.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split(';');
        let (block, page, seen) = (parts.next()?, parts.next()?, parts.next()?);
        let block = if block.is_empty() { None } else { Some(block.parse().ok()?) };
        let seen = seen.split(',').filter(|mark| !mark.is_empty());
        let seen = seen.map(|mark| u64::from_str_radix(mark, 16).ok()).collect::<Option<_>>()?;
        let page = page.parse().ok().filter(|page| *page > 0)?;
        parts.next().is_none().then_some(Self { block, page, seen })
    }
}

/// The digest of a page's rows.
pub(super) fn digest_of_page(rows: impl IntoIterator<Item = u64>) -> u64 {
    let mut hash = Sha256::new();
    for row in rows {
        hash.update(row.to_be_bytes());
    }
    first_bytes(&hash.finalize())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads a list page by page from an API that returns as many rows as it is asked for.
    fn read(blocks: &[(u64, u64)], size: usize) -> (Vec<(u64, u64)>, usize) {
        read_capped(blocks, size, size)
    }

    /// Reads a list as an API gives it, page by page. No page has more than `cap` rows, although `size` are asked for.
    fn read_capped(blocks: &[(u64, u64)], size: usize, cap: usize) -> (Vec<(u64, u64)>, usize) {
        let (mut position, mut read, mut requests) = (BlockPosition::start(), Vec::new(), 0);
        loop {
            requests += 1;
            let from =
                blocks.iter().filter(|row| position.block.is_none_or(|start| row.0 >= start));
            let skipped = size * (usize::try_from(position.page()).unwrap() - 1);
            let rows: Vec<_> = from.skip(skipped).take(size.min(cap)).collect();
            let marks: Vec<_> = rows
                .iter()
                .map(|(block, name)| RowMark { block: *block, fingerprint: *name })
                .collect();
            let (new, next) = position.after(&marks, size).unwrap();
            read.extend(rows.into_iter().zip(new).filter(|(_, new)| *new).map(|(row, _)| *row));
            let Some(next) = next else { return (read, requests) };
            position = BlockPosition::parse(&next.text()).unwrap();
            assert_eq!(position, next);
        }
    }

    #[test]
    fn every_row_is_read_once_also_of_blocks_that_are_fuller_than_a_page() {
        let mut random = 3_u64;
        for round in 0..400 {
            let mut blocks = Vec::new();
            let mut block = 5;
            for number in 0..(round % 60) {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                block += (random >> 60) / 13;
                // Equal rows are several.
                blocks.push((block, number / 2));
            }
            for size in [3, 4, 7, 50] {
                let (read, requests) = read(&blocks, size);
                assert_eq!(read, blocks, "size {size}");
                assert!(requests <= blocks.len() + 2);
            }
        }
    }

    /// Given an API that cuts pages to 50 or 100 rows without a word, then all rows are read.
    #[test]
    fn a_page_that_the_api_cut_is_not_the_last_one() {
        for cap in [50, 100] {
            for count in [0_u64, 49, 50, 51, 100, 333, 400] {
                let blocks: Vec<_> = (0..count).map(|number| (5 + number / 3, number)).collect();
                let (read, requests) = read_capped(&blocks, 1_000, cap);
                assert_eq!(read, blocks, "{count} rows, at most {cap} a page");
                assert!(requests <= blocks.len() / (cap - 3) + 2, "{requests} requests");
            }
        }
    }

    #[test]
    fn a_page_that_repeats_itself_is_refused() {
        let rows = [RowMark { block: 5, fingerprint: 1 }, RowMark { block: 5, fingerprint: 2 }];
        let (_, next) = BlockPosition::start().after(&rows, 2).unwrap();
        assert_eq!(next.unwrap().after(&rows, 2), Err(PagingError::NoProgress));
    }

    #[test]
    fn texts_that_are_no_positions_are_refused() {
        for text in ["", "5", "5;0;", "5;1;x", "x;1;", "5;1;a;b"] {
            assert_eq!(BlockPosition::parse(text), None, "{text}");
        }
    }
}
