//! Addresses of chains without address rules in Assay, as a list or label set states them: printable ASCII without
//! white space, compared letter by letter.

use super::{AddressKind, Parsed, Payload, error::AddressError};

/// Length of the longest address.
const LONGEST: usize = 128;

pub(super) fn parse(text: &str) -> Result<Parsed, AddressError> {
    if text.len() > LONGEST || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(AddressError::UnknownForm {
            expected: "at most 128 printable characters without white space",
        });
    }
    let payload = Payload::Text(text.to_owned());
    Ok(Parsed { kind: AddressKind::Account, payload, canonical: text.to_owned() })
}

/// The address of a text and a number, joined by hyphens.
pub(super) fn name(text: &str, number: u8) -> String {
    format!("{}-{number}", text.replace(' ', "-"))
}
