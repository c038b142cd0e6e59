//! Direct dealings with listed and risky parties (`docs/model/accounts.md` B8): exact, whatever the number of records.

use std::collections::BTreeMap;

use jiff::Timestamp;
use rustc_hash::FxHashMap;

use super::step::AssetNumber;
use crate::{
    evidence::{Direction, ListingPeriod},
    ledger::OwnerNumber,
};

/// The key of the dealings of one account with one party.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DealingKey {
    /// The listed or risky party.
    pub party: OwnerNumber,
    /// The asset.
    pub asset: AssetNumber,
    /// Before the party was listed, or since; `None` without a known day.
    pub period: Option<ListingPeriod>,
    /// Direction of the money: from the party as its source, or to the party as its destination.
    pub direction: Direction,
}

/// Sum of the dealings of one account with one party.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dealing {
    /// Time of the first one.
    pub first: Timestamp,
    /// Time of the last one.
    pub last: Timestamp,
    /// Number of transactions.
    pub count: u64,
    /// Sum in base units.
    pub amount: u128,
}

/// The direct dealings of all accounts with listed and risky parties.
#[derive(Clone, Debug, Default)]
pub struct Dealings(FxHashMap<OwnerNumber, BTreeMap<DealingKey, Dealing>>);

impl Dealings {
    /// Adds a dealing of an account.
    pub fn add(&mut self, of: OwnerNumber, key: DealingKey, time: Timestamp, amount: u128) {
        let new = Dealing { first: time, last: time, count: 0, amount: 0 };
        let dealing = self.0.entry(of).or_default().entry(key).or_insert(new);
        dealing.first = dealing.first.min(time);
        dealing.last = dealing.last.max(time);
        dealing.count += 1;
        dealing.amount = dealing.amount.saturating_add(amount);
    }

    /// The dealings of an account, in the order of their keys.
    pub fn of(&self, account: OwnerNumber) -> impl Iterator<Item = (DealingKey, Dealing)> {
        let of_account = self.0.get(&account).into_iter().flatten();
        of_account.map(|(key, dealing)| (*key, *dealing))
    }
}
