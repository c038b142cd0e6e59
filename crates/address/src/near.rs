//! NEAR: implicit accounts are 64 hexadecimal digits in lower case, the public key; named accounts are names below a
//! top-level account (`alice.near`; NEAR's specification of account identifiers). Neither implicit nor named accounts
//! have a checksum. Names without a known top-level account are refused, although the specification allows them,
//! because nearly any word would be an address.

use super::{AddressKind, Parsed, Payload, error::AddressError};

const EXPECTED: &str =
    "64 hexadecimal digits in lower case, or a name that ends in `.near` or `.tg`";
/// Top-level accounts under which users register their accounts.
const ENDS: [&str; 4] = [".near", ".tg", ".aurora", ".sweat"];

pub(super) fn parse(text: &str) -> Result<Parsed, AddressError> {
    if text.ends_with(".testnet") {
        return Err(AddressError::TestNetwork { network: "NEAR test network" });
    }
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    if text.len() == 64 && text.bytes().all(is_digit) {
        let key = hex::decode(text).ok().and_then(|bytes| <[u8; 32]>::try_from(bytes).ok());
        let payload = Payload::LongAccount(key.unwrap_or_default());
        return Ok(Parsed { kind: AddressKind::Account, payload, canonical: text.to_owned() });
    }
    if !ENDS.iter().any(|end| text.ends_with(end)) || !is_name(text) {
        return Err(AddressError::UnknownForm { expected: EXPECTED });
    }
    let payload = Payload::Text(text.to_owned());
    Ok(Parsed { kind: AddressKind::Account, payload, canonical: text.to_owned() })
}

/// True for 2 to 64 lowercase letters and digits with single separators between them.
fn is_name(text: &str) -> bool {
    let part = |part: &str| {
        !part.is_empty()
            && part.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
    };
    (2..=64).contains(&text.len()) && text.split(['.', '-', '_']).all(part)
}
