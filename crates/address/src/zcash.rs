//! Zcash: transparent addresses (`t1...`, `t3...`, `tex1...`), Sprout (`zc...`), Sapling (`zs1...`) and
//! unified ones (`u1...`). Sources: Zcash protocol specification §5.6, ZIP 316 (unified), ZIP 320 (TEX).

use bech32::{Bech32, Bech32m};

use super::{
    AddressKind, Parsed, Payload, Receiver, base58, bech32_text, error::AddressError,
    networks::ZCASH,
};

const TEST: AddressError = AddressError::TestNetwork { network: "Zcash test network" };
const SPROUT_VERSION: [u8; 2] = [0x16, 0x9A];
const SPROUT_TEST_VERSION: [u8; 2] = [0x16, 0xB6];
/// Padding at the end of a unified address before the jumbling of ZIP 316: its prefix, filled up with zeros.
const UNIFIED_PADDING: [u8; 16] = *b"u\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
/// Receiver types of ZIP 316.
const P2PKH: u64 = 0;
const P2SH: u64 = 1;
const SAPLING: u64 = 2;
const ORCHARD: u64 = 3;
/// Receiver types in this range are metadata, which revision 0 (`u1...`) does not define.
const FIRST_METADATA: u64 = 0xC0;
const LAST_METADATA: u64 = 0xFC;
const LARGEST_TYPE: u64 = 0x0200_0000;

pub(super) fn parse(text: &str) -> Result<Parsed, AddressError> {
    let starts = |prefix| bech32_text::has_prefix(text, prefix);
    if starts("zs") {
        sapling(text)
    } else if starts("u") {
        unified(text)
    } else if starts("tex") {
        transparent_only(text)
    } else if starts("ztestsapling") || starts("utest") || starts("textest") {
        Err(TEST)
    } else if text.starts_with("zc") || text.starts_with("zt") {
        sprout(text)
    } else {
        ZCASH.parse(text)
    }
}

fn sapling(text: &str) -> Result<Parsed, AddressError> {
    let bytes = bech32_text::decode::<Bech32>(text)?;
    let receiver = <[u8; 43]>::try_from(&*bytes)
        .map_err(|_| wrong_length(bytes.len(), "43 bytes (78 characters)"))?;
    Ok(Parsed {
        kind: AddressKind::Sapling,
        payload: Payload::Receivers(vec![Receiver::Shielded(SAPLING, receiver.to_vec())]),
        canonical: text.to_ascii_lowercase(),
    })
}

/// Parses a TEX address, which must be paid from transparent funds only; its recipient is the same as that of a
/// transparent address.
fn transparent_only(text: &str) -> Result<Parsed, AddressError> {
    let bytes = bech32_text::decode::<Bech32m>(text)?;
    let hash = <[u8; 20]>::try_from(&*bytes).map_err(|_| wrong_length(bytes.len(), "20 bytes"))?;
    let payload = Payload::PublicKeyHash(hash);
    let (kind, canonical) =
        ZCASH.write(&payload).ok_or(AddressError::UnknownForm { expected: ZCASH.expected })?;
    Ok(Parsed { kind, payload, canonical })
}

fn sprout(text: &str) -> Result<Parsed, AddressError> {
    let bytes = base58::decode(text)?;
    match bytes.split_first_chunk::<2>() {
        Some((&SPROUT_VERSION, keys)) if keys.len() == 64 => Ok(Parsed {
            kind: AddressKind::Sprout,
            payload: Payload::Receivers(vec![Receiver::Sprout(keys.to_vec())]),
            canonical: text.to_owned(),
        }),
        Some((&SPROUT_TEST_VERSION, _)) => Err(TEST),
        Some((&SPROUT_VERSION, _)) => {
            Err(wrong_length(bytes.len() + base58::CHECKSUM_BYTES, "70 bytes (95 characters)"))
        }
        _ => Err(AddressError::UnknownForm { expected: ZCASH.expected }),
    }
}

fn unified(text: &str) -> Result<Parsed, AddressError> {
    let jumbled = bech32_text::decode::<Bech32m>(text)?;
    let invalid = |detail: &str| AddressError::InvalidPayload { detail: detail.to_owned() };
    let bytes = f4jumble::f4jumble_inv(&jumbled)
        .map_err(|_| wrong_length(jumbled.len(), "at least 38 bytes"))?;
    let Some((items, &UNIFIED_PADDING)) = bytes.split_last_chunk::<16>() else {
        return Err(invalid("its padding is not that of a unified address (ZIP 316)"));
    };
    let receivers = receivers(items).map_err(invalid)?;
    Ok(Parsed {
        kind: AddressKind::Unified,
        payload: Payload::Receivers(receivers),
        canonical: text.to_ascii_lowercase(),
    })
}

/// The receivers of a unified address, by the rules of ZIP 316, revision 0.
fn receivers(mut items: &[u8]) -> Result<Vec<Receiver>, &'static str> {
    let (mut receivers, mut last) = (Vec::new(), None);
    while !items.is_empty() {
        let (kind, length, rest) = compact_size(items)
            .and_then(|(kind, rest)| compact_size(rest).map(|(length, rest)| (kind, length, rest)))
            .ok_or("a receiver of it is cut short (ZIP 316)")?;
        let (data, rest) = usize::try_from(length)
            .ok()
            .and_then(|length| rest.split_at_checked(length))
            .ok_or("a receiver of it is cut short (ZIP 316)")?;
        if last.is_some_and(|last| last >= kind) {
            return Err("its receivers are not in order (ZIP 316)");
        }
        if (FIRST_METADATA..=LAST_METADATA).contains(&kind) || kind > LARGEST_TYPE {
            return Err("it has an item that this revision does not allow (ZIP 316)");
        }
        if kind == P2SH && last == Some(P2PKH) {
            return Err("it has two transparent receivers (ZIP 316)");
        }
        let wrong_size = "a receiver of it has the wrong length (ZIP 316)";
        receivers.push(match kind {
            P2PKH => Receiver::PublicKeyHash(data.try_into().map_err(|_| wrong_size)?),
            P2SH => Receiver::ScriptHash(data.try_into().map_err(|_| wrong_size)?),
            SAPLING | ORCHARD if data.len() != 43 => return Err(wrong_size),
            _ => Receiver::Shielded(kind, data.to_vec()),
        });
        last = Some(kind);
        items = rest;
    }
    match last {
        Some(P2PKH | P2SH) | None => Err("it has no shielded receiver (ZIP 316)"),
        Some(_) => Ok(receivers),
    }
}

/// Reads a number in the shortest form of Bitcoin's variable-length encoding, and returns the remaining bytes.
fn compact_size(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let (first, rest) = bytes.split_first()?;
    let (value, rest, least) = match first {
        0..=0xFC => return Some((u64::from(*first), rest)),
        0xFD => {
            let (value, rest) = rest.split_first_chunk::<2>()?;
            (u64::from(u16::from_le_bytes(*value)), rest, 0xFD)
        }
        0xFE => {
            let (value, rest) = rest.split_first_chunk::<4>()?;
            (u64::from(u32::from_le_bytes(*value)), rest, 0x1_0000)
        }
        0xFF => {
            let (value, rest) = rest.split_first_chunk::<8>()?;
            (u64::from_le_bytes(*value), rest, 0x1_0000_0000)
        }
    };
    (value >= least).then_some((value, rest))
}

fn wrong_length(bytes: usize, expected: &'static str) -> AddressError {
    AddressError::WrongLength { found: format!("{bytes} bytes when decoded"), expected }
}
