//! Pages of a column of a Parquet file. A reader allocates what a page's header states before it unpacks the page, and
//! unpacks gzip as far as it goes: both are compared with the limits first.

use std::io::{self, Read, Seek, SeekFrom};

use flate2::read::MultiGzDecoder;

/// Largest header of a page, with its statistics.
const LARGEST_HEADER: u64 = 16 * 1024 * 1024;
/// Most structures within one another in a header.
const DEEPEST: u32 = 8;

/// The pages of a column in one row group.
#[derive(Clone, Copy, Debug)]
pub(super) struct PagesOfColumn {
    /// Position of the first page in the file.
    pub(super) start: u64,
    /// Size of all pages with their headers.
    pub(super) length: u64,
    /// Largest size of all pages after unpacking.
    pub(super) most: u64,
    /// True if the pages are packed by gzip.
    pub(super) is_gzip: bool,
}

/// Reason why the pages of a column are refused.
#[derive(Debug)]
pub(super) enum InvalidPages {
    /// The headers are damaged.
    Damaged,
    /// The pages unpack to more than allowed.
    TooLarge,
    /// The file cannot be read.
    Io(io::Error),
}

impl From<io::Error> for InvalidPages {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => Self::Damaged,
            _ => Self::Io(error),
        }
    }
}

/// Compares the pages of a column with its limits.
pub(super) fn check_pages(
    file: &mut (impl Read + Seek),
    column: PagesOfColumn,
) -> Result<(), InvalidPages> {
    let (mut at, mut left) = (column.start, column.length);
    let mut unpacked = 0_u64;
    while left > 0 {
        file.seek(SeekFrom::Start(at))?;
        let mut header = HeaderReader::new(io::BufReader::new(file.by_ref().take(left)));
        let page = header.page()?;
        let header_length = header.read;
        left = left
            .checked_sub(header_length)
            .and_then(|left| left.checked_sub(page.packed))
            .ok_or(InvalidPages::Damaged)?;
        unpacked = unpacked.saturating_add(page.unpacked);
        if unpacked > column.most {
            return Err(InvalidPages::TooLarge);
        }
        if column.is_gzip {
            file.seek(SeekFrom::Start(at.saturating_add(header_length)))?;
            if unpacks_to_more(file.by_ref().take(page.packed), page) {
                return Err(InvalidPages::TooLarge);
            }
        }
        at = at.saturating_add(header_length).saturating_add(page.packed);
    }
    Ok(())
}

/// True if a page packed by gzip unpacks to more than its header states. A damaged page is left to its reader.
fn unpacks_to_more(packed: impl Read, page: PageSizes) -> bool {
    let mut levels = io::BufReader::new(packed);
    let skipped = io::copy(&mut levels.by_ref().take(page.levels), &mut io::sink());
    let stated = page.unpacked.saturating_sub(skipped.unwrap_or(0));
    let unpacked = MultiGzDecoder::new(levels).take(stated.saturating_add(1));
    count(unpacked) > stated
}

/// Number of bytes up to the end or the first error.
fn count(mut from: impl Read) -> u64 {
    let (mut buffer, mut all) = ([0; 8_192], 0_u64);
    loop {
        match from.read(&mut buffer) {
            Ok(0) => return all,
            Ok(read) => all = all.saturating_add(u64::try_from(read).unwrap_or(u64::MAX)),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return all,
        }
    }
}

/// Sizes that the header of a page states.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct PageSizes {
    unpacked: u64,
    packed: u64,
    /// Bytes before the packed ones in a page of the second version.
    levels: u64,
}

/// Field numbers of a page's header.
const UNPACKED_SIZE: i64 = 2;
const PACKED_SIZE: i64 = 3;
const SECOND_VERSION: i64 = 8;
/// Field numbers of the header of a page of the second version: the sizes of its levels.
const LEVEL_SIZES: [i64; 2] = [5, 6];

/// Types of fields in the compact protocol of Thrift.
const TRUE: u8 = 1;
const FALSE: u8 = 2;
const BYTE: u8 = 3;
const INTEGERS: [u8; 3] = [4, 5, 6];
const DOUBLE: u8 = 7;
const BINARY: u8 = 8;
const LISTS: [u8; 2] = [9, 10];
const MAP: u8 = 11;
const STRUCTURE: u8 = 12;

/// Reader of a header in the compact protocol of Thrift.
struct HeaderReader<R> {
    from: R,
    read: u64,
}

impl<R: Read> HeaderReader<R> {
    const fn new(from: R) -> Self {
        Self { from, read: 0 }
    }

    fn page(&mut self) -> Result<PageSizes, InvalidPages> {
        let mut sizes = PageSizes::default();
        let (mut has_unpacked, mut has_packed) = (false, false);
        let mut last = 0;
        while let Some((field, kind)) = self.field(&mut last)? {
            match field {
                UNPACKED_SIZE if INTEGERS.contains(&kind) => {
                    (sizes.unpacked, has_unpacked) = (self.size()?, true);
                }
                PACKED_SIZE if INTEGERS.contains(&kind) => {
                    (sizes.packed, has_packed) = (self.size()?, true);
                }
                SECOND_VERSION if kind == STRUCTURE => {
                    let mut last = 0;
                    while let Some((field, kind)) = self.field(&mut last)? {
                        if LEVEL_SIZES.contains(&field) && INTEGERS.contains(&kind) {
                            sizes.levels = sizes.levels.saturating_add(self.size()?);
                        } else {
                            self.skip(kind, 1)?;
                        }
                    }
                }
                _ => self.skip(kind, 0)?,
            }
        }
        if has_unpacked && has_packed { Ok(sizes) } else { Err(InvalidPages::Damaged) }
    }

    /// The number and the type of the next field; `None` at the end of the structure.
    fn field(&mut self, last: &mut i64) -> Result<Option<(i64, u8)>, InvalidPages> {
        let byte = self.byte()?;
        if byte == 0 {
            return Ok(None);
        }
        *last = match byte >> 4 {
            0 => self.integer()?,
            step => last.saturating_add(step.into()),
        };
        Ok(Some((*last, byte & 0x0f)))
    }

    fn skip(&mut self, kind: u8, depth: u32) -> Result<(), InvalidPages> {
        match kind {
            TRUE | FALSE => Ok(()),
            BYTE => self.byte().map(drop),
            kind if INTEGERS.contains(&kind) => self.varint().map(drop),
            DOUBLE => self.bytes(8),
            BINARY => {
                let length = self.varint()?;
                self.bytes(length)
            }
            _ if depth >= DEEPEST => Err(InvalidPages::Damaged),
            kind if LISTS.contains(&kind) => {
                let head = self.byte()?;
                let count = match head >> 4 {
                    15 => self.varint()?,
                    count => count.into(),
                };
                (0..count).try_for_each(|_| self.skip_element(head & 0x0f, depth))
            }
            MAP => {
                let count = self.varint()?;
                let kinds = if count > 0 { self.byte()? } else { 0 };
                (0..count).try_for_each(|_| {
                    self.skip_element(kinds >> 4, depth)?;
                    self.skip_element(kinds & 0x0f, depth)
                })
            }
            STRUCTURE => {
                let mut last = 0;
                while let Some((_, kind)) = self.field(&mut last)? {
                    self.skip(kind, depth + 1)?;
                }
                Ok(())
            }
            _ => Err(InvalidPages::Damaged),
        }
    }

    /// Skips an element of a list. Truths are bytes there.
    fn skip_element(&mut self, kind: u8, depth: u32) -> Result<(), InvalidPages> {
        match kind {
            TRUE | FALSE => self.byte().map(drop),
            kind => self.skip(kind, depth + 1),
        }
    }

    /// A size, which is not negative.
    fn size(&mut self) -> Result<u64, InvalidPages> {
        u64::try_from(self.integer()?).map_err(|_| InvalidPages::Damaged)
    }

    fn integer(&mut self) -> Result<i64, InvalidPages> {
        let number = self.varint()?;
        let half = (number >> 1).cast_signed();
        Ok(if number & 1 == 0 { half } else { !half })
    }

    fn varint(&mut self) -> Result<u64, InvalidPages> {
        let mut number = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f).checked_shl(shift).unwrap_or(0);
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(InvalidPages::Damaged)
    }

    fn byte(&mut self) -> Result<u8, InvalidPages> {
        let mut byte = [0];
        self.count(1)?;
        self.from.read_exact(&mut byte)?;
        Ok(u8::from_le_bytes(byte))
    }

    fn bytes(&mut self, length: u64) -> Result<(), InvalidPages> {
        self.count(length)?;
        let read = io::copy(&mut self.from.by_ref().take(length), &mut io::sink())?;
        if read == length { Ok(()) } else { Err(InvalidPages::Damaged) }
    }

    fn count(&mut self, more: u64) -> Result<(), InvalidPages> {
        self.read = self.read.saturating_add(more);
        if self.read > LARGEST_HEADER { Err(InvalidPages::Damaged) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Cursor, Write};

    use flate2::{Compression, write::GzEncoder};

    use super::*;

    fn varint(mut number: u64) -> Vec<u8> {
        let mut bytes = Vec::new();
        loop {
            let byte = (number & 0x7f) as u8;
            number >>= 7;
            bytes.push(byte | if number > 0 { 0x80 } else { 0 });
            if number == 0 {
                return bytes;
            }
        }
    }

    /// A page of the first version with the sizes that its header states.
    fn page(unpacked: u64, body: &[u8]) -> Vec<u8> {
        let integer = |number: u64| varint(number << 1);
        let mut bytes = vec![0x15, 0x00, 0x15];
        bytes.extend(integer(unpacked));
        bytes.push(0x15);
        bytes.extend(integer(body.len() as u64));
        // The header of a data page: values, three encodings, statistics with a text.
        bytes.extend([0x2c, 0x15, 0x02, 0x15, 0x00, 0x15, 0x06, 0x15, 0x06, 0x1c]);
        bytes.extend([0x18, 0x02, b'a', b'b', 0x00, 0x00, 0x00]);
        bytes.extend(body);
        bytes
    }

    fn check(bytes: &[u8], most: u64, is_gzip: bool) -> Result<(), InvalidPages> {
        let column = PagesOfColumn { start: 0, length: bytes.len() as u64, most, is_gzip };
        check_pages(&mut Cursor::new(bytes), column)
    }

    #[test]
    fn sizes_of_all_pages_are_added_up() {
        let pages = [page(40, b"one"), page(50, b"two")].concat();
        assert!(check(&pages, 90, false).is_ok());
        assert!(matches!(check(&pages, 89, false), Err(InvalidPages::TooLarge)));
        let forged = page(i32::MAX.unsigned_abs().into(), b"one");
        assert!(matches!(check(&forged, 1 << 26, false), Err(InvalidPages::TooLarge)));
    }

    #[test]
    fn headers_that_are_cut_off_or_no_headers_are_refused() {
        let whole = page(40, b"one");
        for length in 1..whole.len() {
            assert!(check(&whole[..length], 90, false).is_err(), "{length}");
        }
        for byte in 0..=u8::MAX {
            // No header is read on and on.
            let _ = check(&[byte; 3_000], u64::MAX, false);
        }
        assert!(matches!(check(&[0x1c; 3_000], 90, false), Err(InvalidPages::Damaged)));
        assert!(matches!(check(&[0], 90, false), Err(InvalidPages::Damaged)));
    }

    #[test]
    fn gzip_that_unpacks_to_more_than_stated_is_refused() {
        let mut packed = GzEncoder::new(Vec::new(), Compression::best());
        packed.write_all(&vec![0; 1 << 20]).unwrap();
        let packed = packed.finish().unwrap();
        assert!(check(&page(1 << 20, &packed), 1 << 20, true).is_ok());
        let more = check(&page((1 << 20) - 1, &packed), 1 << 20, true);
        assert!(matches!(more, Err(InvalidPages::TooLarge)));
        // What is no gzip is told by the reader.
        assert!(check(&page(40, b"none"), 90, true).is_ok());
    }
}
