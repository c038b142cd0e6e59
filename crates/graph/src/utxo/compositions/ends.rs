//! The parties at which traces end, and the parties whose labels traces carry on.

use std::sync::{LazyLock, Mutex, PoisonError};

use assay_engine::{
    composition::{Origin, PassedLabel},
    evidence::ListingPeriod,
    ledger::OwnerNumber,
    taxonomy::Category,
};
use jiff::civil::Date;
use rustc_hash::FxHashMap;
use sha2::{Digest, Sha256};

use super::state::TraceEndsRevision;

/// A party at which traces end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceEnd {
    /// Category.
    pub category: Category,
    /// Day of the party's listing; `None` if the party is not listed or the day is not known.
    pub listed_on: Option<Date>,
}

impl TraceEnd {
    /// The origin of money that came from the party on a day.
    #[must_use]
    pub fn origin(self, moved_on: Date) -> Origin {
        let period =
            self.listed_on.map(|listed_on| ListingPeriod::of_movement(moved_on, listed_on));
        Origin::Party(self.category, period)
    }
}

/// The attribution of an owner by lists and labels.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnerAttribution {
    /// The party at which traces end; `None` if traces pass the owner.
    pub end: Option<TraceEnd>,
    /// True if the owner also has a risky label that traces carry on.
    pub is_labelled: bool,
    /// The severe ones among these labels.
    pub passed: Vec<PassedLabel>,
}

/// The attribution of all other owners.
static NOTHING: LazyLock<OwnerAttribution> = LazyLock::new(OwnerAttribution::default);

impl OwnerAttribution {
    /// True if lists and labels do not attribute the owner.
    #[must_use]
    pub const fn is_nothing(&self) -> bool {
        self.end.is_none() && !self.is_labelled
    }
}

impl From<TraceEnd> for OwnerAttribution {
    fn from(end: TraceEnd) -> Self {
        Self { end: Some(end), ..Self::default() }
    }
}

/// The attributed owners of one chain, by their numbers: traces end at these owners or carry their labels on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceEnds {
    by_owner: FxHashMap<OwnerNumber, OwnerAttribution>,
    revisions: Revisions,
}

/// Computed revisions, by the number of owners: every slice needs the same few revisions, and computing each revision
/// takes time for many trace ends.
#[derive(Debug, Default)]
struct Revisions(Mutex<Vec<TraceEndsRevision>>);

/// Maximum number of kept revisions.
const MAX_REVISIONS: usize = 8;

impl Revisions {
    fn get(&self, owners: u64) -> Option<TraceEndsRevision> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.iter().find(|known| known.owners == owners).copied()
    }

    fn put(&self, ends: TraceEndsRevision) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MAX_REVISIONS {
            known.remove(0);
        }
        known.push(ends);
    }
}

impl Clone for Revisions {
    fn clone(&self) -> Self {
        Self::default()
    }
}

/// Revisions follow from the trace ends, so that comparing values ignores revisions.
impl PartialEq for Revisions {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Revisions {}

impl TraceEnds {
    /// Sets the attribution of an owner.
    pub fn add(&mut self, owner: OwnerNumber, attributed: impl Into<OwnerAttribution>) {
        self.by_owner.insert(owner, attributed.into());
        self.revisions = Revisions::default();
    }

    /// The attribution of an owner.
    #[must_use]
    pub fn attribution_of(&self, owner: OwnerNumber) -> &OwnerAttribution {
        self.by_owner.get(&owner).unwrap_or(&NOTHING)
    }

    /// The party of an owner at which traces end; `None` if traces pass the owner.
    #[must_use]
    pub fn get(&self, owner: OwnerNumber) -> Option<TraceEnd> {
        self.attribution_of(owner).end
    }

    /// Removes the attribution of an owner.
    pub(super) fn remove(&mut self, owner: OwnerNumber) {
        self.by_owner.remove(&owner);
        self.revisions = Revisions::default();
    }

    /// Iterates over the attributed owners.
    pub(super) fn iter(&self) -> impl Iterator<Item = (OwnerNumber, &OwnerAttribution)> {
        self.by_owner.iter().map(|(owner, attributed)| (*owner, attributed))
    }

    /// Number of attributed owners.
    #[must_use]
    pub fn len(&self) -> usize {
        self.by_owner.len()
    }

    /// True if no owner is attributed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_owner.is_empty()
    }

    /// The revision of the ends among the first `owners` owners.
    #[must_use]
    pub fn up_to(&self, owners: u64) -> TraceEndsRevision {
        self.revisions.get(owners).unwrap_or_else(|| {
            let ends = TraceEndsRevision { owners, revision: self.revision(owners) };
            self.revisions.put(ends);
            ends
        })
    }

    /// Digest of the attributions of owners with numbers below `owners`.
    fn revision(&self, owners: u64) -> [u8; 32] {
        let mut ends: Vec<(u64, &OwnerAttribution)> =
            self.iter().map(|(owner, it)| (owner.0, it)).filter(|it| it.0 < owners).collect();
        ends.sort_unstable_by_key(|(owner, _)| *owner);
        let mut digest = Sha256::new();
        // Codes of origins are indexes of categories.
        for category in Category::ALL {
            digest.update(category.as_str());
            digest.update([0]);
        }
        for (owner, OwnerAttribution { end, is_labelled, passed }) in ends {
            digest.update(owner.to_be_bytes());
            digest.update(end.map(|end| end.category.as_str()).unwrap_or_default());
            digest.update([0]);
            let day = end.and_then(|end| end.listed_on).map(|day| day.to_string());
            digest.update(day.unwrap_or_default());
            digest.update([0, u8::from(*is_labelled)]);
            digest.update((passed.len() as u64).to_be_bytes());
            for PassedLabel { category, tier, confidence } in passed {
                digest.update(category.as_str());
                digest.update([0]);
                digest.update(tier.as_str());
                digest.update([0, confidence.percent()]);
            }
        }
        digest.finalize().into()
    }
}
