//! NEO: base58check of a version and a script hash; version 0x35 on N3 (`N...`), 0x17 on the legacy chain
//! (`A...`).

use super::{AddressKind, Parsed, Payload, base58, error::AddressError};

const EXPECTED: &str = "`N...` (N3) or `A...` (legacy), 34 characters";

/// The account of a script hash on N3.
pub(super) fn write(hash: &[u8; 20]) -> String {
    base58::encode(&[&[0x35], hash.as_slice()].concat())
}

pub(super) fn parse(text: &str) -> Result<Parsed, AddressError> {
    if !text.starts_with(['N', 'A']) || text.len() != 34 {
        return Err(AddressError::UnknownForm { expected: EXPECTED });
    }
    match base58::decode(text)?.as_slice() {
        [0x35 | 0x17, hash @ ..] if hash.len() == 20 => Ok(Parsed {
            kind: AddressKind::Account,
            payload: Payload::Text(text.to_owned()),
            canonical: text.to_owned(),
        }),
        [version, ..] => Err(AddressError::UnknownVersion { version: format!("0x{version:02x}") }),
        [] => Err(AddressError::UnknownForm { expected: EXPECTED }),
    }
}
