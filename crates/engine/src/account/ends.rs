//! The parties at which money ends (`docs/model/accounts.md` B5): what an end pays is wholly of its category.

use jiff::civil::Date;
use rustc_hash::FxHashMap;

use super::{
    origin::{MoneyOrigin, OriginCode},
    shares::Shares,
};
use crate::{
    evidence::ListingPeriod,
    ledger::OwnerNumber,
    taxonomy::{Category, RISKY_FROM},
    trace::AttributedEnd,
};

/// Custodial services: their payments come from a balance of many customers.
const CUSTODIAL: [Category; 6] = [
    Category::Exchange,
    Category::Custodian,
    Category::PaymentProcessor,
    Category::HostedWallet,
    Category::Merchant,
    Category::Gambling,
];

/// True if money ends at a party: a listed party, one of a risky category, a custodial service, or a bridge. Contracts that
/// users' money passes, such as pools and lending, are no ends.
#[must_use]
pub fn ends_money(end: &AttributedEnd) -> bool {
    let category = end.category;
    let is_risky = category.info().severity >= RISKY_FROM;
    end.listed || is_risky || CUSTODIAL.contains(&category) || category == Category::Bridge
}

/// A party at which money ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MoneyEnd {
    /// Category of the party.
    pub category: Category,
    /// Day of its listing, for a listed party with a known day.
    pub listed_on: Option<Date>,
}

impl MoneyEnd {
    /// The origin of what the party pays on a day.
    #[must_use]
    pub fn origin(self, on: Date) -> MoneyOrigin {
        MoneyOrigin::Party(self.category, self.period(on))
    }

    /// The period of a payment on a day; `None` for a party without a known day of listing.
    #[must_use]
    pub fn period(self, on: Date) -> Option<ListingPeriod> {
        self.listed_on.map(|listed_on| ListingPeriod::of_movement(on, listed_on))
    }

    /// True for a listed party, and for one of a default severity of 80 and more.
    pub(super) fn is_severe(self) -> bool {
        let is_severe = OriginCode::from(MoneyOrigin::Party(self.category, None)).is_severe();
        is_severe || self.listed_on.is_some()
    }

    /// True for a party with which dealings are kept for themselves: a listed or risky one.
    #[must_use]
    pub fn has_dealings(self) -> bool {
        self.category.info().severity >= RISKY_FROM || self.listed_on.is_some()
    }
}

/// The parties at which money ends, by their numbers.
#[derive(Clone, Debug, Default)]
pub struct MoneyEnds {
    parties: FxHashMap<OwnerNumber, MoneyEnd>,
    /// The breakdowns of what ends pay: one for each origin, shared by all receipts.
    paid: FxHashMap<MoneyOrigin, Shares>,
}

impl MoneyEnds {
    /// Adds a party.
    pub fn add(&mut self, owner: OwnerNumber, end: MoneyEnd) {
        let periods = match end.listed_on {
            Some(_) => [Some(ListingPeriod::Before), Some(ListingPeriod::Since)],
            None => [None, None],
        };
        for period in periods {
            let origin = MoneyOrigin::Party(end.category, period);
            self.paid.entry(origin).or_insert_with(|| Shares::wholly(origin));
        }
        self.parties.insert(owner, end);
    }

    /// The party with a number; `None` if money passes the account.
    #[must_use]
    pub fn get(&self, owner: OwnerNumber) -> Option<MoneyEnd> {
        self.parties.get(&owner).copied()
    }

    /// The breakdown of what an end pays on a day.
    #[must_use]
    pub fn shares(&self, end: MoneyEnd, on: Date) -> Shares {
        let origin = end.origin(on);
        self.paid.get(&origin).cloned().unwrap_or_else(|| Shares::wholly(origin))
    }

    /// Number of parties.
    #[must_use]
    pub fn len(&self) -> usize {
        self.parties.len()
    }

    /// True if there are no parties.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.parties.is_empty()
    }
}

impl FromIterator<(OwnerNumber, MoneyEnd)> for MoneyEnds {
    fn from_iter<I: IntoIterator<Item = (OwnerNumber, MoneyEnd)>>(parties: I) -> Self {
        let mut ends = Self::default();
        for (owner, end) in parties {
            ends.add(owner, end);
        }
        ends
    }
}
