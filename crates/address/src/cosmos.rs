//! Cosmos chains: bech32 with the chain's prefix (ADR-028 of the Cosmos SDK). 20 bytes are the hash of a
//! public key, as in Bitcoin, or an account of Ethereum on chains with its keys; 32 bytes are a contract or
//! a module.

use bech32::{Bech32, Hrp};

use super::{AddressKind, Parsed, Payload, bech32_text, error::AddressError};

/// Address prefix of a Cosmos chain.
#[derive(Debug)]
pub struct CosmosPrefix {
    prefix: &'static str,
    /// True if the chain's accounts are Ethereum accounts.
    ethereum_keys: bool,
    expected: &'static str,
}

macro_rules! cosmos {
    ($($name:ident = $prefix:literal, $keys:literal;)*) => {
        $(
            #[doc = concat!("Addresses that begin with `", $prefix, "1`.")]
            pub(crate) static $name: CosmosPrefix = CosmosPrefix {
                prefix: $prefix,
                ethereum_keys: $keys,
                expected: concat!("`", $prefix, "1...` (bech32)"),
            };
        )*
    };
}

cosmos! {
    COSMOS = "cosmos", false;
    OSMOSIS = "osmo", false;
    CELESTIA = "celestia", false;
    DYDX = "dydx", false;
    NOBLE = "noble", false;
    AXELAR = "axelar", false;
    SEI = "sei", false;
    TERRA = "terra", false;
    THOR = "thor", false;
    KAVA = "kava", false;
    JUNO = "juno", false;
    STARGAZE = "stars", false;
    SECRET = "secret", false;
    AKASH = "akash", false;
    INJECTIVE = "inj", true;
}

impl CosmosPrefix {
    pub(super) fn parse(&self, text: &str) -> Result<Parsed, AddressError> {
        if !bech32_text::has_prefix(text, self.prefix) {
            return Err(AddressError::UnknownForm { expected: self.expected });
        }
        let bytes = bech32_text::decode::<Bech32>(text)?;
        let canonical = text.to_ascii_lowercase();
        let payload = match (bytes.len(), <[u8; 20]>::try_from(&*bytes)) {
            (_, Ok(account)) if self.ethereum_keys => Payload::Account(account),
            (_, Ok(hash)) => Payload::PublicKeyHash(hash),
            (32, Err(_)) => Payload::Text(canonical.clone()),
            (length, Err(_)) => {
                return Err(AddressError::WrongLength {
                    found: format!("{length} bytes when decoded"),
                    expected: "20 or 32 bytes",
                });
            }
        };
        Ok(Parsed { kind: AddressKind::Account, payload, canonical })
    }

    /// The account's text.
    pub(super) fn write(&self, payload: &Payload) -> Option<String> {
        let bytes = match payload {
            Payload::Account(account) if self.ethereum_keys => account,
            Payload::PublicKeyHash(hash) if !self.ethereum_keys => hash,
            _ => return None,
        };
        bech32::encode::<Bech32>(Hrp::parse(self.prefix).ok()?, bytes).ok()
    }
}
