//! Direct dealings with listed and risky parties (`docs/model/accounts.md` B8): exact, whatever the number of records.

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
pub struct Dealings(FxHashMap<OwnerNumber, Vec<(DealingKey, Dealing)>>);

impl Dealings {
    /// Adds a dealing of an account.
    pub fn add(&mut self, of: OwnerNumber, key: DealingKey, time: Timestamp, amount: u128) {
        let known = self.0.entry(of).or_default();
        match known.iter_mut().find(|(other, _)| *other == key) {
            Some((_, dealing)) => {
                dealing.first = dealing.first.min(time);
                dealing.last = dealing.last.max(time);
                dealing.count += 1;
                dealing.amount = dealing.amount.saturating_add(amount);
            }
            None => known.push((key, Dealing { first: time, last: time, count: 1, amount })),
        }
    }

    /// The dealings of an account, in the order of the first ones.
    #[must_use]
    pub fn of(&self, account: OwnerNumber) -> &[(DealingKey, Dealing)] {
        self.0.get(&account).map(Vec::as_slice).unwrap_or_default()
    }
}
