//! Tezos: base58check with prefixes of three bytes for accounts (`tz1` to `tz4`), contracts (`KT1`) and
//! rollups (`sr1`), each with a hash of 20 bytes (`base58.ml` of Octez).

use super::{AddressKind, Parsed, Payload, base58, error::AddressError};

const PREFIXES: [[u8; 3]; 6] = [
    [0x06, 0xA1, 0x9F],
    [0x06, 0xA1, 0xA1],
    [0x06, 0xA1, 0xA4],
    [0x06, 0xA1, 0xA6],
    [0x02, 0x5A, 0x79],
    [0x06, 0x7C, 0x75],
];
const EXPECTED: &str = "`tz1...` to `tz4...`, `KT1...` or `sr1...` (36 characters)";

/// The account of an Ed25519 key's hash (`tz1...`).
pub(super) fn write(hash: &[u8; 20]) -> String {
    let [ed25519, ..] = PREFIXES;
    base58::encode(&[ed25519.as_slice(), hash].concat())
}

pub(super) fn parse(text: &str) -> Result<Parsed, AddressError> {
    if text.len() != 36 {
        return Err(AddressError::UnknownForm { expected: EXPECTED });
    }
    let bytes = base58::decode(text)?;
    let known = PREFIXES.iter().any(|prefix| bytes.starts_with(prefix));
    if !known || bytes.len() != 23 {
        return Err(AddressError::UnknownForm { expected: EXPECTED });
    }
    let payload = Payload::Text(text.to_owned());
    Ok(Parsed { kind: AddressKind::Account, payload, canonical: text.to_owned() })
}
