//! Monero: standard addresses (`4...`), subaddresses (`8...`) and integrated addresses (`4...`, longer). An integrated
//! address is a standard address with a payment id. An integrated address has the same account as its standard address,
//! which Assay assesses.

use super::{AddressKind, Parsed, Payload, error::AddressError};

const STANDARD: u8 = 18;
const INTEGRATED: u8 = 19;
const SUBADDRESS: u8 = 42;
/// Testnet and stagenet: standard, integrated, subaddress.
const TEST_VERSIONS: [u8; 6] = [53, 54, 63, 24, 25, 36];
/// Public spend and view key.
const KEYS: usize = 64;
const PAYMENT_ID: usize = 8;
const ALPHABET: &str = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
const EXPECTED: &str =
    "`4...` or `8...` (95 characters), or `4...` with a payment id (106 characters)";
const EXPECTED_LENGTH: &str = "95 characters, or 106 with a payment id";

pub(super) fn parse(text: &str) -> Result<Parsed, AddressError> {
    // Main network, testnet, stagenet.
    if !text.starts_with(['4', '8', '9', 'A', 'B', '5', '7']) {
        return Err(AddressError::UnknownForm { expected: EXPECTED });
    }
    if let Some((index, character)) =
        text.chars().enumerate().find(|(_, character)| !ALPHABET.contains(*character))
    {
        let (position, alphabet) = (index + 1, "base58");
        return Err(AddressError::CharacterNotInAlphabet { position, character, alphabet });
    }
    if ![95, 106].contains(&text.len()) {
        return Err(AddressError::WrongLength {
            found: format!("{} characters", text.len()),
            expected: EXPECTED_LENGTH,
        });
    }
    let bytes = base58_monero::decode_check(text)
        .map_err(|_| AddressError::WrongChecksum { scheme: "Monero base58" })?;
    let unknown_form = AddressError::UnknownForm { expected: EXPECTED };
    let Some((version, content)) = bytes.split_first() else { return Err(unknown_form) };
    let Some((keys, rest)) = content.split_first_chunk::<KEYS>() else { return Err(unknown_form) };
    let subaddress = match (*version, rest.len()) {
        (STANDARD, 0) | (INTEGRATED, PAYMENT_ID) => false,
        (SUBADDRESS, 0) => true,
        (version, _) if TEST_VERSIONS.contains(&version) => {
            return Err(AddressError::TestNetwork { network: "Monero test network" });
        }
        (version, _) => {
            return Err(AddressError::UnknownVersion { version: format!("{version}") });
        }
    };
    let payload = Payload::Monero { keys: *keys, subaddress };
    let (kind, canonical) = write(keys, subaddress);
    Ok(Parsed { kind, payload, canonical })
}

/// The standard address or subaddress of these keys.
pub(super) fn write(keys: &[u8; KEYS], subaddress: bool) -> (AddressKind, String) {
    let (kind, version) = if subaddress {
        (AddressKind::Subaddress, SUBADDRESS)
    } else {
        (AddressKind::Standard, STANDARD)
    };
    let mut bytes = vec![version];
    bytes.extend_from_slice(keys);
    // Fails only for nothing to encode.
    (kind, base58_monero::encode_check(&bytes).unwrap_or_default())
}
