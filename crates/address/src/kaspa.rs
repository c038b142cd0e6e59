//! Kaspa: `kaspa:` and a version with a public key (32 or 33 bytes) or the hash of a script, in the encoding
//! and with the checksum of CashAddr (`crypto/addresses` of rusty-kaspa).

use super::{AddressKind, Parsed, Payload, cash_addr, error::AddressError};

const PREFIX: &str = "kaspa";
const TEST_PREFIXES: [&str; 3] = ["kaspatest", "kaspadev", "kaspasim"];
const EXPECTED: &str = "`kaspa:q...` or `kaspa:p...`";

/// The address of a Schnorr key.
pub(super) fn write(key: &[u8; 32]) -> String {
    cash_addr::encode(PREFIX, 0, key)
}

pub(super) fn parse(text: &str) -> Result<Parsed, AddressError> {
    let unknown = || AddressError::UnknownForm { expected: EXPECTED };
    let (prefix, body) = text.split_once(':').ok_or_else(unknown)?;
    if TEST_PREFIXES.contains(&prefix) {
        return Err(AddressError::TestNetwork { network: "Kaspa test network" });
    }
    if prefix != PREFIX || body.bytes().any(|byte| byte.is_ascii_uppercase()) {
        return Err(unknown());
    }
    let bytes = cash_addr::decode(PREFIX, body)
        .ok_or(AddressError::WrongChecksum { scheme: "CashAddr" })?;
    match (bytes.first(), bytes.len()) {
        (Some(0 | 8), 33) | (Some(1), 34) => {}
        _ => {
            return Err(AddressError::InvalidPayload {
                detail: "its version and length do not fit".to_owned(),
            });
        }
    }
    let canonical = text.to_owned();
    Ok(Parsed { kind: AddressKind::Account, payload: Payload::Text(canonical.clone()), canonical })
}
