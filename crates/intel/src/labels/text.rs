//! Text as every label format has it: UTF-8 without NUL, with lines and files of bounded size.

use std::io::{BufRead, Read};

use memchr::memchr;

use super::LabelError;
pub(super) use assay_input::text::LONGEST_LINE;
use assay_input::text::{TextError, TextFault, TextLines, UTF8_MARK, begins_as_utf16};

/// The most bytes of a file that is held in memory while it is read; the largest TagPack has 4 MB.
pub(super) const LARGEST_HELD: u64 = 64 * 1024 * 1024;
/// The most bytes of a file that is read line by line.
pub(super) const LARGEST_STREAMED: u64 = 512 * 1024 * 1024;

const NUL: &str = "a NUL byte, as in a binary file or in UTF-16";
const NOT_UTF8: &str = "bytes that are not UTF-8";
const UTF16: &str = "a byte order mark of UTF-16";

/// Which line the end of `bytes` is in.
fn line_after(bytes: &[u8]) -> u64 {
    1 + u64::try_from(memchr::memchr_iter(b'\n', bytes).count()).unwrap_or(u64::MAX - 1)
}

/// Reads a whole file, for formats that need all of it; `longest_line` where its lines are bounded.
pub(super) fn whole(
    input: impl Read,
    file: &str,
    most: u64,
    longest_line: Option<usize>,
) -> Result<String, LabelError> {
    let mut bytes = Vec::new();
    input
        .take(most.saturating_add(1))
        .read_to_end(&mut bytes)
        .map_err(|source| LabelError::Read { file: file.to_owned(), source })?;
    if u64::try_from(bytes.len()).is_ok_and(|length| length > most) {
        return Err(LabelError::TooLarge { file: file.to_owned(), most });
    }
    let encoding = |line, found| LabelError::Encoding { file: file.to_owned(), line, found };
    if begins_as_utf16(&bytes) {
        return Err(encoding(1, UTF16));
    }
    if let Some(place) = memchr(0, &bytes) {
        return Err(encoding(line_after(bytes.get(..place).unwrap_or_default()), NUL));
    }
    if bytes.starts_with(UTF8_MARK) {
        bytes.drain(..UTF8_MARK.len());
    }
    if let Some(most) = longest_line {
        let long = |line: &[u8]| line.len() > most;
        if let Some(index) = bytes.split(|byte| *byte == b'\n').position(long) {
            let line = u64::try_from(index).unwrap_or(u64::MAX - 1) + 1;
            return Err(LabelError::LongLine { file: file.to_owned(), line, most });
        }
    }
    String::from_utf8(bytes).map_err(|error| {
        let valid = error.as_bytes().get(..error.utf8_error().valid_up_to()).unwrap_or_default();
        encoding(line_after(valid), NOT_UTF8)
    })
}

/// What the JSON reader says, without the place, which is told beside it.
pub(super) fn json_reason(error: &serde_json::Error) -> String {
    let told = error.to_string();
    told.rsplit_once(" at line ").map_or(told.as_str(), |(reason, _)| reason).to_owned()
}

/// Gives a file's lines, one at a time.
pub(super) struct Lines<'a, R> {
    text: TextLines<R>,
    file: &'a str,
    /// The most bytes of the file.
    most: u64,
}

impl<'a, R: BufRead> Lines<'a, R> {
    pub(super) const fn new(input: R, file: &'a str, most: u64) -> Self {
        Self { text: TextLines::new(input), file, most }
    }

    /// The next line with its number, without its end.
    pub(super) fn next_line(&mut self) -> Result<Option<(u64, &str)>, LabelError> {
        let file = || self.file.to_owned();
        // What is read goes by lines: one line too much is read before it is told.
        if self.text.bytes() > self.most {
            return Err(LabelError::TooLarge { file: file(), most: self.most });
        }
        let read = self.text.next_line().map_err(|TextError { line, fault }| match fault {
            TextFault::Read(source) => LabelError::Read { file: file(), source },
            TextFault::Utf16 => LabelError::Encoding { file: file(), line, found: UTF16 },
            TextFault::NotUtf8 => LabelError::Encoding { file: file(), line, found: NOT_UTF8 },
            TextFault::Nul => LabelError::Encoding { file: file(), line, found: NUL },
            TextFault::TooLong => LabelError::LongLine { file: file(), line, most: LONGEST_LINE },
        })?;
        Ok(read.map(|(line, text)| (line, text.trim_end_matches(['\n', '\r']))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(bytes: &[u8], most: u64) -> Result<Vec<String>, String> {
        let mut lines = Lines::new(bytes, "f", most);
        let mut all = Vec::new();
        while let Some((line, text)) = lines.next_line().map_err(|error| error.to_string())? {
            all.push(format!("{line}:{text}"));
        }
        Ok(all)
    }

    fn held(bytes: &[u8]) -> Result<String, String> {
        whole(bytes, "f", 100, Some(10)).map_err(|error| error.to_string())
    }

    #[test]
    fn a_byte_order_mark_of_utf_8_and_ends_of_windows_lines_are_no_text() {
        assert_eq!(all(b"\xEF\xBB\xBFa\r\n\nb", 99).unwrap(), ["1:a", "2:", "3:b"]);
        assert_eq!(held(b"\xEF\xBB\xBFa\n").unwrap(), "a\n");
    }

    #[test]
    fn other_encodings_are_refused_with_the_line() {
        for read in
            [|bytes: &[u8]| all(bytes, 99).map(|_| ()), |bytes: &[u8]| held(bytes).map(|_| ())]
        {
            let utf16 = "f, line 1: a byte order mark of UTF-16: write the file as UTF-8";
            assert_eq!(read(b"\xFF\xFEa\0").unwrap_err(), utf16);
            assert_eq!(read(b"\xFE\xFF\0a").unwrap_err(), utf16);
            assert!(read(b"a\nb\0c").unwrap_err().starts_with("f, line 2: a NUL byte"));
            assert!(read(b"a\n\nb\xFF").unwrap_err().starts_with("f, line 3: bytes that are not"));
        }
    }

    #[test]
    fn lines_and_files_have_a_size() {
        assert_eq!(
            held(b"a\n12345678901\n").unwrap_err(),
            "f, line 2 is longer than 10 bytes: no label needs as much"
        );
        assert!(held(&[b'\n'; 101]).unwrap_err().starts_with("f is larger than 100 bytes"));
        assert!(all(&[b'\n'; 101], 100).unwrap_err().starts_with("f is larger than 100 bytes"));
        let long = [b"a\n".as_slice(), &vec![b'x'; LONGEST_LINE + 1]].concat();
        assert!(all(&long, u64::MAX).unwrap_err().starts_with("f, line 2 is longer than 1048576"));
    }
}
