//! Payments as their accounts have them.

use assay_columns::{
    bytes::{ByteReader, number, put_varint},
    run::RunEntry,
};
use assay_engine::account::{Hop, MovementKind, Shares};

use super::{
    super::{
        amount::{put_amount, take_amount},
        share_bytes::{put_shares, take_shares},
    },
    put_time, take_time,
};

/// Bits of an entry's first flags: the receiver's entry; a breakdown follows; a number of an update with more flags follows.
pub(super) const IS_RECEIVED: u8 = 5;
pub(super) const HAS_SHARES: u8 = 6;
pub(super) const HAS_MORE: u8 = 7;
/// Number of the flags that only a few entries have. The update follows them.
pub(super) const MORE_FLAGS: u8 = 5;

/// Account, asset and place in the chain of a payment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PaymentPlace {
    pub(super) owner: u64,
    pub(super) asset: u32,
    pub(super) transaction: u64,
    pub(super) sequence: u32,
}

impl PaymentPlace {
    /// Appends the place to a page, relative to the payment before with its time. Returns the time that the payment's own is
    /// relative to.
    pub(super) fn put(&self, before: Option<(Self, i64)>, into: &mut Vec<u8>) -> i64 {
        let same_owner = before.filter(|(before, _)| before.owner == self.owner);
        let same = same_owner.filter(|(before, _)| before.asset == self.asset);
        put_varint(into, self.owner.wrapping_sub(before.map_or(0, |(before, _)| before.owner)));
        let asset = same_owner.map_or(0, |(before, _)| before.asset);
        put_varint(into, self.asset.wrapping_sub(asset).into());
        let transaction = same.map_or(0, |(before, _)| before.transaction);
        put_varint(into, self.transaction.wrapping_sub(transaction));
        put_varint(into, self.sequence.into());
        same.map_or(0, |(_, time)| time)
    }

    /// Reads what [`Self::put`] appended.
    pub(super) fn take(
        before: Option<(Self, i64)>,
        reading: &mut ByteReader<'_>,
    ) -> Option<(Self, i64)> {
        let owner = before.map_or(0, |(before, _)| before.owner);
        let owner = owner.wrapping_add(reading.varint()?);
        let same_owner = before.filter(|(before, _)| before.owner == owner);
        let asset = same_owner.map_or(0, |(before, _)| before.asset);
        let asset = asset.wrapping_add(u32::try_from(reading.varint()?).ok()?);
        let same = same_owner.filter(|(before, _)| before.asset == asset);
        let transaction = same.map_or(0, |(before, _)| before.transaction);
        let transaction = transaction.wrapping_add(reading.varint()?);
        let sequence = u32::try_from(reading.varint()?).ok()?;
        let time = same.map_or(0, |(_, time)| time);
        Some((Self { owner, asset, transaction, sequence }, time))
    }

    /// Appends the key of the payer's or the receiver's entry.
    pub(super) fn put_key(&self, is_received: bool, into: &mut Vec<u8>) {
        into.extend_from_slice(&number(self.owner));
        into.extend_from_slice(&self.asset.to_be_bytes());
        into.extend_from_slice(&number(self.transaction));
        into.extend_from_slice(&self.sequence.to_be_bytes());
        into.push(is_received.into());
    }
}

/// A payment as one of its two accounts has it, ordered by account, asset and place in the chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) struct StoredPayment {
    pub(in super::super) owner: u64,
    pub(in super::super) asset: u32,
    pub(in super::super) transaction: u64,
    /// Place among the payments of the transaction.
    pub(in super::super) sequence: u32,
    /// True for the receiver's entry.
    pub(in super::super) is_received: bool,
    /// The account on the other side; `None` for new or destroyed units.
    pub(in super::super) other: Option<u64>,
    pub(in super::super) kind: MovementKind,
    pub(in super::super) hop: Hop,
    pub(in super::super) is_initiated: Option<bool>,
    pub(in super::super) amount: u128,
    /// Time in milliseconds.
    pub(in super::super) time: i64,
    /// Breakdown at the payer, in the receiver's entry, and in the payer's entry if nobody receives.
    pub(in super::super) shares: Shares,
    /// True for a payment after what the payer received within the transaction.
    pub(in super::super) is_late: bool,
    /// True for an entry that tells that the payment is none under other ends.
    pub(in super::super) is_removed: bool,
    /// Number of the update of the ledgers that wrote the entry. The entry of the last update counts.
    pub(in super::super) update: u64,
}

impl StoredPayment {
    /// An entry of which only the key is known.
    const fn empty(owner: u64, asset: u32, transaction: u64, sequence: u32) -> Self {
        Self {
            owner,
            asset,
            transaction,
            sequence,
            is_received: false,
            other: None,
            kind: MovementKind::Payment,
            hop: Hop::FromPayer,
            is_initiated: None,
            amount: 0,
            time: 0,
            shares: Shares::UNKNOWN,
            is_late: false,
            is_removed: false,
            update: 0,
        }
    }

    /// True for a payment, and false for a balance that was set, and for what is no payment any more.
    pub(in super::super) fn is_payment(&self) -> bool {
        !self.is_removed && self.kind != MovementKind::Balance
    }

    const fn key(&self) -> (u64, u32, u64, u32, bool) {
        (self.owner, self.asset, self.transaction, self.sequence, self.is_received)
    }

    const fn payment_place(&self) -> PaymentPlace {
        let Self { owner, asset, transaction, sequence, .. } = *self;
        PaymentPlace { owner, asset, transaction, sequence }
    }

    fn flags(&self) -> u8 {
        let kind = match self.kind {
            // More flags tell the payments of contracts.
            MovementKind::Payment
            | MovementKind::Exchange
            | MovementKind::Returned
            | MovementKind::Excess => 0,
            MovementKind::Fee => 1,
            MovementKind::New => 2,
            MovementKind::Balance => 3,
        };
        let initiated = match self.is_initiated {
            None => 0,
            Some(false) => 1,
            Some(true) => 2,
        };
        let flag = |is_set: bool, bit: u8| u8::from(is_set) << bit;
        kind | initiated << 2
            | flag(self.hop == Hop::FromEnd, 4)
            | flag(self.is_received, IS_RECEIVED)
            | flag(self.shares != Shares::UNKNOWN, HAS_SHARES)
            | flag(self.more_flags() > 0, HAS_MORE)
    }

    /// The flags of a few entries, and the update.
    fn more_flags(&self) -> u64 {
        let flag = |is_set: bool, bit: u8| u64::from(is_set) << bit;
        flag(self.is_late, 0)
            | flag(self.is_removed, 1)
            | flag(self.hop == Hop::Counted, 2)
            | flag(matches!(self.kind, MovementKind::Exchange | MovementKind::Excess), 3)
            | flag(matches!(self.kind, MovementKind::Returned | MovementKind::Excess), 4)
            | self.update << MORE_FLAGS
    }

    fn put_rest(&self, before_time: i64, into: &mut Vec<u8>) {
        into.push(self.flags());
        let more = self.more_flags();
        if more > 0 {
            put_varint(into, more);
        }
        put_varint(into, self.other.map_or(0, |other| other + 1));
        put_amount(into, self.amount);
        put_time(into, before_time, self.time);
        if self.shares != Shares::UNKNOWN {
            put_shares(into, &self.shares);
        }
    }

    fn take_rest(&mut self, before_time: i64, reading: &mut ByteReader<'_>) -> Option<()> {
        let flags = reading.byte()?;
        let more = if flags & 1 << HAS_MORE == 0 { 0 } else { reading.varint()? };
        (self.is_late, self.is_removed) = (more & 1 != 0, more & 2 != 0);
        self.update = more >> MORE_FLAGS;
        self.kind = match (more >> 3 & 3, flags & 3) {
            (1, _) => MovementKind::Exchange,
            (2, _) => MovementKind::Returned,
            (3, _) => MovementKind::Excess,
            (_, 0) => MovementKind::Payment,
            (_, 1) => MovementKind::Fee,
            (_, 2) => MovementKind::New,
            _ => MovementKind::Balance,
        };
        self.is_initiated = match flags >> 2 & 3 {
            0 => None,
            initiated => Some(initiated == 2),
        };
        self.hop = match (flags & 1 << 4 != 0, more & 1 << 2 != 0) {
            (true, _) => Hop::FromEnd,
            (false, true) => Hop::Counted,
            (false, false) => Hop::FromPayer,
        };
        self.is_received = flags & 1 << IS_RECEIVED != 0;
        self.other = reading.varint()?.checked_sub(1);
        self.amount = take_amount(reading)?;
        self.time = take_time(before_time, reading)?;
        let has_shares = flags & 1 << HAS_SHARES != 0;
        self.shares = if has_shares { take_shares(reading)? } else { Shares::UNKNOWN };
        Some(())
    }
}

impl PartialOrd for StoredPayment {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for StoredPayment {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}

impl RunEntry for StoredPayment {
    fn put_key(&self, into: &mut Vec<u8>) {
        self.payment_place().put_key(self.is_received, into);
    }

    fn from_key(reading: &mut ByteReader<'_>) -> Option<Self> {
        let (owner, asset) = (reading.number()?, reading.u32()?);
        let (transaction, sequence) = (reading.number()?, reading.u32()?);
        let is_received = reading.byte()? != 0;
        Some(Self { is_received, ..Self::empty(owner, asset, transaction, sequence) })
    }

    #[inline]
    fn leading_number(&self) -> u64 {
        self.owner
    }

    fn put(&self, before: Option<&Self>, into: &mut Vec<u8>) {
        let before = before.map(|before| (before.payment_place(), before.time));
        let before_time = self.payment_place().put(before, into);
        self.put_rest(before_time, into);
    }

    fn take(before: Option<&Self>, reading: &mut ByteReader<'_>) -> Option<Self> {
        let before = before.map(|before| (before.payment_place(), before.time));
        let (place, before_time) = PaymentPlace::take(before, reading)?;
        let PaymentPlace { owner, asset, transaction, sequence } = place;
        let mut entry = Self::empty(owner, asset, transaction, sequence);
        entry.take_rest(before_time, reading)?;
        Some(entry)
    }

    fn put_value(&self, into: &mut Vec<u8>) {
        self.put_rest(0, into);
    }

    fn take_value(&mut self, reading: &mut ByteReader<'_>) -> Option<()> {
        self.take_rest(0, reading)
    }

    fn try_merge(&mut self, other: &Self) -> bool {
        let is_same = self.key() == other.key();
        if is_same && other.update > self.update {
            self.clone_from(other);
        }
        is_same
    }
}
