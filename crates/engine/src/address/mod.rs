//! Addresses: read in any form their chain allows, kept in one canonical form, refused with the cause.

mod base58;
pub(crate) mod bitcoin;
mod error;
mod evm;
mod hash;
mod recognise;
mod tron;
mod unicode;

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use error::{AddressError, CodePoint};

use crate::chain::ChainId;

/// Which family of rules a chain's addresses follow.
#[derive(Clone, Copy, Debug)]
pub enum AddressRules {
    /// Bitcoin-like, with the chain's own version bytes and prefixes.
    Bitcoin(&'static bitcoin::BitcoinRules),
    /// Ethereum and every chain with its accounts.
    Evm,
    /// TRON.
    Tron,
}

impl AddressRules {
    /// Seconds after which the newest known block of such a chain is stale.
    #[must_use]
    pub const fn longest_tip_age_seconds(self) -> i64 {
        match self {
            Self::Bitcoin(_) => 2 * 60 * 60,
            Self::Evm | Self::Tron => 30 * 60,
        }
    }
}

/// What an address is technically.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum AddressKind {
    /// Pay to public key hash (`1...`).
    P2pkh,
    /// Pay to script hash (`3...`).
    P2sh,
    /// Pay to witness public key hash (`bc1q...`, 20 bytes).
    P2wpkh,
    /// Pay to witness script hash (`bc1q...`, 32 bytes).
    P2wsh,
    /// Pay to taproot (`bc1p...`).
    P2tr,
    /// A witness version or length without a meaning yet; valid by BIP 350.
    WitnessUnknown,
    /// An account of an account-based chain; whether a key or a contract controls it is not visible.
    Account,
}

impl AddressKind {
    /// The identifier used in answers.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::P2pkh => "p2pkh",
            Self::P2sh => "p2sh",
            Self::P2wpkh => "p2wpkh",
            Self::P2wsh => "p2wsh",
            Self::P2tr => "p2tr",
            Self::WitnessUnknown => "witness_unknown",
            Self::Account => "account",
        }
    }
}

/// What an address commits to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Payload {
    /// The hash of a public key.
    PublicKeyHash([u8; 20]),
    /// The hash of a script.
    ScriptHash([u8; 20]),
    /// A witness program.
    Witness {
        /// 0 to 16.
        version: u8,
        /// 2 to 40 bytes.
        program: Vec<u8>,
    },
    /// The last 20 bytes of a public key's Keccak hash, or a contract's address.
    Account([u8; 20]),
}

/// What a family's reader returns.
struct Parsed {
    kind: AddressKind,
    payload: Payload,
    canonical: String,
}

/// A valid address in the one form that Assay stores, compares and answers with: base58 as it is,
/// bech32 in lower case, EVM accounts with EIP-55 checksum, TRON in base58.
#[derive(Clone)]
pub struct CanonicalAddress {
    chain: ChainId,
    kind: AddressKind,
    payload: Payload,
    text: String,
}

impl CanonicalAddress {
    /// Reads an address of `chain` in any form that the chain allows.
    ///
    /// # Errors
    ///
    /// The most helpful cause that applies: a hidden character, then what the text is instead (a test
    /// network's or another chain's address, a private key), then the rule it breaks.
    pub fn parse(chain: ChainId, submitted: &str) -> Result<Self, AddressError> {
        if submitted.is_empty() {
            return Err(AddressError::Empty);
        }
        unicode::check(submitted)?;
        match Self::parse_plain(chain, submitted) {
            Ok(address) => Ok(address),
            Err(error @ AddressError::TestNetwork { .. }) => Err(error),
            Err(error) => {
                if let Some(what) = recognise::not_an_address(submitted) {
                    return Err(AddressError::NotAnAddress { what });
                }
                let chains: Vec<_> = ChainId::all()
                    .filter(|other| *other != chain && Self::parse_plain(*other, submitted).is_ok())
                    .collect();
                Err(if chains.is_empty() { error } else { AddressError::OtherChain { chains } })
            }
        }
    }

    /// Reads an address as an official list printed it. Lists are not spotless: stray white space,
    /// invisible characters and look-alikes are removed, and an EVM address is read whatever its case,
    /// because a listed account stays listed however its letters are set.
    ///
    /// # Errors
    ///
    /// As [`CanonicalAddress::parse`], for the text as it was printed.
    pub fn parse_published(chain: ChainId, published: &str) -> Result<Self, AddressError> {
        Self::parse(chain, published).or_else(|error| {
            let repaired = unicode::repaired(published);
            Self::parse_plain(chain, &repaired)
                .or_else(|_| match chain.info().rules {
                    AddressRules::Evm => Self::parse_plain(chain, &repaired.to_ascii_lowercase()),
                    AddressRules::Bitcoin(_) | AddressRules::Tron => Err(AddressError::Empty),
                })
                .map_err(|_| error)
        })
    }

    /// The address of `chain` that holds `payload`; `None` where the chain has no such form.
    #[must_use]
    pub fn from_payload(chain: ChainId, payload: Payload) -> Option<Self> {
        let (kind, text) = match (chain.info().rules, &payload) {
            (AddressRules::Bitcoin(rules), _) => rules.write(&payload)?,
            (AddressRules::Evm, Payload::Account(account)) => {
                (AddressKind::Account, evm::write(account))
            }
            (AddressRules::Tron, Payload::Account(account)) => {
                (AddressKind::Account, tron::write(account))
            }
            (AddressRules::Evm | AddressRules::Tron, _) => return None,
        };
        Some(Self { chain, kind, payload, text })
    }

    fn parse_plain(chain: ChainId, text: &str) -> Result<Self, AddressError> {
        let Parsed { kind, payload, canonical } = match chain.info().rules {
            AddressRules::Bitcoin(rules) => rules.parse(text)?,
            AddressRules::Evm => evm::parse(text)?,
            AddressRules::Tron => tron::parse(text)?,
        };
        Ok(Self { chain, kind, payload, text: canonical })
    }

    /// The chain.
    #[must_use]
    pub const fn chain(&self) -> ChainId {
        self.chain
    }

    /// What the address is technically.
    #[must_use]
    pub const fn kind(&self) -> AddressKind {
        self.kind
    }

    /// The canonical text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The identities under which whoever controls this address is found on every chain.
    ///
    /// Two addresses are controlled by the same key or script exactly if they share an identity: the
    /// same account on two EVM chains or TRON, the same public key hash written as P2PKH, P2WPKH or
    /// wrapped in P2SH, the same script or witness program on a fork.
    #[must_use]
    pub fn key_identities(&self) -> Vec<KeyIdentity> {
        match &self.payload {
            Payload::Account(account) => vec![KeyIdentity::Account(*account)],
            Payload::ScriptHash(hash) => vec![KeyIdentity::ScriptHash(*hash)],
            Payload::PublicKeyHash(hash) => public_key_identities(*hash),
            Payload::Witness { version: 0, program } => match <[u8; 20]>::try_from(&**program) {
                Ok(hash) => public_key_identities(hash),
                Err(_) => vec![KeyIdentity::Witness(0, program.clone())],
            },
            Payload::Witness { version, program } => {
                vec![KeyIdentity::Witness(*version, program.clone())]
            }
        }
    }
}

fn public_key_identities(hash: [u8; 20]) -> Vec<KeyIdentity> {
    vec![
        KeyIdentity::PublicKeyHash(hash),
        KeyIdentity::ScriptHash(bitcoin::nested_witness_script_hash(&hash)),
    ]
}

/// A key, script or account, whatever the chain. See [`CanonicalAddress::key_identities`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum KeyIdentity {
    /// An EVM or TRON account.
    Account([u8; 20]),
    /// The hash of a public key on a Bitcoin-like chain.
    PublicKeyHash([u8; 20]),
    /// The hash of a script on a Bitcoin-like chain.
    ScriptHash([u8; 20]),
    /// A witness program that is not a public key hash.
    Witness(u8, Vec<u8>),
}

impl PartialEq for CanonicalAddress {
    fn eq(&self, other: &Self) -> bool {
        self.chain == other.chain && self.text == other.text
    }
}

impl Eq for CanonicalAddress {}

impl std::hash::Hash for CanonicalAddress {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        (self.chain, &self.text).hash(state);
    }
}

impl PartialOrd for CanonicalAddress {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for CanonicalAddress {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.chain, &self.text).cmp(&(other.chain, &other.text))
    }
}

impl fmt::Display for CanonicalAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(&self.text)
    }
}

/// Shows the chain and kind only, so that an address never reaches a log by accident.
impl fmt::Debug for CanonicalAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "CanonicalAddress({}, {})", self.chain, self.kind.as_str())
    }
}

#[cfg(test)]
mod tests;
