//! Decoding and encoding of base58check, with errors that state the broken rule.

use bs58::Alphabet;

use super::error::AddressError;

/// Length of a base58check checksum in bytes.
pub(super) const CHECKSUM_BYTES: usize = 4;

/// Decodes base58check; the payload includes the version bytes.
pub(super) fn decode(text: &str) -> Result<Vec<u8>, AddressError> {
    decode_in(text, Alphabet::BITCOIN)
}

/// Decodes base58check with the given alphabet.
pub(super) fn decode_in(text: &str, alphabet: &Alphabet) -> Result<Vec<u8>, AddressError> {
    bs58::decode(text)
        .with_alphabet(alphabet)
        .with_check(None)
        .into_vec()
        .map_err(|error| explain(text, &error))
}

/// Decodes base58 that has no checksum.
pub(super) fn decode_unchecked(text: &str) -> Result<Vec<u8>, AddressError> {
    bs58::decode(text).into_vec().map_err(|error| explain(text, &error))
}

fn explain(text: &str, error: &bs58::decode::Error) -> AddressError {
    match *error {
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
    }
}

/// The number of bytes that `text` decodes to, including the checksum; `None` if it is not base58. The number is the
/// same for every base58 alphabet, apart from leading zeros.
pub(super) fn byte_length(text: &str, alphabet: &Alphabet) -> Option<usize> {
    bs58::decode(text).with_alphabet(alphabet).into_vec().ok().map(|bytes| bytes.len())
}

/// Encodes a payload that includes its version bytes.
pub(super) fn encode(payload: &[u8]) -> String {
    encode_in(payload, Alphabet::BITCOIN)
}

/// Encodes base58check with the given alphabet.
pub(super) fn encode_in(payload: &[u8], alphabet: &Alphabet) -> String {
    bs58::encode(payload).with_alphabet(alphabet).with_check().into_string()
}
