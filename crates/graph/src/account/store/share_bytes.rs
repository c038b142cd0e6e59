//! Breakdowns of money as bytes.

use assay_columns::bytes::ByteReader;
use assay_engine::account::{MOST_ENTRIES, OriginCode, OriginShare, Shares, WHOLE};

/// Mark of money that is wholly and directly of one origin.
const WHOLLY: u8 = 0x40;
/// Mark of a breakdown whose near shares equal its far shares.
const UNDECAYED: u8 = 0x80;

/// Appends a breakdown.
pub(super) fn put_shares(into: &mut Vec<u8>, shares: &Shares) {
    let known = shares.known();
    if let [OriginShare { origin, hops: 1, far: WHOLE, near: WHOLE }] = known {
        into.extend_from_slice(&[WHOLLY, origin.to_byte()]);
        return;
    }
    let is_undecayed = known.iter().all(|share| share.near == share.far);
    let mark = if is_undecayed && !known.is_empty() { UNDECAYED } else { 0 };
    into.push(u8::try_from(known.len()).unwrap_or(u8::MAX) | mark);
    for OriginShare { origin, hops, far, near } in known {
        into.extend_from_slice(&[origin.to_byte(), *hops]);
        into.extend_from_slice(&far.to_be_bytes());
        if !is_undecayed {
            into.extend_from_slice(&near.to_be_bytes());
        }
    }
}

/// Reads a breakdown that [`put_shares`] wrote.
pub(super) fn take_shares(reading: &mut ByteReader<'_>) -> Option<Shares> {
    let first = reading.byte()?;
    if first == WHOLLY {
        let origin = OriginCode::from_byte(reading.byte()?)?;
        return Shares::of_stored(&[OriginShare { origin, hops: 1, far: WHOLE, near: WHOLE }]);
    }
    let count = usize::from(first & !UNDECAYED);
    if count == 0 {
        return Some(Shares::UNKNOWN);
    }
    let mut known = Vec::with_capacity(count.min(MOST_ENTRIES));
    for _ in 0..count {
        let [origin, hops] = reading.array()?;
        let origin = OriginCode::from_byte(origin)?;
        let far = reading.u64()?;
        let near = if first & UNDECAYED == 0 { reading.u64()? } else { far };
        known.push(OriginShare { origin, hops, far, near });
    }
    Shares::of_stored(&known)
}

/// Passes over a breakdown that [`put_shares`] wrote.
pub(super) fn skip_shares(reading: &mut ByteReader<'_>) -> Option<()> {
    let first = reading.byte()?;
    let length = match first {
        WHOLLY => 1,
        first if first & UNDECAYED == 0 => usize::from(first) * 18,
        first => usize::from(first & !UNDECAYED) * 10,
    };
    reading.take(length)?;
    Some(())
}
