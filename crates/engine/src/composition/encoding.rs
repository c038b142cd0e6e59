//! Encoding of single compositions (breakdowns of a transaction's funds by origin): the code and the share of each
//! origin, in as few bytes as the share needs.
//!
//! A header counts the origins; the header's lowest bits are set if there are a mixed and a labelled share, which come
//! first, and severe labels, which follow with their number. A share is encoded as its number of units, or as the number of units that are missing to the whole, whichever
//! is shorter, so that a sole origin takes two bytes.

use super::{Composition, Origin, PassedLabel};
use crate::ledger::CoinShare;

const IS_MIXED: u64 = 1;
const IS_LABELLED: u64 = 2;
const HAS_PASSED: u64 = 4;
/// Number of bits of the header below the number of origins.
const HEAD_BITS: u32 = 3;
/// The last bit of an encoded share: set if the number is the difference to the whole.
const LACKS: u64 = 1;

impl Composition {
    /// Appends the composition (origin breakdown) as bytes.
    pub fn put_bytes(&self, into: &mut Vec<u8>) {
        let mut head = (self.origins.len() as u64) << HEAD_BITS;
        let beside = [(IS_MIXED, self.mixed), (IS_LABELLED, self.labelled)];
        let beside = || beside.into_iter().filter(|(_, share)| !share.is_nothing());
        head |= beside().map(|(bit, _)| bit).sum::<u64>();
        if !self.passed.is_empty() {
            head |= HAS_PASSED;
        }
        put_number(head, into);
        for (_, share) in beside() {
            put_share(share, into);
        }
        if !self.passed.is_empty() {
            put_number(self.passed.len() as u64, into);
        }
        for (label, share) in &self.passed {
            into.extend(label.to_bytes());
            put_share(*share, into);
        }
        for (origin, share) in &self.origins {
            into.push(origin.code());
            put_share(*share, into);
        }
    }

    /// Reads a composition (origin breakdown) from the beginning of bytes, and returns the remaining bytes; `None` if
    /// the bytes are invalid.
    #[must_use]
    pub fn read(bytes: &[u8]) -> Option<(Self, &[u8])> {
        let mut rest = bytes;
        let head = read_number(&mut rest)?;
        let mut beside = |bit| {
            if head & bit == 0 { Some(CoinShare::NOTHING) } else { read_share(&mut rest) }
        };
        let (mixed, labelled) = (beside(IS_MIXED)?, beside(IS_LABELLED)?);
        let labels = if head & HAS_PASSED == 0 { 0 } else { read_number(&mut rest)? };
        let mut passed = Vec::new();
        for _ in 0..labels {
            let (label, after) = rest.split_first_chunk()?;
            rest = after;
            passed.push((PassedLabel::from_bytes(*label)?, read_share(&mut rest)?));
        }
        // Each origin takes two bytes at least.
        let count = usize::try_from(head >> HEAD_BITS).ok().filter(|it| *it <= rest.len())?;
        let mut origins = Vec::with_capacity(count);
        for _ in 0..count {
            let (code, after) = rest.split_first()?;
            rest = after;
            origins.push((Origin::from_code(*code)?, read_share(&mut rest)?));
        }
        Some((Self { origins, mixed, labelled, passed }, rest))
    }
}

fn put_share(share: CoinShare, into: &mut Vec<u8>) {
    let (has, lacks) = (share.units(), CoinShare::WHOLE.less(share).units());
    put_number(if lacks < has { lacks << 1 | LACKS } else { has << 1 }, into);
}

fn put_number(mut number: u64, into: &mut Vec<u8>) {
    while number > 0x7f {
        into.push(low_byte(number) | 0x80);
        number >>= 7;
    }
    into.push(low_byte(number));
}

fn read_share(bytes: &mut &[u8]) -> Option<CoinShare> {
    let number = read_number(bytes)?;
    let units = CoinShare::from_units(number >> 1);
    Some(if number & LACKS == 0 { units } else { CoinShare::WHOLE.less(units) })
}

fn read_number(bytes: &mut &[u8]) -> Option<u64> {
    let (mut number, mut shift) = (0_u64, 0_u32);
    loop {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & 0x7f).checked_shl(shift)?;
        if *byte < 0x80 {
            return Some(number);
        }
        shift += 7;
    }
}

const fn low_byte(number: u64) -> u8 {
    let [low, ..] = number.to_le_bytes();
    low
}
