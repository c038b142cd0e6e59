//! Text line by line, in constant memory: UTF-8 without NUL, with a limit on the length of a line;
//! and the detection of texts that a spreadsheet would run as formulas.

use std::io::{self, BufRead, Read};

/// The longest line in bytes; a row of a list or of labels has a few hundred.
pub const LONGEST_LINE: usize = 1024 * 1024;

/// Byte order mark of UTF-8.
pub const UTF8_MARK: &[u8] = &[0xEF, 0xBB, 0xBF];
const UTF16_MARKS: [&[u8]; 2] = [&[0xFF, 0xFE], &[0xFE, 0xFF]];

/// True if bytes begin with a byte order mark of UTF-16.
#[must_use]
pub fn begins_as_utf16(bytes: &[u8]) -> bool {
    UTF16_MARKS.iter().any(|mark| bytes.starts_with(mark))
}

/// An invalid line.
#[derive(Debug)]
pub struct TextError {
    /// The line, counted from one.
    pub line: u64,
    /// The problem of the line.
    pub fault: TextFault,
}

/// Problem of a line.
#[derive(Debug)]
pub enum TextFault {
    /// The line cannot be read.
    Read(io::Error),
    /// The text is UTF-16.
    Utf16,
    /// The line is not UTF-8.
    NotUtf8,
    /// The line holds a NUL character.
    Nul,
    /// The line is longer than the limit.
    TooLong,
    /// The text up to the line is longer than the limit of the whole text, which the variant holds.
    TooLarge(u64),
}

/// A reader of lines, counted from one.
pub struct TextLines<R> {
    input: R,
    /// Largest length of a line without its line break, in bytes.
    longest: usize,
    /// Largest length of all lines, in bytes.
    most: u64,
    line: u64,
    buffer: Vec<u8>,
    /// Number of bytes that were read.
    read: u64,
}

impl<R: BufRead> TextLines<R> {
    /// A reader of lines of at most [`LONGEST_LINE`] bytes.
    pub const fn new(input: R) -> Self {
        Self::with_max_line(input, LONGEST_LINE)
    }

    /// A reader of lines of at most `longest` bytes.
    pub const fn with_max_line(input: R, longest: usize) -> Self {
        Self { input, longest, most: u64::MAX, line: 0, buffer: Vec::new(), read: 0 }
    }

    /// Limits the whole text to `most` bytes. The size is checked between lines, so that one line beyond the limit
    /// may be read.
    #[must_use]
    pub const fn with_max_bytes(mut self, most: u64) -> Self {
        self.most = most;
        self
    }

    /// Number of bytes read so far.
    pub const fn bytes(&self) -> u64 {
        self.read
    }

    /// The next line with its number and line ending; `None` at the end of the file.
    ///
    /// # Errors
    ///
    /// Returns an error if the line cannot be read, is too long, or is not UTF-8 without NUL.
    pub fn next_line(&mut self) -> Result<Option<(u64, &str)>, TextError> {
        let line = self.line + 1;
        let failed = |fault| TextError { line, fault };
        if self.read > self.most {
            return Err(failed(TextFault::TooLarge(self.most)));
        }
        let most = u64::try_from(self.longest + UTF8_MARK.len() + "\r\n".len()).unwrap_or(u64::MAX);
        self.buffer.clear();
        let count = Read::take(&mut self.input, most)
            .read_until(b'\n', &mut self.buffer)
            .map_err(|error| failed(TextFault::Read(error)))?;
        self.read = self.read.saturating_add(u64::try_from(count).unwrap_or(u64::MAX));
        if line == 1 {
            if begins_as_utf16(&self.buffer) {
                return Err(failed(TextFault::Utf16));
            }
            if self.buffer.starts_with(UTF8_MARK) {
                self.buffer.drain(..UTF8_MARK.len());
            }
        }
        if self.buffer.is_empty() {
            return Ok(None);
        }
        self.line = line;
        if content(&self.buffer) > self.longest {
            return Err(failed(TextFault::TooLong));
        }
        if memchr::memchr(0, &self.buffer).is_some() {
            return Err(failed(TextFault::Nul));
        }
        let text = std::str::from_utf8(&self.buffer).map_err(|_| failed(TextFault::NotUtf8))?;
        Ok(Some((line, text)))
    }
}

/// Length of a line without its line break.
fn content(line: &[u8]) -> usize {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line).len()
}

/// The first character of a text, if a spreadsheet may run the text as a formula. Some spreadsheets ignore white
/// space before that character.
#[must_use]
pub fn formula_start(text: &str) -> Option<char> {
    let begins = |text: &str| {
        text.chars().next().filter(|first| ['=', '+', '-', '@', '\t', '\r'].contains(first))
    };
    begins(text).or_else(|| begins(text.trim_start()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(bytes: &[u8]) -> Result<Vec<(u64, String)>, TextError> {
        let mut lines = TextLines::new(bytes);
        let mut read = Vec::new();
        while let Some((line, text)) = lines.next_line()? {
            read.push((line, text.to_owned()));
        }
        Ok(read)
    }

    #[test]
    fn a_formula_is_recognized_by_its_first_character() {
        for (text, start) in [("=1", Some('=')), (" @a", Some('@')), ("\ta", Some('\t'))] {
            assert_eq!(formula_start(text), start);
        }
        assert!(formula_start("a=1").is_none() && formula_start("").is_none());
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
            assert!(matches!(all(&bytes), Err(TextError { line: 1, fault: TextFault::TooLong })));
            assert!(matches!(all(&two), Err(TextError { line: 2, fault: TextFault::TooLong })));
        }
    }

    #[test]
    fn invalid_utf8_is_reported() {
        assert!(matches!(
            all(b"a\nb\xFF\n"),
            Err(TextError { line: 2, fault: TextFault::NotUtf8 })
        ));
        assert!(matches!(all(b"a\nb\0\n"), Err(TextError { line: 2, fault: TextFault::Nul })));
        assert!(matches!(all(b"\xFF\xFEl\0"), Err(TextError { line: 1, fault: TextFault::Utf16 })));
        assert!(matches!(all(b"\xFE\xFF\0l"), Err(TextError { line: 1, fault: TextFault::Utf16 })));
    }
}
