//! Compact encoding of neighboring compositions (breakdowns of transactions' funds by origin), which share a dictionary
//! of their origins.
//!
//! A composition is encoded as a bit for each origin and each severe label of the dictionary, followed by numbers: the
//! mixed and the labelled share, if the composition has any, and the shares of severe labels, each as the difference to
//! the whole; the shares of all origins but the last; and the unknown share, from which the last origin's share follows. Two bits state the length of each number but the
//! last, which takes the remaining bytes.

use super::{Composition, Origin, PassedLabel};
use crate::ledger::CoinShare;

/// Codes of the mixed and of the labelled share in the dictionary. These codes are larger than all codes of origins.
const MIXED: u8 = u8::MAX;
const LABELLED: u8 = u8::MAX - 1;
/// Number of lengths that fit in one byte.
const LENGTHS: usize = 4;

/// The origins and severe labels of a group of compositions (origin breakdowns), sorted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OriginDictionary {
    codes: Vec<u8>,
    labels: Vec<PassedLabel>,
}

impl OriginDictionary {
    /// Adds the origins and labels of a composition (origin breakdown).
    pub fn add(&mut self, composition: &Composition) {
        for (origin, _) in composition.origins() {
            self.add_code(origin.code());
        }
        for code in extra_shares(composition).map(|(code, _)| code) {
            self.add_code(code);
        }
        for (label, _) in composition.passed() {
            if let Err(place) = self.labels.binary_search(&label) {
                self.labels.insert(place, label);
            }
        }
    }

    fn add_code(&mut self, code: u8) {
        if let Err(place) = self.codes.binary_search(&code) {
            self.codes.insert(place, code);
        }
    }

    /// Appends the dictionary as bytes.
    pub fn put_bytes(&self, into: &mut Vec<u8>) {
        into.push(u8::try_from(self.codes.len()).unwrap_or(u8::MAX));
        into.extend_from_slice(&self.codes);
        into.extend(u16::try_from(self.labels.len()).unwrap_or(u16::MAX).to_le_bytes());
        into.extend(self.labels.iter().flat_map(|label| label.to_bytes()));
    }

    /// Reads a dictionary from the beginning of bytes, and returns the remaining bytes; `None` if there are too few
    /// bytes.
    #[must_use]
    pub fn read(bytes: &[u8]) -> Option<(Self, &[u8])> {
        let (count, rest) = bytes.split_first()?;
        let (codes, rest) = rest.split_at_checked(usize::from(*count))?;
        let (count, mut rest) = rest.split_first_chunk()?;
        let count = u16::from_le_bytes(*count);
        let mut labels = Vec::new();
        for _ in 0..count {
            let (label, after) = rest.split_first_chunk()?;
            labels.push(PassedLabel::from_bytes(*label)?);
            rest = after;
        }
        Some((Self { codes: codes.to_vec(), labels }, rest))
    }

    /// Number of bytes that hold the bits by which a composition states its origins and labels.
    const fn width(&self) -> usize {
        (self.codes.len() + self.labels.len()).div_ceil(8)
    }

    /// Appends a composition (origin breakdown) whose origins were added before. An unknown composition takes no bytes.
    pub fn put(&self, composition: &Composition, into: &mut Vec<u8>) {
        if composition.is_unknown() {
            return;
        }
        let from = into.len();
        into.resize(from + self.width(), 0);
        let codes = composition.origins().map(|(origin, _)| origin.code());
        let codes = codes.chain(extra_shares(composition).map(|(code, _)| code));
        let places = codes.filter_map(|code| self.codes.binary_search(&code).ok());
        let of_label = |label| self.labels.binary_search(&label).ok();
        let labels = composition.passed().filter_map(|(label, _)| of_label(label));
        for place in places.chain(labels.map(|place| self.codes.len() + place)) {
            if let Some(byte) = into.get_mut(from + place / 8) {
                *byte |= 1 << (place % 8);
            }
        }
        put_numbers(numbers(composition), into);
    }

    /// Decodes a composition (origin breakdown) from exactly these bytes; `None` if the bytes are invalid.
    #[must_use]
    pub fn get(&self, bytes: &[u8]) -> Option<Composition> {
        if bytes.is_empty() {
            return Some(Composition::default());
        }
        let (bits, rest) = bytes.split_at_checked(self.width())?;
        let count = bits.iter().map(|byte| byte.count_ones()).sum::<u32>();
        let mut numbers = Numbers::read(rest, usize::try_from(count).ok()?)?;
        let has =
            |place: usize| bits.get(place / 8).is_some_and(|byte| byte >> (place % 8) & 1 == 1);
        let mut codes = self.codes.iter().enumerate().filter(|(place, _)| has(*place));
        let mut left = usize::try_from(count).ok()?;
        let mut beside = |code: u8| {
            if !self.codes.binary_search(&code).is_ok_and(has) {
                return Some(CoinShare::NOTHING);
            }
            left = left.checked_sub(1)?;
            Some(CoinShare::WHOLE.less(numbers.next()?))
        };
        let (mixed, labelled) = (beside(MIXED)?, beside(LABELLED)?);
        let mut passed = Vec::new();
        for (place, label) in self.labels.iter().enumerate() {
            if has(self.codes.len() + place) {
                left = left.checked_sub(1)?;
                passed.push((*label, CoinShare::WHOLE.less(numbers.next()?)));
            }
        }
        let mut origins = Vec::with_capacity(left);
        let mut rest = CoinShare::WHOLE;
        while left > 0 {
            left -= 1;
            let (_, code) = codes.next()?;
            let number = numbers.next()?;
            // That of the last origin is what is unknown.
            let share = if left == 0 { rest.less(number) } else { number };
            rest = rest.less(share);
            origins.push((Origin::from_code(*code)?, share));
        }
        Some(Composition { origins, mixed, labelled, passed })
    }
}

/// The mixed and the labelled share of a composition, if the composition has any, with their codes.
fn extra_shares(of: &Composition) -> impl Iterator<Item = (u8, CoinShare)> + Clone {
    let shares = [(MIXED, of.mixed), (LABELLED, of.labelled)];
    shares.into_iter().filter(|(_, share)| !share.is_nothing())
}

/// The numbers by which a composition (origin breakdown) is encoded.
fn numbers(of: &Composition) -> impl Iterator<Item = u32> + Clone {
    let passed = of.passed().map(|(_, share)| share);
    let beside = extra_shares(of).map(|(_, share)| share).chain(passed);
    let beside = beside.map(|share| CoinShare::WHOLE.less(share));
    let but_last = of.origins.len().saturating_sub(1);
    let shares = of.origins.iter().take(but_last).map(|(_, share)| *share);
    let unknown = (!of.origins.is_empty()).then(|| of.unknown());
    // Each is less than the whole, because no share is nothing.
    beside.chain(shares).chain(unknown).map(|it| u32::try_from(it.units()).unwrap_or(u32::MAX))
}

/// Fewest bytes that hold a number, from 0 to 4.
const fn bytes_of(number: u32) -> usize {
    match number {
        0 => 0,
        1..=0xff => 1,
        0x100..=0xffff => 2,
        0x1_0000..=0xff_ffff => 3,
        _ => 4,
    }
}

fn put_numbers(numbers: impl Iterator<Item = u32> + Clone, into: &mut Vec<u8>) {
    let last = numbers.clone().count().saturating_sub(1);
    let lengths_from = into.len();
    into.resize(lengths_from + last.div_ceil(LENGTHS), 0);
    for (nth, number) in numbers.enumerate() {
        let mut length = bytes_of(number);
        if nth < last {
            length = length.max(1);
            let bits = u8::try_from(length - 1).unwrap_or(0) << (nth % LENGTHS * 2);
            if let Some(lengths) = into.get_mut(lengths_from + nth / LENGTHS) {
                *lengths |= bits;
            }
        }
        into.extend(number.to_le_bytes().into_iter().take(length));
    }
}

/// Reads the numbers of a composition (origin breakdown) from front to back.
struct Numbers<'b> {
    lengths: &'b [u8],
    bytes: &'b [u8],
    nth: usize,
    last: usize,
}

impl<'b> Numbers<'b> {
    fn read(bytes: &'b [u8], count: usize) -> Option<Self> {
        let last = count.checked_sub(1)?;
        let (lengths, bytes) = bytes.split_at_checked(last.div_ceil(LENGTHS))?;
        Some(Self { lengths, bytes, nth: 0, last })
    }

    /// The next number, as units of a share.
    fn next(&mut self) -> Option<CoinShare> {
        let length = if self.nth < self.last {
            let lengths = self.lengths.get(self.nth / LENGTHS)?;
            usize::from(lengths >> (self.nth % LENGTHS * 2) & 3) + 1
        } else {
            self.bytes.len().min(4)
        };
        self.nth += 1;
        let (taken, rest) = self.bytes.split_at_checked(length)?;
        self.bytes = rest;
        let units = taken.iter().rev().fold(0, |units, byte| units << 8 | u64::from(*byte));
        Some(CoinShare::from_units(units))
    }
}
