//! Amounts as bytes: the decimal digits before trailing zeros, and the number of these zeros. Most amounts are round.

use assay_columns::bytes::ByteReader;
use ruint::aliases::U256;

/// Most trailing zeros that are left out.
const MOST_ZEROS: u8 = 15;
/// First byte of an amount of more than 128 bits, which follows in 32 bytes. No other amount begins so: one with the most
/// trailing zeros has at most ten bytes.
const LARGE: u8 = u8::MAX;
/// Code of the length of 16 bytes.
const LONGEST: u8 = 15;

/// Appends an amount.
pub(super) fn put_amount(into: &mut Vec<u8>, amount: u128) {
    let mut zeros = 0;
    let mut digits = amount;
    // A multiple of ten is even.
    if let Ok(mut small) = u64::try_from(amount) {
        while zeros < MOST_ZEROS && small & 1 == 0 && small > 0 && small.is_multiple_of(10) {
            small /= 10;
            zeros += 1;
        }
        digits = small.into();
    } else {
        while zeros < MOST_ZEROS && digits & 1 == 0 && digits.is_multiple_of(10) {
            digits /= 10;
            zeros += 1;
        }
    }
    let bytes = digits.to_be_bytes();
    let skipped = bytes.iter().take_while(|byte| **byte == 0).count();
    let digits = bytes.get(skipped..).unwrap_or_default();
    // 15 bytes are written as 16.
    let digits = if digits.len() >= usize::from(LONGEST) { &bytes[..] } else { digits };
    let length = u8::try_from(digits.len()).unwrap_or(LONGEST).min(LONGEST);
    into.push(zeros << 4 | length);
    into.extend_from_slice(digits);
}

/// Appends an amount of up to 256 bits.
pub(super) fn put_wide_amount(into: &mut Vec<u8>, amount: U256) {
    if let Ok(amount) = u128::try_from(amount) {
        put_amount(into, amount);
    } else {
        into.push(LARGE);
        into.extend_from_slice(&amount.to_be_bytes::<32>());
    }
}

/// Reads an amount that [`put_amount`] wrote.
pub(super) fn take_amount(reading: &mut ByteReader<'_>) -> Option<u128> {
    let first = reading.byte()?;
    amount_after(first, reading)
}

/// Passes over an amount that [`put_amount`] wrote.
pub(super) fn skip_amount(reading: &mut ByteReader<'_>) -> Option<()> {
    let first = reading.byte()?;
    reading.take(length_after(first))?;
    Some(())
}

/// Reads an amount that [`put_wide_amount`] wrote.
pub(super) fn take_wide_amount(reading: &mut ByteReader<'_>) -> Option<U256> {
    match reading.byte()? {
        LARGE => Some(U256::from_be_bytes::<32>(reading.array()?)),
        first => amount_after(first, reading).map(U256::from),
    }
}

/// Number of bytes of an amount's digits, by its first byte.
fn length_after(first: u8) -> usize {
    match first & 0xF {
        LONGEST => 16,
        length => usize::from(length),
    }
}

fn amount_after(first: u8, reading: &mut ByteReader<'_>) -> Option<u128> {
    let mut digits = 0_u128;
    for byte in reading.take(length_after(first))? {
        digits = digits << 8 | u128::from(*byte);
    }
    digits.checked_mul(10_u128.pow((first >> 4).into()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read_back(amount: U256) -> (U256, usize) {
        let mut bytes = Vec::new();
        put_wide_amount(&mut bytes, amount);
        let mut reading = ByteReader(&bytes);
        let read = take_wide_amount(&mut reading).unwrap();
        assert!(reading.0.is_empty());
        (read, bytes.len())
    }

    #[test]
    fn round_amounts_are_short() {
        for (amount, length) in
            [(0, 1), (1, 2), (10_u128.pow(18), 3), (1_500_000, 2), (u128::MAX, 17)]
        {
            assert_eq!(read_back(U256::from(amount)), (U256::from(amount), length), "{amount}");
        }
        assert_eq!(read_back(U256::MAX), (U256::MAX, 33));
    }

    proptest! {
        #[test]
        fn amounts_are_read_back(digits: u128, bits in 0_u32..128, zeros in 0_u32..30) {
            let amount = U256::from(digits >> bits) * U256::from(10).pow(U256::from(zeros));
            prop_assert_eq!(read_back(amount).0, amount);
            if let Ok(amount) = u128::try_from(amount) {
                let mut bytes = Vec::new();
                put_amount(&mut bytes, amount);
                prop_assert_eq!(take_amount(&mut ByteReader(&bytes)), Some(amount));
            }
        }

        #[test]
        fn other_bytes_are_no_panic(bytes: Vec<u8>) {
            let _ = take_amount(&mut ByteReader(&bytes));
            let _ = take_wide_amount(&mut ByteReader(&bytes));
        }
    }
}
