//! Supported chains and their addresses: parses every form that a chain allows, into one canonical form, and reports
//! the cause of invalid texts.

mod algorand;
mod base58;
mod beacon;
mod bech32_text;
mod bitcoin;
mod cardano;
mod cash_addr;
mod chain;
mod cosmos;
mod encoding;
mod eos;
mod error;
mod evm;
mod filecoin;
mod hash;
mod hedera;
mod icp;
mod kaspa;
mod marked;
mod monero;
mod move_vm;
mod near;
mod neo;
mod networks;
mod opaque;
mod published;
mod recognize;
mod resemblance;
mod solana;
mod stacks;
mod stellar;
mod substrate;
mod tezos;
mod ton;
mod tron;
mod unicode;
mod unowned;
mod xrp;
mod zcash;

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use chain::{
    AssetCode, AssetScope, Chain, ChainCoverage, ChainId, LedgerKind, ScriptForms,
    UnsupportedChain, UtxoLedger,
};
pub use error::{AddressError, CodePoint, FoundAddresses};
pub use hash::hash160;
pub use marked::AddressMark;
pub use published::{SHORTEST_ADDRESS, published_parts};
pub use resemblance::{Resemblance, ResemblanceKeys, SHOWN, distinctive_part};
pub use unicode::letters_as_read;
pub use unowned::UnownedKind;

/// The address rules of a family of chains.
#[derive(Clone, Copy, Debug)]
pub enum AddressRules {
    /// Bitcoin-like, with the chain's own version bytes and prefixes.
    Bitcoin(&'static bitcoin::BitcoinRules),
    /// Bitcoin Cash: CashAddr, and Bitcoin's base58.
    BitcoinCash,
    /// Bitcoin SV: Bitcoin's base58, and CashAddr from older wallets.
    BitcoinSv,
    /// Zcash: transparent, shielded and unified.
    Zcash,
    /// Ethereum and every chain with its accounts.
    Evm,
    /// TRON.
    Tron,
    /// Solana.
    Solana,
    /// The XRP Ledger.
    Xrp,
    /// Monero.
    Monero,
    /// BNB Beacon Chain.
    Beacon,
    /// Cardano: Shelley and Byron.
    Cardano,
    /// Stellar: accounts, multiplexed accounts and contracts.
    Stellar,
    /// The Open Network.
    Ton,
    /// Polkadot and other Substrate chains, with the network's number.
    Substrate(&'static substrate::SubstrateNetwork),
    /// Chains of the Cosmos SDK, with the chain's prefix.
    Cosmos(&'static cosmos::CosmosPrefix),
    /// Algorand.
    Algorand,
    /// NEAR: implicit and named accounts.
    Near,
    /// Tezos.
    Tezos,
    /// EOS (Vaulta).
    Eos,
    /// Hedera.
    Hedera,
    /// Filecoin.
    Filecoin,
    /// NEO N3 and its legacy chain.
    Neo,
    /// Sui and Aptos.
    Move,
    /// Internet Computer: accounts and principals.
    InternetComputer,
    /// Stacks.
    Stacks,
    /// Kaspa.
    Kaspa,
    /// Chains without address rules in Assay: any text.
    Opaque,
}

impl AddressRules {
    /// True if addresses of this family have a checksum, or a form that no other text has.
    #[must_use]
    pub const fn has_checksum(self) -> bool {
        !matches!(
            self,
            Self::Solana | Self::Near | Self::Eos | Self::Hedera | Self::Move | Self::Opaque
        )
    }

    /// True if so many texts are valid addresses of this family that a valid one does not show that its author meant
    /// the chain.
    #[must_use]
    pub const fn is_ambiguous(self) -> bool {
        matches!(self, Self::Near | Self::Eos | Self::Hedera | Self::Move | Self::Opaque)
    }

    fn parse(self, text: &str) -> Result<Parsed, AddressError> {
        match self {
            Self::Bitcoin(rules) => rules.parse(text),
            Self::BitcoinCash => cash_addr::parse_bitcoin_cash(text),
            Self::BitcoinSv => cash_addr::parse_bitcoin_sv(text),
            Self::Zcash => zcash::parse(text),
            Self::Evm => evm::parse(text),
            Self::Tron => tron::parse(text),
            Self::Solana => solana::parse(text),
            Self::Xrp => xrp::parse(text),
            Self::Monero => monero::parse(text),
            Self::Beacon => beacon::parse(text),
            Self::Cardano => cardano::parse(text),
            Self::Stellar => stellar::parse(text),
            Self::Ton => ton::parse(text),
            Self::Substrate(network) => network.parse(text),
            Self::Cosmos(chain) => chain.parse(text),
            Self::Algorand => algorand::parse(text),
            Self::Near => near::parse(text),
            Self::Tezos => tezos::parse(text),
            Self::Eos => eos::parse(text),
            Self::Hedera => hedera::parse(text),
            Self::Filecoin => filecoin::parse(text),
            Self::Neo => neo::parse(text),
            Self::Move => move_vm::parse(text),
            Self::InternetComputer => icp::parse(text),
            Self::Stacks => stacks::parse(text),
            Self::Kaspa => kaspa::parse(text),
            Self::Opaque => opaque::parse(text),
        }
    }

    fn write(self, payload: &Payload) -> Option<(AddressKind, String)> {
        let account = |text| Some((AddressKind::Account, text));
        match (self, payload) {
            (Self::Bitcoin(rules), _) => rules.write(payload),
            (Self::BitcoinCash, _) => cash_addr::write(payload),
            (Self::BitcoinSv, _) => networks::BITCOIN_SV.write(payload),
            (Self::Zcash, _) => networks::ZCASH.write(payload),
            (Self::Evm, Payload::Account(bytes)) => account(evm::write(bytes)),
            (Self::Tron, Payload::Account(bytes)) => account(tron::write(bytes)),
            (Self::Solana, Payload::LongAccount(bytes)) => account(solana::write(bytes)),
            (Self::Xrp, Payload::PublicKeyHash(hash)) => account(xrp::write(hash)),
            (Self::Beacon, Payload::PublicKeyHash(hash)) => account(beacon::write(hash)?),
            (Self::Stellar, Payload::LongAccount(bytes)) => account(stellar::write(bytes)),
            (Self::Substrate(network), Payload::LongAccount(bytes)) => {
                account(network.write(bytes))
            }
            (Self::Algorand, Payload::LongAccount(bytes)) => account(algorand::write(bytes)),
            (Self::Near, Payload::LongAccount(bytes)) => account(hex::encode(bytes)),
            (Self::Cosmos(chain), _) => account(chain.write(payload)?),
            (Self::Filecoin, Payload::Account(bytes)) => account(filecoin::write(bytes)),
            (Self::Stacks, _) => account(stacks::write(payload)?),
            (Self::Monero, Payload::Monero { keys, subaddress }) => {
                Some(monero::write(keys, *subaddress))
            }
            _ => None,
        }
    }
}

/// Technical kind of an address.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum AddressKind {
    /// Pay to public key hash (`1...`).
    P2pkh,
    /// Pay to script hash (`3...`), of 20 bytes or on Bitcoin Cash of 32.
    P2sh,
    /// Pay to witness public key hash (`bc1q...`, 20 bytes).
    P2wpkh,
    /// Pay to witness script hash (`bc1q...`, 32 bytes).
    P2wsh,
    /// Pay to taproot (`bc1p...`).
    P2tr,
    /// A witness version or length without a meaning yet; valid by BIP 350.
    WitnessUnknown,
    /// An account of an account-based chain. The address does not show if a key or a contract controls it.
    Account,
    /// A Zcash address of the first shielded pool (`zc...`).
    Sprout,
    /// A Zcash address of the second shielded pool (`zs1...`).
    Sapling,
    /// A Zcash unified address (`u1...`).
    Unified,
    /// A Monero wallet's main address, with or without a payment id.
    Standard,
    /// One of a Monero wallet's further addresses.
    Subaddress,
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
            Self::Sprout => "sprout",
            Self::Sapling => "sapling",
            Self::Unified => "unified",
            Self::Standard => "standard",
            Self::Subaddress => "subaddress",
        }
    }
}

/// Data to which an address commits.
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
    /// The double SHA-256 of a script.
    LongScriptHash([u8; 32]),
    /// An Ed25519 public key, or an address derived from a program.
    LongAccount([u8; 32]),
    /// The receivers of a shielded or unified Zcash address.
    Receivers(Vec<Receiver>),
    /// The keys of a Monero address.
    Monero {
        /// Public spend key and public view key.
        keys: [u8; 64],
        /// True if the keys are those of a subaddress.
        subaddress: bool,
    },
    /// Any other address: the canonical text itself, without a key that other chains share.
    Text(String),
}

/// Receiver in a Zcash address.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Receiver {
    /// Transparent receiver: the hash of a public key.
    PublicKeyHash([u8; 20]),
    /// Transparent receiver: the hash of a script.
    ScriptHash([u8; 20]),
    /// Receiver in the first shielded pool.
    Sprout(Vec<u8>),
    /// Shielded receiver with its type by ZIP 316 (2 Sapling, 3 Orchard).
    Shielded(u64, Vec<u8>),
}

/// Length of the longest text that is parsed as an address: the most that a bech32 checksum covers.
const LONGEST: usize = 1023;

/// Result of a family's parser.
struct Parsed {
    kind: AddressKind,
    payload: Payload,
    canonical: String,
}

/// A valid address in the canonical form that Assay stores, compares and returns: base58 unchanged, bech32 in lower
/// case, EVM accounts with EIP-55 checksum, TRON in base58, Bitcoin Cash in CashAddr with its prefix, XRP, Stellar and
/// Monero without tag, number or payment id, Litecoin scripts as `M...`, TON in its bounceable form.
#[derive(Clone)]
pub struct CanonicalAddress {
    chain: ChainId,
    kind: AddressKind,
    payload: Payload,
    text: String,
}

impl CanonicalAddress {
    /// Parses an address of `chain` in any form that the chain allows.
    ///
    /// # Errors
    ///
    /// Returns the most helpful cause: a hidden character, otherwise another meaning of the text (an address of a test
    /// network or another chain, a private key), otherwise the rule that the text breaks.
    pub fn parse(chain: ChainId, submitted: &str) -> Result<Self, AddressError> {
        if submitted.is_empty() {
            return Err(AddressError::Empty);
        }
        // Base58 takes quadratic time: nothing longer is looked at.
        if submitted.len() > LONGEST {
            return Err(AddressError::WrongLength {
                found: format!("{} bytes", submitted.len()),
                expected: "at most 1023, which no chain exceeds",
            });
        }
        unicode::check(submitted)?;
        match Self::parse_plain(chain, submitted) {
            Ok(address) => Ok(address),
            Err(error @ AddressError::TestNetwork { .. }) => Err(error),
            Err(error) => {
                let chains: Vec<_> = ChainId::all()
                    .filter(|other| *other != chain && !other.info().rules.is_ambiguous())
                    .filter(|other| Self::parse_plain(*other, submitted).is_ok())
                    .collect();
                if !chains.is_empty() {
                    return Err(AddressError::OtherChain { chains });
                }
                if let Some(surrounded) = recognize::describe_surroundings(chain, submitted) {
                    return Err(surrounded);
                }
                Err(match recognize::describe_other_text(submitted) {
                    Some(what) => AddressError::NotAnAddress { what },
                    None => error,
                })
            }
        }
    }

    /// Parses an address as an official list printed it, and corrects errors of lists: it ignores white space and
    /// invisible characters; it replaces look-alikes if exactly one replacement gives an address; and it ignores the
    /// letter case of an EVM address and a missing `0x`, because the listed account is the same in any spelling.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`CanonicalAddress::parse`], for the text as it was printed.
    pub fn parse_published(chain: ChainId, published: &str) -> Result<Self, AddressError> {
        Self::read_published(chain, published).map_or_else(|| Self::parse(chain, published), Ok)
    }

    /// Parses an address like [`CanonicalAddress::parse_published`], but without the cause of a failure, which would
    /// require parsers of all chains.
    #[must_use]
    pub fn read_published(chain: ChainId, published: &str) -> Option<Self> {
        // Base58 takes quadratic time: nothing longer is looked at.
        if published.is_empty() || published.len() > LONGEST {
            return None;
        }
        let is_evm = matches!(chain.info().rules, AddressRules::Evm);
        let mut found: Option<Self> = None;
        for reading in unicode::possible_texts(published) {
            let reading = if is_evm { evm::as_published(&reading) } else { reading };
            let Ok(address) = Self::parse_plain(chain, &reading) else { continue };
            if found.as_ref().is_some_and(|other| *other != address) {
                return None;
            }
            found = Some(address);
        }
        found
    }

    /// True for 40 hexadecimal digits: an EVM account without its `0x`, or any other hash of 20 bytes.
    #[must_use]
    pub fn is_bare_account(text: &str) -> bool {
        evm::is_bare(text)
    }

    /// True if a character may be part of an address in a printed text: an ASCII letter or digit, a look-alike of one,
    /// or an invisible character.
    #[must_use]
    pub fn may_contain(character: char) -> bool {
        character.is_ascii_alphanumeric() || unicode::is_invisible_or_look_alike(character)
    }

    /// The address of `chain` with this payload; `None` if the chain has no address format for the payload.
    #[must_use]
    pub fn from_payload(chain: ChainId, payload: Payload) -> Option<Self> {
        let (kind, text) = chain.info().rules.write(&payload)?;
        Some(Self { chain, kind, payload, text })
    }

    fn parse_plain(chain: ChainId, text: &str) -> Result<Self, AddressError> {
        let Parsed { kind, payload, canonical } = chain.info().rules.parse(text)?;
        Ok(Self { chain, kind, payload, text: canonical })
    }

    /// The chain.
    #[must_use]
    pub const fn chain(&self) -> ChainId {
        self.chain
    }

    /// Technical kind of the address.
    #[must_use]
    pub const fn kind(&self) -> AddressKind {
        self.kind
    }

    /// The canonical text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Data to which the address commits.
    #[must_use]
    pub const fn payload(&self) -> &Payload {
        &self.payload
    }

    /// The identities by which the key of this address is recognized on every chain.
    ///
    /// One key or script controls two addresses exactly if they share an identity: the same account on two EVM chains
    /// or TRON, the same public key hash as P2PKH, P2WPKH or wrapped in P2SH, or as an account of the XRP Ledger or BNB
    /// Beacon Chain, the same script or witness program on a fork, or a receiver of a unified address.
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
            Payload::LongScriptHash(hash) => vec![KeyIdentity::LongScriptHash(*hash)],
            Payload::LongAccount(account) => vec![KeyIdentity::LongAccount(*account)],
            Payload::Receivers(receivers) => receivers
                .iter()
                .flat_map(|receiver| match receiver {
                    Receiver::PublicKeyHash(hash) => public_key_identities(*hash),
                    Receiver::ScriptHash(hash) => vec![KeyIdentity::ScriptHash(*hash)],
                    shielded => vec![KeyIdentity::Receiver(shielded.clone())],
                })
                .collect(),
            Payload::Monero { keys, .. } => vec![KeyIdentity::Monero(*keys)],
            Payload::Text(_) => Vec::new(),
        }
    }
}

impl CanonicalAddress {
    /// The identities of [`Self::key_identities`], and those of the scripts that pay a public key by its P2PKH script:
    /// as P2SH, P2WSH, P2SH-P2WSH and the long P2SH of Bitcoin Cash. Lists are searched by all of them, because the
    /// holder of a listed key spends from each with that key.
    #[must_use]
    pub fn spendable_identities(&self) -> Vec<KeyIdentity> {
        let mut identities = self.key_identities();
        let wrapped: Vec<KeyIdentity> = identities
            .iter()
            .filter_map(|identity| match identity {
                KeyIdentity::PublicKeyHash(hash) => Some(bitcoin::scripts_paying_key(hash)),
                _ => None,
            })
            .flatten()
            .collect();
        identities.extend(wrapped);
        identities
    }
}

fn public_key_identities(hash: [u8; 20]) -> Vec<KeyIdentity> {
    vec![
        KeyIdentity::PublicKeyHash(hash),
        KeyIdentity::ScriptHash(bitcoin::nested_witness_script_hash(&hash)),
    ]
}

/// A key, script or account on any chain. See [`CanonicalAddress::key_identities`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum KeyIdentity {
    /// An EVM or TRON account.
    Account([u8; 20]),
    /// The hash of a public key on a Bitcoin-like chain, the XRP Ledger or BNB Beacon Chain.
    PublicKeyHash([u8; 20]),
    /// The hash of a script on a Bitcoin-like chain.
    ScriptHash([u8; 20]),
    /// A witness program that is not a public key hash.
    Witness(u8, Vec<u8>),
    /// The double SHA-256 of a script on Bitcoin Cash.
    LongScriptHash([u8; 32]),
    /// A Solana account.
    LongAccount([u8; 32]),
    /// A shielded Zcash receiver.
    Receiver(Receiver),
    /// The public keys of a Monero address.
    Monero([u8; 64]),
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

/// Formats only the chain and kind of an address, so that no address reaches a log by accident.
impl fmt::Debug for CanonicalAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "CanonicalAddress({}, {})", self.chain, self.kind.as_str())
    }
}

#[cfg(test)]
mod tests;
