//! Polkadot and other Substrate chains: SS58, base58 of a network's number, an account of 32 bytes and two bytes of
//! BLAKE2b-512 (the registry of SS58 lists the numbers). An address of another network is refused, because its sender
//! means another chain, although the key is the same.

use super::{AddressKind, Parsed, Payload, base58, encoding::blake2b, error::AddressError};

/// A network of SS58 addresses.
#[derive(Debug)]
pub struct SubstrateNetwork {
    /// Number in the registry.
    pub(crate) network: u16,
    /// Description of the address formats, for error messages.
    pub(crate) expected: &'static str,
}

/// Polkadot.
pub(crate) static POLKADOT: SubstrateNetwork =
    SubstrateNetwork { network: 0, expected: "SS58 of Polkadot (`1...`, 47 or 48 characters)" };
/// Kusama.
pub(crate) static KUSAMA: SubstrateNetwork = SubstrateNetwork {
    network: 2,
    expected: "SS58 of Kusama (capital letter first, 47 characters)",
};
/// The generic network, which Bittensor and others use.
pub(crate) static GENERIC: SubstrateNetwork = SubstrateNetwork {
    network: 42,
    expected: "SS58 of the generic network (`5...`, 48 characters)",
};

/// Bytes of the account and of the checksum.
const ACCOUNT: usize = 32;
const CHECKSUM: usize = 2;

impl SubstrateNetwork {
    pub(super) fn parse(&self, text: &str) -> Result<Parsed, AddressError> {
        // Base58 of 35 or 36 bytes.
        if !(45..=50).contains(&text.len()) {
            return Err(AddressError::UnknownForm { expected: self.expected });
        }
        let bytes = base58::decode_unchecked(text)?;
        let (network, prefix) = match bytes.as_slice() {
            [first @ 0..=63, ..] => (u16::from(*first), 1),
            // Numbers above 63 are spread over two bytes.
            [first @ 64..=127, second, ..] => {
                let low = ((first & 0x3F) << 2) | (second >> 6);
                (u16::from_le_bytes([low, second & 0x3F]), 2)
            }
            _ => return Err(AddressError::UnknownForm { expected: self.expected }),
        };
        if bytes.len() != prefix + ACCOUNT + CHECKSUM {
            return Err(AddressError::WrongLength {
                found: format!("{} bytes when decoded", bytes.len()),
                expected: "an account of 32 bytes",
            });
        }
        let (content, checksum) = bytes.split_at(prefix + ACCOUNT);
        if digest(content) != checksum {
            return Err(AddressError::WrongChecksum { scheme: "SS58" });
        }
        if network != self.network {
            return Err(AddressError::UnknownVersion { version: format!("network {network}") });
        }
        let account = content.get(prefix..).and_then(|account| <[u8; 32]>::try_from(account).ok());
        let account = account.unwrap_or_default();
        Ok(Parsed {
            kind: AddressKind::Account,
            payload: Payload::LongAccount(account),
            canonical: self.write(&account),
        })
    }

    /// The account's text on this network, whose number is below 64.
    pub(super) fn write(&self, account: &[u8; 32]) -> String {
        let mut bytes = vec![u8::try_from(self.network).unwrap_or(u8::MAX)];
        bytes.extend_from_slice(account);
        let checksum = digest(&bytes);
        bytes.extend(checksum);
        bs58::encode(bytes).into_string()
    }
}

fn digest(content: &[u8]) -> Vec<u8> {
    let mut bytes = b"SS58PRE".to_vec();
    bytes.extend_from_slice(content);
    let mut digest = blake2b(64, &bytes);
    digest.truncate(CHECKSUM);
    digest
}
