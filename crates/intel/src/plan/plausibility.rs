//! Plausibility of a publication beside those before it.
//!
//! A publisher's mistake, a cut file and a stolen feed have one look: much is gone at once. Nothing of such a file is
//! imported until a person accepts it by its digest.

use std::collections::BTreeSet;

use assay_engine::{
    evidence::{
        ListingEntry,
        history::{PublicationRef, SourceHistory},
    },
    names::ListId,
};
use jiff::ToSpan;

use super::{Digests, PublicationRefusal};
use crate::listings::Publication;

/// Largest plausible number of addresses added or dropped, in percent of the previous addresses.
const PLAUSIBLE_PERCENT: usize = 20;
/// Number of addresses added or dropped that is always plausible.
const PLAUSIBLE_NUMBER: usize = 25;
/// Rows from which on the loss of more than half is implausible. Shorter lists grow and shrink freely.
pub(super) const LOSS_FROM_ROWS: usize = 10;
/// Days in which losses add up, so that many small steps are no way around the rule.
pub(super) const LOSS_DAYS: i64 = 7;

/// An address of a list.
type Row<'a> = (&'a ListId, &'a str, &'a str);

/// True if more than half of `before` rows are lost.
pub(super) const fn is_mostly_lost(before: usize, lost: usize) -> bool {
    before >= LOSS_FROM_ROWS && lost.saturating_mul(2) > before
}

/// Compares a publication with its neighbor in time: the publication before it, or the publication after it if it is
/// the first. Addresses count, not entities: an address that moves to another entity stays listed. The number of
/// addresses is compared with those of the days before, since the last that was accepted by its digest.
pub(super) fn check_publication<Id>(
    known: &SourceHistory<Id>,
    publication: &Publication,
    reference: PublicationRef,
    digests: Digests<'_>,
) -> Result<(), PublicationRefusal> {
    let digest = digests.file;
    let names_parties = publication.addresses_are_rare && publication.parties > 0;
    if publication.entries.is_empty() && !names_parties {
        return Err(PublicationRefusal::Empty {
            rejected: publication.rejected.len(),
            first: publication.rejected.first().map(|first| first.reason.clone()),
            digest: digest.to_owned(),
        });
    }
    let mut references: Vec<_> = known.publications.iter().map(|other| other.reference).collect();
    references.sort_unstable();
    let before: Vec<_> = references.iter().copied().filter(|other| *other < reference).collect();
    let Some(neighbor) = before.last().or(references.first()).copied() else { return Ok(()) };
    let rows_of = |reference: PublicationRef| -> BTreeSet<Row<'_>> {
        let held = known.listings.iter().filter(|listing| listing.presence.holds(reference));
        held.map(|listing| row(&listing.entry)).collect()
    };
    let found: BTreeSet<Row<'_>> = publication.entries.iter().map(row).collect();
    let refused = |list, change: Change, compared: PublicationRef| {
        let Change { added, removed, previous } = change;
        let after = match &list {
            Some(list) => found.iter().filter(|row| row.0 == list).count(),
            None => found.len(),
        };
        let (compared, digest) = (compared.published_on, digest.to_owned());
        Err(PublicationRefusal::Implausible {
            list,
            added,
            removed,
            previous,
            after,
            compared,
            digest,
        })
    };
    let previous = rows_of(neighbor);
    let change = Change::of(&addresses(&previous), &addresses(&found));
    if change.is_large() {
        return refused(None, change, neighbor);
    }
    // A publication that is filed in the past before all others lost nothing.
    if neighbor < reference
        && let Some((list, change)) = loss(&previous, &found)
    {
        return refused(list, change, neighbor);
    }
    let earliest = reference.published_on.saturating_sub(LOSS_DAYS.days());
    let mut recent: Vec<_> = known
        .publications
        .iter()
        .filter(|other| other.reference < reference)
        .filter(|other| other.reference.published_on >= earliest)
        .map(|other| (other.reference, usize::try_from(other.entries).unwrap_or(usize::MAX)))
        .collect();
    recent.sort_unstable();
    match lost_since(recent, publication.entries.len()) {
        Some((compared, _)) => {
            let change = Change::of(&addresses(&rows_of(compared)), &addresses(&found));
            refused(None, change, compared)
        }
        None => Ok(()),
    }
}

/// The largest of the numbers of rows before, in order, if more than half of it is lost. A number that lost as much was
/// accepted by its digest: what came before it is no longer missed.
pub(super) fn lost_since<T>(
    before: impl IntoIterator<Item = (T, usize)>,
    after: usize,
) -> Option<(T, usize)> {
    let is_lost =
        |before: usize, after: usize| is_mostly_lost(before, before.saturating_sub(after));
    let mut largest: Option<(T, usize)> = None;
    for (at, count) in before {
        if largest.as_ref().is_none_or(|(_, most)| count >= *most || is_lost(*most, count)) {
            largest = Some((at, count));
        }
    }
    largest.filter(|(_, most)| is_lost(*most, after))
}

/// Numbers of addresses by which two publications differ.
#[derive(Clone, Copy)]
struct Change {
    added: usize,
    removed: usize,
    previous: usize,
}

impl Change {
    fn of<T: Ord>(before: &BTreeSet<T>, after: &BTreeSet<T>) -> Self {
        Self {
            added: after.difference(before).count(),
            removed: before.difference(after).count(),
            previous: before.len(),
        }
    }

    fn is_large(self) -> bool {
        let is_large = |change: usize| {
            change * 100 > self.previous * PLAUSIBLE_PERCENT && change > PLAUSIBLE_NUMBER
        };
        is_large(self.added) || is_large(self.removed)
    }
}

fn row(entry: &ListingEntry) -> Row<'_> {
    (&entry.list, &entry.asset_code, &entry.address_as_published)
}

fn addresses<'a>(rows: &BTreeSet<Row<'a>>) -> BTreeSet<(&'a str, &'a str)> {
    rows.iter().map(|(_, code, address)| (*code, *address)).collect()
}

/// The loss of more than half of a publication, or of one list in it.
fn loss(before: &BTreeSet<Row<'_>>, after: &BTreeSet<Row<'_>>) -> Option<(Option<ListId>, Change)> {
    let whole = Change::of(&addresses(before), &addresses(after));
    if is_mostly_lost(whole.previous, whole.removed) {
        return Some((None, whole));
    }
    let lists: BTreeSet<&ListId> = before.iter().map(|(list, ..)| *list).collect();
    lists.into_iter().find_map(|list| {
        let change = Change::of(&of_list(before, list), &of_list(after, list));
        is_mostly_lost(change.previous, change.removed).then(|| (Some(list.clone()), change))
    })
}

fn of_list<'a>(rows: &BTreeSet<Row<'a>>, list: &ListId) -> BTreeSet<(&'a str, &'a str)> {
    let rows = rows.iter().filter(|row| row.0 == list);
    rows.map(|(_, code, address)| (*code, *address)).collect()
}
