//! Listings: entries of official lists that name an address, and the legal status of such entries on a given day.

use std::sync::Arc;

use jiff::{ToSpan, civil::Date};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ListedAddresses;
use crate::names::{ListId, SourceId};

/// Days for which a listing that expired by its own terms still leads to a review.
pub const REVIEW_DAYS_AFTER_EXPIRY: i32 = 90;

/// One address as one publication of an official list prints it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListingEntry {
    /// The list.
    pub list: ListId,
    /// Common name of the list, such as `OFAC SDN List`.
    pub list_name: String,
    /// Entity that the list names as the address's holder.
    pub entity: Arc<ListedEntity>,
    /// The list's code for the asset, such as `XBT`.
    pub asset_code: String,
    /// The address exactly as the list prints it.
    pub address_as_published: String,
    /// The list's remarks on this address.
    pub address_remarks: Option<String>,
    /// First day on which the listing is no longer valid by its own terms.
    pub expires_on: Option<Date>,
}

impl ListingEntry {
    /// The addresses that the entry lists. The addresses are parsed at each call and not stored, so that support for a
    /// new chain applies to lists that were imported earlier.
    #[must_use]
    pub fn addresses(&self) -> ListedAddresses {
        ListedAddresses::read(&self.asset_code, &self.address_as_published)
    }
}

/// An entry of a list over time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listing {
    /// The source from which the listing was imported.
    pub source: SourceId,
    /// Entry as the list prints it.
    pub entry: ListingEntry,
    /// Date of the first publication that held the address; `None` if the address is in the first known publication.
    pub listed_on: Option<Date>,
    /// Date of the first publication without the address.
    pub delisted_on: Option<Date>,
}

/// A person, company or vessel on a sanctions list.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListedEntity {
    /// The list's own identifier of the entity.
    pub id: String,
    /// The primary name.
    pub name: String,
    /// Other names, in the order of the list.
    pub aliases: Vec<Alias>,
    /// The programs under which the entity is listed.
    pub programs: Vec<String>,
    /// The list's remarks on the entity.
    pub remarks: Option<String>,
    /// Date on which the entity was listed, as the list states it.
    pub listed_on: Option<Date>,
    /// Number by which the publisher refers to the entry, such as `ASO 12/24` or `CDi.001`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order_number: Option<String>,
    /// Law, regulation or decision that the entry rests on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub legal_basis: Option<String>,
    /// Address of the publisher's page or document about the entry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub official_link: Option<String>,
    /// Documents and numbers by which the list identifies the entity, such as `Passport 040070827`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub identifiers: Vec<String>,
}

/// Another name of a listed entity.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Alias {
    /// The name.
    pub name: String,
    /// The list's word for the kind, such as `A.K.A.`.
    pub kind: String,
    /// True if the list itself calls the name a weak alias.
    pub weak: bool,
}

/// Status of a listing on a given day.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ListingStatus {
    /// In force.
    Active,
    /// Expired by its own terms fewer than 90 days ago.
    RecentlyExpired,
    /// Expired by its own terms 90 days ago or earlier.
    Expired,
    /// A later publication dropped the listing.
    Delisted,
    /// Not yet in force.
    NotYetListed,
}

impl ListingStatus {
    /// Reason for which the listing ended, if the listing has ended.
    #[must_use]
    pub const fn ended_reason(self) -> Option<EndedReason> {
        match self {
            Self::Active | Self::NotYetListed => None,
            Self::Delisted => Some(EndedReason::Delisted),
            Self::RecentlyExpired | Self::Expired => Some(EndedReason::Expired),
        }
    }
}

/// Reason for which a listing is no longer in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EndedReason {
    /// A later publication dropped the listing.
    Delisted,
    /// The listing expired by its own terms.
    Expired,
    /// The list renewed the listing: another listing of the same entry is in force.
    Renewed,
}

impl Listing {
    /// Status of the listing on `day`.
    ///
    /// If the day on which the address was added is unknown, the entity's own date decides: that date is the earliest
    /// day on which the address can have been listed. The earlier end decides: an order that expired before a
    /// publication dropped the listing is expired, not delisted.
    #[must_use]
    pub fn status(&self, day: Date) -> ListingStatus {
        if self.listed_on.or(self.entry.entity.listed_on).is_some_and(|from| day < from) {
            return ListingStatus::NotYetListed;
        }
        let expired_before = |until| self.entry.expires_on.is_some_and(|expired| expired <= until);
        if self.delisted_on.is_some_and(|until| until <= day && !expired_before(until)) {
            return ListingStatus::Delisted;
        }
        match self.entry.expires_on {
            Some(expired) if expired <= day => {
                let review_ends = expired.saturating_add(REVIEW_DAYS_AFTER_EXPIRY.days());
                if day < review_ends {
                    ListingStatus::RecentlyExpired
                } else {
                    ListingStatus::Expired
                }
            }
            _ => ListingStatus::Active,
        }
    }

    /// The days after `day` on which the status changes without a new publication.
    pub fn turning_days(&self, day: Date) -> impl Iterator<Item = Date> {
        let review_ends = self
            .entry
            .expires_on
            .map(|expired| expired.saturating_add(REVIEW_DAYS_AFTER_EXPIRY.days()));
        [
            self.listed_on.or(self.entry.entity.listed_on),
            self.delisted_on,
            self.entry.expires_on,
            review_ends,
        ]
        .into_iter()
        .flatten()
        .filter(move |turning| *turning > day)
    }
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::*;

    fn listing(list: &str) -> Listing {
        Listing {
            source: list.parse().unwrap(),
            entry: ListingEntry {
                list: list.parse().unwrap(),
                list_name: list.to_uppercase(),
                entity: ListedEntity {
                    id: "7".into(),
                    name: "DOE, Jane".into(),
                    aliases: vec![],
                    programs: vec!["CYBER2".into()],
                    remarks: None,
                    listed_on: Some(date(2019, 8, 21)),
                    ..ListedEntity::default()
                }
                .into(),
                asset_code: "XBT".into(),
                address_as_published: "12QtD5BFwRsdNsAZY76UVE1xyCGNTojH9h".into(),
                address_remarks: None,
                expires_on: None,
            },
            listed_on: None,
            delisted_on: None,
        }
    }

    #[test]
    fn a_listing_is_in_force_from_its_first_publication_until_the_first_without_it() {
        let mut listing = listing("ofac-sdn");
        assert_eq!(listing.status(date(2019, 8, 20)), ListingStatus::NotYetListed);
        assert_eq!(listing.status(date(2019, 8, 21)), ListingStatus::Active);
        listing.listed_on = Some(date(2020, 1, 1));
        assert_eq!(listing.status(date(2019, 12, 31)), ListingStatus::NotYetListed);
        listing.delisted_on = Some(date(2025, 3, 21));
        assert_eq!(listing.status(date(2025, 3, 20)), ListingStatus::Active);
        assert_eq!(listing.status(date(2025, 3, 21)), ListingStatus::Delisted);
    }

    #[test]
    fn an_expired_order_leads_to_review_for_ninety_days() {
        let mut listing = listing("il-nbctf");
        listing.entry.expires_on = Some(date(2025, 1, 1));
        assert_eq!(listing.status(date(2024, 12, 31)), ListingStatus::Active);
        assert_eq!(listing.status(date(2025, 1, 1)), ListingStatus::RecentlyExpired);
        assert_eq!(listing.status(date(2025, 3, 31)), ListingStatus::RecentlyExpired);
        assert_eq!(listing.status(date(2025, 4, 1)), ListingStatus::Expired);
        // NBCTF drops orders from its tables some time after they expired.
        listing.delisted_on = Some(date(2025, 2, 1));
        assert_eq!(listing.status(date(2025, 2, 1)), ListingStatus::RecentlyExpired);
        assert_eq!(listing.status(date(2025, 4, 1)), ListingStatus::Expired);
        // An order that is lifted before it expires is delisted.
        listing.delisted_on = Some(date(2024, 12, 1));
        assert_eq!(listing.status(date(2025, 2, 1)), ListingStatus::Delisted);
    }
}
