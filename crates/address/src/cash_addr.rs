//! Bitcoin Cash: CashAddr (`bitcoincash:q...`) and Bitcoin's base58 forms. Source: the CashAddr specification of the
//! Bitcoin Cash node software, and CHIP-2022-02 for 32-byte script hashes and token-aware addresses.

use super::{
    Parsed, Payload,
    bech32_text::{character, foreign_character, values},
    bitcoin::BitcoinRules,
    error::AddressError,
    networks::{BITCOIN_CASH, BITCOIN_SV},
};
use crate::AddressKind;

const PREFIX: &str = "bitcoincash";
const TEST_PREFIXES: [&str; 2] = ["bchtest", "bchreg"];
const CHECKSUM_CHARACTERS: usize = 8;
/// A version byte, a hash of 20 or 32 bytes, the checksum; without the prefix.
const EXPECTED_LENGTH: &str = "42 or 61 characters after `bitcoincash:`";

/// Reads CashAddr and base58 addresses; the canonical form is CashAddr.
pub(super) fn parse_bitcoin_cash(text: &str) -> Result<Parsed, AddressError> {
    let payload = match read(text)? {
        Some(payload) => payload,
        None => BITCOIN_CASH.parse(text)?.payload,
    };
    parsed(payload, write)
}

/// Reads addresses of Bitcoin SV, which dropped CashAddr: CashAddr of older wallets is accepted, and the canonical form
/// is base58.
pub(super) fn parse_bitcoin_sv(text: &str) -> Result<Parsed, AddressError> {
    match read(text)? {
        Some(payload) => parsed(payload, |payload| BitcoinRules::write(&BITCOIN_SV, payload)),
        None => BITCOIN_SV.parse(text),
    }
}

fn parsed(
    payload: Payload,
    write: impl Fn(&Payload) -> Option<(AddressKind, String)>,
) -> Result<Parsed, AddressError> {
    let (kind, canonical) = write(&payload).ok_or_else(|| AddressError::InvalidPayload {
        detail: "this chain has no such kind of address".to_owned(),
    })?;
    Ok(Parsed { kind, payload, canonical })
}

/// The canonical CashAddr form.
pub(super) fn write(payload: &Payload) -> Option<(AddressKind, String)> {
    let (kind, version, hash): (_, u8, &[u8]) = match payload {
        Payload::PublicKeyHash(hash) => (AddressKind::P2pkh, 0x00, hash),
        Payload::ScriptHash(hash) => (AddressKind::P2sh, 0x08, hash),
        Payload::LongScriptHash(hash) => (AddressKind::P2sh, 0x0B, hash),
        _ => return None,
    };
    Some((kind, encode(PREFIX, version, hash)))
}

/// Encodes a version and a hash or key with a prefix.
pub(super) fn encode(prefix: &str, version: u8, hash: &[u8]) -> String {
    let bytes = std::iter::once(version).chain(hash.iter().copied());
    let mut fives = regroup(bytes, 8, 5);
    let checksum = polymod(prefix, fives.iter().copied().chain([0; CHECKSUM_CHARACTERS]));
    fives.extend((0..CHECKSUM_CHARACTERS).rev().map(|place| low_five(checksum >> (5 * place))));
    let text: String = fives.into_iter().filter_map(character).collect();
    format!("{prefix}:{text}")
}

/// Decodes a CashAddr text with any prefix; `None` if its checksum or padding is wrong.
pub(super) fn decode(prefix: &str, body: &str) -> Option<Vec<u8>> {
    let fives = values(body)?;
    if polymod(prefix, fives.iter().copied()) != 0 {
        return None;
    }
    let content = fives.get(..fives.len().checked_sub(CHECKSUM_CHARACTERS)?)?;
    let padding = content.len() * 5 % 8;
    let last = content.last().copied().unwrap_or(0);
    if padding > 4 || last & !(0xFF << padding) != 0 {
        return None;
    }
    let mut bytes = regroup(content.iter().copied(), 5, 8);
    bytes.truncate(content.len() * 5 / 8);
    Some(bytes)
}

/// The contents of a CashAddr; `None` if the text is no CashAddr.
fn read(text: &str) -> Result<Option<Payload>, AddressError> {
    let (prefix, body) = match text.split_once(':') {
        Some((prefix, body)) => (Some(prefix.to_ascii_lowercase()), body),
        None => (None, text),
    };
    match prefix.as_deref() {
        Some(PREFIX) => {}
        Some(prefix) if TEST_PREFIXES.contains(&prefix) => return Err(test_network()),
        // Without a prefix the first character, which holds the version, identifies the form.
        None if body.starts_with(['q', 'p', 'z', 'r', 'Q', 'P', 'Z', 'R']) => {}
        _ => return Ok(None),
    }
    let upper = text.bytes().any(|byte| byte.is_ascii_uppercase());
    if upper && text.bytes().any(|byte| byte.is_ascii_lowercase()) {
        return Err(AddressError::MixedCase);
    }
    let Some(fives) = values(body) else {
        return Err(foreign_character(text, text.len() - body.len())
            .unwrap_or(AddressError::UnknownForm { expected: BITCOIN_CASH.expected }));
    };
    let wrong_length = || AddressError::WrongLength {
        found: format!("{} characters", fives.len()),
        expected: EXPECTED_LENGTH,
    };
    if polymod(PREFIX, fives.iter().copied()) != 0 {
        let of_test = |prefix: &&str| polymod(prefix, fives.iter().copied()) == 0;
        return Err(match (prefix, TEST_PREFIXES.iter().any(of_test), fives.len()) {
            (None, true, _) => test_network(),
            (_, _, 42 | 61) => AddressError::WrongChecksum { scheme: "CashAddr" },
            _ => wrong_length(),
        });
    }
    let content = fives.get(..fives.len().saturating_sub(CHECKSUM_CHARACTERS)).unwrap_or(&[]);
    let padding = content.len() * 5 % 8;
    let last = content.last().copied().unwrap_or(0);
    if padding > 4 || last & !(0xFF << padding) != 0 {
        return Err(AddressError::InvalidPayload { detail: "its padding is not zero".to_owned() });
    }
    let bytes = regroup(content.iter().copied(), 5, 8);
    let bytes = bytes.get(..content.len() * 5 / 8).unwrap_or(&[]);
    // Types 2 and 3 say that the receiver understands tokens; who is paid is the same.
    match bytes.split_first() {
        Some((0x00 | 0x10, hash)) => hash.try_into().map(Payload::PublicKeyHash).ok(),
        Some((0x08 | 0x18, hash)) => hash.try_into().map(Payload::ScriptHash).ok(),
        Some((0x0B | 0x1B, hash)) => hash.try_into().map(Payload::LongScriptHash).ok(),
        Some((version, _)) => {
            return Err(AddressError::UnknownVersion { version: format!("0x{version:02x}") });
        }
        None => None,
    }
    .map(Some)
    .ok_or_else(wrong_length)
}

fn test_network() -> AddressError {
    AddressError::TestNetwork { network: "Bitcoin Cash test network" }
}

/// Regroups bits, filling the last group with zeros.
fn regroup(groups: impl Iterator<Item = u8>, from: u32, to: u32) -> Vec<u8> {
    let (mut held, mut bits, mut result) = (0_u32, 0, Vec::new());
    let mask = (1_u32 << to) - 1;
    let mut push = |value: u32| result.push(u8::try_from(value & mask).unwrap_or(0));
    for group in groups {
        held = (held << from | u32::from(group)) & 0xFFFF;
        bits += from;
        while bits >= to {
            bits -= to;
            push(held >> bits);
        }
    }
    if bits > 0 {
        push(held << (to - bits));
    }
    result
}

fn low_five(value: u64) -> u8 {
    u8::try_from(value & 0x1F).unwrap_or(0)
}

/// The BCH code of CashAddr over the prefix, a zero and the data; the result is zero for a complete, valid address.
fn polymod(prefix: &str, data: impl Iterator<Item = u8>) -> u64 {
    const GENERATORS: [u64; 5] =
        [0x98_f2bc_8e61, 0x79_b76d_99e2, 0xf3_3e5f_b3c4, 0xae_2eab_e2a8, 0x1e_4f43_e470];
    let prefix = prefix.bytes().map(|byte| byte & 0x1F).chain([0]);
    let mut checksum = 1_u64;
    for value in prefix.chain(data) {
        let top = checksum >> 35;
        checksum = (checksum & 0x07_ffff_ffff) << 5 ^ u64::from(value);
        for (bit, generator) in GENERATORS.iter().enumerate() {
            if top >> bit & 1 == 1 {
                checksum ^= generator;
            }
        }
    }
    checksum ^ 1
}
