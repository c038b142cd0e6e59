//! The entries of sorted runs.

use assay_columns::{
    ColumnsError,
    bytes::{ByteReader, from_zigzag, number, put_varint, put_wide_varint, zigzag},
    run::{self, FilterFilling, MergeSlice, NumberByHash, RunEntry},
};
use assay_engine::{
    account::{AccountLedger, Hop, MovementKind, Shares},
    evidence::{Direction, ListingPeriod},
};

use super::{
    amount::{put_amount, take_amount},
    share_bytes::{put_shares, take_shares},
};

/// The kinds of entries in runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EntryKind {
    /// Accounts by their addresses.
    Address,
    /// Transactions by their identifiers.
    Txid,
    /// Payments by account and asset.
    Payment,
    /// Ledgers by account and asset.
    Ledger,
    /// Transactions with other tokens, by account.
    OtherToken,
    /// Contracts by their creators, and creators by their contracts.
    Creation,
    /// Direct dealings by account.
    Dealing,
}

/// The manifest of all runs of a graph.
pub(super) type AccountRuns = run::RunManifest<EntryKind>;

impl run::RunKind for EntryKind {
    const ALL: &'static [Self] = &[
        Self::Address,
        Self::Txid,
        Self::Payment,
        Self::Ledger,
        Self::OtherToken,
        Self::Creation,
        Self::Dealing,
    ];

    fn number(self) -> u8 {
        self as u8
    }

    fn is_hashed(self) -> bool {
        matches!(self, Self::Address | Self::Txid | Self::Ledger)
    }

    fn is_mostly_new(self) -> bool {
        self == Self::Address
    }

    fn merge(self, slice: MergeSlice<'_, '_, Self>) -> Result<bool, ColumnsError> {
        match self {
            Self::Address | Self::Txid => slice.merge_entries::<NumberByHash>(),
            Self::Payment => slice.merge_entries::<StoredPayment>(),
            Self::Ledger => slice.merge_entries::<StoredLedger>(),
            Self::OtherToken => slice.merge_entries::<OtherToken>(),
            Self::Creation => slice.merge_entries::<Creation>(),
            Self::Dealing => slice.merge_entries::<StoredDealing>(),
        }
    }

    fn fill(self, filling: FilterFilling<'_, '_, Self>) -> Result<(), ColumnsError> {
        match self {
            Self::Ledger => filling.fill_from::<StoredLedger>(),
            _ => filling.fill_from::<NumberByHash>(),
        }
    }
}

/// A time in milliseconds, relative to one before. Most are whole seconds.
fn put_time(into: &mut Vec<u8>, before: i64, time: i64) {
    let past = time.wrapping_sub(before);
    if past % 1000 == 0 {
        put_varint(into, zigzag(past / 1000) << 1);
    } else {
        put_varint(into, zigzag(past) << 1 | 1);
    }
}

fn take_time(before: i64, reading: &mut ByteReader<'_>) -> Option<i64> {
    let code = reading.varint()?;
    let past = from_zigzag(code >> 1);
    let past = if code & 1 == 0 { past.checked_mul(1000)? } else { past };
    before.checked_add(past)
}

/// A payment as one of its two accounts has it, ordered by account, asset and place in the chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct StoredPayment {
    pub(super) owner: u64,
    pub(super) asset: u32,
    pub(super) transaction: u64,
    /// Place among the payments of the transaction.
    pub(super) sequence: u32,
    /// True for the receiver's entry.
    pub(super) is_received: bool,
    /// The account on the other side; `None` for new or destroyed units.
    pub(super) other: Option<u64>,
    pub(super) kind: MovementKind,
    pub(super) hop: Hop,
    pub(super) is_initiated: Option<bool>,
    pub(super) amount: u128,
    /// Time in milliseconds.
    pub(super) time: i64,
    /// Breakdown at the payer, in the receiver's entry, and in the payer's entry if nobody receives.
    pub(super) shares: Shares,
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
        }
    }

    const fn key(&self) -> (u64, u32, u64, u32, bool) {
        (self.owner, self.asset, self.transaction, self.sequence, self.is_received)
    }

    fn flags(&self) -> u8 {
        let kind = match self.kind {
            MovementKind::Payment => 0,
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
            | flag(self.is_received, 5)
            | flag(self.shares != Shares::UNKNOWN, 6)
    }

    fn put_rest(&self, before_time: i64, into: &mut Vec<u8>) {
        into.push(self.flags());
        put_varint(into, self.other.map_or(0, |other| other + 1));
        put_amount(into, self.amount);
        put_time(into, before_time, self.time);
        if self.shares != Shares::UNKNOWN {
            put_shares(into, &self.shares);
        }
    }

    fn take_rest(&mut self, before_time: i64, reading: &mut ByteReader<'_>) -> Option<()> {
        let flags = reading.byte()?;
        self.kind = match flags & 3 {
            0 => MovementKind::Payment,
            1 => MovementKind::Fee,
            2 => MovementKind::New,
            _ => MovementKind::Balance,
        };
        self.is_initiated = match flags >> 2 & 3 {
            0 => None,
            initiated => Some(initiated == 2),
        };
        self.hop = if flags & 1 << 4 == 0 { Hop::FromPayer } else { Hop::FromEnd };
        self.is_received = flags & 1 << 5 != 0;
        self.other = reading.varint()?.checked_sub(1);
        self.amount = take_amount(reading)?;
        self.time = take_time(before_time, reading)?;
        self.shares = if flags & 1 << 6 == 0 { Shares::UNKNOWN } else { take_shares(reading)? };
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
        into.extend_from_slice(&number(self.owner));
        into.extend_from_slice(&self.asset.to_be_bytes());
        into.extend_from_slice(&number(self.transaction));
        into.extend_from_slice(&self.sequence.to_be_bytes());
        into.push(self.is_received.into());
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
        let same_owner = before.filter(|before| before.owner == self.owner);
        let same = same_owner.filter(|before| before.asset == self.asset);
        put_varint(into, self.owner.wrapping_sub(before.map_or(0, |before| before.owner)));
        let asset = same_owner.map_or(0, |before| before.asset);
        put_varint(into, self.asset.wrapping_sub(asset).into());
        let transaction = same.map_or(0, |before| before.transaction);
        put_varint(into, self.transaction.wrapping_sub(transaction));
        put_varint(into, self.sequence.into());
        self.put_rest(same.map_or(0, |before| before.time), into);
    }

    fn take(before: Option<&Self>, reading: &mut ByteReader<'_>) -> Option<Self> {
        let owner = before.map_or(0, |before| before.owner).wrapping_add(reading.varint()?);
        let same_owner = before.filter(|before| before.owner == owner);
        let asset = same_owner.map_or(0, |before| before.asset);
        let asset = asset.wrapping_add(u32::try_from(reading.varint()?).ok()?);
        let same = same_owner.filter(|before| before.asset == asset);
        let transaction = same.map_or(0, |before| before.transaction);
        let transaction = transaction.wrapping_add(reading.varint()?);
        let sequence = u32::try_from(reading.varint()?).ok()?;
        let mut entry = Self::empty(owner, asset, transaction, sequence);
        entry.take_rest(same.map_or(0, |before| before.time), reading)?;
        Some(entry)
    }

    fn put_value(&self, into: &mut Vec<u8>) {
        self.put_rest(0, into);
    }

    fn take_value(&mut self, reading: &mut ByteReader<'_>) -> Option<()> {
        self.take_rest(0, reading)
    }
}

/// The ledger of an account in an asset after a transaction, with the sums of its payments. An account at which money ends
/// has sums and an empty ledger. The newest version counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct StoredLedger {
    pub(super) owner: u64,
    pub(super) asset: u32,
    /// The last transaction.
    pub(super) transaction: u64,
    pub(super) ledger: AccountLedger,
    pub(super) sums: LedgerSums,
}

/// Sums of the payments of an account in an asset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct LedgerSums {
    pub(super) received: u128,
    pub(super) sent: u128,
    /// Numbers of payments.
    pub(super) payments_in: u64,
    pub(super) payments_out: u64,
    /// Times of the first and the last payment, in milliseconds.
    pub(super) first: i64,
    pub(super) last: i64,
}

impl StoredLedger {
    pub(super) fn new(owner: u64, asset: u32) -> Self {
        let (ledger, sums) = (AccountLedger::default(), LedgerSums::default());
        Self { owner, asset, transaction: 0, ledger, sums }
    }

    const fn key(&self) -> (u64, u32, u64) {
        (self.owner, self.asset, self.transaction)
    }

    /// The beginning of the keys of a ledger's versions.
    pub(super) fn prefix(owner: u64, asset: u32) -> [u8; 9] {
        let mut prefix = [0; 9];
        let bytes = number(owner).into_iter().chain(asset.to_be_bytes());
        prefix.iter_mut().zip(bytes).for_each(|(into, byte)| *into = byte);
        prefix
    }

    /// Reads the key from a page, and the length of the rest.
    fn take_head(before: Option<&Self>, reading: &mut ByteReader<'_>) -> Option<(Self, usize)> {
        let owner = before.map_or(0, |before| before.owner).wrapping_add(reading.varint()?);
        let asset = u32::try_from(reading.varint()?).ok()?;
        let transaction = reading.varint()?;
        let length = usize::try_from(reading.varint()?).ok()?;
        Some((Self { transaction, ..Self::new(owner, asset) }, length))
    }

    /// The hash of a ledger's key in filters.
    pub(super) const fn hash_of(owner: u64, asset: u32) -> u64 {
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
        into.extend_from_slice(&number(self.owner));
        into.extend_from_slice(&self.asset.to_be_bytes());
        into.extend_from_slice(&number(self.transaction));
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
        put_varint(into, self.owner.wrapping_sub(before.map_or(0, |before| before.owner)));
        put_varint(into, self.asset.into());
        put_varint(into, self.transaction);
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
        self.put_rest(into);
    }

    fn take_value(&mut self, reading: &mut ByteReader<'_>) -> Option<()> {
        self.take_rest(reading)
    }

    fn hash(&self) -> Option<u64> {
        Some(Self::hash_of(self.owner, self.asset))
    }

    fn try_merge(&mut self, other: &Self) -> bool {
        let is_same = (self.owner, self.asset) == (other.owner, other.asset);
        if is_same && other.transaction > self.transaction {
            self.clone_from(other);
        }
        is_same
    }
}

/// A transaction of an account that transfers tokens outside the table of scored assets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct OtherToken {
    pub(super) owner: u64,
    pub(super) transaction: u64,
}

impl RunEntry for OtherToken {
    fn put_key(&self, into: &mut Vec<u8>) {
        into.extend_from_slice(&number(self.owner));
        into.extend_from_slice(&number(self.transaction));
    }

    fn from_key(reading: &mut ByteReader<'_>) -> Option<Self> {
        Some(Self { owner: reading.number()?, transaction: reading.number()? })
    }

    #[inline]
    fn leading_number(&self) -> u64 {
        self.owner
    }

    fn put(&self, before: Option<&Self>, into: &mut Vec<u8>) {
        let same = before.filter(|before| before.owner == self.owner);
        put_varint(into, self.owner.wrapping_sub(before.map_or(0, |before| before.owner)));
        put_varint(
            into,
            self.transaction.wrapping_sub(same.map_or(0, |before| before.transaction)),
        );
    }

    fn take(before: Option<&Self>, reading: &mut ByteReader<'_>) -> Option<Self> {
        let owner = before.map_or(0, |before| before.owner).wrapping_add(reading.varint()?);
        let same = before.filter(|before| before.owner == owner);
        let transaction = same.map_or(0, |before| before.transaction);
        Some(Self { owner, transaction: transaction.wrapping_add(reading.varint()?) })
    }

    fn try_merge(&mut self, other: &Self) -> bool {
        self == other
    }
}

/// The creation of a contract, as the creator or as the contract has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Creation {
    pub(super) owner: u64,
    /// True for the creator's entry.
    pub(super) is_creator: bool,
    pub(super) transaction: u64,
    /// The contract, or its creator.
    pub(super) other: u64,
}

impl RunEntry for Creation {
    fn put_key(&self, into: &mut Vec<u8>) {
        into.extend_from_slice(&number(self.owner));
        into.push(self.is_creator.into());
        into.extend_from_slice(&number(self.transaction));
        into.extend_from_slice(&number(self.other));
    }

    fn from_key(reading: &mut ByteReader<'_>) -> Option<Self> {
        Some(Self {
            owner: reading.number()?,
            is_creator: reading.byte()? != 0,
            transaction: reading.number()?,
            other: reading.number()?,
        })
    }

    #[inline]
    fn leading_number(&self) -> u64 {
        self.owner
    }

    fn put(&self, before: Option<&Self>, into: &mut Vec<u8>) {
        put_varint(into, self.owner.wrapping_sub(before.map_or(0, |before| before.owner)));
        put_varint(into, self.transaction << 1 | u64::from(self.is_creator));
        put_varint(into, self.other);
    }

    fn take(before: Option<&Self>, reading: &mut ByteReader<'_>) -> Option<Self> {
        let owner = before.map_or(0, |before| before.owner).wrapping_add(reading.varint()?);
        let transaction = reading.varint()?;
        let is_creator = transaction & 1 != 0;
        Some(Self { owner, is_creator, transaction: transaction >> 1, other: reading.varint()? })
    }

    fn try_merge(&mut self, other: &Self) -> bool {
        self == other
    }
}

/// Sum of the direct dealings of an account with a listed or risky party.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StoredDealing {
    pub(super) owner: u64,
    pub(super) party: u64,
    pub(super) asset: u32,
    /// Side of the day of listing, and direction of the money.
    pub(super) side: u8,
    /// The first transaction of the entry, which tells entries of single blocks apart.
    pub(super) transaction: u64,
    pub(super) first: i64,
    pub(super) last: i64,
    pub(super) count: u64,
    pub(super) amount: u128,
}

impl StoredDealing {
    const fn key(&self) -> (u64, u64, u32, u8, u64) {
        (self.owner, self.party, self.asset, self.side, self.transaction)
    }

    /// The code of a side.
    pub(super) const fn side_of(period: Option<ListingPeriod>, direction: Direction) -> u8 {
        let period = match period {
            None => 0,
            Some(ListingPeriod::Before) => 1,
            Some(ListingPeriod::Since) => 2,
        };
        period << 1 | matches!(direction, Direction::Destination) as u8
    }

    pub(super) const fn period(&self) -> Option<ListingPeriod> {
        match self.side >> 1 {
            0 => None,
            1 => Some(ListingPeriod::Before),
            _ => Some(ListingPeriod::Since),
        }
    }

    pub(super) const fn direction(&self) -> Direction {
        if self.side & 1 == 0 { Direction::Source } else { Direction::Destination }
    }

    fn put_rest(&self, into: &mut Vec<u8>) {
        put_time(into, 0, self.first);
        put_time(into, self.first, self.last);
        put_varint(into, self.count);
        put_wide_varint(into, self.amount);
    }

    fn take_rest(&mut self, reading: &mut ByteReader<'_>) -> Option<()> {
        self.first = take_time(0, reading)?;
        self.last = take_time(self.first, reading)?;
        self.count = reading.varint()?;
        self.amount = reading.wide_varint()?;
        Some(())
    }
}

impl PartialOrd for StoredDealing {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for StoredDealing {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}

impl RunEntry for StoredDealing {
    fn put_key(&self, into: &mut Vec<u8>) {
        into.extend_from_slice(&number(self.owner));
        into.extend_from_slice(&number(self.party));
        into.extend_from_slice(&self.asset.to_be_bytes());
        into.push(self.side);
        into.extend_from_slice(&number(self.transaction));
    }

    fn from_key(reading: &mut ByteReader<'_>) -> Option<Self> {
        Some(Self {
            owner: reading.number()?,
            party: reading.number()?,
            asset: reading.u32()?,
            side: reading.byte()?,
            transaction: reading.number()?,
            first: 0,
            last: 0,
            count: 0,
            amount: 0,
        })
    }

    #[inline]
    fn leading_number(&self) -> u64 {
        self.owner
    }

    fn put(&self, before: Option<&Self>, into: &mut Vec<u8>) {
        put_varint(into, self.owner.wrapping_sub(before.map_or(0, |before| before.owner)));
        put_varint(into, self.party);
        put_varint(into, u64::from(self.asset) << 3 | u64::from(self.side));
        put_varint(into, self.transaction);
        self.put_rest(into);
    }

    fn take(before: Option<&Self>, reading: &mut ByteReader<'_>) -> Option<Self> {
        let owner = before.map_or(0, |before| before.owner).wrapping_add(reading.varint()?);
        let party = reading.varint()?;
        let asset = reading.varint()?;
        let side = u8::try_from(asset & 7).ok()?;
        let asset = u32::try_from(asset >> 3).ok()?;
        let transaction = reading.varint()?;
        let (first, last, count, amount) = (0, 0, 0, 0);
        let mut entry = Self { owner, party, asset, side, transaction, first, last, count, amount };
        entry.take_rest(reading)?;
        Some(entry)
    }

    fn put_value(&self, into: &mut Vec<u8>) {
        self.put_rest(into);
    }

    fn take_value(&mut self, reading: &mut ByteReader<'_>) -> Option<()> {
        self.take_rest(reading)
    }

    fn try_merge(&mut self, other: &Self) -> bool {
        let of = |entry: &Self| (entry.owner, entry.party, entry.asset, entry.side);
        let is_same = of(self) == of(other);
        if is_same {
            self.transaction = self.transaction.min(other.transaction);
            self.first = self.first.min(other.first);
            self.last = self.last.max(other.last);
            self.count = self.count.saturating_add(other.count);
            self.amount = self.amount.saturating_add(other.amount);
        }
        is_same
    }
}
