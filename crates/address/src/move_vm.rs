//! Sui and Aptos: `0x` and 32 bytes as hexadecimal digits, without a checksum (Sui's documentation; AIP-40).
//! A few leading zeros may be missing, and special accounts have one digit; the canonical form has all 64
//! digits in lower case.

use super::{AddressKind, Parsed, Payload, error::AddressError};

const EXPECTED: &str = "`0x` and 64 hexadecimal digits";
/// Number of digits of a complete address. `FEWEST` is the number of digits of an address without leading zeros;
/// shorter texts are truncated, or accounts of Ethereum.
const DIGITS: usize = 64;
const FEWEST: usize = 60;

/// The address of 32 bytes.
pub(super) fn write(bytes: &[u8; 32]) -> String {
    format!("0x{}", hex::encode(bytes))
}

pub(super) fn parse(text: &str) -> Result<Parsed, AddressError> {
    let digits = text.strip_prefix("0x").ok_or(AddressError::UnknownForm { expected: EXPECTED })?;
    if !(digits.len() == 1 || (FEWEST..=DIGITS).contains(&digits.len())) {
        return Err(AddressError::UnknownForm { expected: EXPECTED });
    }
    if let Some((index, character)) =
        digits.chars().enumerate().find(|(_, character)| !character.is_ascii_hexdigit())
    {
        let position = index + 3;
        return Err(AddressError::CharacterNotInAlphabet {
            position,
            character,
            alphabet: "hexadecimal",
        });
    }
    let canonical = format!("0x{:0>64}", digits.to_ascii_lowercase());
    Ok(Parsed { kind: AddressKind::Account, payload: Payload::Text(canonical.clone()), canonical })
}
