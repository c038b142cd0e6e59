//! A reader that turns a text of any encoding and with any line ends into UTF-8 with line feeds.

use std::io::{self, BufRead, Read};

use encoding_rs::{Decoder, DecoderResult};
use memchr::{memchr, memchr_iter};

use crate::encoding::{DECLARATION_BYTES, Encoding, EncodingError};

/// Size of the buffer of undecoded bytes.
const RAW_BYTES: usize = 64 * 1024;
/// Number of bytes by which the encoding and the kind of a file are told apart.
const START_BYTES: usize = 16;
/// End of file of DOS and CP/M, which old programs still write.
const END_OF_FILE: u8 = 0x1A;

/// Reader of a text as UTF-8 without byte order mark, whose lines end in line feeds only: `\r\n` and `\r` become `\n`.
///
/// No character is replaced: bytes that are no text of the encoding are an [`EncodingError`], which
/// [`encoding_error`] finds in the I/O error, after all text before them.
pub struct TextReader<R> {
    input: R,
    state: State,
    /// Buffer of the input; empty before the first read.
    buffer: Vec<u8>,
    /// Bytes that were read and are not decoded yet.
    raw: Vec<u8>,
    /// Decoded text, and the number of its bytes that were consumed.
    text: Vec<u8>,
    consumed: usize,
    /// Bytes that were decoded.
    offset: u64,
    /// True after a carriage return: a line feed that follows belongs to it.
    after_return: bool,
    /// Number of [`END_OF_FILE`] characters at the end of the text before, which are text only if text follows.
    held: usize,
}

enum State {
    /// Nothing was read. Holds the declared encoding.
    Start(Option<Encoding>),
    Decoding(Box<Decoder>, Encoding),
    Ended,
    Failed(EncodingError),
}

impl<R: Read> TextReader<R> {
    /// Wraps `input`, whose encoding is `declared` unless a byte order mark says otherwise.
    pub const fn new(input: R, declared: Option<Encoding>) -> Self {
        Self {
            input,
            state: State::Start(declared),
            buffer: Vec::new(),
            raw: Vec::new(),
            text: Vec::new(),
            consumed: 0,
            offset: 0,
            after_return: false,
            held: 0,
        }
    }

    /// Reads more bytes; returns false at the end of the input.
    fn read_more(&mut self) -> io::Result<bool> {
        self.buffer.resize(RAW_BYTES, 0);
        let count = loop {
            match self.input.read(&mut self.buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => break other?,
            }
        };
        self.raw.extend_from_slice(self.buffer.get(..count).unwrap_or_default());
        Ok(count > 0)
    }

    /// Decides the encoding by the first bytes.
    fn begin(&mut self, declared: Option<Encoding>) -> io::Result<State> {
        loop {
            let is_declaration =
                self.raw.starts_with(b"<?xml") && memchr(b'>', &self.raw).is_none();
            let wanted = if is_declaration { DECLARATION_BYTES } else { START_BYTES };
            if self.raw.len() >= wanted || !self.read_more()? {
                break;
            }
        }
        Ok(match Encoding::of(&self.raw, declared) {
            Ok((encoding, mark)) => {
                self.raw.drain(..mark);
                self.offset = u64::try_from(mark).unwrap_or_default();
                State::Decoding(Box::new(encoding.decoder()), encoding)
            }
            Err(error) => State::Failed(error),
        })
    }

    /// Decodes the next text into the buffer, which is empty at the end of the input.
    fn refill(&mut self) -> io::Result<()> {
        self.consumed = 0;
        self.text.clear();
        while self.text.is_empty() {
            if let State::Start(declared) = self.state {
                self.state = self.begin(declared)?;
            }
            if let State::Failed(error) = &self.state {
                return Err(io::Error::new(io::ErrorKind::InvalidData, error.clone()));
            }
            if !matches!(self.state, State::Decoding(..)) {
                return Ok(());
            }
            let ended = self.raw.is_empty() && !self.read_more()?;
            self.decode(ended);
        }
        Ok(())
    }

    /// Decodes what was read; `ended` tells that nothing follows.
    fn decode(&mut self, ended: bool) {
        let State::Decoding(decoder, encoding) = &mut self.state else { return };
        let encoding = *encoding;
        let undefined = undefined_byte(encoding, &self.raw);
        let raw = self.raw.get(..undefined.unwrap_or(self.raw.len())).unwrap_or_default();
        let most = decoder.max_utf8_buffer_length_without_replacement(raw.len());
        self.text.resize(most.unwrap_or(RAW_BYTES), 0);
        let (result, read, written) =
            decoder.decode_to_utf8_without_replacement(raw, &mut self.text, ended);
        self.text.truncate(written);
        let offset = self.offset;
        let count = |length: usize| u64::try_from(length).unwrap_or_default();
        self.offset += count(read);
        self.raw.drain(..read);
        let failed = |offset| {
            State::Failed(if encoding == Encoding::UTF_8 {
                EncodingError::NotUtf8 { offset }
            } else {
                EncodingError::Malformed { offset, encoding }
            })
        };
        match result {
            DecoderResult::Malformed(length, after) => {
                let back = u64::from(length) + u64::from(after);
                self.state = failed((offset + count(read)).saturating_sub(back));
            }
            DecoderResult::InputEmpty if undefined == Some(read) => {
                self.state = failed(offset + count(read));
            }
            DecoderResult::InputEmpty if ended => self.state = State::Ended,
            DecoderResult::InputEmpty | DecoderResult::OutputFull => {}
        }
        self.unify_line_ends();
        self.hold_end_of_file();
    }

    fn unify_line_ends(&mut self) {
        let Some(last) = self.text.last() else { return };
        let ends_in_return = *last == b'\r';
        if std::mem::take(&mut self.after_return) && self.text.first() == Some(&b'\n') {
            self.text.remove(0);
        }
        self.after_return = ends_in_return;
        if memchr(b'\r', &self.text).is_none() {
            return;
        }
        let mut unified = Vec::with_capacity(self.text.len());
        let mut rest = self.text.as_slice();
        while let Some(at) = memchr(b'\r', rest) {
            let (line, end) = rest.split_at(at);
            unified.extend_from_slice(line);
            unified.push(b'\n');
            let after = end.get(1..).unwrap_or_default();
            rest = after.strip_prefix(b"\n").unwrap_or(after);
        }
        unified.extend_from_slice(rest);
        self.text = unified;
    }

    fn hold_end_of_file(&mut self) {
        let length = self.text.iter().rposition(|byte| *byte != END_OF_FILE).map_or(0, |at| at + 1);
        let held = self.text.len() - length;
        self.text.truncate(length);
        if length > 0 && self.held > 0 {
            let before = vec![END_OF_FILE; std::mem::take(&mut self.held)];
            self.text.splice(..0, before);
        }
        self.held += held;
    }
}

/// Index of the first byte that no character has; the decoder would make it an invisible control character.
fn undefined_byte(encoding: Encoding, raw: &[u8]) -> Option<usize> {
    const UNDEFINED: [u8; 5] = [0x81, 0x8D, 0x8F, 0x90, 0x9D];
    if encoding != Encoding::WINDOWS_1252 {
        return None;
    }
    raw.iter().position(|byte| UNDEFINED.contains(byte))
}

impl<R: Read> BufRead for TextReader<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.consumed >= self.text.len() {
            self.refill()?;
        }
        Ok(self.text.get(self.consumed..).unwrap_or_default())
    }

    fn consume(&mut self, count: usize) {
        self.consumed += count;
    }
}

impl<R: Read> Read for TextReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.fill_buf()?.read(buffer)?;
        self.consume(count);
        Ok(count)
    }
}

/// The encoding error in an I/O error of a [`TextReader`].
#[must_use]
pub fn encoding_error(error: &io::Error) -> Option<&EncodingError> {
    error.get_ref()?.downcast_ref()
}

/// The line in which `text` ends, counted from one.
#[must_use]
pub fn line_after(text: &[u8]) -> u64 {
    1 + u64::try_from(memchr_iter(b'\n', text).count()).unwrap_or(u64::MAX - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reader that returns one byte at a time.
    struct Trickle<'a>(&'a [u8]);

    impl Read for Trickle<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let first = self.0.get(..1).unwrap_or_default();
            self.0 = self.0.get(1..).unwrap_or_default();
            let mut first = first;
            first.read(buffer)
        }
    }

    fn decode(bytes: &[u8], declared: Option<&str>) -> (String, Option<String>) {
        let declared = || declared.map(|name| name.parse().unwrap());
        let all = |mut reader: Box<dyn Read + '_>| {
            let mut text = Vec::new();
            let error = reader.read_to_end(&mut text).err();
            (String::from_utf8(text).unwrap(), error.map(|error| error.to_string()))
        };
        let whole = all(Box::new(TextReader::new(bytes, declared())));
        let trickled = all(Box::new(TextReader::new(Trickle(bytes), declared())));
        assert_eq!(whole, trickled, "the text does not depend on how it arrives");
        whole
    }

    #[test]
    fn every_line_end_becomes_a_line_feed() {
        for text in ["a\nb\n\nc", "a\r\nb\r\n\r\nc", "a\rb\r\rc", "a\rb\n\r\nc"] {
            assert_eq!(decode(text.as_bytes(), None), ("a\nb\n\nc".to_owned(), None), "{text:?}");
        }
        assert_eq!(decode(b"a\n\x1A", None).0, "a\n");
        assert_eq!(decode(b"a\x1Ab\n\x1A\x1A", None).0, "a\x1Ab\n");
    }

    #[test]
    fn every_encoding_gives_the_same_text() {
        let text = "שלום, Müller\r\n0x12\r\n";
        for (name, mark) in [
            ("utf-8", &b""[..]),
            ("utf-8", b"\xEF\xBB\xBF"),
            ("utf-16le", b"\xFF\xFE"),
            ("utf-16be", b"\xFE\xFF"),
        ] {
            let encoding: Encoding = name.parse().unwrap();
            let bytes = [mark, &encoding.encoded(text).unwrap()].concat();
            assert_eq!(decode(&bytes, None), (text.replace('\r', ""), None), "{name}");
        }
        assert_eq!(decode(b"\xF9\xEC\xE5\xED", Some("windows-1255")).0, "שלום");
        assert_eq!(decode(b"M\xFCller", Some("windows-1252")).0, "Müller");
        let xml = b"<?xml version=\"1.0\" encoding=\"windows-1251\"?><a>\xCF</a>";
        assert!(decode(xml, None).0.ends_with("<a>П</a>"));
    }

    #[test]
    fn invalid_bytes_are_told_after_the_text_before_them() {
        let (text, error) = decode(b"ab\nM\xFCller\n", None);
        assert_eq!(text, "ab\nM");
        assert!(error.unwrap().starts_with("bytes that are not UTF-8 at byte offset 4: declare"));
        for (bytes, encoding, offset) in [
            (&b"ab\xE2\x82"[..], None, 2),
            (b"a\x90", Some("windows-1252"), 1),
            (b"\xFF\xFEa\0b", None, 4),
            (b"\xFF\xFEa\0\0\xD8b\0", None, 4),
            (b"ab\xFF", Some("windows-1255"), 2),
        ] {
            let error = decode(bytes, encoding).1.unwrap();
            assert!(error.contains(&format!(" at byte offset {offset}: ")), "{bytes:?}: {error}");
        }
    }

    #[test]
    fn a_long_text_is_decoded_in_pieces() {
        let text = "ü€\r\n".repeat(60_000);
        let encoded = Encoding::UTF_8.encoded(&text).unwrap();
        assert_eq!(decode(&encoded, None).0, text.replace('\r', ""));
    }
}
