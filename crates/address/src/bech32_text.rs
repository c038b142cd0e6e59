//! Decoding of bech32 texts other than segregated witness addresses, with errors that describe invalid texts.

use bech32::{
    Checksum,
    primitives::decode::{
        CharError, CheckedHrpstring, CheckedHrpstringError, UncheckedHrpstringError,
    },
};

use super::error::AddressError;

const ALPHABET: &str = "qpzry9x8gf2tvdw0s3jn54khce6mua7l";

/// True if the text looks like bech32 with this prefix.
pub(super) fn has_prefix(text: &str, prefix: &str) -> bool {
    text.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix))
        && text.as_bytes().get(prefix.len()) == Some(&b'1')
}

/// Decodes the bytes after the prefix. Padding must be zeros and shorter than five bits.
pub(super) fn decode<Variant: Checksum>(text: &str) -> Result<Vec<u8>, AddressError> {
    let checked = CheckedHrpstring::new::<Variant>(text).map_err(|error| match error {
        CheckedHrpstringError::Parse(error) => explain(text, &error),
        _ => AddressError::WrongChecksum { scheme: "bech32" },
    })?;
    checked
        .validate_segwit_padding()
        .map_err(|error| AddressError::InvalidPayload { detail: error.to_string() })?;
    Ok(checked.byte_iter().collect())
}

/// The error of a text that is not bech32.
pub(super) fn explain(text: &str, error: &UncheckedHrpstringError) -> AddressError {
    if matches!(error, UncheckedHrpstringError::Char(CharError::MixedCase)) {
        return AddressError::MixedCase;
    }
    let start = text.rfind('1').map_or(0, |separator| separator + 1);
    foreign_character(text, start)
        .unwrap_or(AddressError::InvalidPayload { detail: error.to_string() })
}

/// The first character from byte `start` on that is not of the bech32 alphabet.
pub(super) fn foreign_character(text: &str, start: usize) -> Option<AddressError> {
    text.char_indices()
        .enumerate()
        .find(|(_, (byte, character))| {
            *byte >= start && !ALPHABET.contains(character.to_ascii_lowercase())
        })
        .map(|(index, (_, character))| AddressError::CharacterNotInAlphabet {
            position: index + 1,
            character,
            alphabet: "bech32",
        })
}

/// The five bits that each character stands for, in either letter case.
pub(super) fn values(text: &str) -> Option<Vec<u8>> {
    text.chars()
        .map(|character| {
            let index = ALPHABET.find(character.to_ascii_lowercase())?;
            u8::try_from(index).ok()
        })
        .collect()
}

/// The character that stands for five bits.
pub(super) fn character(value: u8) -> Option<char> {
    ALPHABET.as_bytes().get(usize::from(value)).map(|byte| char::from(*byte))
}
