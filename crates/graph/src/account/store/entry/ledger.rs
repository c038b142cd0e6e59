//! Versions of ledgers.

use assay_columns::{
    bytes::{ByteReader, number, put_varint},
    run::{RunEntry, WantedKey},
};
use assay_engine::account::AccountLedger;

use super::{
    super::{
        amount::{put_amount, take_amount},
        share_bytes::{put_shares, take_shares},
    },
    put_time, take_time,
};

/// Account and asset of a ledger, and its version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct LedgerHead {
    pub(super) owner: u64,
    pub(super) asset: u32,
    /// The last transaction.
    pub(super) transaction: u64,
    /// Number of the update of the ledgers that wrote the version.
    pub(super) update: u64,
}

impl LedgerHead {
    /// Appends the head to a page, behind a ledger of another account.
    pub(super) fn put(&self, owner_before: u64, into: &mut Vec<u8>) {
        put_varint(into, self.owner.wrapping_sub(owner_before));
        put_varint(into, self.asset.into());
        put_varint(into, self.transaction << 1 | u64::from(self.update > 0));
        if self.update > 0 {
            put_varint(into, self.update);
        }
    }

    /// Reads what [`Self::put`] appended, and the length of the rest.
    pub(super) fn take(owner_before: u64, reading: &mut ByteReader<'_>) -> Option<(Self, usize)> {
        let owner = owner_before.wrapping_add(reading.varint()?);
        let asset = u32::try_from(reading.varint()?).ok()?;
        let transaction = reading.varint()?;
        let update = if transaction & 1 == 0 { 0 } else { reading.varint()? };
        let transaction = transaction >> 1;
        let length = usize::try_from(reading.varint()?).ok()?;
        Some((Self { owner, asset, transaction, update }, length))
    }

    /// Appends the key.
    pub(super) fn put_key(&self, into: &mut Vec<u8>) {
        into.extend_from_slice(&number(self.owner));
        into.extend_from_slice(&self.asset.to_be_bytes());
        into.extend_from_slice(&number(self.transaction));
    }

    /// True for versions of one ledger.
    pub(super) const fn is_of_same(&self, other: &Self) -> bool {
        self.owner == other.owner && self.asset == other.asset
    }

    /// True for a version that replaces another one.
    pub(super) fn is_newer(&self, other: &Self) -> bool {
        (self.update, self.transaction) > (other.update, other.transaction)
    }
}

/// The ledger of an account in an asset after a transaction, with the sums of its payments. An account at which money ends
/// has sums and an empty ledger. The newest version counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) struct StoredLedger {
    pub(in super::super) owner: u64,
    pub(in super::super) asset: u32,
    /// The last transaction.
    pub(in super::super) transaction: u64,
    /// Number of the update of the ledgers that wrote the version.
    pub(in super::super) update: u64,
    pub(in super::super) ledger: AccountLedger,
    pub(in super::super) sums: LedgerSums,
}

/// Sums of the payments of an account in an asset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in super::super) struct LedgerSums {
    pub(in super::super) received: u128,
    pub(in super::super) sent: u128,
    /// Numbers of payments.
    pub(in super::super) payments_in: u64,
    pub(in super::super) payments_out: u64,
    /// Times of the first and the last payment, in milliseconds.
    pub(in super::super) first: i64,
    pub(in super::super) last: i64,
}

impl LedgerSums {
    /// Number of payments in both directions.
    pub(in super::super) const fn payments(&self) -> u64 {
        self.payments_in + self.payments_out
    }
}

impl StoredLedger {
    pub(in super::super) fn new(owner: u64, asset: u32) -> Self {
        let (ledger, sums) = (AccountLedger::default(), LedgerSums::default());
        Self { owner, asset, transaction: 0, update: 0, ledger, sums }
    }

    const fn key(&self) -> (u64, u32, u64) {
        (self.owner, self.asset, self.transaction)
    }

    /// The beginning of the keys of a ledger's versions.
    pub(in super::super) fn prefix(owner: u64, asset: u32) -> [u8; 9] {
        let mut prefix = [0; 9];
        let bytes = number(owner).into_iter().chain(asset.to_be_bytes());
        prefix.iter_mut().zip(bytes).for_each(|(into, byte)| *into = byte);
        prefix
    }

    /// The key of a ledger, to be looked up.
    pub(in super::super) fn wanted(owner: u64, asset: u32) -> WantedKey<9> {
        WantedKey { prefix: Self::prefix(owner, asset), hash: Self::hash_of(owner, asset) }
    }

    /// Reads the head from a page, and the length of the rest.
    fn take_head(before: Option<&Self>, reading: &mut ByteReader<'_>) -> Option<(Self, usize)> {
        let before = before.map_or(0, |before| before.owner);
        let (head, length) = LedgerHead::take(before, reading)?;
        let LedgerHead { owner, asset, transaction, update } = head;
        Some((Self { transaction, update, ..Self::new(owner, asset) }, length))
    }

    const fn head(&self) -> LedgerHead {
        let Self { owner, asset, transaction, update, .. } = *self;
        LedgerHead { owner, asset, transaction, update }
    }

    /// The hash of a ledger's key in filters.
    pub(in super::super) const fn hash_of(owner: u64, asset: u32) -> u64 {
        let mixed = (owner ^ (asset as u64) << 40).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed ^ mixed >> 29
    }

    fn put_rest(&self, into: &mut Vec<u8>) {
        put_amount(into, self.ledger.balance);
        put_amount(into, self.ledger.missing);
        put_shares(into, &self.ledger.shares);
        let LedgerSums { received, sent, payments_in, payments_out, first, last } = self.sums;
        put_amount(into, received);
        put_amount(into, sent);
        put_varint(into, payments_in);
        put_varint(into, payments_out);
        put_time(into, 0, first);
        put_time(into, first, last);
    }

    fn take_rest(&mut self, reading: &mut ByteReader<'_>) -> Option<()> {
        self.ledger.balance = take_amount(reading)?;
        self.ledger.missing = take_amount(reading)?;
        self.ledger.shares = take_shares(reading)?;
        let (received, sent) = (take_amount(reading)?, take_amount(reading)?);
        let (payments_in, payments_out) = (reading.varint()?, reading.varint()?);
        let first = take_time(0, reading)?;
        let last = take_time(first, reading)?;
        self.sums = LedgerSums { received, sent, payments_in, payments_out, first, last };
        Some(())
    }
}

impl PartialOrd for StoredLedger {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for StoredLedger {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}

impl RunEntry for StoredLedger {
    fn put_key(&self, into: &mut Vec<u8>) {
        self.head().put_key(into);
    }

    fn from_key(reading: &mut ByteReader<'_>) -> Option<Self> {
        let (owner, asset) = (reading.number()?, reading.u32()?);
        let transaction = reading.number()?;
        Some(Self { transaction, ..Self::new(owner, asset) })
    }

    #[inline]
    fn leading_number(&self) -> u64 {
        self.owner
    }

    fn put(&self, before: Option<&Self>, into: &mut Vec<u8>) {
        self.head().put(before.map_or(0, |before| before.owner), into);
        // Its length comes before the rest, so that a search passes over it.
        let at = into.len();
        self.put_rest(into);
        let length = into.len().saturating_sub(at);
        put_varint(into, length as u64);
        let width = into.len().saturating_sub(at + length);
        if let Some(end) = into.get_mut(at..) {
            end.rotate_right(width);
        }
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
        put_varint(into, self.update);
        self.put_rest(into);
    }

    fn take_value(&mut self, reading: &mut ByteReader<'_>) -> Option<()> {
        self.update = reading.varint()?;
        self.take_rest(reading)
    }

    fn hash(&self) -> Option<u64> {
        Some(Self::hash_of(self.owner, self.asset))
    }

    fn try_merge(&mut self, other: &Self) -> bool {
        let is_same = self.head().is_of_same(&other.head());
        if is_same && other.head().is_newer(&self.head()) {
            self.clone_from(other);
        }
        is_same
    }
}
