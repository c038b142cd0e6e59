//! Internet Computer: account identifiers are 64 hexadecimal digits, a CRC-32 and 28 bytes (the ledger's
//! specification); principals are base32 in lower case, in groups of five, of a CRC-32 and up to 29 bytes
//! (the interface specification).

use super::{
    AddressKind, Parsed, Payload,
    encoding::{base32, crc32, to_base32},
    error::AddressError,
};

const EXPECTED: &str = "64 hexadecimal digits (account), or a principal such as `aaaaa-aa`";

pub(super) fn parse(text: &str) -> Result<Parsed, AddressError> {
    let canonical = if text.contains('-') { principal(text)? } else { account(text)? };
    Ok(Parsed { kind: AddressKind::Account, payload: Payload::Text(canonical.clone()), canonical })
}

fn account(text: &str) -> Result<String, AddressError> {
    let unknown = AddressError::UnknownForm { expected: EXPECTED };
    let bytes = if text.len() == 64 { hex::decode(text).ok() } else { None };
    let bytes = bytes.ok_or(unknown)?;
    check(&bytes)?;
    Ok(text.to_ascii_lowercase())
}

/// The account identifier of a hash.
pub(super) fn write(hash: &[u8; 28]) -> String {
    hex::encode([crc32(hash).to_be_bytes().as_slice(), hash].concat())
}

fn principal(text: &str) -> Result<String, AddressError> {
    let plain: String = text.chars().filter(|character| *character != '-').collect();
    let bytes = base32(&plain.to_ascii_uppercase())?;
    let content = check(&bytes)?;
    if content.len() > 29 {
        return Err(AddressError::WrongLength {
            found: format!("{} bytes when decoded", content.len()),
            expected: "at most 29 bytes",
        });
    }
    let letters: Vec<char> = to_base32(&bytes).to_ascii_lowercase().chars().collect();
    let groups: Vec<String> = letters.chunks(5).map(|group| group.iter().collect()).collect();
    let canonical = groups.join("-");
    if canonical != text {
        return Err(AddressError::InvalidPayload {
            detail: "its groups have not five letters each".to_owned(),
        });
    }
    Ok(canonical)
}

/// The bytes after the leading CRC-32, which must match them.
fn check(bytes: &[u8]) -> Result<&[u8], AddressError> {
    match bytes.split_first_chunk::<4>() {
        Some((checksum, content)) if crc32(content).to_be_bytes() == *checksum => Ok(content),
        _ => Err(AddressError::WrongChecksum { scheme: "CRC-32" }),
    }
}
