//! Serialization and hashes of transactions and blocks.

use ripemd::Ripemd160;
use sha2::{Digest, Sha256};

/// SHA-256.
#[must_use]
pub fn sha256(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

/// SHA-256, twice.
#[must_use]
pub fn sha256d(bytes: &[u8]) -> [u8; 32] {
    sha256(&sha256(bytes))
}

/// RIPEMD-160 of SHA-256.
#[must_use]
pub fn hash160(bytes: &[u8]) -> [u8; 20] {
    Ripemd160::digest(sha256(bytes)).into()
}

/// Writes a number in Bitcoin's variable-length encoding.
pub(super) fn write_count(into: &mut Vec<u8>, count: usize) {
    match u64::try_from(count).expect("64 bits are enough") {
        small @ 0..=0xfc => into.push(u8::try_from(small).expect("checked")),
        middle @ 0xfd..=0xffff => {
            into.push(0xfd);
            into.extend(u16::try_from(middle).expect("checked").to_le_bytes());
        }
        large => {
            into.push(0xfe);
            into.extend(u32::try_from(large).expect("nothing here is larger").to_le_bytes());
        }
    }
}

/// Writes bytes with their length before them.
pub(super) fn write_bytes(into: &mut Vec<u8>, bytes: &[u8]) {
    write_count(into, bytes.len());
    into.extend(bytes);
}

/// The operation that puts `bytes` on the stack.
///
/// # Panics
///
/// Panics if there are more than 75 bytes.
pub(super) fn push(bytes: &[u8]) -> Vec<u8> {
    assert!(bytes.len() <= 75, "longer pushes are written otherwise");
    let length = u8::try_from(bytes.len()).expect("checked");
    [&[length], bytes].concat()
}

/// The operation that puts a block's height on the stack, as a coinbase begins with it (BIP 34).
pub(super) fn push_height(height: u64) -> Vec<u8> {
    const OP_1: u8 = 0x51;
    match height {
        0 => vec![0],
        1..=16 => vec![OP_1 + u8::try_from(height - 1).expect("small")],
        _ => {
            let all = height.to_le_bytes();
            let used = 8 - usize::try_from(height.leading_zeros() / 8).expect("small");
            let mut bytes = all.get(..used).expect("at most eight").to_vec();
            // The highest bit is the sign.
            if bytes.last().is_some_and(|byte| *byte >= 0x80) {
                bytes.push(0);
            }
            push(&bytes)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heights_are_written_as_scripts_write_numbers() {
        for (height, bytes) in [
            (1, "51"),
            (16, "60"),
            (17, "0111"),
            (127, "017f"),
            (128, "028000"),
            (432, "02b001"),
            (32_768, "03008000"),
            (840_000, "0340d10c"),
        ] {
            assert_eq!(hex::encode(push_height(height)), bytes, "{height}");
        }
    }

    #[test]
    fn counts_take_as_many_bytes_as_they_need() {
        for (count, bytes) in
            [(0, "00"), (252, "fc"), (253, "fdfd00"), (65_535, "fdffff"), (65_536, "fe00000100")]
        {
            let mut written = Vec::new();
            write_count(&mut written, count);
            assert_eq!(hex::encode(written), bytes);
        }
    }
}
