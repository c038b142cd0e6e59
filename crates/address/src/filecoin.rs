//! Filecoin: `f`, a protocol, and base32 in lower case of a payload with four bytes of `BLAKE2b` (the Filecoin
//! specification, appendix on addresses). `f0` is a number without a checksum, `f1` to `f3` are keys and
//! actors, `f410f` is an account of Ethereum.

use super::{
    AddressKind, Parsed, Payload,
    encoding::{base32, blake2b, to_base32},
    error::AddressError,
};

const EXPECTED: &str = "`f0` to `f3`, or `f410f...`";
/// Number of the manager of Ethereum's accounts.
const ETHEREUM: u8 = 10;

pub(super) fn parse(text: &str) -> Result<Parsed, AddressError> {
    let unknown = || AddressError::UnknownForm { expected: EXPECTED };
    if text.starts_with("t0") || text.starts_with("t1") || text.starts_with("t2") {
        return Err(AddressError::TestNetwork { network: "Filecoin test network" });
    }
    let rest = text.strip_prefix('f').ok_or_else(unknown)?;
    let mut characters = rest.chars();
    let protocol = characters.next().ok_or_else(unknown)?;
    let body = characters.as_str();
    let payload = match protocol {
        '0' => {
            let number = body.parse::<u64>().ok().filter(|number| number.to_string() == body);
            number.ok_or_else(unknown)?;
            Payload::Text(text.to_owned())
        }
        '1' | '2' => {
            keyed(&[protocol as u8 - b'0'], body, 20).map(|_| Payload::Text(text.to_owned()))?
        }
        '3' => keyed(&[3], body, 48).map(|_| Payload::Text(text.to_owned()))?,
        '4' => {
            let body = body.strip_prefix("10f").ok_or_else(unknown)?;
            let account = keyed(&[4, ETHEREUM], body, 20)?;
            Payload::Account(<[u8; 20]>::try_from(&*account).map_err(|_| unknown())?)
        }
        _ => return Err(unknown()),
    };
    Ok(Parsed { kind: AddressKind::Account, payload, canonical: text.to_owned() })
}

/// The payload of `length` bytes in base32 with a checksum over the protocol and the payload.
fn keyed(protocol: &[u8], body: &str, length: usize) -> Result<Vec<u8>, AddressError> {
    if body.bytes().any(|byte| byte.is_ascii_uppercase()) {
        return Err(AddressError::MixedCase);
    }
    let mut bytes = base32(&body.to_ascii_uppercase())?;
    if bytes.len() != length + 4 {
        return Err(AddressError::WrongLength {
            found: format!("{} bytes when decoded", bytes.len()),
            expected: "the length of the protocol's payload",
        });
    }
    let checksum = bytes.split_off(length);
    if digest(protocol, &bytes) != checksum {
        return Err(AddressError::WrongChecksum { scheme: "BLAKE2b" });
    }
    Ok(bytes)
}

fn digest(protocol: &[u8], payload: &[u8]) -> Vec<u8> {
    blake2b(4, &[protocol, payload].concat())
}

/// The text of an account of Ethereum.
pub(super) fn write(account: &[u8; 20]) -> String {
    let mut bytes = account.to_vec();
    bytes.extend(digest(&[4, ETHEREUM], account));
    format!("f410f{}", to_base32(&bytes).to_ascii_lowercase())
}
