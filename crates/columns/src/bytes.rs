//! Numbers as bytes: 40 bits for numbers of transactions and owners, and variable lengths for mostly small values.

use std::{
    collections::{HashMap, HashSet},
    hash::{BuildHasherDefault, Hasher},
};

/// Width in bytes of a stored number of a transaction or an owner.
pub const NUMBER_BYTES: usize = 5;
/// The largest stored number; no chain has as many transactions, outputs or owners.
pub const LARGEST_NUMBER: u64 = (1 << 40) - 1;

/// Encodes a number, the most significant byte first, so that keys sort by their numbers.
#[inline]
#[must_use]
pub fn number(number: u64) -> [u8; NUMBER_BYTES] {
    number.to_be_bytes().last_chunk().copied().unwrap_or_default()
}

/// Decodes a number.
#[inline]
#[must_use]
pub fn from_number(bytes: [u8; NUMBER_BYTES]) -> u64 {
    let mut wide = [0; 8];
    if let Some(low) = wide.last_chunk_mut() {
        *low = bytes;
    }
    u64::from_be_bytes(wide)
}

/// Appends a number in groups of seven bits, the least significant group first.
#[inline]
pub fn put_varint(into: &mut Vec<u8>, mut number: u64) {
    while number > 0x7f {
        into.push(low_byte(number) | 0x80);
        number >>= 7;
    }
    into.push(low_byte(number));
}

/// Appends a number of 128 bits in groups of seven bits, the least significant group first.
#[inline]
pub fn put_wide_varint(into: &mut Vec<u8>, mut number: u128) {
    loop {
        let [low, ..] = number.to_le_bytes();
        number >>= 7;
        if number == 0 {
            into.push(low & 0x7f);
            return;
        }
        into.push(low | 0x80);
    }
}

#[inline]
const fn low_byte(number: u64) -> u8 {
    let [low, ..] = number.to_le_bytes();
    low
}

/// Maps a signed number to an unsigned one that is small if the signed number is near zero.
#[inline]
#[must_use]
pub const fn zigzag(number: i64) -> u64 {
    (number.cast_unsigned() << 1) ^ (number >> 63).cast_unsigned()
}

/// The signed number that [`zigzag`] mapped.
#[inline]
#[must_use]
pub const fn from_zigzag(number: u64) -> i64 {
    (number >> 1).cast_signed() ^ -((number & 1).cast_signed())
}

/// Reads bytes from front to back. The reader's methods return `None` if too few bytes are left.
#[derive(Clone, Copy, Debug)]
pub struct ByteReader<'t>(pub &'t [u8]);

impl<'t> ByteReader<'t> {
    /// The next bytes.
    #[inline]
    pub fn take(&mut self, count: usize) -> Option<&'t [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    /// The next bytes, as many as the array has.
    #[inline]
    pub fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*taken)
    }

    /// The next byte.
    #[inline]
    pub fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    /// A number of [`NUMBER_BYTES`] bytes.
    #[inline]
    pub fn number(&mut self) -> Option<u64> {
        self.array().map(from_number)
    }

    /// A number of 32 bits, the most significant byte first.
    #[inline]
    pub fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_be_bytes)
    }

    /// A number of 64 bits, the most significant byte first.
    #[inline]
    pub fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_be_bytes)
    }

    /// A signed number of 64 bits, the most significant byte first.
    #[inline]
    pub fn i64(&mut self) -> Option<i64> {
        self.array().map(i64::from_be_bytes)
    }

    /// Reads a number that [`put_wide_varint`] wrote.
    #[inline]
    pub fn wide_varint(&mut self) -> Option<u128> {
        let mut number = 0;
        let mut shift = 0_u32;
        loop {
            let byte = self.byte()?;
            number |= u128::from(byte & 0x7f).checked_shl(shift)?;
            if byte < 0x80 {
                return Some(number);
            }
            shift += 7;
        }
    }

    /// Reads a number that [`put_varint`] wrote.
    #[inline]
    pub fn varint(&mut self) -> Option<u64> {
        let mut number = 0;
        let mut shift = 0_u32;
        loop {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f).checked_shl(shift)?;
            if byte < 0x80 {
                return Some(number);
            }
            shift += 7;
        }
    }
}

/// A fast hasher for numbers that Assay itself assigns: no outsider can choose them to cause collisions.
#[derive(Debug, Default)]
pub struct NumberHasher(u64);

impl Hasher for NumberHasher {
    #[inline]
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64((self.0 << 8) ^ u64::from(*byte));
        }
    }

    #[inline]
    fn write_u64(&mut self, number: u64) {
        let mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = mixed ^ (mixed >> 32);
    }
}

/// A set of numbers.
pub type NumberSet = HashSet<u64, BuildHasherDefault<NumberHasher>>;

/// A map by numbers.
pub type NumberMap<V> = HashMap<u64, V, BuildHasherDefault<NumberHasher>>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_back_in_order() {
        for value in [0, 1, 255, 256, LARGEST_NUMBER] {
            assert_eq!(from_number(number(value)), value);
        }
        assert!(number(255) < number(256));
    }

    #[test]
    fn variable_numbers_are_read_back() {
        for value in [0, 1, 127, 128, 300, u64::MAX - 1, u64::MAX] {
            let mut bytes = Vec::new();
            put_varint(&mut bytes, value);
            assert_eq!(ByteReader(&bytes).varint(), Some(value));
            assert_eq!(ByteReader(&bytes[..bytes.len() - 1]).varint(), None, "too short");
        }
        for value in [0, 127, 128, u128::from(u64::MAX) + 1, u128::MAX] {
            let mut bytes = Vec::new();
            put_wide_varint(&mut bytes, value);
            assert_eq!(ByteReader(&bytes).wide_varint(), Some(value));
        }
        for value in [0, -1, 1, i64::MIN, i64::MAX] {
            assert_eq!(from_zigzag(zigzag(value)), value);
        }
        assert_eq!(zigzag(-1), 1);
    }
}
