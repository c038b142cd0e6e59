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

/// The state of an account after a transaction, as bytes: the states of contracts are long, and most readers only ask whether
/// an account is one. The newest version counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) struct StoredState {
    pub(in super::super) owner: u64,
    /// The last transaction.
    pub(in super::super) transaction: u64,
    bytes: Vec<u8>,
}

impl StoredState {
    /// The state of an account.
    pub(in super::super) fn new(owner: u64, transaction: u64, state: &AccountState) -> Self {
        Self { owner, transaction, bytes: write_state(state) }
    }

    /// The state; `None` if it is damaged.
    pub(in super::super) fn state(&self) -> Option<AccountState> {
        let mut reading = ByteReader(&self.bytes);
        let state = read_state(&mut reading)?;
        reading.0.is_empty().then_some(state)
    }

    /// True for the state of an account with code.
    pub(in super::super) fn is_contract(&self) -> bool {
        self.bytes.first().is_some_and(|byte| *byte != 0)
    }

    /// True if the state tells nothing.
    pub(in super::super) fn is_empty(&self) -> bool {
        self.bytes.iter().all(|byte| *byte == 0)
    }

    /// The key of an account's state, to be looked up.
    pub(in super::super) fn wanted(owner: u64) -> WantedKey<5> {
        WantedKey { prefix: number(owner), hash: Self::hash_of(owner) }
    }

    const fn empty(owner: u64, transaction: u64) -> Self {
        Self { owner, transaction, bytes: Vec::new() }
    }

    const fn hash_of(owner: u64) -> u64 {
        let mixed = owner.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed ^ mixed >> 29
    }

    const fn key(&self) -> (u64, u64) {
        (self.owner, self.transaction)
    }

    /// Reads the key from a page of a run, and the bytes of the state.
    fn take_parts<'p>(
        before: Option<&Self>,
        reading: &mut ByteReader<'p>,
    ) -> Option<(Self, &'p [u8])> {
        let owner = before.map_or(0, |before| before.owner).wrapping_add(reading.varint()?);
        let entry = Self::empty(owner, reading.varint()?);
        let length = usize::try_from(reading.varint()?).ok()?;
        Some((entry, reading.take(length)?))
    }
}

fn write_state(AccountState { is_contract, holdings, ties }: &AccountState) -> Vec<u8> {
    let mut bytes = vec![(*is_contract).into()];
    let into = &mut bytes;
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
    bytes
}

fn read_state(reading: &mut ByteReader<'_>) -> Option<AccountState> {
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
    Some(AccountState { is_contract, holdings, ties })
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
        Some(Self::empty(reading.number()?, reading.number()?))
    }

    #[inline]
    fn leading_number(&self) -> u64 {
        self.owner
    }

    fn put(&self, before: Option<&Self>, into: &mut Vec<u8>) {
        put_varint(into, self.owner.wrapping_sub(before.map_or(0, |before| before.owner)));
        put_varint(into, self.transaction);
        put_varint(into, self.bytes.len() as u64);
        into.extend_from_slice(&self.bytes);
    }

    fn take(before: Option<&Self>, reading: &mut ByteReader<'_>) -> Option<Self> {
        let (entry, bytes) = Self::take_parts(before, reading)?;
        Some(Self { bytes: bytes.to_vec(), ..entry })
    }

    fn skip(before: Option<&Self>, reading: &mut ByteReader<'_>) -> Option<Self> {
        Some(Self::take_parts(before, reading)?.0)
    }

    fn put_value(&self, into: &mut Vec<u8>) {
        into.extend_from_slice(&self.bytes);
    }

    fn take_value(&mut self, reading: &mut ByteReader<'_>) -> Option<()> {
        self.bytes = reading.0.to_vec();
        reading.0 = &[];
        Some(())
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
