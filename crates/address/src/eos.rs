//! EOS (Vaulta): names of 1 to 12 characters of `a-z`, `1-5` and dots, and a 13th of `a-j` and `1-5`, as the
//! system contract reads them. There is no checksum. A name neither begins nor ends with a dot.

use super::{AddressKind, Parsed, Payload, error::AddressError};

const EXPECTED: &str = "a name of at most 13 characters of `a-z`, `1-5` and `.`";

pub(super) fn parse(text: &str) -> Result<Parsed, AddressError> {
    let is_letter = |byte: u8| byte.is_ascii_lowercase() || (b'1'..=b'5').contains(&byte);
    let is_last = |byte: u8| (b'a'..=b'j').contains(&byte) || (b'1'..=b'5').contains(&byte);
    let valid = (1..=13).contains(&text.len())
        && !text.starts_with('.')
        && !text.ends_with('.')
        && text.bytes().enumerate().all(|(index, byte)| match index {
            12 => is_last(byte),
            _ => is_letter(byte) || byte == b'.',
        });
    if !valid {
        return Err(AddressError::UnknownForm { expected: EXPECTED });
    }
    let payload = Payload::Text(text.to_owned());
    Ok(Parsed { kind: AddressKind::Account, payload, canonical: text.to_owned() })
}

/// Longest part of a name that a text gives.
const TEXT_LETTERS: usize = 10;

/// The name of a text's first lowercase letters, and of a number as two letters.
pub(super) fn name(text: &str, number: u8) -> String {
    let letters = text.chars().filter(char::is_ascii_lowercase).take(TEXT_LETTERS);
    let digits = [number / 26, number % 26].map(|digit| char::from(b'a' + digit));
    letters.chain(digits).collect()
}
