//! Addresses of Bitcoin and the chains that descend from it: base58check (P2PKH, P2SH) and segregated
//! witness (BIP 173, BIP 350).

use bech32::{
    Bech32, Bech32m, Hrp,
    primitives::decode::{CheckedHrpstring, SegwitHrpstring, SegwitHrpstringError},
};
use bs58::Alphabet;
use sha2::{Digest, Sha256};

use super::{
    AddressKind, KeyIdentity, Parsed, Payload, base58, bech32_text, error::AddressError, hash,
};

/// Address rules that distinguish one Bitcoin-like chain from another.
#[derive(Debug)]
pub struct BitcoinRules {
    pub(super) main: Network,
    pub(super) tests: &'static [Network],
    /// First characters of these networks' base58 addresses; texts with other beginnings are not decoded as base58.
    pub(super) starts: &'static [&'static str],
    /// Description of the chain's address formats, for error messages.
    pub(super) expected: &'static str,
}

/// The version bytes and the bech32 prefix of one network. Assay writes addresses with the first of the versions.
#[derive(Debug)]
pub(super) struct Network {
    pub(super) name: &'static str,
    pub(super) public_key_hash: &'static [&'static [u8]],
    pub(super) script_hash: &'static [&'static [u8]],
    pub(super) prefix: Option<&'static str>,
}

/// Length of a base58check address without its version, in bytes: 20-byte hash, checksum.
const UNVERSIONED_BYTES: usize = 20 + base58::CHECKSUM_BYTES;
/// Length of the longest bech32 text: the code of BIP 173 guarantees error detection up to this length.
const BECH32_MAXIMUM: usize = 90;

impl BitcoinRules {
    /// True if the chain has segregated witness.
    pub(crate) const fn has_witness(&self) -> bool {
        self.main.prefix.is_some()
    }

    pub(super) fn parse(&self, text: &str) -> Result<Parsed, AddressError> {
        let is_segwit = std::iter::once(&self.main)
            .chain(self.tests)
            .filter_map(|network| network.prefix)
            .any(|prefix| bech32_text::has_prefix(text, prefix));
        // One in fifty thousand of Litecoin's base58 addresses begins with `LTC1`, in some case.
        let is_base58 = || self.is_known_start(text) && base58::decode(text).is_ok();
        if is_segwit && !is_base58() { self.parse_segwit(text) } else { self.parse_base58(text) }
    }

    /// True if the text begins as this chain's base58 addresses do.
    fn is_known_start(&self, text: &str) -> bool {
        self.starts.iter().any(|start| text.starts_with(start))
    }

    /// Writes the address of `payload`; `None` if this chain has no address format for the payload.
    pub(super) fn write(&self, payload: &Payload) -> Option<(AddressKind, String)> {
        let versioned = |versions: &[&[u8]], hash: &[u8; 20]| {
            Some(base58::encode(&[*versions.first()?, hash].concat()))
        };
        match payload {
            Payload::PublicKeyHash(hash) => {
                Some((AddressKind::P2pkh, versioned(self.main.public_key_hash, hash)?))
            }
            Payload::ScriptHash(hash) => {
                Some((AddressKind::P2sh, versioned(self.main.script_hash, hash)?))
            }
            Payload::Witness { version, program } => {
                let hrp = Hrp::parse(self.main.prefix?).ok()?;
                let fe32 = bech32::Fe32::try_from(*version).ok()?;
                let text = bech32::segwit::encode(hrp, fe32, program).ok()?;
                Some((witness_kind(*version, program.len()), text))
            }
            _ => None,
        }
    }

    fn parse_base58(&self, text: &str) -> Result<Parsed, AddressError> {
        let bytes = match base58::decode(text) {
            Ok(bytes) => bytes,
            Err(_) if !self.is_known_start(text) => {
                return Err(AddressError::UnknownForm { expected: self.expected });
            }
            Err(error @ AddressError::WrongChecksum { .. }) => {
                let expected = self.version_bytes() + UNVERSIONED_BYTES;
                return Err(match base58::byte_length(text, Alphabet::BITCOIN) {
                    Some(bytes) if bytes != expected => self.wrong_base58_length(bytes),
                    _ => error,
                });
            }
            Err(error) => return Err(error),
        };
        let Some((version, hash)) = bytes
            .split_at_checked(self.version_bytes())
            .and_then(|(version, hash)| Some((version, <[u8; 20]>::try_from(hash).ok()?)))
        else {
            return Err(self.wrong_base58_length(bytes.len() + base58::CHECKSUM_BYTES));
        };
        let payload = if self.main.public_key_hash.contains(&version) {
            Payload::PublicKeyHash(hash)
        } else if self.main.script_hash.contains(&version) {
            Payload::ScriptHash(hash)
        } else {
            let of_test = |network: &&Network| {
                network.public_key_hash.contains(&version) || network.script_hash.contains(&version)
            };
            return Err(match self.tests.iter().find(of_test) {
                Some(network) => AddressError::TestNetwork { network: network.name },
                None => {
                    AddressError::UnknownVersion { version: format!("0x{}", hex::encode(version)) }
                }
            });
        };
        let (kind, canonical) =
            self.write(&payload).ok_or(AddressError::UnknownForm { expected: self.expected })?;
        Ok(Parsed { kind, payload, canonical })
    }

    /// Number of version bytes of this chain's base58 addresses, the same for all of them.
    fn version_bytes(&self) -> usize {
        self.main.public_key_hash.first().map_or(1, |version| version.len())
    }

    fn wrong_base58_length(&self, bytes: usize) -> AddressError {
        AddressError::WrongLength {
            found: format!("{bytes} bytes when decoded"),
            expected: match self.version_bytes() {
                1 => "25 bytes (26 to 34 characters)",
                _ => "26 bytes (35 characters)",
            },
        }
    }

    fn parse_segwit(&self, text: &str) -> Result<Parsed, AddressError> {
        let segwit = SegwitHrpstring::new(text).map_err(|error| explain(text, &error))?;
        let prefix = segwit.hrp().to_string().to_ascii_lowercase();
        if let Some(network) = self.tests.iter().find(|network| network.prefix == Some(&*prefix)) {
            return Err(AddressError::TestNetwork { network: network.name });
        }
        let version = segwit.witness_version().to_u8();
        let program: Vec<u8> = segwit.byte_iter().collect();
        Ok(Parsed {
            kind: witness_kind(version, program.len()),
            payload: Payload::Witness { version, program },
            canonical: text.to_ascii_lowercase(),
        })
    }
}

/// The script hash under which a public key hash is wrapped as P2SH-P2WPKH (BIP 141).
pub(super) fn nested_witness_script_hash(public_key_hash: &[u8; 20]) -> [u8; 20] {
    let mut script = vec![0x00, 0x14];
    script.extend_from_slice(public_key_hash);
    hash::hash160(&script)
}

/// The scripts that pay a public key by its P2PKH script: P2SH (BIP 16), P2WSH and P2SH-P2WSH (BIP 141), and the long
/// P2SH of Bitcoin Cash.
pub(super) fn scripts_paying_key(public_key_hash: &[u8; 20]) -> [KeyIdentity; 4] {
    // OP_DUP OP_HASH160 <20 bytes> OP_EQUALVERIFY OP_CHECKSIG
    let script = [&[0x76, 0xa9, 0x14], &public_key_hash[..], &[0x88, 0xac]].concat();
    let program = Sha256::digest(&script);
    let nested = [&[0x00, 0x20], &program[..]].concat();
    [
        KeyIdentity::ScriptHash(hash::hash160(&script)),
        KeyIdentity::Witness(0, program.to_vec()),
        KeyIdentity::ScriptHash(hash::hash160(&nested)),
        KeyIdentity::LongScriptHash(Sha256::digest(program).into()),
    ]
}

fn witness_kind(version: u8, length: usize) -> AddressKind {
    match (version, length) {
        (0, 20) => AddressKind::P2wpkh,
        (0, _) => AddressKind::P2wsh,
        (1, 32) => AddressKind::P2tr,
        _ => AddressKind::WitnessUnknown,
    }
}

/// The error of a text that has the chain's bech32 prefix but is not a segwit address.
fn explain(text: &str, error: &SegwitHrpstringError) -> AddressError {
    if text.len() > BECH32_MAXIMUM {
        return AddressError::WrongLength {
            found: format!("{} characters", text.len()),
            expected: "at most 90 characters",
        };
    }
    match error {
        SegwitHrpstringError::Unchecked(error) => bech32_text::explain(text, error),
        SegwitHrpstringError::Checksum(_) => {
            other_variant(text).unwrap_or(AddressError::WrongChecksum { scheme: "bech32" })
        }
        other => AddressError::InvalidWitnessProgram { detail: other.to_string() },
    }
}

/// The error of a checksum that is valid in the variant that the witness version does not use.
fn other_variant(text: &str) -> Option<AddressError> {
    let (checked, expected, found) = match CheckedHrpstring::new::<Bech32m>(text) {
        Ok(checked) => (checked, "bech32", "bech32m"),
        Err(_) => (CheckedHrpstring::new::<Bech32>(text).ok()?, "bech32m", "bech32"),
    };
    let version = checked.witness_version()?.to_u8();
    Some(AddressError::WrongChecksumVariant { version, expected, found })
}
