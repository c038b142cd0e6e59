//! Direct dealings with listed and risky parties.

use assay_columns::{
    bytes::{ByteReader, number, put_varint, put_wide_varint},
    run::RunEntry,
};
use assay_engine::evidence::{Direction, ListingPeriod};

use super::{put_time, take_time};

/// Sum of the direct dealings of an account with a listed or risky party.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct StoredDealing {
    pub(in super::super) owner: u64,
    pub(in super::super) party: u64,
    pub(in super::super) asset: u32,
    /// Side of the day of listing, and direction of the money.
    pub(in super::super) side: u8,
    /// Number of the update of the ledgers that wrote the entry.
    pub(in super::super) update: u64,
    /// True if the entry, which may be of nothing, takes the place of all entries of earlier updates.
    pub(in super::super) replaces: bool,
    /// The first transaction of the entry, which tells entries of single blocks apart.
    pub(in super::super) transaction: u64,
    pub(in super::super) first: i64,
    pub(in super::super) last: i64,
    pub(in super::super) count: u64,
    pub(in super::super) amount: u128,
}

impl StoredDealing {
    const fn key(&self) -> (u64, u64, u32, u8, u64, bool, u64) {
        let Self { owner, party, asset, side, update, replaces, transaction, .. } = *self;
        // An entry that replaces others comes before those that add to it.
        (owner, party, asset, side, update, !replaces, transaction)
    }

    /// The code of a side.
    pub(in super::super) const fn side_of(
        period: Option<ListingPeriod>,
        direction: Direction,
    ) -> u8 {
        let period = match period {
            None => 0,
            Some(ListingPeriod::Before) => 1,
            Some(ListingPeriod::Since) => 2,
        };
        period << 1 | matches!(direction, Direction::Destination) as u8
    }

    pub(in super::super) const fn period(&self) -> Option<ListingPeriod> {
        match self.side >> 1 {
            0 => None,
            1 => Some(ListingPeriod::Before),
            _ => Some(ListingPeriod::Since),
        }
    }

    pub(in super::super) const fn direction(&self) -> Direction {
        if self.side & 1 == 0 { Direction::Source } else { Direction::Destination }
    }

    /// Adds the sums of another entry.
    pub(in super::super) fn add(&mut self, other: &Self) {
        self.transaction = self.transaction.min(other.transaction);
        if other.count > 0 {
            let is_empty = self.count == 0;
            self.first = if is_empty { other.first } else { self.first.min(other.first) };
            self.last = if is_empty { other.last } else { self.last.max(other.last) };
            self.count = self.count.saturating_add(other.count);
            self.amount = self.amount.saturating_add(other.amount);
        }
    }

    /// Adds up entries of one account, in the order of their keys, as far as no later update replaced them.
    pub(in super::super) fn summed(entries: impl IntoIterator<Item = Self>) -> Vec<Self> {
        let mut sums: Vec<Self> = Vec::new();
        for entry in entries {
            let of = |it: &Self| (it.party, it.asset, it.side);
            match sums.last_mut().filter(|last| of(last) == of(&entry)) {
                Some(last) if !entry.replaces => last.add(&entry),
                Some(last) => *last = entry,
                None => sums.push(entry),
            }
        }
        sums.retain(|sum| sum.count > 0);
        sums
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
        into.extend_from_slice(&number(self.update));
        into.push((!self.replaces).into());
        into.extend_from_slice(&number(self.transaction));
    }

    fn from_key(reading: &mut ByteReader<'_>) -> Option<Self> {
        Some(Self {
            owner: reading.number()?,
            party: reading.number()?,
            asset: reading.u32()?,
            side: reading.byte()?,
            update: reading.number()?,
            replaces: reading.byte()? == 0,
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
        let is_updated = self.update > 0;
        put_varint(into, self.transaction << 1 | u64::from(is_updated));
        if is_updated {
            put_varint(into, self.update << 1 | u64::from(self.replaces));
        }
        self.put_rest(into);
    }

    fn take(before: Option<&Self>, reading: &mut ByteReader<'_>) -> Option<Self> {
        let owner = before.map_or(0, |before| before.owner).wrapping_add(reading.varint()?);
        let party = reading.varint()?;
        let asset = reading.varint()?;
        let side = u8::try_from(asset & 7).ok()?;
        let asset = u32::try_from(asset >> 3).ok()?;
        let transaction = reading.varint()?;
        let update = if transaction & 1 == 0 { 0 } else { reading.varint()? };
        let mut entry = Self {
            owner,
            party,
            asset,
            side,
            update: update >> 1,
            replaces: update & 1 != 0,
            transaction: transaction >> 1,
            first: 0,
            last: 0,
            count: 0,
            amount: 0,
        };
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
        let of = |entry: &Self| {
            (entry.owner, entry.party, entry.asset, entry.side, entry.update, entry.replaces)
        };
        let is_same = of(self) == of(other);
        if is_same {
            self.add(other);
        }
        is_same
    }
}
