//! Labels that rest on a sanctions listing that has ended (`docs/model/evidence.md` E3.2).

use std::collections::BTreeSet;

use jiff::civil::Date;

use crate::{
    evidence::{Label, Listing, ListingStatus, list_published_on},
    taxonomy::Category,
};

/// The listings of an address, if all of them have ended.
#[derive(Default)]
pub(super) struct EndedListings<'a> {
    /// The day of the last end; `None` while a listing is in force, and without listings.
    last: Option<Date>,
    lists: BTreeSet<&'a str>,
}

impl<'a> EndedListings<'a> {
    /// The ended listings of an address with `listings`.
    pub(super) fn of(listings: impl IntoIterator<Item = &'a Listing>, today: Date) -> Self {
        let mut ended = Self::default();
        for listing in listings {
            let status = listing.status(today);
            if status == ListingStatus::NotYetListed {
                continue;
            }
            if status.ended_reason().is_none() {
                return Self::default();
            }
            let end = [listing.delisted_on, listing.entry.expires_on].into_iter().flatten().min();
            ended.last = ended.last.max(end);
            ended.lists.insert(listing.entry.list.as_str());
        }
        ended
    }

    /// True if a label rests on these listings.
    ///
    /// Such a label states that the address is sanctioned without naming a list, or its upstream is the publisher of one
    /// of these lists, whatever category a label set gave it. A label that is valid only since the last end is a claim
    /// of its own, and so is every label of another upstream.
    pub(super) fn are_basis_of(&self, label: &Label) -> bool {
        let Some(last) = self.last else { return false };
        let is_claim_of_list = || {
            label.category == Category::Sanctions && label.cites_list.is_none()
                || list_published_on(&label.upstream).is_some_and(|list| self.lists.contains(list))
        };
        label.valid_from.is_none_or(|from| from < last) && is_claim_of_list()
    }
}
