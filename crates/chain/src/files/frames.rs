//! Frames of a node's files: a magic number, a length, and content of that length.

use std::io::{self, BufRead, BufReader, ErrorKind, Read, Seek};

use super::open::OpenFile;

/// Bytes before the content of a frame: a magic number and the content's length.
pub(super) const BEFORE_CONTENT: u64 = 8;

/// File that is searched for frames.
pub(super) struct Frames {
    pub(super) magics: &'static [[u8; 4]],
    pub(super) input: BufReader<OpenFile>,
    /// Offset of the next read.
    pub(super) at: u64,
    pub(super) length: u64,
}

/// A magic number that was found.
pub(super) struct Magic {
    pub(super) bytes: [u8; 4],
    /// True if the magic number directly follows the previous frame.
    pub(super) follows: bool,
}

impl Frames {
    /// Returns the frames of a file that begin with one of these magic numbers.
    pub(super) fn new(opened: OpenFile, magics: &'static [[u8; 4]]) -> io::Result<Self> {
        let length = opened.length()?;
        Ok(Self { magics, input: BufReader::new(opened), at: 0, length })
    }

    /// Returns the next four bytes of the file without advancing; `None` at the end of the file.
    pub(super) fn peek(&mut self) -> io::Result<Option<[u8; 4]>> {
        if let Some(bytes) = self.input.fill_buf()?.first_chunk() {
            return Ok(Some(*bytes));
        }
        let mut bytes = [0; 4];
        let read = self.input.read_exact(&mut bytes);
        self.input.seek(io::SeekFrom::Start(self.at))?;
        match read {
            Ok(()) => Ok(Some(bytes)),
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Seeks to the offset `at`, inside the buffer if the buffer contains that offset.
    pub(super) fn seek(&mut self) -> io::Result<()> {
        let here = self.input.stream_position()?;
        let there = i64::try_from(self.at).unwrap_or(i64::MAX);
        self.input.seek_relative(there.saturating_sub_unsigned(here))
    }

    pub(super) fn array<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        let mut bytes = [0; N];
        self.input.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    /// Advances beyond the next magic number; `None` at the end of the file. Bytes that a killed node left between
    /// frames are skipped.
    pub(super) fn find_magic(&mut self) -> io::Result<Option<Magic>> {
        let mut window = [0; 4];
        let mut read = 0_u64;
        while let Some(byte) = self.input.fill_buf()?.first().copied() {
            self.input.consume(1);
            window.rotate_left(1);
            if let Some(last) = window.last_mut() {
                *last = byte;
            }
            read += 1;
            if read >= 4 && self.magics.contains(&window) {
                self.at += read - 4;
                let magic = Magic { bytes: window, follows: read == 4 };
                return Ok(Some(magic).filter(|_| self.length - self.at >= BEFORE_CONTENT));
            }
        }
        Ok(None)
    }
}
