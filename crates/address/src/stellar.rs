//! Stellar: strkeys (SEP-23), base32 of a version byte, a key and a CRC-16. Accounts are `G...`, multiplexed
//! accounts `M...` (the account is canonical, without its number), contracts `C...`.

use super::{
    AddressKind, Parsed, Payload,
    encoding::{base32, crc16, to_base32},
    error::AddressError,
};

const ACCOUNT: u8 = 6 << 3;
const MUXED: u8 = 12 << 3;
const CONTRACT: u8 = 2 << 3;
const SEED: u8 = 18 << 3;
const EXPECTED: &str = "`G...` (56 characters), `M...` (69 characters) or `C...` (contract)";

pub(super) fn parse(text: &str) -> Result<Parsed, AddressError> {
    if !text.starts_with(['G', 'M', 'C', 'S']) || !matches!(text.len(), 56 | 69) {
        return Err(AddressError::UnknownForm { expected: EXPECTED });
    }
    let bytes = base32(text)?;
    let Some((content, checksum)) = bytes.split_last_chunk::<2>() else {
        return Err(AddressError::UnknownForm { expected: EXPECTED });
    };
    if crc16(content).to_le_bytes() != *checksum {
        return Err(AddressError::WrongChecksum { scheme: "CRC-16" });
    }
    let (version, key) = content.split_first().unwrap_or((&0, &[]));
    let account = |key: &[u8]| <[u8; 32]>::try_from(key).ok();
    match (*version, key.len()) {
        (ACCOUNT | MUXED, 32 | 40) if (*version == MUXED) == (key.len() == 40) => {
            let account = key.get(..32).and_then(account).unwrap_or_default();
            Ok(Parsed {
                kind: AddressKind::Account,
                payload: Payload::LongAccount(account),
                canonical: write(&account),
            })
        }
        (CONTRACT, 32) => Ok(Parsed {
            kind: AddressKind::Account,
            payload: Payload::Text(text.to_owned()),
            canonical: text.to_owned(),
        }),
        (SEED, _) => Err(AddressError::NotAnAddress {
            what: "a secret seed of Stellar: keep it secret, and ask for its account (`G...`)",
        }),
        (version, _) => Err(AddressError::UnknownVersion { version: format!("0x{version:02x}") }),
    }
}

/// The account's strkey.
pub(super) fn write(account: &[u8; 32]) -> String {
    let mut bytes = vec![ACCOUNT];
    bytes.extend_from_slice(account);
    let checksum = crc16(&bytes);
    bytes.extend(checksum.to_le_bytes());
    to_base32(&bytes)
}
