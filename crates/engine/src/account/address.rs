//! Addresses of accounts as bytes.

use std::fmt;

use assay_address::{CanonicalAddress, ChainId, Payload, UnownedKind};

/// The 20 bytes of an account or contract, without the form in which a chain writes the address.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AccountAddress(pub [u8; 20]);

impl AccountAddress {
    /// The zero address, which nobody controls: tokens are minted from it and burned to it.
    pub const ZERO: Self = Self([0; 20]);

    /// The bytes of an address; `None` for an address of a chain without accounts of 20 bytes.
    #[must_use]
    pub fn of(address: &CanonicalAddress) -> Option<Self> {
        match address.payload() {
            Payload::Account(bytes) => Some(Self(*bytes)),
            _ => None,
        }
    }

    /// True if nobody controls the address: the zero address, burn addresses, precompiled contracts.
    #[must_use]
    pub fn is_unowned(self) -> bool {
        UnownedKind::of_account(&self.0).is_some()
    }

    /// The address as a chain writes it; `None` for a chain without accounts of 20 bytes.
    #[must_use]
    pub fn on(self, chain: ChainId) -> Option<CanonicalAddress> {
        CanonicalAddress::from_payload(chain, Payload::Account(self.0))
    }
}

impl fmt::Display for AccountAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "0x{}", hex::encode(self.0))
    }
}

impl fmt::Debug for AccountAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}
