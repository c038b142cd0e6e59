//! Text line by line, in constant memory: UTF-8 without NUL, no line longer than any real one.

use std::io::{BufRead, Read};

use super::ListError;

/// The longest line in bytes; a row of a plain listing has a few hundred.
pub(super) const LONGEST_LINE: usize = 1024 * 1024;

/// How UTF-8 may begin, and how UTF-16 does.
const UTF8_MARK: &[u8] = &[0xEF, 0xBB, 0xBF];
const UTF16_MARKS: [&[u8]; 2] = [&[0xFF, 0xFE], &[0xFE, 0xFF]];

/// A reader of lines, counted from one.
pub(super) struct TextLines<R> {
    input: R,
    line: u64,
}

impl<R: BufRead> TextLines<R> {
    pub(super) const fn new(input: R) -> Self {
        Self { input, line: 0 }
    }

    /// The next line with how it ends; `None` at the end of the file.
    pub(super) fn next(&mut self) -> Result<Option<(u64, String)>, ListError> {
        let line = self.line + 1;
        let mut bytes = Vec::new();
        let most = u64::try_from(LONGEST_LINE + UTF8_MARK.len() + "\r\n".len()).unwrap_or(u64::MAX);
        Read::take(&mut self.input, most)
            .read_until(b'\n', &mut bytes)
            .map_err(|source| ListError::Read { line, source })?;
        if line == 1 {
            if UTF16_MARKS.iter().any(|mark| bytes.starts_with(mark)) {
                return Err(ListError::Utf16 { line });
            }
            if bytes.starts_with(UTF8_MARK) {
                bytes.drain(..UTF8_MARK.len());
            }
        }
        if bytes.is_empty() {
            return Ok(None);
        }
        self.line = line;
        if content(&bytes) > LONGEST_LINE {
            return Err(ListError::TooLong { line });
        }
        if memchr::memchr(0, &bytes).is_some() {
            return Err(ListError::Nul { line });
        }
        let text = String::from_utf8(bytes).map_err(|_| ListError::NotUtf8 { line })?;
        Ok(Some((line, text)))
    }
}

/// How long a line is without how it ends.
fn content(line: &[u8]) -> usize {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line).len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(bytes: &[u8]) -> Result<Vec<(u64, String)>, ListError> {
        let mut lines = TextLines::new(bytes);
        std::iter::from_fn(|| lines.next().transpose()).collect()
    }

    #[test]
    fn lines_are_counted_and_kept_as_they_are() {
        let read = all(b"\xEF\xBB\xBFa\r\n\nb").unwrap();
        assert_eq!(read, [(1, "a\r\n".into()), (2, "\n".into()), (3, "b".into())]);
        assert!(all(b"").unwrap().is_empty() && all(UTF8_MARK).unwrap().is_empty());
    }

    #[test]
    fn lines_may_be_long_but_not_too_long() {
        for end in ["", "\n", "\r\n"] {
            let mut bytes = vec![b'x'; LONGEST_LINE];
            bytes.extend(end.as_bytes());
            assert!(all(&bytes).is_ok());
            let mut marked = UTF8_MARK.to_vec();
            marked.extend(&bytes);
            assert!(all(&marked).is_ok());
            bytes.insert(0, b'x');
            let two = [b"first\n".as_slice(), &bytes].concat();
            assert!(matches!(all(&bytes), Err(ListError::TooLong { line: 1 })));
            assert!(matches!(all(&two), Err(ListError::TooLong { line: 2 })));
        }
    }

    #[test]
    fn what_is_no_utf8_is_said() {
        assert!(matches!(all(b"a\nb\xFF\n"), Err(ListError::NotUtf8 { line: 2 })));
        assert!(matches!(all(b"a\nb\0\n"), Err(ListError::Nul { line: 2 })));
        assert!(matches!(all(b"\xFF\xFEl\0"), Err(ListError::Utf16 { line: 1 })));
        assert!(matches!(all(b"\xFE\xFF\0l"), Err(ListError::Utf16 { line: 1 })));
    }
}
