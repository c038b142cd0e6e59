//! Addresses of Bitcoin and the chains that descend from it: base58check (P2PKH, P2SH) and segregated
//! witness (BIP 173, BIP 350).

use bech32::{
    Bech32, Bech32m, Hrp,
    primitives::decode::{
        CharError, CheckedHrpstring, SegwitHrpstring, SegwitHrpstringError, UncheckedHrpstringError,
    },
};

use super::{AddressKind, Parsed, Payload, base58, error::AddressError, hash};

/// What distinguishes one Bitcoin-like chain's addresses from another's.
#[derive(Debug)]
pub struct BitcoinRules {
    main: Network,
    tests: &'static [Network],
    expected: &'static str,
}

/// The version bytes and the bech32 prefix of one network.
#[derive(Debug)]
struct Network {
    name: &'static str,
    pay_to_public_key_hash: u8,
    pay_to_script_hash: u8,
    prefix: &'static str,
}

/// Bitcoin's own.
pub(crate) static BITCOIN: BitcoinRules = BitcoinRules {
    main: Network {
        name: "mainnet",
        pay_to_public_key_hash: 0x00,
        pay_to_script_hash: 0x05,
        prefix: "bc",
    },
    tests: &[
        Network {
            name: "Bitcoin testnet or signet",
            pay_to_public_key_hash: 0x6F,
            pay_to_script_hash: 0xC4,
            prefix: "tb",
        },
        Network {
            name: "Bitcoin regtest",
            pay_to_public_key_hash: 0x6F,
            pay_to_script_hash: 0xC4,
            prefix: "bcrt",
        },
    ],
    expected: "`1...` (P2PKH), `3...` (P2SH) or `bc1...` (segregated witness)",
};

/// Bytes of a base58check address: version, 20-byte hash, checksum.
const BASE58_BYTES: usize = 25;
const BECH32_ALPHABET: &str = "qpzry9x8gf2tvdw0s3jn54khce6mua7l";
/// BIP 173: the code guarantees error detection up to this length only.
const BECH32_MAXIMUM: usize = 90;

impl BitcoinRules {
    pub(super) fn parse(&self, text: &str) -> Result<Parsed, AddressError> {
        let lower = text.to_ascii_lowercase();
        let is_segwit = std::iter::once(&self.main).chain(self.tests).any(|network| {
            lower.strip_prefix(network.prefix).is_some_and(|rest| rest.starts_with('1'))
        });
        if is_segwit { self.parse_segwit(text) } else { self.parse_base58(text) }
    }

    /// Writes the address that holds `payload`; `None` where this family has no such form.
    pub(super) fn write(&self, payload: &Payload) -> Option<(AddressKind, String)> {
        let versioned = |version: u8, hash: &[u8; 20]| {
            let mut bytes = vec![version];
            bytes.extend_from_slice(hash);
            base58::encode(&bytes)
        };
        match payload {
            Payload::PublicKeyHash(hash) => {
                Some((AddressKind::P2pkh, versioned(self.main.pay_to_public_key_hash, hash)))
            }
            Payload::ScriptHash(hash) => {
                Some((AddressKind::P2sh, versioned(self.main.pay_to_script_hash, hash)))
            }
            Payload::Witness { version, program } => {
                let hrp = Hrp::parse(self.main.prefix).ok()?;
                let fe32 = bech32::Fe32::try_from(*version).ok()?;
                let text = bech32::segwit::encode(hrp, fe32, program).ok()?;
                Some((witness_kind(*version, program.len()), text))
            }
            Payload::Account(_) => None,
        }
    }

    fn parse_base58(&self, text: &str) -> Result<Parsed, AddressError> {
        let known_start = text.starts_with(['1', '3', 'm', 'n', '2']);
        let bytes = match base58::decode(text) {
            Ok(bytes) => bytes,
            Err(_) if !known_start => {
                return Err(AddressError::UnknownForm { expected: self.expected });
            }
            Err(AddressError::WrongChecksum { scheme }) => {
                return Err(match base58::byte_length(text) {
                    Some(BASE58_BYTES) | None => AddressError::WrongChecksum { scheme },
                    Some(bytes) => wrong_base58_length(bytes),
                });
            }
            Err(error) => return Err(error),
        };
        let Some((version, hash)) = bytes.split_first() else {
            return Err(wrong_base58_length(4));
        };
        let Ok(hash) = <[u8; 20]>::try_from(hash) else {
            return Err(wrong_base58_length(bytes.len() + 4));
        };
        let payload = if *version == self.main.pay_to_public_key_hash {
            Payload::PublicKeyHash(hash)
        } else if *version == self.main.pay_to_script_hash {
            Payload::ScriptHash(hash)
        } else {
            let of_test = |network: &&Network| {
                [network.pay_to_public_key_hash, network.pay_to_script_hash].contains(version)
            };
            return Err(match self.tests.iter().find(of_test) {
                Some(network) => AddressError::TestNetwork { network: network.name },
                None => AddressError::UnknownVersion { version: *version },
            });
        };
        let kind = match payload {
            Payload::PublicKeyHash(_) => AddressKind::P2pkh,
            _ => AddressKind::P2sh,
        };
        Ok(Parsed { kind, payload, canonical: text.to_owned() })
    }

    fn parse_segwit(&self, text: &str) -> Result<Parsed, AddressError> {
        let segwit = SegwitHrpstring::new(text).map_err(|error| explain(text, &error))?;
        let prefix = segwit.hrp().to_string().to_ascii_lowercase();
        if let Some(network) = self.tests.iter().find(|network| network.prefix == prefix) {
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

fn wrong_base58_length(bytes: usize) -> AddressError {
    AddressError::WrongLength {
        found: format!("{bytes} bytes when decoded"),
        expected: "25 bytes (26 to 34 characters)",
    }
}

fn witness_kind(version: u8, length: usize) -> AddressKind {
    match (version, length) {
        (0, 20) => AddressKind::P2wpkh,
        (0, _) => AddressKind::P2wsh,
        (1, 32) => AddressKind::P2tr,
        _ => AddressKind::WitnessUnknown,
    }
}

/// Says what is wrong with a text that has a bech32 prefix of ours but is no segwit address.
fn explain(text: &str, error: &SegwitHrpstringError) -> AddressError {
    if text.len() > BECH32_MAXIMUM {
        return AddressError::WrongLength {
            found: format!("{} characters", text.len()),
            expected: "at most 90 characters",
        };
    }
    match error {
        SegwitHrpstringError::Unchecked(UncheckedHrpstringError::Char(CharError::MixedCase)) => {
            AddressError::MixedCase
        }
        SegwitHrpstringError::Unchecked(_) => foreign_character(text)
            .unwrap_or(AddressError::InvalidWitnessProgram { detail: error.to_string() }),
        SegwitHrpstringError::Checksum(_) => {
            other_variant(text).unwrap_or(AddressError::WrongChecksum { scheme: "bech32" })
        }
        other => AddressError::InvalidWitnessProgram { detail: other.to_string() },
    }
}

fn foreign_character(text: &str) -> Option<AddressError> {
    let separator = text.rfind('1')?;
    text.chars()
        .enumerate()
        .skip(separator + 1)
        .find(|(_, character)| !BECH32_ALPHABET.contains(character.to_ascii_lowercase()))
        .map(|(index, character)| AddressError::CharacterNotInAlphabet {
            position: index + 1,
            character,
            alphabet: "bech32",
        })
}

/// A checksum that holds, but of the variant that the witness version does not use.
fn other_variant(text: &str) -> Option<AddressError> {
    let (checked, expected, found) = match CheckedHrpstring::new::<Bech32m>(text) {
        Ok(checked) => (checked, "bech32", "bech32m"),
        Err(_) => (CheckedHrpstring::new::<Bech32>(text).ok()?, "bech32m", "bech32"),
    };
    let version = checked.witness_version()?.to_u8();
    Some(AddressError::WrongChecksumVariant { version, expected, found })
}
