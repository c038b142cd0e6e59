//! Versions of the states of accounts beside their ledgers.

use std::collections::BTreeMap;

use assay_columns::{
    bytes::{ByteReader, number, put_varint},
    run::{RunEntry, WantedKey},
};
use assay_engine::{
    account::{AccountState, AssetNumber, Held, Holding, Lot, Lots, Tie},
    ledger::OwnerNumber,
};
use ruint::aliases::U256;

use super::super::{
    amount::{put_amount, put_wide_amount, take_amount, take_wide_amount},
    share_bytes::{put_shares, take_shares},
};

/// The state of an account after a transaction. The newest version counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) struct StoredState {
    pub(in super::super) owner: u64,
    /// The last transaction.
    pub(in super::super) transaction: u64,
    pub(in super::super) state: AccountState,
}

impl StoredState {
    /// The state of an account of which nothing is known.
    pub(in super::super) fn new(owner: u64) -> Self {
        Self { owner, transaction: 0, state: AccountState::default() }
    }

    /// The key of an account's state, to be looked up.
    pub(in super::super) fn wanted(owner: u64) -> WantedKey<5> {
        WantedKey { prefix: number(owner), hash: Self::hash_of(owner) }
    }

    const fn hash_of(owner: u64) -> u64 {
        let mixed = owner.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed ^ mixed >> 29
    }

    const fn key(&self) -> (u64, u64) {
        (self.owner, self.transaction)
    }

    /// Reads the key from a page of a run, and the length of the rest: the states of contracts are long.
    fn take_head(before: Option<&Self>, reading: &mut ByteReader<'_>) -> Option<(Self, usize)> {
        let owner = before.map_or(0, |before| before.owner).wrapping_add(reading.varint()?);
        let entry = Self { transaction: reading.varint()?, ..Self::new(owner) };
        Some((entry, usize::try_from(reading.varint()?).ok()?))
    }

    fn put_rest(&self, into: &mut Vec<u8>) {
        let AccountState { is_contract, holdings, ties } = &self.state;
        into.push((*is_contract).into());
        put_varint(into, holdings.len() as u64);
        for (held, holding) in holdings {
            put_held(into, *held);
            put_varint(into, u64::from(holding.is_backed));
            put_amount(into, holding.units);
            put_lots(into, &holding.own);
            put_lots(into, &holding.came);
        }
        put_varint(into, ties.len() as u64);
        for (contract, Tie { put_in, backed }) in ties {
            put_varint(into, contract.0);
            put_wide_amount(into, *put_in);
            put_varint(into, backed.len() as u64);
            for held in backed {
                put_held(into, *held);
            }
        }
    }

    fn take_rest(&mut self, reading: &mut ByteReader<'_>) -> Option<()> {
        let is_contract = reading.byte()? != 0;
        let mut holdings = BTreeMap::new();
        for _ in 0..reading.varint()? {
            let held = take_held(reading)?;
            let is_backed = reading.varint()? != 0;
            let units = take_amount(reading)?;
            let (own, came) = (take_lots(reading)?, take_lots(reading)?);
            holdings.insert(held, Holding { units, is_backed, own, came });
        }
        let mut ties = BTreeMap::new();
        for _ in 0..reading.varint()? {
            let contract = OwnerNumber(reading.varint()?);
            let put_in: U256 = take_wide_amount(reading)?;
            let mut backed = Vec::new();
            for _ in 0..reading.varint()? {
                backed.push(take_held(reading)?);
            }
            ties.insert(contract, Tie { put_in, backed });
        }
        self.state = AccountState { is_contract, holdings, ties };
        Some(())
    }
}

fn put_held(into: &mut Vec<u8>, held: Held) {
    let code = match held {
        Held::Token(asset) => u64::from(asset.0) << 1,
        Held::Claim(contract) => contract.0 << 1 | 1,
    };
    put_varint(into, code);
}

fn take_held(reading: &mut ByteReader<'_>) -> Option<Held> {
    let code = reading.varint()?;
    Some(if code & 1 == 0 {
        Held::Token(AssetNumber(u32::try_from(code >> 1).ok()?))
    } else {
        Held::Claim(OwnerNumber(code >> 1))
    })
}

fn put_lots(into: &mut Vec<u8>, lots: &Lots) {
    put_varint(into, lots.all().len() as u64);
    for Lot { asset, amount, shares } in lots.all() {
        put_varint(into, asset.0.into());
        put_amount(into, *amount);
        put_shares(into, shares);
    }
}

fn take_lots(reading: &mut ByteReader<'_>) -> Option<Lots> {
    let mut lots = Vec::new();
    for _ in 0..reading.varint()? {
        let asset = AssetNumber(u32::try_from(reading.varint()?).ok()?);
        lots.push(Lot { asset, amount: take_amount(reading)?, shares: take_shares(reading)? });
    }
    Lots::of_stored(lots)
}

impl PartialOrd for StoredState {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for StoredState {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}

impl RunEntry for StoredState {
    fn put_key(&self, into: &mut Vec<u8>) {
        into.extend_from_slice(&number(self.owner));
        into.extend_from_slice(&number(self.transaction));
    }

    fn from_key(reading: &mut ByteReader<'_>) -> Option<Self> {
        let (owner, transaction) = (reading.number()?, reading.number()?);
        Some(Self { transaction, ..Self::new(owner) })
    }

    #[inline]
    fn leading_number(&self) -> u64 {
        self.owner
    }

    fn put(&self, before: Option<&Self>, into: &mut Vec<u8>) {
        put_varint(into, self.owner.wrapping_sub(before.map_or(0, |before| before.owner)));
        put_varint(into, self.transaction);
        let mut rest = Vec::new();
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

    fn hash(&self) -> Option<u64> {
        Some(Self::hash_of(self.owner))
    }

    fn try_merge(&mut self, other: &Self) -> bool {
        let is_same = self.owner == other.owner;
        if is_same && other.transaction > self.transaction {
            self.clone_from(other);
        }
        is_same
    }
}
