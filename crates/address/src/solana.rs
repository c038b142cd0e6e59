//! Solana: a 32-byte public key, or an address derived from a program, in base58. There is no checksum:
//! a mistyped address is most often another valid address.

use super::{AddressKind, Parsed, Payload, base58, error::AddressError};

pub(super) fn parse(text: &str) -> Result<Parsed, AddressError> {
    let bytes = base58::decode_unchecked(text)?;
    let account = <[u8; 32]>::try_from(&*bytes).map_err(|_| AddressError::WrongLength {
        found: format!("{} bytes when decoded", bytes.len()),
        expected: "32 bytes (32 to 44 characters)",
    })?;
    Ok(Parsed {
        kind: AddressKind::Account,
        payload: Payload::LongAccount(account),
        canonical: text.to_owned(),
    })
}

/// The base58 form.
pub(super) fn write(account: &[u8; 32]) -> String {
    bs58::encode(account).into_string()
}
