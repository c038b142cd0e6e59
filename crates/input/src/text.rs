//! Text line by line, in constant memory: UTF-8 without NUL, with a limit on the length of a line;
//! and the detection of texts that a spreadsheet would run as formulas.
//!
//! A [`TextReader`](crate::TextReader) before the lines makes UTF-8 and line feeds of other encodings and line ends.

use std::io::{self, BufRead, Read};

use crate::{EncodingError, encoding_error};

/// The longest line in bytes; a row of a list or of labels has a few hundred.
pub const LONGEST_LINE: usize = 1024 * 1024;

/// Byte order mark of UTF-8. Files that were joined have one at the start of a line, too.
pub const UTF8_MARK: &[u8] = &[0xEF, 0xBB, 0xBF];

/// An invalid line.
#[derive(Debug, thiserror::Error)]
#[error("line {line}: {fault}")]
pub struct TextError {
    /// The line, counted from one.
    pub line: u64,
    /// The problem of the line.
    pub fault: TextFault,
}

/// Problem of a line.
#[derive(Debug, thiserror::Error)]
pub enum TextFault {
    /// The line cannot be read.
    #[error("failed to read: {0}")]
    Read(io::Error),
    /// The bytes of the line are no text.
    #[error(transparent)]
    Encoding(EncodingError),
    /// The line is longer than the limit.
    #[error("longer than a row may be")]
    TooLong,
    /// The text up to the line is longer than the limit of the whole text, which the variant holds.
    #[error("the file has more than {0} bytes")]
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
    /// True if the rest of a line that is too long is not read yet.
    in_long_line: bool,
}

impl<R: BufRead> TextLines<R> {
    /// A reader of lines of at most [`LONGEST_LINE`] bytes.
    pub const fn new(input: R) -> Self {
        Self::with_max_line(input, LONGEST_LINE)
    }

    /// A reader of lines of at most `longest` bytes.
    pub const fn with_max_line(input: R, longest: usize) -> Self {
        Self {
            input,
            longest,
            most: u64::MAX,
            line: 0,
            buffer: Vec::new(),
            read: 0,
            in_long_line: false,
        }
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

    /// The next line with its number and line ending; `None` at the end of the file. After a line that is too long,
    /// the next line can be read.
    ///
    /// # Errors
    ///
    /// Returns an error if the line cannot be read, is too long, or is not UTF-8 without NUL.
    pub fn next_line(&mut self) -> Result<Option<(u64, &str)>, TextError> {
        self.skip_long_line()?;
        let line = self.line + 1;
        let failed = |fault| TextError { line, fault };
        if self.read > self.most {
            return Err(failed(TextFault::TooLarge(self.most)));
        }
        let most = u64::try_from(self.longest + UTF8_MARK.len() + "\r\n".len()).unwrap_or(u64::MAX);
        let before = self.read;
        self.buffer.clear();
        let count = Read::take(&mut self.input, most)
            .read_until(b'\n', &mut self.buffer)
            .map_err(|error| failed(error.into()))?;
        self.read = self.read.saturating_add(u64::try_from(count).unwrap_or(u64::MAX));
        let mut mark = 0;
        if self.buffer.starts_with(UTF8_MARK) {
            mark = UTF8_MARK.len();
            self.buffer.drain(..mark);
        }
        if count == 0 || (self.buffer.is_empty() && mark > 0) {
            return Ok(None);
        }
        self.line = line;
        if content(&self.buffer) > self.longest {
            self.in_long_line = self.buffer.last() != Some(&b'\n');
            return Err(failed(TextFault::TooLong));
        }
        if memchr::memchr(0, &self.buffer).is_some() {
            return Err(failed(TextFault::Encoding(EncodingError::Nul)));
        }
        let text = std::str::from_utf8(&self.buffer).map_err(|error| {
            let at = u64::try_from(mark + error.valid_up_to()).unwrap_or_default();
            failed(TextFault::Encoding(EncodingError::NotUtf8 { offset: before + at }))
        })?;
        Ok(Some((line, text)))
    }

    fn skip_long_line(&mut self) -> Result<(), TextError> {
        while self.in_long_line {
            let line = self.line;
            let available = self.input.fill_buf();
            let available = available.map_err(|error| TextError { line, fault: error.into() })?;
            let end = memchr::memchr(b'\n', available);
            let count = end.map_or(available.len(), |end| end + 1);
            self.in_long_line = end.is_none() && count > 0;
            self.input.consume(count);
            self.read = self.read.saturating_add(u64::try_from(count).unwrap_or(u64::MAX));
        }
        Ok(())
    }
}

impl From<io::Error> for TextFault {
    fn from(error: io::Error) -> Self {
        match encoding_error(&error) {
            Some(found) => Self::Encoding(found.clone()),
            None => Self::Read(error),
        }
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
    fn a_line_that_is_too_long_hides_no_other() {
        let mut lines = TextLines::with_max_line(&b"abcdefghijkl\nxy\n"[..], 4);
        let error = lines.next_line().unwrap_err();
        assert!(matches!(error, TextError { line: 1, fault: TextFault::TooLong }));
        assert_eq!(lines.next_line().unwrap(), Some((2, "xy\n")));
        assert_eq!(lines.next_line().unwrap(), None);
    }

    #[test]
    fn joined_files_have_no_marks_within() {
        let read = all(b"\xEF\xBB\xBFa\n\xEF\xBB\xBFb\n").unwrap();
        assert_eq!(read, [(1, "a\n".into()), (2, "b\n".into())]);
    }

    #[test]
    fn bytes_that_are_no_text_are_reported() {
        let fault = |bytes: &[u8]| match all(bytes).unwrap_err() {
            TextError { line, fault: TextFault::Encoding(error) } => (line, error),
            other => panic!("{other:?}"),
        };
        assert_eq!(fault(b"a\nb\xFF\n"), (2, EncodingError::NotUtf8 { offset: 3 }));
        assert_eq!(fault(b"a\nb\0\n"), (2, EncodingError::Nul));
    }
}
