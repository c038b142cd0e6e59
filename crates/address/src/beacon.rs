//! BNB Beacon Chain: the hash of a public key in bech32 (`bnb1...`).

use bech32::{Bech32, Hrp};

use super::{AddressKind, Parsed, Payload, bech32_text, error::AddressError};

const PREFIX: &str = "bnb";
const TEST_PREFIX: &str = "tbnb";

pub(super) fn parse(text: &str) -> Result<Parsed, AddressError> {
    if bech32_text::has_prefix(text, TEST_PREFIX) {
        return Err(AddressError::TestNetwork { network: "BNB Beacon Chain test network" });
    }
    if !bech32_text::has_prefix(text, PREFIX) {
        return Err(AddressError::UnknownForm { expected: "`bnb1...` (42 characters)" });
    }
    let bytes = bech32_text::decode::<Bech32>(text)?;
    let hash = <[u8; 20]>::try_from(&*bytes).map_err(|_| AddressError::WrongLength {
        found: format!("{} bytes when decoded", bytes.len()),
        expected: "20 bytes (42 characters)",
    })?;
    Ok(Parsed {
        kind: AddressKind::Account,
        payload: Payload::PublicKeyHash(hash),
        canonical: text.to_ascii_lowercase(),
    })
}

/// The canonical form.
pub(super) fn write(hash: &[u8; 20]) -> Option<String> {
    bech32::encode::<Bech32>(Hrp::parse(PREFIX).ok()?, hash).ok()
}
