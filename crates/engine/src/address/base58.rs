//! Base58check texts: the payload, or which rule the text breaks.

use super::error::AddressError;

/// Decodes base58check; the payload includes the version byte.
pub(super) fn decode(text: &str) -> Result<Vec<u8>, AddressError> {
    bs58::decode(text).with_check(None).into_vec().map_err(|error| match error {
        bs58::decode::Error::InvalidCharacter { character, index } => {
            AddressError::CharacterNotInAlphabet {
                position: index + 1,
                character,
                alphabet: "base58",
            }
        }
        bs58::decode::Error::NonAsciiCharacter { index } => AddressError::CharacterNotInAlphabet {
            position: index + 1,
            character: text.chars().nth(index).unwrap_or(char::REPLACEMENT_CHARACTER),
            alphabet: "base58",
        },
        _ => AddressError::WrongChecksum { scheme: "base58check" },
    })
}

/// The number of bytes that `text` decodes to, checksum included, where it is base58 at all.
pub(super) fn byte_length(text: &str) -> Option<usize> {
    bs58::decode(text).into_vec().ok().map(|bytes| bytes.len())
}

/// Encodes a payload that includes its version byte.
pub(super) fn encode(payload: &[u8]) -> String {
    bs58::encode(payload).with_check().into_string()
}
