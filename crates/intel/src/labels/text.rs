//! Text files with labels: UTF-8 without NUL, with lines and files of bounded size.

use std::io::Read;

use assay_input::{EncodingError, line_after, text::UTF8_MARK};
use memchr::memchr;

use crate::error::FileError;

/// Largest file that is held in memory while it is read, in bytes. The largest TagPack has 4 MB.
pub(crate) const MAX_HELD_BYTES: u64 = 64 * 1024 * 1024;
/// Largest file that is read line by line, in bytes.
pub(crate) const MAX_STREAMED_BYTES: u64 = 512 * 1024 * 1024;

/// Reads a file of at most `max` bytes into memory; `max_line` is the limit of its lines, if any.
pub(crate) fn read_whole(
    input: impl Read,
    max: u64,
    max_line: Option<usize>,
) -> Result<String, FileError> {
    let mut bytes = Vec::new();
    let outcome = input.take(max.saturating_add(1)).read_to_end(&mut bytes);
    outcome.map_err(|source| FileError::reading(line_after(&bytes), source))?;
    if u64::try_from(bytes.len()).is_ok_and(|length| length > max) {
        return Err(FileError::TooLarge { max });
    }
    let encoding = |line, problem| FileError::Encoding { line, problem };
    if let Some(index) = memchr(0, &bytes) {
        let line = line_after(bytes.get(..index).unwrap_or_default());
        return Err(encoding(line, EncodingError::Nul));
    }
    if bytes.starts_with(UTF8_MARK) {
        bytes.drain(..UTF8_MARK.len());
    }
    if let Some(max) = max_line {
        let is_long = |line: &[u8]| line.len() > max;
        if let Some(index) = bytes.split(|byte| *byte == b'\n').position(is_long) {
            let line = u64::try_from(index).unwrap_or(u64::MAX - 1) + 1;
            return Err(FileError::LongLine { line, max });
        }
    }
    String::from_utf8(bytes).map_err(|error| {
        let valid = error.as_bytes().get(..error.utf8_error().valid_up_to()).unwrap_or_default();
        let offset = u64::try_from(valid.len()).unwrap_or_default();
        encoding(line_after(valid), EncodingError::NotUtf8 { offset })
    })
}

/// The message of a JSON error without its position, which is reported separately.
pub(crate) fn json_reason(error: &serde_json::Error) -> String {
    let message = error.to_string();
    message.rsplit_once(" at line ").map_or(message.as_str(), |(reason, _)| reason).to_owned()
}

#[cfg(test)]
mod tests {
    use assay_input::text::{LONGEST_LINE, TextLines};

    use super::*;

    fn all(bytes: &[u8], max: u64) -> Result<Vec<String>, String> {
        let mut lines = TextLines::new(bytes).with_max_bytes(max);
        let failed = |error| FileError::from(error).to_string();
        let mut all = Vec::new();
        while let Some((line, text)) = lines.next_line().map_err(failed)? {
            all.push(format!("{line}:{text}"));
        }
        Ok(all)
    }

    fn held(bytes: &[u8]) -> Result<String, String> {
        read_whole(bytes, 100, Some(10)).map_err(|error| error.to_string())
    }

    #[test]
    fn byte_order_marks_of_utf_8_are_dropped() {
        assert_eq!(all(b"\xEF\xBB\xBFa\nb", 99).unwrap(), ["1:a\n", "2:b"]);
        assert_eq!(held(b"\xEF\xBB\xBFa\n").unwrap(), "a\n");
    }

    #[test]
    fn bytes_that_are_no_text_are_refused_with_the_line() {
        for read in
            [|bytes: &[u8]| all(bytes, 99).map(|_| ()), |bytes: &[u8]| held(bytes).map(|_| ())]
        {
            assert!(read(b"a\nb\0c").unwrap_err().starts_with("line 2: a NUL byte"));
            assert!(read(b"a\n\nb\xFF").unwrap_err().starts_with("line 3: bytes that are not"));
        }
    }

    #[test]
    fn sizes_of_lines_and_files_are_limited() {
        assert_eq!(
            held(b"a\n12345678901\n").unwrap_err(),
            "line 2 is longer than 10 bytes: no row needs as much"
        );
        assert!(held(&[b'\n'; 101]).unwrap_err().starts_with("more than 100 bytes"));
        assert!(all(&[b'\n'; 101], 100).unwrap_err().starts_with("more than 100 bytes"));
        let long = [b"a\n".as_slice(), &vec![b'x'; LONGEST_LINE + 1]].concat();
        assert!(all(&long, u64::MAX).unwrap_err().starts_with("line 2 is longer than 1048576"));
    }
}
