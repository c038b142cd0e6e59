//! Pages of sums: the ledger of an account in an asset after every so many payments, and the sums of the payments before it;
//! and groups of such pages, with the sums of all.

use assay_columns::{
    bytes::{ByteReader, number, put_varint},
    run::RunEntry,
};
use assay_engine::{
    account::{AccountLedger, AssetNumber, Hop, MovementKind, PageOfSums, Payment, PaymentSum},
    ledger::{OwnerNumber, TransactionNumber},
};
use jiff::Timestamp;

use super::{
    super::{
        amount::{put_amount, take_amount},
        share_bytes::{put_shares, take_shares},
    },
    put_time, take_time,
};

/// A page of an account's payments in an asset, or a group of pages, without a ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) struct StoredPage {
    pub(in super::super) owner: u64,
    pub(in super::super) asset: u32,
    /// The last transaction of the page.
    pub(in super::super) transaction: u64,
    /// Number of the update of the ledgers that wrote the page. The entry of the last update counts.
    pub(in super::super) update: u64,
    /// True for an entry that tells that no page ends here under other ends.
    pub(in super::super) is_removed: bool,
    /// The ledger after the last transaction.
    pub(in super::super) ledger: AccountLedger,
    /// Number of payments up to the end of the page.
    pub(in super::super) payments: u64,
    /// Sums of the page's payments as bytes, which only checks of large accounts read; empty as long as its blocks can be rolled
    /// back.
    pub(in super::super) sums: Vec<u8>,
}

impl StoredPage {
    const fn key(&self) -> (u64, u32, u64) {
        (self.owner, self.asset, self.transaction)
    }

    /// The page of some number of payments.
    pub(in super::super) const fn of_payments(&self, payments: u64) -> PageOfSums {
        let (asset, last) = (AssetNumber(self.asset), TransactionNumber(self.transaction));
        PageOfSums { asset, last, payments }
    }

    /// Reads the key from a page of a run, and the length of the rest.
    fn take_head(before: Option<&Self>, reading: &mut ByteReader<'_>) -> Option<(Self, usize)> {
        let owner = before.map_or(0, |before| before.owner).wrapping_add(reading.varint()?);
        let asset = u32::try_from(reading.varint()?).ok()?;
        let transaction = reading.varint()?;
        let length = usize::try_from(reading.varint()?).ok()?;
        Some((Self::empty(owner, asset, transaction), length))
    }

    fn empty(owner: u64, asset: u32, transaction: u64) -> Self {
        Self {
            owner,
            asset,
            transaction,
            update: 0,
            is_removed: false,
            ledger: AccountLedger::default(),
            payments: 0,
            sums: Vec::new(),
        }
    }

    fn put_rest(&self, into: &mut Vec<u8>) {
        put_varint(into, self.update << 1 | u64::from(self.is_removed));
        put_amount(into, self.ledger.balance);
        put_amount(into, self.ledger.missing);
        put_shares(into, &self.ledger.shares);
        put_varint(into, self.payments);
        into.extend_from_slice(&self.sums);
    }

    fn take_rest(&mut self, reading: &mut ByteReader<'_>) -> Option<()> {
        let update = reading.varint()?;
        (self.update, self.is_removed) = (update >> 1, update & 1 != 0);
        self.ledger.balance = take_amount(reading)?;
        self.ledger.missing = take_amount(reading)?;
        self.ledger.shares = take_shares(reading)?;
        self.payments = reading.varint()?;
        self.sums = reading.0.to_vec();
        reading.0 = &[];
        Some(())
    }

    /// Sets the sums.
    pub(in super::super) fn set_sums(&mut self, sums: &[PaymentSum]) {
        let mut bytes = Vec::new();
        let mut before = 0;
        for sum in sums {
            self.put_sum(sum, before, &mut bytes);
            before = sum.time.as_millisecond();
        }
        self.sums = bytes;
    }

    /// The sums; `None` if they are damaged.
    pub(in super::super) fn payment_sums(&self) -> Option<Vec<PaymentSum>> {
        let (mut sums, mut before) = (Vec::new(), 0);
        let mut reading = ByteReader(&self.sums);
        while !reading.0.is_empty() {
            let sum = self.take_sum(before, &mut reading)?;
            before = sum.time.as_millisecond();
            sums.push(sum);
        }
        Some(sums)
    }

    fn put_sum(&self, sum: &PaymentSum, before: i64, into: &mut Vec<u8>) {
        let PaymentSum { payment, time, largest, first, count } = sum;
        let (time, first) = (time.as_millisecond(), first.as_millisecond());
        let is_received = payment.to == OwnerNumber(self.owner);
        let kind = match payment.kind {
            MovementKind::Payment => 0,
            MovementKind::Fee => 1,
            MovementKind::New => 2,
            MovementKind::Balance => 3,
            MovementKind::Exchange => 1 << 6,
            MovementKind::Returned => 1 << 6 | 1,
            MovementKind::Excess => 1 << 6 | 2,
        };
        let initiated = match payment.is_initiated {
            None => 0,
            Some(false) => 1,
            Some(true) => 2,
        };
        let flag = |is_set: bool, bit: u8| u8::from(is_set) << bit;
        let hop = flag(payment.hop == Hop::FromEnd, 4) | flag(payment.hop == Hop::Counted, 7);
        into.push(kind | initiated << 2 | hop | flag(is_received, 5));
        put_time(into, before, time);
        put_time(into, time, first);
        put_varint(into, code_of(if is_received { payment.from } else { payment.to }));
        put_varint(into, *count);
        put_amount(into, payment.amount);
        if *count > 1 {
            put_amount(into, *largest);
        }
        put_varint(into, self.transaction.saturating_sub(payment.transaction.0));
        put_shares(into, &payment.shares);
    }

    fn take_sum(&self, before: i64, reading: &mut ByteReader<'_>) -> Option<PaymentSum> {
        let flags = reading.byte()?;
        let kind = match (flags & 1 << 6 != 0, flags & 3) {
            (false, 0) => MovementKind::Payment,
            (false, 1) => MovementKind::Fee,
            (false, 2) => MovementKind::New,
            (false, _) => MovementKind::Balance,
            (true, 0) => MovementKind::Exchange,
            (true, 1) => MovementKind::Returned,
            (true, _) => MovementKind::Excess,
        };
        let is_initiated = match flags >> 2 & 3 {
            0 => None,
            initiated => Some(initiated == 2),
        };
        let hop = match (flags & 1 << 4 != 0, flags & 1 << 7 != 0) {
            (true, _) => Hop::FromEnd,
            (false, true) => Hop::Counted,
            (false, false) => Hop::FromPayer,
        };
        let is_received = flags & 1 << 5 != 0;
        let time = take_time(before, reading)?;
        let first = take_time(time, reading)?;
        let other = other_of(reading.varint()?);
        let count = reading.varint()?;
        let amount = take_amount(reading)?;
        let largest = if count > 1 { take_amount(reading)? } else { amount };
        let transaction = self.transaction.checked_sub(reading.varint()?)?;
        let shares = take_shares(reading)?;
        let owner = OwnerNumber(self.owner);
        let (from, to) = if is_received { (other, owner) } else { (owner, other) };
        let payment = Payment {
            kind,
            transaction: TransactionNumber(transaction),
            sequence: 0,
            from,
            to,
            asset: AssetNumber(self.asset),
            amount,
            shares,
            hop,
            is_initiated,
        };
        let time = Timestamp::from_millisecond(time).ok()?;
        let first = Timestamp::from_millisecond(first).ok()?;
        Some(PaymentSum { payment, time, largest, first, count })
    }
}

/// Code of an account on the other side: nobody, several accounts, or one with a number.
const fn code_of(other: OwnerNumber) -> u64 {
    match other {
        OwnerNumber::NOBODY => 0,
        OwnerNumber::SEVERAL => 1,
        OwnerNumber(number) => number + 2,
    }
}

const fn other_of(code: u64) -> OwnerNumber {
    match code {
        0 => OwnerNumber::NOBODY,
        1 => OwnerNumber::SEVERAL,
        code => OwnerNumber(code - 2),
    }
}

impl PartialOrd for StoredPage {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for StoredPage {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}

impl RunEntry for StoredPage {
    fn put_key(&self, into: &mut Vec<u8>) {
        into.extend_from_slice(&number(self.owner));
        into.extend_from_slice(&self.asset.to_be_bytes());
        into.extend_from_slice(&number(self.transaction));
    }

    fn from_key(reading: &mut ByteReader<'_>) -> Option<Self> {
        let (owner, asset) = (reading.number()?, reading.u32()?);
        Some(Self::empty(owner, asset, reading.number()?))
    }

    #[inline]
    fn leading_number(&self) -> u64 {
        self.owner
    }

    fn put(&self, before: Option<&Self>, into: &mut Vec<u8>) {
        put_varint(into, self.owner.wrapping_sub(before.map_or(0, |before| before.owner)));
        put_varint(into, self.asset.into());
        put_varint(into, self.transaction);
        // Its length comes before the rest, so that a search passes over it.
        let mut rest = Vec::with_capacity(256);
        self.put_rest(&mut rest);
        put_varint(into, rest.len() as u64);
        into.extend_from_slice(&rest);
    }

    fn take(before: Option<&Self>, reading: &mut ByteReader<'_>) -> Option<Self> {
        let (mut entry, length) = Self::take_head(before, reading)?;
        let mut rest = ByteReader(reading.take(length)?);
        entry.take_rest(&mut rest)?;
        rest.0.is_empty().then_some(entry)
    }

    fn skip(before: Option<&Self>, reading: &mut ByteReader<'_>) -> Option<Self> {
        let (entry, length) = Self::take_head(before, reading)?;
        reading.take(length)?;
        Some(entry)
    }

    fn put_value(&self, into: &mut Vec<u8>) {
        self.put_rest(into);
    }

    fn take_value(&mut self, reading: &mut ByteReader<'_>) -> Option<()> {
        self.take_rest(reading)
    }

    fn try_merge(&mut self, other: &Self) -> bool {
        let is_same = self.key() == other.key();
        // In a page's recent entry, sums are missing.
        if is_same && (other.update, other.sums.len()) > (self.update, self.sums.len()) {
            self.clone_from(other);
        }
        is_same
    }
}
