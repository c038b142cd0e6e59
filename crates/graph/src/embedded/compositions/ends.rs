//! The parties at which traces end, and those whose labels traces carry on.

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

/// What lists and labels say of an owner.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Attributed {
    /// The party at which traces end.
    pub end: Option<End>,
    /// True if the owner has a risky label, which traces carry on, beside what ends them.
    pub is_labelled: bool,
}

impl Attributed {
    /// True if nothing is said.
    #[must_use]
    pub const fn is_nothing(&self) -> bool {
        self.end.is_none() && !self.is_labelled
    }
}

impl From<End> for Attributed {
    fn from(end: End) -> Self {
        Self { end: Some(end), is_labelled: false }
    }
}

/// The parties of one chain at which traces end or whose labels they carry on, by their numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ends(FxHashMap<OwnerNumber, Attributed>);

impl Ends {
    /// Adds a party.
    pub fn add(&mut self, owner: OwnerNumber, attributed: impl Into<Attributed>) {
        self.0.insert(owner, attributed.into());
    }

    /// What is said of an owner.
    #[must_use]
    pub fn of(&self, owner: OwnerNumber) -> Attributed {
        self.0.get(&owner).copied().unwrap_or_default()
    }

    /// The party of a number; `None` if traces go on there.
    #[must_use]
    pub fn get(&self, owner: OwnerNumber) -> Option<End> {
        self.of(owner).end
    }

    /// Removes a party.
    pub(super) fn remove(&mut self, owner: OwnerNumber) {
        self.0.remove(&owner);
    }

    /// All parties, with their numbers.
    pub(super) fn iter(&self) -> impl Iterator<Item = (OwnerNumber, Attributed)> + '_ {
        self.0.iter().map(|(owner, attributed)| (*owner, *attributed))
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
        let mut ends: Vec<(u64, Attributed)> =
            self.iter().map(|(owner, it)| (owner.0, it)).filter(|it| it.0 < owners).collect();
        ends.sort_unstable_by_key(|(owner, _)| *owner);
        let mut digest = Sha256::new();
        // Codes of origins are places among the categories.
        for category in Category::ALL {
            digest.update(category.as_str());
            digest.update([0]);
        }
        for (owner, Attributed { end, is_labelled }) in ends {
            digest.update(owner.to_be_bytes());
            digest.update(end.map(|end| end.category.as_str()).unwrap_or_default());
            digest.update([0]);
            let day = end.and_then(|end| end.listed_on).map(|day| day.to_string());
            digest.update(day.unwrap_or_default());
            digest.update([0, u8::from(is_labelled)]);
        }
        digest.finalize().into()
    }
}
