//! Numbers in base 62, at a fixed width.

const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// The lowest `width` digits of `value`, with leading zeros.
pub(super) fn write(mut value: u128, width: usize) -> String {
    let mut digits = vec!['0'; width];
    for digit in digits.iter_mut().rev() {
        let place = usize::try_from(value % 62).unwrap_or_default();
        *digit = ALPHABET.get(place).map_or('0', |byte| char::from(*byte));
        value /= 62;
    }
    digits.into_iter().collect()
}

/// True if `text` has digits of base 62 only.
pub(super) fn is_base62(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_fit_their_width() {
        // 62^22 exceeds 2^128 and 62^11 exceeds 2^64: no bit of randomness is lost.
        assert_eq!(write(u128::MAX, 22), "7n42DGM5Tflk9n8mt7Fhc7");
        assert_eq!(write(u64::MAX.into(), 11), "LygHa16AHYF");
        assert_eq!(write(u32::MAX.into(), 6), "4gfFC3");
        assert_eq!(write(0, 3), "000");
    }
}
