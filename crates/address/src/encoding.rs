//! Encodings and checksums that several chains share: base32, CRC-16, CRC-32 and `BLAKE2b`.

use super::error::AddressError;

/// The alphabet of RFC 4648, in capitals.
const BASE32: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/// Decodes base32 (RFC 4648) without padding characters, in capitals. Bits beyond the last byte must be zero, so that
/// only one text decodes to the same bytes.
pub(super) fn base32(text: &str) -> Result<Vec<u8>, AddressError> {
    let (mut bits, mut count) = (0_u32, 0_u32);
    let mut bytes = Vec::with_capacity(text.len() * 5 / 8);
    for (index, character) in text.chars().enumerate() {
        let value = BASE32.iter().position(|letter| char::from(*letter) == character);
        let Some(value) = value.and_then(|value| u32::try_from(value).ok()) else {
            return Err(AddressError::CharacterNotInAlphabet {
                position: index + 1,
                character,
                alphabet: "base32",
            });
        };
        bits = (bits << 5) | value;
        count += 5;
        if count >= 8 {
            count -= 8;
            bytes.push(u8::try_from((bits >> count) & 0xFF).unwrap_or(u8::MAX));
            bits &= (1 << count) - 1;
        }
    }
    if bits != 0 || count >= 5 {
        return Err(AddressError::WrongChecksum { scheme: "base32" });
    }
    Ok(bytes)
}

/// Encodes base32 (RFC 4648) without padding characters.
pub(super) fn to_base32(bytes: &[u8]) -> String {
    let (mut bits, mut count) = (0_u32, 0_u32);
    let mut text = String::with_capacity(bytes.len() * 8 / 5 + 1);
    let mut push = |value: u32| {
        let index = usize::try_from(value & 31).unwrap_or_default();
        text.push(BASE32.get(index).map_or('=', |letter| char::from(*letter)));
    };
    for byte in bytes {
        bits = (bits << 8) | u32::from(*byte);
        count += 8;
        while count >= 5 {
            count -= 5;
            push(bits >> count);
            bits &= (1 << count) - 1;
        }
    }
    if count > 0 {
        push(bits << (5 - count));
    }
    text
}

/// CRC-16 of XMODEM (polynomial 0x1021, initial value 0).
pub(super) fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |crc, byte| {
        (0..8).fold(crc ^ (u16::from(*byte) << 8), |crc, _| {
            if crc & 0x8000 == 0 { crc << 1 } else { (crc << 1) ^ 0x1021 }
        })
    })
}

/// CRC-32 of IEEE 802.3.
pub(super) fn crc32(bytes: &[u8]) -> u32 {
    let crc = bytes.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            if crc & 1 == 0 { crc >> 1 } else { (crc >> 1) ^ 0xEDB8_8320 }
        })
    });
    !crc
}

/// `BLAKE2b` with a digest of `length` bytes.
pub(super) fn blake2b(length: usize, bytes: &[u8]) -> Vec<u8> {
    blake2b_simd::Params::new().hash_length(length).hash(bytes).as_bytes().to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_have_their_published_check_values() {
        assert_eq!(crc16(b"123456789"), 0x31C3);
        assert_eq!(crc32(b"123456789"), 0xCBF4_3926);
        // RFC 7693, appendix A.
        assert!(hex::encode(blake2b(64, b"abc")).starts_with("ba80a53f981c4d0d6a2797b69f12f6e9"));
    }

    #[test]
    fn base32_is_that_of_rfc_4648_with_zero_bits_at_the_end() {
        for (bytes, text) in
            [("", ""), ("f", "MY"), ("fo", "MZXQ"), ("foo", "MZXW6"), ("foob", "MZXW6YQ")]
        {
            assert_eq!(to_base32(bytes.as_bytes()), text);
            assert_eq!(base32(text).unwrap(), bytes.as_bytes());
        }
        assert!(base32("MZ").is_err(), "bits that are lost");
        assert!(base32("MY1").is_err(), "another alphabet");
        assert!(base32("M").is_err(), "less than a byte");
    }
}
