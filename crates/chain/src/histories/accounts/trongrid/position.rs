//! Positions in TronGrid's lists, which continue by the fingerprint that a page states. A full page without a fingerprint is no
//! proof that the list ends: it is continued by the time of its last row.

use super::super::paging::{BlockPosition, PagingError, RowMark, digest_of_page};

/// A position in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Position {
    /// Fingerprint of the page; empty where the list is continued by time.
    pub(super) fingerprint: String,
    /// Time of the last row of the page before, in milliseconds.
    pub(super) last: u64,
    /// Digest of the page before.
    digest: u64,
    /// The time from which the list was continued, with the rows of that time that were read.
    begin: BlockPosition,
}

impl Position {
    /// The time in milliseconds at which the list is continued; `None` if it was continued by fingerprints only.
    pub(super) const fn begin(&self) -> Option<u64> {
        self.begin.block
    }

    /// Finds the rows of a page that are new, and the position of the next page; `None` after the last row. `full` is the number
    /// of rows that were asked for.
    pub(super) fn after(
        before: Option<&Self>,
        rows: &[RowMark],
        next: Option<String>,
        full: usize,
    ) -> Result<(Vec<bool>, Option<Self>), PagingError> {
        let digest = digest_of_page(rows.iter().map(|row| row.fingerprint));
        let is_repeated = before.is_some_and(|before| {
            let is_same = next.is_some() && next.as_ref() == Some(&before.fingerprint);
            is_same || !rows.is_empty() && before.digest == digest
        });
        if is_repeated {
            return Err(PagingError::NoProgress);
        }
        let start = BlockPosition::start();
        let begin = before.map_or(&start, |before| &before.begin);
        // Rows that were read are in the page right after the begin only.
        let is_first = before.is_none_or(|before| before.fingerprint.is_empty());
        let (new, by_time) = begin.after(rows, full)?;
        let new = if is_first { new } else { vec![true; rows.len()] };
        let Some(last) = rows.last().map(|row| row.block) else { return Ok((new, None)) };
        let position = |fingerprint, begin| Some(Self { fingerprint, last, digest, begin });
        match (next, by_time) {
            (Some(fingerprint), _) => Ok((new, position(fingerprint, begin.clone()))),
            // All rows are of one time, and no request asks for more of them.
            (None, Some(by_time)) if by_time.page() > 1 => {
                let is_full = rows.len() >= full;
                if is_full { Err(PagingError::BlockTooFull) } else { Ok((new, None)) }
            }
            (None, Some(by_time)) => Ok((new, position(String::new(), by_time))),
            (None, _) => Ok((new, None)),
        }
    }

    /// The position as a text.
    pub(super) fn text(&self) -> String {
        let Self { fingerprint, last, digest, begin } = self;
        // The position in blocks has semicolons.
        format!("{last}/{digest:x}/{}/{fingerprint}", begin.text())
    }

    /// The position of a text; `None` for a text that is none.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut parts = text.splitn(4, '/');
        let (last, digest, begin) = (parts.next()?, parts.next()?, parts.next()?);
        let fingerprint = parts.next()?.to_owned();
        let (last, begin) = (last.parse().ok()?, BlockPosition::parse(begin)?);
        let digest = u64::from_str_radix(digest, 16).ok()?;
        Some(Self { fingerprint, last, digest, begin })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marks(rows: &[(u64, u64)]) -> Vec<RowMark> {
        rows.iter()
            .map(|(block, fingerprint)| RowMark { block: *block, fingerprint: *fingerprint })
            .collect()
    }

    /// Reads a list from an API that states fingerprints of the first `stated` pages that have a next one.
    fn read(
        list: &[(u64, u64)],
        size: usize,
        stated: usize,
    ) -> Result<Vec<(u64, u64)>, PagingError> {
        let (mut position, mut read): (Option<Position>, _) = (None, Vec::new());
        for page in 0.. {
            assert!(page <= list.len() + 2, "{page} pages");
            let begin = position.as_ref().and_then(Position::begin).unwrap_or(0);
            let passed = position.as_ref().map_or("", |position| &position.fingerprint);
            let passed = passed.parse().unwrap_or(0);
            let rest = list.iter().filter(|row| row.0 >= begin).skip(passed);
            let rows: Vec<_> = rest.clone().take(size).copied().collect();
            let is_more = rest.count() > size;
            let next = (is_more && page < stated).then(|| (passed + size).to_string());
            let (new, next) = Position::after(position.as_ref(), &marks(&rows), next, size)?;
            read.extend(
                rows.into_iter().zip(new).filter(|(_, is_new)| *is_new).map(|(row, _)| row),
            );
            let Some(next) = next else { break };
            let text = next.text();
            assert_eq!(Position::parse(&text).as_ref(), Some(&next), "{text}");
            position = Some(next);
        }
        Ok(read)
    }

    /// Given an API that stops stating fingerprints, then the list is continued by time and every row is read once.
    #[test]
    fn a_full_page_without_a_fingerprint_is_not_the_last_one() {
        for count in [0, 3, 4, 5, 8, 40] {
            // Two rows of each time, some of them equal.
            let list: Vec<_> = (0..count).map(|row| (7 + row / 2, row / 4)).collect();
            for stated in [0, 1, 3, 100] {
                let read = read(&list, 4, stated);
                assert_eq!(read.as_ref(), Ok(&list), "{count} rows, {stated} fingerprints");
            }
        }
    }

    /// Given more rows of one time than a page has, and no fingerprint, then reading fails.
    #[test]
    fn a_time_with_more_rows_than_a_page_is_an_error() {
        let list: Vec<_> = (0..9).map(|row| (7, row)).collect();
        assert_eq!(read(&list, 4, 0), Err(PagingError::BlockTooFull));
        assert_eq!(read(&list, 4, 100), Ok(list));
    }

    #[test]
    fn a_page_that_repeats_itself_is_refused() {
        let page = marks(&[(1, 1), (2, 2)]);
        let next = || Some("a;b=/+".to_owned());
        let (_, position) = Position::after(None, &page, next(), 2).unwrap();
        let position = position.unwrap();
        assert_eq!(Position::parse(&position.text()), Some(position.clone()));
        let repeated = Position::after(Some(&position), &page, None, 2);
        assert_eq!(repeated, Err(PagingError::NoProgress));
        let same = Position::after(Some(&position), &marks(&[(3, 3)]), next(), 2);
        assert_eq!(same, Err(PagingError::NoProgress));
        for text in ["x", "5/1/", "5;1;a"] {
            assert_eq!(Position::parse(text), None, "{text}");
        }
    }
}
