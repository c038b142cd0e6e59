//! Entries as merges copy them: what orders them, and their other bytes as they are in the page.

use assay_columns::{
    bytes::{ByteReader, put_varint},
    run::PageEntry,
};

use super::{
    super::{amount::skip_amount, share_bytes::skip_shares},
    ledger::{LedgerHead, StoredLedger},
    payment::{HAS_MORE, HAS_SHARES, IS_RECEIVED, MORE_FLAGS, PaymentPlace},
    put_time, take_time,
};

/// A [payment](super::StoredPayment).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PackedPayment<'p> {
    place: PaymentPlace,
    is_received: bool,
    update: u64,
    time: i64,
    /// The bytes before the time, and those after it.
    parts: [&'p [u8]; 2],
}

impl<'p> PageEntry<'p> for PackedPayment<'p> {
    fn put_key(&self, into: &mut Vec<u8>) {
        self.place.put_key(self.is_received, into);
    }

    #[inline]
    fn leading_number(&self) -> u64 {
        self.place.owner
    }

    fn put(&self, before: Option<&Self>, into: &mut Vec<u8>) {
        let before = before.map(|before| (before.place, before.time));
        let before_time = self.place.put(before, into);
        let [start, end] = self.parts;
        into.extend_from_slice(start);
        put_time(into, before_time, self.time);
        into.extend_from_slice(end);
    }

    fn take(before: Option<&Self>, reading: &mut ByteReader<'p>) -> Option<Self> {
        let before = before.map(|before| (before.place, before.time));
        let (place, before_time) = PaymentPlace::take(before, reading)?;
        let start = reading.0;
        let flags = reading.byte()?;
        let update = if flags & 1 << HAS_MORE == 0 { 0 } else { reading.varint()? >> MORE_FLAGS };
        reading.varint()?;
        skip_amount(reading)?;
        let start = start.get(..start.len().checked_sub(reading.0.len())?)?;
        let time = take_time(before_time, reading)?;
        let end = reading.0;
        if flags & 1 << HAS_SHARES != 0 {
            skip_shares(reading)?;
        }
        let end = end.get(..end.len().checked_sub(reading.0.len())?)?;
        let is_received = flags & 1 << IS_RECEIVED != 0;
        Some(Self { place, is_received, update, time, parts: [start, end] })
    }

    fn try_merge(&mut self, other: &Self) -> bool {
        let is_same = (self.place, self.is_received) == (other.place, other.is_received);
        if is_same && other.update > self.update {
            *self = *other;
        }
        is_same
    }
}

/// A [version of a ledger](StoredLedger).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PackedLedger<'p> {
    head: LedgerHead,
    rest: &'p [u8],
}

impl<'p> PageEntry<'p> for PackedLedger<'p> {
    fn put_key(&self, into: &mut Vec<u8>) {
        self.head.put_key(into);
    }

    #[inline]
    fn leading_number(&self) -> u64 {
        self.head.owner
    }

    fn put(&self, before: Option<&Self>, into: &mut Vec<u8>) {
        self.head.put(before.map_or(0, |before| before.head.owner), into);
        put_varint(into, self.rest.len() as u64);
        into.extend_from_slice(self.rest);
    }

    fn take(before: Option<&Self>, reading: &mut ByteReader<'p>) -> Option<Self> {
        let before = before.map_or(0, |before| before.head.owner);
        let (head, length) = LedgerHead::take(before, reading)?;
        Some(Self { head, rest: reading.take(length)? })
    }

    fn hash(&self) -> Option<u64> {
        Some(StoredLedger::hash_of(self.head.owner, self.head.asset))
    }

    fn try_merge(&mut self, other: &Self) -> bool {
        let is_same = self.head.is_of_same(&other.head);
        if is_same && other.head.is_newer(&self.head) {
            *self = *other;
        }
        is_same
    }
}

#[cfg(test)]
mod tests {
    use assay_columns::run::RunEntry;
    use assay_engine::account::{
        AccountLedger, Hop, MovementKind, OriginCode, OriginShare, Shares, WHOLE,
    };
    use assay_test_random::Random;

    use super::{
        super::{StoredLedger, StoredPayment, ledger::LedgerSums},
        *,
    };

    fn shares(dice: &mut Random) -> Shares {
        let code = |byte: u64| OriginCode::from_byte(u8::try_from(byte).unwrap()).unwrap();
        let [half, third] = [WHOLE / 2, WHOLE / 3];
        let share = |byte, hops, far, near| OriginShare { origin: code(byte), hops, far, near };
        let of = match dice.below(5) {
            0 => vec![],
            1 => vec![share(1, 1, WHOLE, WHOLE)],
            2 => vec![share(1, 2, half, half), share(3, 1, third, third)],
            3 => vec![share(2, 7, half, third)],
            _ => vec![share(1, 2, third, 1), share(4, 3, third, third)],
        };
        Shares::of_stored(&of).unwrap()
    }

    fn amount(dice: &mut Random) -> u128 {
        let bits = dice.below(128);
        u128::from(dice.next()) << 64 >> bits
    }

    /// Asserts that entries which were taken from a page as packed ones and put again make the same page.
    fn assert_copied<'p, E: RunEntry, P: PageEntry<'p>>(entries: &[E], page: &'p mut Vec<u8>) {
        let mut before = None;
        for entry in entries {
            RunEntry::put(entry, before, page);
            before = Some(entry);
        }
        let mut reading = ByteReader(page);
        let mut copy = Vec::new();
        let mut before: Option<P> = None;
        for entry in entries {
            let packed = P::take(before.as_ref(), &mut reading).unwrap();
            packed.put(before.as_ref(), &mut copy);
            let (mut key, mut packed_key) = (Vec::new(), Vec::new());
            RunEntry::put_key(entry, &mut key);
            packed.put_key(&mut packed_key);
            assert_eq!(key, packed_key);
            assert_eq!(packed.leading_number(), RunEntry::leading_number(entry));
            assert_eq!(packed.hash(), RunEntry::hash(entry));
            before = Some(packed);
        }
        assert!(reading.0.is_empty());
        assert_eq!(&copy, page);
        for cut in 0..page.len().min(300) {
            let mut reading = ByteReader(&page[..cut]);
            let mut before = None;
            // A page that was cut is no panic.
            while let Some(entry) = P::take(before.as_ref(), &mut reading) {
                before = Some(entry);
            }
        }
    }

    #[test]
    fn packed_entries_are_copied_as_they_are() {
        let mut dice = Random::new(1);
        for _ in 0..50 {
            let mut payments: Vec<StoredPayment> = (0..60)
                .map(|_| StoredPayment {
                    owner: dice.below(4) * 1_000,
                    asset: u32::try_from(dice.below(3)).unwrap(),
                    transaction: dice.below(1 << 30),
                    sequence: u32::try_from(dice.below(3)).unwrap(),
                    is_received: dice.one_in(2),
                    other: dice.one_in(2).then(|| dice.below(1 << 40)),
                    kind: *dice.pick(&[
                        MovementKind::Payment,
                        MovementKind::Balance,
                        MovementKind::Exchange,
                        MovementKind::Returned,
                        MovementKind::Excess,
                    ]),
                    hop: *dice.pick(&[Hop::FromEnd, Hop::FromPayer, Hop::Counted]),
                    is_initiated: *dice.pick(&[None, Some(true), Some(false)]),
                    amount: amount(&mut dice),
                    time: i64::try_from(dice.below(1 << 41)).unwrap() / 1_000 * 1_000,
                    shares: shares(&mut dice),
                    is_late: dice.one_in(3),
                    is_removed: dice.one_in(5),
                    update: dice.rather_small(300),
                })
                .collect();
            payments.sort_unstable();
            assert_copied::<_, PackedPayment<'_>>(&payments, &mut Vec::new());
            let mut ledgers: Vec<StoredLedger> = (0..60)
                .map(|_| StoredLedger {
                    owner: dice.below(40) * 1_000,
                    asset: u32::try_from(dice.below(3)).unwrap(),
                    transaction: dice.below(1 << 30),
                    update: dice.rather_small(300),
                    ledger: AccountLedger {
                        balance: amount(&mut dice),
                        missing: amount(&mut dice),
                        shares: shares(&mut dice),
                    },
                    sums: LedgerSums { received: amount(&mut dice), ..LedgerSums::default() },
                })
                .collect();
            ledgers.sort_unstable();
            assert_copied::<_, PackedLedger<'_>>(&ledgers, &mut Vec::new());
        }
    }
}
