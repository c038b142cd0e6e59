//! Labels that rest on a sanctions listing that has ended (`docs/model/evidence.md` E3.2).

use jiff::civil::Date;

use crate::{
    evidence::{Label, Listing, ListingStatus, list_published_on},
    taxonomy::Category,
};

/// True if a label rests on listings of its address, all of which have ended.
///
/// Such a label states that the address is sanctioned without naming a list, or its upstream is the publisher of one of
/// these lists, whatever category a label set gave it. A label that is valid only since the last end is a claim of its
/// own, and so is every label of another upstream.
pub(super) fn rests_on_ended_listings<'a>(
    label: &Label,
    listings: impl Iterator<Item = &'a Listing> + Clone,
    today: Date,
) -> bool {
    let known = listings.filter(|listing| listing.status(today) != ListingStatus::NotYetListed);
    if !known.clone().all(|listing| listing.status(today).ended_reason().is_some()) {
        return false;
    }
    let end = |listing: &Listing| {
        [listing.delisted_on, listing.entry.expires_on].into_iter().flatten().min()
    };
    let Some(last) = known.clone().filter_map(end).max() else { return false };
    let published = list_published_on(&label.upstream);
    let mut lists = known.map(|listing| listing.entry.list.as_str());
    let is_claim_of_list = label.category == Category::Sanctions && label.cites_list.is_none()
        || published.is_some_and(|list| lists.any(|known| known == list));
    is_claim_of_list && label.valid_from.is_none_or(|from| from < last)
}
