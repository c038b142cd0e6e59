//! The XRP Ledger: classic addresses (`r...`) and X-addresses (`X...`), which include a destination tag (XLS-5d).
//! Custodians identify the owner of a deposit by the tag; Assay assesses the account, which is the same.

use bs58::Alphabet;

use super::{AddressKind, Parsed, Payload, base58, error::AddressError};

const CLASSIC_VERSION: u8 = 0x00;
const EXTENDED_VERSION: [u8; 2] = [0x05, 0x44];
const EXTENDED_TEST_VERSION: [u8; 2] = [0x04, 0x93];
/// Version, 20-byte account, checksum.
const CLASSIC_BYTES: usize = 25;
/// Version, 20-byte account, flag, 8-byte tag, checksum.
const EXTENDED_BYTES: usize = 35;
const EXPECTED: &str = "`r...` (classic, 25 to 35 characters) or `X...` (X-address, 47 characters)";

pub(super) fn parse(text: &str) -> Result<Parsed, AddressError> {
    let account = match text.as_bytes().first() {
        Some(b'r') => classic(text)?,
        Some(b'X' | b'T') => extended(text)?,
        _ => return Err(AddressError::UnknownForm { expected: EXPECTED }),
    };
    Ok(Parsed {
        kind: AddressKind::Account,
        payload: Payload::PublicKeyHash(account),
        canonical: write(&account),
    })
}

/// The classic form.
pub(super) fn write(account: &[u8; 20]) -> String {
    let mut bytes = vec![CLASSIC_VERSION];
    bytes.extend_from_slice(account);
    base58::encode_in(&bytes, Alphabet::RIPPLE)
}

fn classic(text: &str) -> Result<[u8; 20], AddressError> {
    let bytes = decode(text, CLASSIC_BYTES, "25 bytes (25 to 35 characters)")?;
    match bytes.split_first() {
        Some((&CLASSIC_VERSION, account)) => account.try_into().map_err(|_| unknown_form()),
        _ => Err(unknown_form()),
    }
}

fn extended(text: &str) -> Result<[u8; 20], AddressError> {
    let bytes = decode(text, EXTENDED_BYTES, "35 bytes (47 characters)")?;
    let Some((version, rest)) = bytes.split_first_chunk::<2>() else { return Err(unknown_form()) };
    match *version {
        EXTENDED_VERSION => {}
        EXTENDED_TEST_VERSION => {
            return Err(AddressError::TestNetwork { network: "XRP Ledger test network" });
        }
        _ => return Err(unknown_form()),
    }
    let Some((account, rest)) = rest.split_first_chunk::<20>() else { return Err(unknown_form()) };
    match rest {
        [0, 0, 0, 0, 0, 0, 0, 0, 0] | [1, _, _, _, _, 0, 0, 0, 0] => Ok(*account),
        _ => Err(AddressError::InvalidPayload {
            detail: "its destination tag is not of a known form (XLS-5d)".to_owned(),
        }),
    }
}

/// Decodes the payload, which with its checksum must have `length` bytes.
fn decode(text: &str, length: usize, expected: &'static str) -> Result<Vec<u8>, AddressError> {
    let wrong_length = |bytes: usize| AddressError::WrongLength {
        found: format!("{bytes} bytes when decoded"),
        expected,
    };
    match base58::decode_in(text, Alphabet::RIPPLE) {
        Ok(payload) if payload.len() + base58::CHECKSUM_BYTES == length => Ok(payload),
        Ok(payload) => Err(wrong_length(payload.len() + base58::CHECKSUM_BYTES)),
        Err(error @ AddressError::WrongChecksum { .. }) => {
            match base58::byte_length(text, Alphabet::RIPPLE) {
                Some(bytes) if bytes != length => Err(wrong_length(bytes)),
                _ => Err(error),
            }
        }
        Err(error) => Err(error),
    }
}

const fn unknown_form() -> AddressError {
    AddressError::UnknownForm { expected: EXPECTED }
}
