//! Reading of numbers and lengths from bytes.

use super::RawError;

/// Position in bytes.
#[derive(Clone, Debug)]
pub(super) struct Cursor<'a> {
    all: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(super) const fn new(all: &'a [u8]) -> Self {
        Self { all, at: 0 }
    }

    pub(super) const fn offset(&self) -> usize {
        self.at
    }

    pub(super) const fn length(&self) -> usize {
        self.all.len()
    }

    fn remaining(&self) -> &'a [u8] {
        self.all.get(self.at..).unwrap_or_default()
    }

    /// Returns the bytes that were read since `from`.
    pub(super) fn since(&self, from: usize) -> &'a [u8] {
        self.all.get(from..self.at).unwrap_or_default()
    }

    /// Skips all remaining bytes.
    pub(super) const fn finish(&mut self) {
        self.at = self.all.len();
    }

    pub(super) fn take(&mut self, count: usize, what: &'static str) -> Result<&'a [u8], RawError> {
        let taken =
            self.remaining().get(..count).ok_or_else(|| self.truncated(count as u64, what))?;
        self.at += count;
        Ok(taken)
    }

    fn truncated(&self, needed: u64, what: &'static str) -> RawError {
        RawError::Ends { what, at: self.at, needed, length: self.all.len() }
    }

    pub(super) fn array<const N: usize>(
        &mut self,
        what: &'static str,
    ) -> Result<[u8; N], RawError> {
        let missing = self.truncated(N as u64, what);
        let taken = self.remaining().first_chunk().copied().ok_or(missing)?;
        self.at += N;
        Ok(taken)
    }

    pub(super) fn byte(&mut self, what: &'static str) -> Result<u8, RawError> {
        self.array::<1>(what).map(|[byte]| byte)
    }

    pub(super) fn u32(&mut self, what: &'static str) -> Result<u32, RawError> {
        self.array(what).map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self, what: &'static str) -> Result<u64, RawError> {
        self.array(what).map(u64::from_le_bytes)
    }

    /// Reads a number in Bitcoin's variable length.
    pub(super) fn compact(&mut self, what: &'static str) -> Result<u64, RawError> {
        let at = self.at;
        let (number, least) = match self.byte(what)? {
            0xfd => (u64::from(u16::from_le_bytes(self.array(what)?)), 0xfd),
            0xfe => (u64::from(self.u32(what)?), 0x1_0000),
            0xff => (self.u64(what)?, 0x1_0000_0000),
            small => (u64::from(small), 0),
        };
        if number < least { Err(RawError::Wasteful { at }) } else { Ok(number) }
    }

    /// Reads a number in the variable length of Bitcoin Core's databases: seven bits in each byte, the highest ones
    /// first, and each byte but the last counts one more.
    pub(super) fn base128(&mut self, what: &'static str) -> Result<u64, RawError> {
        let at = self.at;
        let mut number = 0_u64;
        loop {
            let byte = self.byte(what)?;
            let shifted = number.checked_mul(0x80).ok_or(RawError::TooLarge { what, at })?;
            number = shifted | u64::from(byte & 0x7f);
            if byte & 0x80 == 0 {
                return Ok(number);
            }
            number = number.checked_add(1).ok_or(RawError::TooLarge { what, at })?;
        }
    }

    /// Reads the number of following items, each of at least `smallest` bytes.
    pub(super) fn count(&mut self, smallest: usize, what: &'static str) -> Result<usize, RawError> {
        let at = self.at;
        let count = self.compact(what)?;
        let left = self.remaining().len();
        match usize::try_from(count) {
            Ok(number) if number <= left / smallest => Ok(number),
            _ => Err(RawError::Count { what, at, count, left }),
        }
    }

    /// Reads a length, and as many bytes as it states.
    pub(super) fn bytes(&mut self, what: &'static str) -> Result<&'a [u8], RawError> {
        let length = self.compact(what)?;
        let count = usize::try_from(length).map_err(|_| self.truncated(length, what))?;
        self.take(count, what)
    }
}

/// Writes a number in Bitcoin's variable length.
pub(crate) fn write_compact(number: usize, to: &mut Vec<u8>) {
    let number = number as u64;
    let bytes = number.to_le_bytes();
    let (mark, length) = match number {
        0..0xfd => (None, 1),
        0xfd..0x1_0000 => (Some(0xfd), 2),
        0x1_0000..0x1_0000_0000 => (Some(0xfe), 4),
        _ => (Some(0xff), 8),
    };
    to.extend(mark);
    to.extend(bytes.into_iter().take(length));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_they_are_written() {
        for number in [0, 1, 0xfc, 0xfd, 0xffff, 0x1_0000, 0xffff_ffff, 0x1_0000_0000] {
            let mut bytes = Vec::new();
            write_compact(number, &mut bytes);
            assert_eq!(Cursor::new(&bytes).compact("a number"), Ok(number as u64));
        }
    }

    #[test]
    fn errors_are_reported_with_their_positions() {
        let wasteful = Cursor::new(&[0xfd, 5, 0]).compact("a count");
        assert_eq!(wasteful, Err(RawError::Wasteful { at: 0 }));
        let mut short = Cursor::new(&[3, 1, 2]);
        assert_eq!(
            short.bytes("a script").unwrap_err().to_string(),
            "it is cut off: a script at byte 1 needs 3 bytes, but it ends at byte 3"
        );
        let many = Cursor::new(&[200, 0]).count(41, "inputs");
        assert!(matches!(many, Err(RawError::Count { count: 200, left: 1, .. })));
    }
}
