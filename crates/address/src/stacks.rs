//! Stacks: `S` and c32check of a version, the hash of a public key or script, and four bytes of double
//! SHA-256 (SIP-005). Versions 22 (`SP`) and 20 (`SM`) are the main network's.

use sha2::{Digest, Sha256};

use super::{AddressKind, Parsed, Payload, error::AddressError};

const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const EXPECTED: &str = "`SP...` or `SM...` (c32check, 39 to 41 characters)";

pub(super) fn parse(text: &str) -> Result<Parsed, AddressError> {
    let unknown = || AddressError::UnknownForm { expected: EXPECTED };
    let rest = text.strip_prefix('S').ok_or_else(unknown)?;
    let mut characters = rest.chars();
    let version = characters.next().and_then(value).ok_or_else(unknown)?;
    if !(28..=41).contains(&text.len()) {
        return Err(unknown());
    }
    let bytes = decode(characters.as_str(), 2)?;
    let (hash, checksum) = bytes.split_at(20);
    if digest(version, hash) != *checksum {
        return Err(AddressError::WrongChecksum { scheme: "c32check" });
    }
    let hash = <[u8; 20]>::try_from(hash).unwrap_or_default();
    let payload = match version {
        22 => Payload::PublicKeyHash(hash),
        20 => Payload::ScriptHash(hash),
        26 | 21 => return Err(AddressError::TestNetwork { network: "Stacks test network" }),
        other => return Err(AddressError::UnknownVersion { version: other.to_string() }),
    };
    let canonical = write(&payload).ok_or_else(unknown)?;
    if canonical != text {
        return Err(unknown());
    }
    Ok(Parsed { kind: AddressKind::Account, payload, canonical })
}

/// The text of a hash.
pub(super) fn write(payload: &Payload) -> Option<String> {
    let (version, hash) = match payload {
        Payload::PublicKeyHash(hash) => (22, hash),
        Payload::ScriptHash(hash) => (20, hash),
        _ => return None,
    };
    let mut bytes = hash.to_vec();
    bytes.extend(digest(version, hash));
    Some(format!("S{}{}", letter(version)?, encode(&bytes)?))
}

fn value(character: char) -> Option<u8> {
    let index = ALPHABET.iter().position(|letter| char::from(*letter) == character)?;
    u8::try_from(index).ok()
}

fn letter(value: u8) -> Option<char> {
    ALPHABET.get(usize::from(value)).map(|letter| char::from(*letter))
}

/// Decodes a number in base 32 with leading zeros to 24 bytes; `before` is the number of preceding characters, for
/// errors.
fn decode(text: &str, before: usize) -> Result<[u8; 24], AddressError> {
    let mut number = [0_u8; 24];
    for (index, character) in text.chars().enumerate() {
        let position = index + before + 1;
        let digit = value(character).ok_or(AddressError::CharacterNotInAlphabet {
            position,
            character,
            alphabet: "c32",
        })?;
        let mut carry = u16::from(digit);
        for byte in number.iter_mut().rev() {
            carry += u16::from(*byte) << 5;
            *byte = u8::try_from(carry & 0xFF).unwrap_or_default();
            carry >>= 8;
        }
        if carry != 0 {
            return Err(AddressError::UnknownForm { expected: EXPECTED });
        }
    }
    Ok(number)
}

/// Encodes a number in base 32. Each leading zero byte is one zero, as in base58.
fn encode(bytes: &[u8]) -> Option<String> {
    let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
    let mut number = bytes.to_vec();
    let mut digits = Vec::new();
    while number.iter().any(|byte| *byte != 0) {
        let mut rest = 0_u16;
        for byte in &mut number {
            rest = (rest << 8) | u16::from(*byte);
            *byte = u8::try_from(rest >> 5).unwrap_or_default();
            rest &= 31;
        }
        digits.push(letter(u8::try_from(rest).ok()?)?);
    }
    digits.extend(std::iter::repeat_n('0', zeros));
    Some(digits.iter().rev().collect())
}

fn digest(version: u8, hash: &[u8]) -> [u8; 4] {
    let first = Sha256::digest([&[version], hash].concat());
    let digest: [u8; 32] = Sha256::digest(first).into();
    digest.first_chunk().copied().unwrap_or_default()
}
