//! Addresses of TRON: base58check with version 0x41 (`T...`), or the same 21 bytes as hexadecimal
//! digits (`41...`), which have no checksum.

use super::{AddressKind, Parsed, Payload, base58, error::AddressError, evm};

/// The first byte of every mainnet address. The public test networks use this byte too, so that their addresses cannot
/// be distinguished from mainnet addresses.
const VERSION: u8 = 0x41;
/// The first byte that TRON's early test network used.
const OLD_TEST_VERSION: u8 = 0xA0;
const EXPECTED: &str = "`T...` (base58, 34 characters) or `41` and 40 hexadecimal digits";
/// Version, 20-byte account, checksum.
const BASE58_BYTES: usize = 25;

pub(super) fn parse(text: &str) -> Result<Parsed, AddressError> {
    let account = if let Some(digits) = hexadecimal_digits(text) {
        evm::decode_hex(digits, text.len() - digits.len())?
    } else if text.starts_with('T') {
        parse_base58(text)?
    } else {
        return Err(AddressError::UnknownForm { expected: EXPECTED });
    };
    Ok(Parsed {
        kind: AddressKind::Account,
        payload: Payload::Account(account),
        canonical: write(&account),
    })
}

/// The canonical base58check form.
pub(super) fn write(account: &[u8; 20]) -> String {
    let mut bytes = vec![VERSION];
    bytes.extend_from_slice(account);
    base58::encode(&bytes)
}

/// The digits after `41` or `0x41`, if the text can only be the hexadecimal form.
fn hexadecimal_digits(text: &str) -> Option<&str> {
    // `0x41` and 38 digits more is an Ethereum address that happens to start so.
    let digits = match text.strip_prefix("0x") {
        Some(digits) if digits.len() > 40 => digits,
        Some(_) => return None,
        None => text,
    };
    digits.strip_prefix("41")
}

fn parse_base58(text: &str) -> Result<[u8; 20], AddressError> {
    let bytes = base58::decode(text).map_err(|error| match error {
        AddressError::WrongChecksum { scheme } => {
            match base58::byte_length(text, bs58::Alphabet::BITCOIN) {
                Some(BASE58_BYTES) | None => AddressError::WrongChecksum { scheme },
                Some(bytes) => wrong_length(bytes),
            }
        }
        other => other,
    })?;
    match bytes.split_first() {
        Some((&VERSION, account)) => {
            <[u8; 20]>::try_from(account).map_err(|_| wrong_length(bytes.len() + 4))
        }
        Some((&OLD_TEST_VERSION, _)) => {
            Err(AddressError::TestNetwork { network: "TRON test network" })
        }
        Some((&version, _)) => {
            Err(AddressError::UnknownVersion { version: format!("0x{version:02x}") })
        }
        None => Err(wrong_length(4)),
    }
}

fn wrong_length(bytes: usize) -> AddressError {
    AddressError::WrongLength {
        found: format!("{bytes} bytes when decoded"),
        expected: "25 bytes (34 characters)",
    }
}
