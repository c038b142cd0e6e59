//! Cardano. Shelley addresses are bech32 (`addr1...`, `stake1...`) of a header byte and hashes (CIP-19);
//! Byron addresses are base58 of CBOR with a CRC-32 (`Ae2...`, `DdzFF...`; CDDL of the Byron ledger).

use bech32::{Bech32, Hrp};

use super::{
    AddressKind, Parsed, Payload, base58, bech32_text, encoding::crc32, error::AddressError,
};

const EXPECTED: &str = "`addr1...` or `stake1...` (Shelley), `Ae2...` or `DdzFF...` (Byron)";
/// Bytes of a key or script hash.
const HASH: usize = 28;
/// Header of an address with a payment key and without a stake key, on the main network.
const ENTERPRISE_KEY: u8 = 0x61;

pub(super) fn parse(text: &str) -> Result<Parsed, AddressError> {
    let canonical = if let Some((prefix, _)) = text.rsplit_once('1').filter(|(prefix, _)| {
        ["addr", "stake", "addr_test", "stake_test"]
            .iter()
            .any(|known| known.eq_ignore_ascii_case(prefix))
    }) {
        shelley(text, &prefix.to_ascii_lowercase())?;
        text.to_ascii_lowercase()
    } else {
        byron(text)?;
        text.to_owned()
    };
    Ok(Parsed { kind: AddressKind::Account, payload: Payload::Text(canonical.clone()), canonical })
}

fn shelley(text: &str, prefix: &str) -> Result<(), AddressError> {
    // BIP 173's limit of 90 characters does not hold here (CIP-5).
    let bytes = bech32_text::decode::<Bech32>(text)?;
    let (header, rest) = bytes.split_first().unwrap_or((&0xFF, &[]));
    let (kind, network) = (header >> 4, header & 0x0F);
    if prefix.ends_with("_test") || network == 0 {
        return Err(AddressError::TestNetwork { network: "Cardano test network" });
    }
    if network != 1 {
        return Err(AddressError::InvalidPayload {
            detail: format!("no network has the number {network}"),
        });
    }
    let fits = match kind {
        0..=3 => rest.len() == 2 * HASH && prefix == "addr",
        4 | 5 => is_pointer(rest.get(HASH..).unwrap_or_default()) && prefix == "addr",
        6 | 7 => rest.len() == HASH && prefix == "addr",
        14 | 15 => rest.len() == HASH && prefix == "stake",
        _ => false,
    };
    if fits {
        return Ok(());
    }
    Err(AddressError::InvalidPayload {
        detail: format!("{} bytes are no `{prefix}` address of type {kind}", bytes.len()),
    })
}

/// The address of a payment key's hash, without a stake key.
pub(super) fn enterprise(hash: &[u8; HASH]) -> Option<String> {
    let bytes = [&[ENTERPRISE_KEY], hash.as_slice()].concat();
    bech32::encode::<Bech32>(Hrp::parse("addr").ok()?, &bytes).ok()
}

/// True for three numbers of variable length: slot, transaction and certificate.
fn is_pointer(bytes: &[u8]) -> bool {
    let ends = bytes.iter().filter(|byte| *byte & 0x80 == 0).count();
    ends == 3 && bytes.last().is_some_and(|byte| byte & 0x80 == 0) && bytes.len() <= 30
}

/// Checks a Byron address: an array of the tagged address root, attributes and type, and of its CRC-32.
fn byron(text: &str) -> Result<(), AddressError> {
    let unknown = AddressError::UnknownForm { expected: EXPECTED };
    // Nothing else in base58 begins as an array of two with a tagged text of bytes.
    let bytes = base58::decode_unchecked(text)
        .ok()
        .filter(|bytes| bytes.starts_with(&[0x82, 0xD8, 0x18]))
        .ok_or(unknown)?;
    let wrong = |detail: &str| AddressError::InvalidPayload { detail: detail.to_owned() };
    let mut cbor = Cbor(&bytes);
    if cbor.head() != Some((4, 2)) || cbor.head() != Some((6, 24)) {
        return Err(wrong("it is no array of two with tag 24"));
    }
    let payload = cbor.bytes().ok_or_else(|| wrong("it has no payload"))?;
    let Some((0, checksum)) = cbor.head() else { return Err(wrong("it has no checksum")) };
    if !cbor.0.is_empty() {
        return Err(wrong("bytes follow its checksum"));
    }
    if u64::from(crc32(payload)) != checksum {
        return Err(AddressError::WrongChecksum { scheme: "CRC-32" });
    }
    let mut inner = Cbor(payload);
    if inner.head() != Some((4, 3)) || inner.bytes().is_none_or(|root| root.len() != HASH) {
        return Err(wrong("it has no root of 28 bytes"));
    }
    let Some((5, attributes)) = inner.head().filter(|(_, count)| *count <= 2) else {
        return Err(wrong("it has no attributes"));
    };
    for _ in 0..attributes {
        let key = inner.head();
        if inner.bytes().is_none() {
            return Err(wrong("an attribute is no text of bytes"));
        }
        match key {
            Some((0, 1)) => {}
            // The magic number of a network; the main network has none.
            Some((0, 2)) => {
                return Err(AddressError::TestNetwork { network: "Cardano test network" });
            }
            _ => return Err(wrong("an attribute is unknown")),
        }
    }
    match inner.head() {
        Some((0, 0..=2)) if inner.0.is_empty() => Ok(()),
        _ => Err(wrong("its type is unknown")),
    }
}

/// Reads the items of CBOR (RFC 8949) that a Byron address consists of.
struct Cbor<'a>(&'a [u8]);

impl<'a> Cbor<'a> {
    /// Major type and argument of the next item.
    fn head(&mut self) -> Option<(u8, u64)> {
        let (first, rest) = self.0.split_first()?;
        let (size, short) = match first & 0x1F {
            short @ 0..=23 => (0, Some(u64::from(short))),
            24 => (1, None),
            25 => (2, None),
            26 => (4, None),
            27 => (8, None),
            _ => return None,
        };
        let (argument, rest) = rest.split_at_checked(size)?;
        self.0 = rest;
        let long = argument.iter().fold(0, |number, byte| (number << 8) | u64::from(*byte));
        // A number has one encoding, the shortest.
        let fewest = [24, 0x100, 0x1_0000, 0, 0x1_0000_0000].get(size / 2).copied().unwrap_or(0);
        let number = short.unwrap_or(long);
        (short.is_some() || number >= fewest).then_some((first >> 5, number))
    }

    /// The next item, which must be a string of bytes.
    fn bytes(&mut self) -> Option<&'a [u8]> {
        let (2, length) = self.head()? else { return None };
        let (bytes, rest) = self.0.split_at_checked(usize::try_from(length).ok()?)?;
        self.0 = rest;
        Some(bytes)
    }
}
