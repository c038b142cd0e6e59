//! Algorand: base32 of a public key of 32 bytes and the last four bytes of its SHA-512/256 (Algorand's
//! developer documentation on transformations of keys).

use sha2::{Digest, Sha512_256};

use super::{
    AddressKind, Parsed, Payload,
    encoding::{base32, to_base32},
    error::AddressError,
};

/// Characters of an address.
const LENGTH: usize = 58;

pub(super) fn parse(text: &str) -> Result<Parsed, AddressError> {
    if text.len() != LENGTH {
        return Err(AddressError::UnknownForm { expected: "58 characters of base32" });
    }
    let bytes = base32(text)?;
    let unknown = AddressError::UnknownForm { expected: "58 characters of base32" };
    let Some((account, checksum)) = bytes.split_last_chunk::<4>() else { return Err(unknown) };
    if digest(account) != *checksum {
        return Err(AddressError::WrongChecksum { scheme: "SHA-512/256" });
    }
    let account = <[u8; 32]>::try_from(account).map_err(|_| unknown)?;
    let payload = Payload::LongAccount(account);
    Ok(Parsed { kind: AddressKind::Account, payload, canonical: text.to_owned() })
}

/// The account's text.
pub(super) fn write(account: &[u8; 32]) -> String {
    let mut bytes = account.to_vec();
    bytes.extend(digest(account));
    to_base32(&bytes)
}

fn digest(account: &[u8]) -> [u8; 4] {
    let digest: [u8; 32] = Sha512_256::digest(account).into();
    digest.last_chunk().copied().unwrap_or_default()
}
