//! Compositions as bytes: of each origin its code and its share, in as few bytes as the share needs.
//!
//! A head counts the origins; its highest bit says that a share is mixed, which comes first. A share is the number of
//! units that it lacks to the whole, or that it has, whichever is shorter, so that a sole origin takes two bytes.

use super::{CoinShare, Composition, Origin};

const IS_MIXED: u8 = 0x80;
/// The last bit of a share's number: set if it is what lacks to the whole.
const LACKS: u64 = 1;

impl Composition {
    /// Appends the composition as bytes.
    pub fn put_bytes(&self, into: &mut Vec<u8>) {
        let count = u8::try_from(self.origins.len()).unwrap_or(0x7f).min(0x7f);
        let mixed = if self.mixed.is_nothing() { 0 } else { IS_MIXED };
        into.push(count | mixed);
        if mixed != 0 {
            put_share(self.mixed, into);
        }
        for (origin, share) in self.origins.iter().take(count.into()) {
            into.push(origin.code());
            put_share(*share, into);
        }
    }

    /// Reads a composition from the front of some bytes, and what follows it; `None` if they are no composition.
    #[must_use]
    pub fn read(bytes: &[u8]) -> Option<(Self, &[u8])> {
        let (head, mut rest) = bytes.split_first()?;
        let mixed = if head & IS_MIXED == 0 { CoinShare::NOTHING } else { read_share(&mut rest)? };
        let mut origins = Vec::with_capacity((head & !IS_MIXED).into());
        for _ in 0..head & !IS_MIXED {
            let (code, after) = rest.split_first()?;
            rest = after;
            origins.push((Origin::from_code(*code)?, read_share(&mut rest)?));
        }
        Some((Self { origins, mixed }, rest))
    }
}

fn put_share(share: CoinShare, into: &mut Vec<u8>) {
    let (has, lacks) = (share.units(), CoinShare::WHOLE.less(share).units());
    let mut number = if lacks < has { lacks << 1 | LACKS } else { has << 1 };
    while number > 0x7f {
        into.push(low_byte(number) | 0x80);
        number >>= 7;
    }
    into.push(low_byte(number));
}

fn read_share(bytes: &mut &[u8]) -> Option<CoinShare> {
    let (mut number, mut shift) = (0_u64, 0_u32);
    loop {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & 0x7f).checked_shl(shift)?;
        if *byte < 0x80 {
            break;
        }
        shift += 7;
    }
    let units = CoinShare::from_units(number >> 1);
    Some(if number & LACKS == 0 { units } else { CoinShare::WHOLE.less(units) })
}

const fn low_byte(number: u64) -> u8 {
    let [low, ..] = number.to_le_bytes();
    low
}
