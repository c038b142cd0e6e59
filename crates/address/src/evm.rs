//! Addresses of Ethereum and the chains that run its virtual machine: `0x` and 40 hexadecimal digits,
//! whose letter case may carry a checksum (EIP-55).

use super::{AddressKind, Parsed, Payload, error::AddressError, hash};

const DIGITS: usize = 40;
const EXPECTED: &str = "`0x` and 40 hexadecimal digits";

pub(super) fn parse(text: &str) -> Result<Parsed, AddressError> {
    let Some(digits) = text.strip_prefix("0x") else {
        return Err(AddressError::UnknownForm { expected: EXPECTED });
    };
    let account = decode_hex(digits, 2)?;
    let canonical = write(&account);
    let one_case = !(digits.bytes().any(|byte| byte.is_ascii_lowercase())
        && digits.bytes().any(|byte| byte.is_ascii_uppercase()));
    if !one_case && text != canonical {
        let position = text.chars().zip(canonical.chars()).take_while(|(a, b)| a == b).count() + 1;
        return Err(AddressError::CaseMismatch { position });
    }
    Ok(Parsed { kind: AddressKind::Account, payload: Payload::Account(account), canonical })
}

/// The text of an account in lower case and with its prefix, which lists leave out at times.
pub(super) fn as_published(text: &str) -> String {
    let lower = text.to_ascii_lowercase();
    // XDC Network writes its own prefix.
    let digits = lower.strip_prefix("xdc").unwrap_or(&lower);
    if is_bare(digits) { format!("0x{digits}") } else { lower }
}

/// True for an account without its prefix. Any hash of 20 bytes looks the same.
pub(super) fn is_bare(text: &str) -> bool {
    text.len() == DIGITS && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Reads 40 hexadecimal digits that start after `skipped` characters of the text.
pub(super) fn decode_hex(digits: &str, skipped: usize) -> Result<[u8; 20], AddressError> {
    let mut account = [0_u8; 20];
    let mut length = 0;
    for (index, character) in digits.chars().enumerate() {
        let Some(value) = character.to_digit(16).and_then(|value| u8::try_from(value).ok()) else {
            return Err(AddressError::CharacterNotInAlphabet {
                position: skipped + index + 1,
                character,
                alphabet: "hexadecimal",
            });
        };
        if let Some(byte) = account.get_mut(index / 2) {
            *byte = *byte << 4 | value;
        }
        length = index + 1;
    }
    if length == DIGITS {
        Ok(account)
    } else {
        Err(AddressError::WrongLength {
            found: format!("{length} hexadecimal digits"),
            expected: "40 after the prefix",
        })
    }
}

/// The checksummed form (EIP-55): a letter is upper case if the hash of the lower-case digits has a digit of eight or
/// more at the same position.
pub(super) fn write(account: &[u8; 20]) -> String {
    let mut digits = [0; DIGITS];
    // There is room for two digits a byte.
    let _ = hex::encode_to_slice(account, &mut digits);
    let hash = hash::keccak256(&digits);
    let nibbles = hash.iter().flat_map(|byte| [byte >> 4, byte & 0x0F]);
    for (digit, nibble) in digits.iter_mut().zip(nibbles) {
        if nibble >= 8 {
            digit.make_ascii_uppercase();
        }
    }
    let mut text = String::with_capacity(DIGITS + 2);
    text.push_str("0x");
    text.extend(digits.map(char::from));
    text
}
