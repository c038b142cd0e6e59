//! The Open Network: `WORKCHAIN:HEX` (raw), or base64 of flags, workchain, hash and CRC-16 (friendly; TEP-2).
//! The canonical form is the friendly one for bounceable messages, with the alphabet for URLs (`EQ...`).

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};

use super::{AddressKind, Parsed, Payload, encoding::crc16, error::AddressError};

const BOUNCEABLE: u8 = 0x11;
const NOT_BOUNCEABLE: u8 = 0x51;
const TEST: u8 = 0x80;
const EXPECTED: &str = "`EQ...` or `UQ...` (48 characters), or `0:` and 64 hexadecimal digits";

pub(super) fn parse(text: &str) -> Result<Parsed, AddressError> {
    let (workchain, hash) = match text.split_once(':') {
        Some((workchain, digits)) => raw(workchain, digits)?,
        None if text.len() == 48 => friendly(text)?,
        None => return Err(AddressError::UnknownForm { expected: EXPECTED }),
    };
    let canonical = write(workchain, &hash);
    Ok(Parsed { kind: AddressKind::Account, payload: Payload::Text(canonical.clone()), canonical })
}

fn raw(workchain: &str, digits: &str) -> Result<(i8, [u8; 32]), AddressError> {
    let unknown = || AddressError::UnknownForm { expected: EXPECTED };
    let workchain = match workchain {
        "0" => 0,
        "-1" => -1,
        _ => return Err(unknown()),
    };
    let hash = hex::decode(digits).ok().and_then(|bytes| bytes.try_into().ok());
    Ok((workchain, hash.ok_or_else(unknown)?))
}

fn friendly(text: &str) -> Result<(i8, [u8; 32]), AddressError> {
    let for_urls: String = text
        .chars()
        .map(|character| match character {
            '+' => '-',
            '/' => '_',
            other => other,
        })
        .collect();
    // Mixed alphabets are refused by the reference implementation.
    let mixed = text.contains(['+', '/']) && text.contains(['-', '_']);
    let bytes: [u8; 36] = URL_SAFE_NO_PAD
        .decode(for_urls)
        .ok()
        .filter(|_| !mixed)
        .and_then(|bytes| bytes.try_into().ok())
        .ok_or(AddressError::UnknownForm { expected: EXPECTED })?;
    let [flags, workchain, hash @ .., _, _] = bytes;
    let Some((content, checksum)) = bytes.split_last_chunk::<2>() else {
        return Err(AddressError::UnknownForm { expected: EXPECTED });
    };
    if crc16(content).to_be_bytes() != *checksum {
        return Err(AddressError::WrongChecksum { scheme: "CRC-16" });
    }
    match flags {
        BOUNCEABLE | NOT_BOUNCEABLE => {}
        marked if matches!(marked ^ TEST, BOUNCEABLE | NOT_BOUNCEABLE) => {
            return Err(AddressError::TestNetwork { network: "TON test network" });
        }
        other => return Err(AddressError::UnknownVersion { version: format!("0x{other:02x}") }),
    }
    match workchain.cast_signed() {
        workchain @ (0 | -1) => Ok((workchain, hash)),
        other => Err(AddressError::InvalidPayload {
            detail: format!("no workchain has the number {other}"),
        }),
    }
}

/// The friendly form for bounceable messages.
pub(super) fn write(workchain: i8, hash: &[u8; 32]) -> String {
    let mut bytes = vec![BOUNCEABLE, workchain.cast_unsigned()];
    bytes.extend_from_slice(hash);
    let checksum = crc16(&bytes);
    bytes.extend(checksum.to_be_bytes());
    URL_SAFE_NO_PAD.encode(bytes)
}
