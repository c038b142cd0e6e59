//! The parties at which traces end.

use assay_engine::{
    composition::Origin, evidence::ListingPeriod, reading::OwnerNumber, taxonomy::Category,
};
use jiff::civil::Date;
use rustc_hash::FxHashMap;
use sha2::{Digest, Sha256};

use super::state::EndsUpTo;

/// A party at which traces end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    /// Category.
    pub category: Category,
    /// Since when it is listed, if it is and if that is known.
    pub listed_on: Option<Date>,
}

impl End {
    /// The origin of money that moved on a day.
    #[must_use]
    pub fn origin(self, moved_on: Date) -> Origin {
        let period = self.listed_on.map(|listed_on| ListingPeriod::of(moved_on, listed_on));
        Origin::Party(self.category, period)
    }
}

/// The parties of one chain at which traces end, by their numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ends(FxHashMap<OwnerNumber, End>);

impl Ends {
    /// Adds a party.
    pub fn add(&mut self, owner: OwnerNumber, end: End) {
        self.0.insert(owner, end);
    }

    /// The party of a number; `None` if traces go on there.
    #[must_use]
    pub fn get(&self, owner: OwnerNumber) -> Option<End> {
        self.0.get(&owner).copied()
    }

    /// Removes a party.
    pub(super) fn remove(&mut self, owner: OwnerNumber) {
        self.0.remove(&owner);
    }

    /// All parties, with their numbers.
    pub(super) fn iter(&self) -> impl Iterator<Item = (OwnerNumber, End)> + '_ {
        self.0.iter().map(|(owner, end)| (*owner, *end))
    }

    /// Number of parties.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// True if there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The ends among the first `owners`.
    #[must_use]
    pub fn up_to(&self, owners: u64) -> EndsUpTo {
        EndsUpTo { owners, revision: self.revision(owners) }
    }

    /// Names the parties with numbers below `owners`: equal for equal ones, whatever came later.
    fn revision(&self, owners: u64) -> [u8; 32] {
        let mut ends: Vec<(u64, End)> =
            self.0.iter().map(|(owner, end)| (owner.0, *end)).filter(|it| it.0 < owners).collect();
        ends.sort_unstable_by_key(|(owner, _)| *owner);
        let mut digest = Sha256::new();
        // Codes of origins are places among the categories.
        for category in Category::ALL {
            digest.update(category.as_str());
            digest.update([0]);
        }
        for (owner, end) in ends {
            digest.update(owner.to_be_bytes());
            digest.update(end.category.as_str());
            digest.update([0]);
            let day = end.listed_on.map(|day| day.to_string()).unwrap_or_default();
            digest.update(day);
            digest.update([0]);
        }
        digest.finalize().into()
    }
}
