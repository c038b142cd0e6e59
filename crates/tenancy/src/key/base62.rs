//! Numbers in base 62, at a fixed width.

const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// The lowest `N` digits of `value`, with leading zeros.
pub(super) fn digits<const N: usize>(mut value: u128) -> [u8; N] {
    let mut digits = [b'0'; N];
    for digit in digits.iter_mut().rev() {
        let place = usize::try_from(value % 62).unwrap_or_default();
        *digit = ALPHABET.get(place).copied().unwrap_or(b'0');
        value /= 62;
    }
    digits
}

/// The lowest `N` digits of `value` as text.
pub(super) fn write<const N: usize>(value: u128) -> String {
    digits::<N>(value).map(char::from).iter().collect()
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
        assert_eq!(write::<22>(u128::MAX), "7n42DGM5Tflk9n8mt7Fhc7");
        assert_eq!(write::<11>(u64::MAX.into()), "LygHa16AHYF");
        assert_eq!(write::<6>(u32::MAX.into()), "4gfFC3");
        assert_eq!(write::<3>(0), "000");
    }
}
